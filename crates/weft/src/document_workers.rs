//! Connects archives to worker processes, which run this same program and extract text from
//! documents.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use archive::DocumentReader;
use documents::{Limits, Workers, worker};

/// This program, even if its file has been replaced or removed since it started. A worker of
/// another version might speak another protocol.
const SELF: &str = "/proc/self/exe";

/// Runs as a worker if this process was started as one. The worker command is internal, so it is
/// not on the command line.
pub(crate) fn run_as_one() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let is_worker = arguments.next().is_some_and(|first| first == worker::COMMAND);
    is_worker.then(|| worker::run(arguments.filter_map(|argument| argument.into_string().ok())))
}

/// Returns the reader of documents for an archive that this process owns.
pub(crate) fn reader() -> Arc<dyn DocumentReader> {
    let program = if Path::new(SELF).exists() {
        PathBuf::from(SELF)
    } else {
        // If the path is unknown, starting a worker fails, and each document reports that.
        std::env::current_exe().unwrap_or_default()
    };
    Arc::new(Workers::new(program, Limits::default()))
}
