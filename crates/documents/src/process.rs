//! A worker process, as seen by the calling process: start, request, end.

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use extract::DocumentFailure;
use serde::de::DeserializeOwned;

use crate::limits::Limits;
use crate::protocol::{self, Answer, Task};

/// Minimum timeout of a read or write: the system rejects a timeout of zero.
const TIMEOUT_MIN: Duration = Duration::from_millis(1);

/// How much of a worker's final messages is read, in bytes.
const FINAL_STDERR_BYTES: u64 = 4096;

/// Rust's message before it aborts for lack of memory.
const NO_MEMORY: &str = "memory allocation of";

/// The signal that the system's OOM killer sends.
const SIGKILL: i32 = 9;

/// A running worker. Dropping it ends the process and waits for its end, so that it leaves no
/// zombie.
pub(crate) struct Process {
    child: Child,
    socket: UnixStream,
    /// Its standard error.
    stderr: OwnedFd,
    /// Whether it has already read a document.
    pub(crate) is_used: bool,
}

impl Process {
    /// Starts a worker: this program with the worker's arguments.
    pub(crate) fn start(program: &Path, limits: Limits) -> io::Result<Process> {
        let (socket, socket_of_child) = UnixStream::pair()?;
        let (stderr, stderr_of_child) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        // Neither side blocks on a parser's messages; those that do not fit are lost.
        for end in [&stderr, &stderr_of_child] {
            let flags = rustix::fs::fcntl_getfl(end)?;
            rustix::fs::fcntl_setfl(end, flags | rustix::fs::OFlags::NONBLOCK)?;
        }
        let child = Command::new(program)
            .arg(crate::worker::COMMAND)
            .arg(limits.memory_mebibytes.to_string())
            // The worker gets only a socket: no environment, no directory, no other file.
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(socket_of_child)))
            .stdout(Stdio::null())
            .stderr(Stdio::from(stderr_of_child))
            .spawn()?;
        Ok(Process {
            child,
            socket,
            stderr,
            is_used: false,
        })
    }

    /// Sends a document and reads the answer. After a failure other than
    /// [`DocumentFailure::Unreadable`] the process must not be used again.
    pub(crate) fn read<T: DeserializeOwned>(
        &mut self,
        task: Task,
        document: &[u8],
        limits: Limits,
    ) -> Result<T, DocumentFailure> {
        let mut timed = Timed {
            socket: &self.socket,
            until: system::now() + Duration::from_secs(limits.seconds),
        };
        let sent = protocol::ask(&mut timed, task, document);
        match sent.and_then(|()| protocol::answered(&mut timed)) {
            Ok(Some(Answer(answer))) => answer.map_err(DocumentFailure::Unreadable),
            Err(error) if is_timeout(&error) => Err(DocumentFailure::Time {
                seconds: limits.seconds,
            }),
            Ok(None) => Err(self.failure_of_end(None, limits)),
            Err(error) => Err(self.failure_of_end(Some(error), limits)),
        }
    }

    /// Returns why the process ended, or that it violated the protocol.
    fn failure_of_end(&mut self, error: Option<io::Error>, limits: Limits) -> DocumentFailure {
        // The connection broke either because the process ended, or because of an invalid answer.
        let is_process_end = error.as_ref().is_none_or(|error| {
            matches!(
                error.kind(),
                io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
            )
        });
        if let (Some(error), false) = (&error, is_process_end) {
            return DocumentFailure::Crashed(error.to_string());
        }
        match self.child.wait() {
            Ok(status) => failure(status, &self.final_stderr(), limits),
            Err(error) => DocumentFailure::Crashed(error.to_string()),
        }
    }

    fn final_stderr(&self) -> String {
        let mut stderr = Vec::new();
        if let Ok(pipe) = self.stderr.try_clone() {
            // The pipe does not block: the read ends with an error if the pipe is empty but still
            // open.
            let _ = std::fs::File::from(pipe)
                .take(FINAL_STDERR_BYTES)
                .read_to_end(&mut stderr);
        }
        String::from_utf8_lossy(&stderr).trim().to_owned()
    }
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Process")
            .field("is_used", &self.is_used)
            .finish_non_exhaustive()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only if the process has already been waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn failure(status: ExitStatus, stderr: &str, limits: Limits) -> DocumentFailure {
    let is_memory = stderr.contains(NO_MEMORY) || status.signal() == Some(SIGKILL);
    if is_memory {
        return DocumentFailure::Memory {
            mebibytes: limits.memory_mebibytes,
        };
    }
    let last = stderr.lines().next().unwrap_or_default();
    DocumentFailure::Crashed(match last {
        "" => status.to_string(),
        _ => format!("{status}: {last}"),
    })
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// Reads and writes until a deadline.
struct Timed<'a> {
    socket: &'a UnixStream,
    until: Instant,
}

impl Timed<'_> {
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.until.saturating_duration_since(system::now());
        if left.is_zero() {
            Err(io::ErrorKind::TimedOut.into())
        } else {
            Ok(Some(left.max(TIMEOUT_MIN)))
        }
    }
}

impl io::Read for Timed<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(self.left()?)?;
        self.socket.read(into)
    }
}

impl io::Write for Timed<'_> {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(self.left()?)?;
        io::Write::write(&mut self.socket, from)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
