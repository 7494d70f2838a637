//! A worker: reads documents from a socket and answers with their text or other results, until the
//! socket closes.
//!
//! Before the first document it gives up memory beyond the limit, core files and new privileges. It
//! starts without files, environment and network connections.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use extract::{DocumentFormat, DocumentText};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::protocol::{self, Answer, Task};
use crate::{office, pdf, picture};

/// The first argument that makes a program a worker; the second is its memory limit in MiB.
pub const COMMAND: &str = "extract-worker";

/// Stack size of the parsing thread, in bytes. It is fixed, so that the possible nesting of a
/// document does not depend on system settings.
const STACK_BYTES: usize = 16 << 20;

/// Default memory limit, in MiB.
const MEMORY_MEBIBYTES: u64 = 512;

/// Runs as a worker, with the arguments after [`COMMAND`].
pub fn run(arguments: impl Iterator<Item = String>) -> ExitCode {
    match serve(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A failure here cannot be reported.
            let _ = io::Write::write_all(&mut io::stderr(), error.to_string().as_bytes());
            ExitCode::FAILURE
        }
    }
}

fn serve(mut arguments: impl Iterator<Item = String>) -> io::Result<()> {
    let mebibytes = arguments.next().and_then(|text| text.parse().ok());
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    give_up(mebibytes.unwrap_or(MEMORY_MEBIBYTES))?;
    // Panics become answers; their messages would fill the pipe.
    std::panic::set_hook(Box::new(|_| {}));
    let its = socket.try_clone()?;
    let parsing = std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || {
            // Without the socket there is nothing left to do, whatever the error.
            let _ = answer_all(its);
            std::process::exit(0);
        })?;
    wait_for_the_end(&socket)?;
    drop(parsing);
    Ok(())
}

fn give_up(mebibytes: u64) -> io::Result<()> {
    let limit = |resource, most: u64| {
        setrlimit(
            resource,
            Rlimit {
                current: Some(most),
                maximum: Some(most),
            },
        )
    };
    limit(Resource::As, mebibytes << 20)?;
    limit(Resource::Core, 0)?;
    // Forbids writing any file.
    limit(Resource::Fsize, 0)?;
    #[cfg(target_os = "linux")]
    rustix::thread::set_no_new_privs(true)?;
    Ok(())
}

/// Returns when the other process closes its end or is gone, also while a document is parsed.
fn wait_for_the_end(socket: &UnixStream) -> io::Result<()> {
    loop {
        let mut ends = [PollFd::new(socket, PollFlags::RDHUP)];
        match poll(&mut ends, None) {
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(_) => return Ok(()),
        }
    }
}

fn answer_all(mut socket: UnixStream) -> io::Result<()> {
    while let Some((task, document)) = protocol::asked(&mut socket)? {
        let text = |error: picture::ImageError| error.to_string();
        match task {
            Task::Text(format) => protocol::answer(&mut socket, &guarded(|| read(format, &document))),
            Task::Describe { exif } => {
                let found = guarded(|| picture::describe(&document, exif).map_err(text));
                protocol::answer(&mut socket, &found)
            }
            Task::Thumbnail => {
                let found = guarded(|| picture::thumbnail(&document).map_err(text));
                protocol::answer(&mut socket, &found)
            }
        }?;
    }
    Ok(())
}

/// Returns the answer of a parser. A panic becomes the reason of a failure.
fn guarded<T>(read: impl FnOnce() -> Result<T, String>) -> Answer<T> {
    let found = catch_unwind(AssertUnwindSafe(read));
    let found = found.unwrap_or_else(|panic| Err(format!("its parser panicked: {}", message(&*panic))));
    Answer(found)
}

fn message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without a message")
}

fn read(format: DocumentFormat, document: &[u8]) -> Result<DocumentText, String> {
    match format {
        DocumentFormat::Pdf => pdf::read(document).map_err(|error| error.to_string()),
        _ => office::read(format, document).map_err(|error| error.to_string()),
    }
}
