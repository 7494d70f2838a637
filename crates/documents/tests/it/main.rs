//! Tests of workers as separate processes. This program is its own worker, so it has a main
//! function and no harness.

mod files;
mod hostile;
mod processes;
mod real;

use std::path::PathBuf;
use std::process::ExitCode;

use documents::{Limits, Workers, worker};
use extract::{DocumentFailure, DocumentFormat, DocumentReader, DocumentText};

/// All tests, in order.
const TESTS: &[(&str, fn())] = &[
    ("files::pdf", files::pdf),
    ("files::word", files::word),
    ("files::slides", files::slides),
    ("files::sheets", files::sheets),
    ("files::open_document", files::open_document),
    ("files::book", files::book),
    ("files::images", files::images),
    ("files::damaged", files::damaged),
    ("real::files", real::files),
    (
        "hostile::a_crash_costs_one_document",
        hostile::a_crash_costs_one_document,
    ),
    (
        "hostile::a_document_that_hangs_is_ended",
        hostile::a_document_that_hangs_is_ended,
    ),
    ("hostile::memory_is_limited", hostile::memory_is_limited),
    ("hostile::bombs_are_not_unpacked", hostile::bombs_are_not_unpacked),
    (
        "hostile::any_bytes_leave_the_workers_usable",
        hostile::any_bytes_leave_the_workers_usable,
    ),
    ("hostile::no_program_is_said_so", hostile::no_program_is_said_so),
    ("processes::none_is_left_behind", processes::none_is_left_behind),
    (
        "processes::a_worker_ended_from_outside_is_replaced",
        processes::a_worker_ended_from_outside_is_replaced,
    ),
    (
        "processes::as_many_as_read_at_once",
        processes::as_many_as_read_at_once,
    ),
    (
        "processes::they_end_with_the_process_that_asks",
        processes::they_end_with_the_process_that_asks,
    ),
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let first = arguments.next().unwrap_or_default();
    if first == worker::COMMAND {
        return worker::run(arguments);
    }
    if first == processes::ASKER {
        processes::ask_and_wait();
        return ExitCode::SUCCESS;
    }
    // A failing test panics, which ends the program.
    for (name, test) in TESTS
        .iter()
        .filter(|(name, _)| first.starts_with('-') || name.contains(&first))
    {
        test();
        println!("test {name} ... ok");
    }
    ExitCode::SUCCESS
}

fn this_program() -> PathBuf {
    std::env::current_exe().unwrap()
}

fn workers(seconds: u64) -> Workers {
    let limits = Limits {
        seconds,
        ..Limits::default()
    };
    Workers::new(this_program(), limits)
}

/// Reads with a timeout that no test reaches.
fn read(format: DocumentFormat, bytes: &[u8]) -> Result<DocumentText, DocumentFailure> {
    workers(60).read(format, bytes)
}
