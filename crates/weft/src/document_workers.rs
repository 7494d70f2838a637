//! Joins archives to the workers that read their documents: processes of this very program.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use archive::DocumentReader;
use documents::{Limits, Workers, worker};

/// This program, also where its file has been replaced or removed since it was started: a worker of another version might not
/// understand it.
const SELF: &str = "/proc/self/exe";

/// Runs as a worker, if this process was started as one. The command is not for people, so it is no part of the command line.
pub(crate) fn run_as_one() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let is_worker = arguments.next().is_some_and(|first| first == worker::COMMAND);
    is_worker.then(|| worker::run(arguments.filter_map(|argument| argument.into_string().ok())))
}

/// What reads the documents of an archive that this process owns.
pub(crate) fn reader() -> Arc<dyn DocumentReader> {
    let program = match Path::new(SELF).exists() {
        true => PathBuf::from(SELF),
        // If it is not known, starting it fails, and says so for each document.
        false => std::env::current_exe().unwrap_or_default(),
    };
    Arc::new(Workers::new(program, Limits::default()))
}
