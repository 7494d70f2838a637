//! The owner's side of the socket: one accepting thread, and one thread per connection.
//!
//! Invariant: after [`Server::stop`] all of its threads have ended and released the archive.

use std::io::{self, BufReader, BufWriter, ErrorKind, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use access::Groups;
use parking_lot::Mutex;

use super::frame::{read_frame, write_data, write_message};
use super::{Hello, Reply, Request, path};
use crate::AskError;
use crate::cut_epochs::CutEpochs;
use crate::question::{Answer, DumpRequest, Question};

/// Limit of connections at once. Further ones are refused, so that a loop in another program cannot
/// take all threads.
const CONNECTIONS_MAX: usize = 256;

/// Bytes of a dump in one frame.
const DATA_BYTES: usize = 256 << 10;

/// Answers the requests of clients.
pub(crate) trait Answerer: Send + Sync + 'static {
    fn ask(&self, question: &Question, groups: Option<&Groups>) -> Result<Answer, AskError>;
    fn dump(&self, request: &DumpRequest, out: &mut dyn Write) -> Result<u64, AskError>;
    /// Holds the newest cut. Returns its number in dump requests, and its epochs.
    fn hold(&self) -> Result<(u64, CutEpochs), AskError>;
    /// Releases a cut held by [`Answerer::hold`].
    fn release(&self, cut: u64);
}

/// A running socket server.
pub(crate) struct Server {
    path: PathBuf,
    /// A second handle of the socket, to end the wait for connections.
    listening: UnixStream,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    stopping: AtomicBool,
    connections: Mutex<Vec<Connection>>,
}

struct Connection {
    /// A second handle, to end the connection from outside.
    stream: UnixStream,
    thread: JoinHandle<()>,
}

impl Server {
    /// Binds the socket and starts answering. The caller holds the lock.
    pub(crate) fn start(path: &Path, answerer: Arc<dyn Answerer>) -> io::Result<Server> {
        let listener = path::bind(path)?;
        let listening = UnixStream::from(OwnedFd::from(listener.try_clone()?));
        let shared = Arc::new(Shared::default());
        let in_thread = shared.clone();
        let accepting = std::thread::Builder::new()
            .name("socket".into())
            .spawn(move || accept_loop(&listener, &in_thread, &answerer))?;
        Ok(Server {
            path: path.to_owned(),
            listening,
            shared,
            accepting: Some(accepting),
        })
    }

    /// Ends all connections and waits for their threads.
    pub(crate) fn stop(&mut self) {
        let Some(accepting) = self.accepting.take() else {
            return;
        };
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Either call wakes the accepting thread, which then sees `stopping`. The first works even
        // if the archive's directory, including the socket, has been removed. The second is for
        // systems on which a shutdown does not end the wait.
        if self.listening.shutdown(Shutdown::Both).is_err() {
            let _ = path::connect(&self.path);
        }
        // A panic was reported when it happened. After the join no new connection can be added, so
        // the loop below ends all of them.
        let _ = accepting.join();
        // A socket left behind does no harm: the next owner replaces it.
        let _ = std::fs::remove_file(&self.path);
        for connection in self.shared.connections.lock().drain(..) {
            // This fails if the client has already disconnected. The shutdown must come before the
            // join, because the thread may be waiting for a request.
            let _ = connection.stream.shutdown(Shutdown::Both);
            let _ = connection.thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn accept_loop(listener: &UnixListener, shared: &Arc<Shared>, answerer: &Arc<dyn Answerer>) {
    for stream in listener.incoming() {
        if shared.stopping.load(Ordering::SeqCst) {
            return;
        }
        let started = stream.and_then(|stream| start_connection(stream, shared, answerer));
        if let Err(error) = started {
            tracing::warn!(%error, "cannot accept a connection to the archive's socket");
            // File descriptors have probably run out. Wait for other connections to end before the
            // next attempt.
            system::pause(std::time::Duration::from_millis(50));
        }
    }
}

fn start_connection(
    stream: UnixStream,
    shared: &Arc<Shared>,
    answerer: &Arc<dyn Answerer>,
) -> io::Result<()> {
    let mut connections = shared.connections.lock();
    connections.retain(|connection| !connection.thread.is_finished());
    if connections.len() >= CONNECTIONS_MAX {
        return Err(io::Error::new(ErrorKind::QuotaExceeded, "too many connections"));
    }
    let handle = stream.try_clone()?;
    let answerer = answerer.clone();
    let thread = std::thread::Builder::new().name("asker".into()).spawn(move || {
        if let Err(error) = converse(&stream, &*answerer) {
            tracing::debug!(%error, "a connection to the archive's socket ended");
        }
    })?;
    connections.push(Connection {
        stream: handle,
        thread,
    });
    Ok(())
}

fn converse(stream: &UnixStream, answerer: &dyn Answerer) -> io::Result<()> {
    let mut input = BufReader::new(stream);
    let mut output = BufWriter::new(stream);
    let Some(frame) = read_frame(&mut input)? else {
        return Ok(());
    };
    let hello: Hello = frame.message()?;
    write_message(&mut output, &Hello::ours())?;
    if hello.weft != crate::version::VERSION {
        return Ok(());
    }
    let mut holding = HeldCuts {
        answerer,
        cuts: Vec::new(),
    };
    while let Some(frame) = read_frame(&mut input)? {
        let reply = match frame.message()? {
            Request::Ask { question, groups } => match answerer.ask(&question, groups.as_ref()) {
                Ok(answer) => Reply::Answer(Box::new(answer)),
                Err(error) => Reply::Error(error),
            },
            Request::Dump(request) => dump(answerer, &request, &mut output)?,
            Request::Hold => match answerer.hold() {
                Ok((cut, of)) => {
                    holding.cuts.push(cut);
                    Reply::Held { cut, of }
                }
                Err(error) => Reply::Error(error),
            },
        };
        write_message(&mut output, &reply)?;
    }
    Ok(())
}

/// The cuts that a connection holds. They are released when it ends.
struct HeldCuts<'a> {
    answerer: &'a dyn Answerer,
    cuts: Vec<u64>,
}

impl Drop for HeldCuts<'_> {
    fn drop(&mut self) {
        for cut in &self.cuts {
            self.answerer.release(*cut);
        }
    }
}

fn dump(answerer: &dyn Answerer, request: &DumpRequest, output: &mut impl Write) -> io::Result<Reply> {
    let mut chunks = BufWriter::with_capacity(DATA_BYTES, Chunks { output });
    let reply = match answerer.dump(request, &mut chunks) {
        Ok(rows) => Reply::Dumped(rows),
        Err(error) => Reply::Error(error),
    };
    chunks.flush()?;
    Ok(reply)
}

/// Turns writes into data frames.
struct Chunks<'a, W: Write> {
    output: &'a mut W,
}

impl<W: Write> Write for Chunks<'_, W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let chunk = &data[..data.len().min(DATA_BYTES)];
        write_data(self.output, chunk)?;
        Ok(chunk.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}
