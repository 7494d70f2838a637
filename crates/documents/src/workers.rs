//! The workers of a process. Their number follows the number of concurrent reads, and each is
//! reused.

use std::path::PathBuf;

use extract::{DocumentFailure, DocumentFormat, DocumentReader, DocumentText, ImageFacts, Thumbnail};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;

use crate::limits::Limits;
use crate::process::Process;
use crate::protocol::{DOCUMENT_BYTES_MAX, Task};

/// Reads documents with workers. There are never more workers than threads that read concurrently.
#[derive(Debug)]
pub struct Workers {
    program: PathBuf,
    limits: Limits,
    idle: Mutex<Vec<Process>>,
}

impl Workers {
    /// Creates a pool that starts workers on demand. Their program is `program`, which must call
    /// [`crate::worker::run`] when its first argument is [`crate::worker::COMMAND`].
    pub fn new(program: PathBuf, limits: Limits) -> Workers {
        Workers {
            program,
            limits,
            idle: Mutex::default(),
        }
    }

    fn start(&self) -> Result<Process, DocumentFailure> {
        Process::start(&self.program, self.limits)
            .map_err(|error| DocumentFailure::NoReader(format!("start {}: {error}", self.program.display())))
    }

    fn ask_process<T: DeserializeOwned>(
        &self,
        mut process: Process,
        task: Task,
        bytes: &[u8],
    ) -> Result<T, DocumentFailure> {
        let read = process.read(task, bytes, self.limits);
        if matches!(&read, Ok(_) | Err(DocumentFailure::Unreadable(_))) {
            process.is_used = true;
            self.idle.lock().push(process);
        }
        read
    }

    fn ask<T: DeserializeOwned>(&self, task: Task, bytes: &[u8]) -> Result<T, DocumentFailure> {
        if bytes.len() > DOCUMENT_BYTES_MAX {
            return Err(DocumentFailure::Unreadable(format!(
                "it has {} bytes, more than {DOCUMENT_BYTES_MAX}",
                bytes.len()
            )));
        }
        // A separate statement, because the lock must not be held during the read.
        let idle = self.idle.lock().pop();
        if let Some(process) = idle {
            match self.ask_process(process, task, bytes) {
                // The worker may have been ended from outside, or have used up memory for earlier
                // documents. A fresh worker retries, because the same bytes must give the same
                // answer.
                Err(DocumentFailure::Crashed(_) | DocumentFailure::Memory { .. }) => {}
                read => return read,
            }
        }
        self.ask_process(self.start()?, task, bytes)
    }
}

impl DocumentReader for Workers {
    fn read(&self, format: DocumentFormat, bytes: &[u8]) -> Result<DocumentText, DocumentFailure> {
        self.ask(Task::Text(format), bytes)
    }

    fn describe(&self, bytes: &[u8], exif: bool) -> Result<ImageFacts, DocumentFailure> {
        self.ask(Task::Describe { exif }, bytes)
    }

    fn thumbnail(&self, bytes: &[u8]) -> Result<Thumbnail, DocumentFailure> {
        self.ask(Task::Thumbnail, bytes)
    }

    fn rest(&self) {
        self.idle.lock().clear();
    }
}
