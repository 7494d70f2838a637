//! Executes orders in a separate process, which is killed or finds its disk full.
//!
//! The process is this program: if its environment contains an order, it executes the order and
//! exits.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::order::{Ended, Order, Seen, carry_out};
use super::plan::Fault;

const ORDER: &str = "WEFT_SIMULATE_ORDER";

/// Timeout of an order. Orders take far less unless they hang.
const TIME_MAX: Duration = Duration::from_secs(100);

/// Signal number of `abort`.
const SIGABRT: i32 = 6;

/// A line of output of the process.
#[derive(Serialize, Deserialize)]
enum Said {
    Seen(Seen),
    Ended(Ended),
}

/// The result of an order.
pub(super) struct Outcome {
    /// All states that a reader saw, in order.
    pub(super) seen: Vec<Seen>,
    /// How the action ended; `None` if the process was killed.
    pub(super) ended: Option<Ended>,
}

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Sets the path of the program `simulate`, if the caller is another one, such as a test.
pub fn set_program(program: PathBuf) {
    PROGRAM.get_or_init(|| program);
}

/// Executes the order in the environment, if there is one. Must be called first in `main`.
pub fn serve() -> Option<ExitCode> {
    let order = std::env::var(ORDER).ok()?;
    let order: Order = serde_json::from_str(&order).expect("the order is JSON");
    std::thread::spawn(|| {
        std::thread::sleep(TIME_MAX);
        eprintln!("the order did not finish within {TIME_MAX:?}");
        std::process::exit(3);
    });
    let ended = carry_out(&order, &mut |seen| say(&Said::Seen(seen)));
    say(&Said::Ended(ended));
    Some(ExitCode::SUCCESS)
}

fn say(said: &Said) {
    let mut line = serde_json::to_vec(said).expect("the message is serializable");
    line.push(b'\n');
    std::io::stdout()
        .write_all(&line)
        .expect("the parent process reads the output");
}

/// Executes an order in another process, with a fault. `file_bytes_max` limits the size of its
/// files.
pub(super) fn run(order: &Order, fault: &Fault, file_bytes_max: Option<u64>) -> Result<Outcome, String> {
    let program = PROGRAM.get().cloned().map_or_else(std::env::current_exe, Ok);
    let program = program.map_err(|error| format!("cannot find this program: {error}"))?;
    let mut command = match file_bytes_max {
        None => Command::new(program),
        Some(bytes) => {
            // With the signal ignored, the write call fails instead. The limit is in blocks of 512
            // bytes.
            let script = format!("trap '' XFSZ; ulimit -S -f {}; exec \"$0\"", bytes / 512);
            let mut shell = Command::new("sh");
            shell.args(["-c", &script]).arg(program);
            shell
        }
    };
    command.env(ORDER, serde_json::to_string(order).expect("it is serializable"));
    if let Fault::Kill { point, nth } = fault {
        command.env("WEFT_CRASH_POINT", format!("{point}:{nth}"));
    }
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot start a process: {error}"))?;
    let mut outcome = Outcome {
        seen: Vec::new(),
        ended: None,
    };
    for line in output.stdout.split(|byte| *byte == b'\n') {
        // The last line of a killed process may be incomplete.
        match serde_json::from_slice(line) {
            Ok(Said::Seen(seen)) => outcome.seen.push(seen),
            Ok(Said::Ended(ended)) => outcome.ended = Some(ended),
            Err(_) => {}
        }
    }
    let told = String::from_utf8_lossy(&output.stderr);
    let may_be_killed = matches!(fault, Fault::Kill { .. } | Fault::Abort { .. });
    match (output.status.signal(), &outcome.ended) {
        (Some(SIGABRT), None) if may_be_killed => Ok(outcome),
        (None, Some(_)) if output.status.success() && !told.contains("panicked at") => Ok(outcome),
        _ => Err(format!("the process ended with {}:\n{told}", output.status)),
    }
}
