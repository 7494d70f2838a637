//! The owner's side of the socket: one thread that accepts, and one thread for each connection.
//!
//! Invariant: after [`Server::stop`] none of its threads runs and none holds the open archive.

use std::io::{self, BufReader, BufWriter, ErrorKind, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::Mutex;
use rights::Groups;
use rustix::event::{PollFd, PollFlags, poll};

use super::frame::{read_frame, write_data, write_message};
use super::{Hello, Reply, Request, path};
use crate::AskError;
use crate::cut::CutEpochs;
use crate::question::{Answer, DumpRequest, Question};

/// Most connections at once. Further ones are refused, so that a loop in another program cannot take all
/// threads.
const CONNECTIONS_MAX: usize = 256;

/// Bytes of a dump in one frame.
const DATA_BYTES: usize = 256 << 10;

/// Answers the requests of clients.
pub(crate) trait Answerer: Send + Sync + 'static {
    fn ask(&self, question: &Question, groups: Option<&Groups>) -> Result<Answer, AskError>;
    fn dump(&self, request: &DumpRequest, out: &mut dyn Write) -> Result<u64, AskError>;
    /// Holds the newest cut; gives what dumps name it by, and what it shows.
    fn hold(&self) -> Result<(u64, CutEpochs), AskError>;
    /// Ends what [`Answerer::hold`] began.
    fn release(&self, cut: u64);
}

/// A running socket server.
pub(crate) struct Server {
    path: PathBuf,
    /// The accepting thread ends when this is closed.
    running: UnixStream,
    connections: Arc<Connections>,
    accepting: Option<JoinHandle<()>>,
}

type Connections = Mutex<Vec<Connection>>;

struct Connection {
    /// A second handle, for ending the connection from outside.
    stream: UnixStream,
    thread: JoinHandle<()>,
}

impl Server {
    /// Binds the socket and starts answering. The caller holds the lock.
    pub(crate) fn start(path: &Path, answerer: Arc<dyn Answerer>) -> io::Result<Server> {
        let listener = path::bind(path)?;
        listener.set_nonblocking(true)?;
        let (running, stopped) = UnixStream::pair()?;
        let connections = Arc::new(Connections::default());
        let in_thread = connections.clone();
        let accepting = std::thread::Builder::new()
            .name("socket".into())
            .spawn(move || accept_loop(&listener, &stopped, &in_thread, &answerer))?;
        Ok(Server {
            path: path.to_owned(),
            running,
            connections,
            accepting: Some(accepting),
        })
    }

    /// Ends all connections and waits for their threads.
    pub(crate) fn stop(&mut self) {
        let Some(accepting) = self.accepting.take() else {
            return;
        };
        // This fails if that thread has already ended.
        let _ = self.running.shutdown(Shutdown::Both);
        // A panic was reported when it happened. After the join no new connection can be added, so the loop
        // below ends all of them.
        let _ = accepting.join();
        // A socket left behind does no harm: the next owner replaces it.
        let _ = std::fs::remove_file(&self.path);
        for connection in self.connections.lock().drain(..) {
            // This fails if the client has gone already. The shutdown must come before the join, because the
            // thread may be waiting for a request.
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

fn accept_loop(
    listener: &UnixListener,
    stopped: &UnixStream,
    connections: &Connections,
    answerer: &Arc<dyn Answerer>,
) {
    while let Some(stream) = accept(listener, stopped) {
        let started = stream.and_then(|stream| start_connection(stream, connections, answerer));
        if let Err(error) = started {
            tracing::warn!(%error, "a connection to the archive's socket was not answered");
            // File descriptors have probably run out. Wait for other connections to end before the next
            // attempt.
            ambient::pause(std::time::Duration::from_millis(50));
        }
    }
}

/// The next connection; `None` once the other end of `stopped` is closed. A connection of our own would not end the wait if
/// the archive's directory, and with it the socket, is gone.
fn accept(listener: &UnixListener, stopped: &UnixStream) -> Option<io::Result<UnixStream>> {
    loop {
        let mut events = [
            PollFd::new(stopped, PollFlags::IN),
            PollFd::new(listener, PollFlags::IN),
        ];
        match poll(&mut events, None) {
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Some(Err(error.into())),
            Ok(_) if !events[0].revents().is_empty() => return None,
            Ok(_) => {}
        }
        match listener.accept() {
            // Who asked has gone again.
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Some(Err(error)),
            Ok((stream, _)) => return Some(stream.set_nonblocking(false).map(|()| stream)),
        }
    }
}

fn start_connection(
    stream: UnixStream,
    connections: &Connections,
    answerer: &Arc<dyn Answerer>,
) -> io::Result<()> {
    let mut connections = connections.lock();
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
    if hello.weft != crate::VERSION {
        return Ok(());
    }
    let mut holding = Holding {
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

/// The cuts that a connection holds: no longer than it lives.
struct Holding<'a> {
    answerer: &'a dyn Answerer,
    cuts: Vec<u64>,
}

impl Drop for Holding<'_> {
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
