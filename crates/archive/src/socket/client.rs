//! The client side of the socket.

use std::io::{self, BufReader, BufWriter, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use access::Groups;
use parking_lot::Mutex;

use super::frame::{Frame, read_frame, write_message};
use super::{Hello, Reply, Request, path};
use crate::AskError;
use crate::cut_epochs::CutEpochs;
use crate::question::{Answer, DumpRequest, Question};

/// Time limit for the owner's greeting. A live owner accepts within milliseconds.
const GREETING_TIME_MAX: Duration = Duration::from_secs(5);

/// Limit of idle connections kept for later questions.
const IDLE_MAX: usize = 4;

/// Connections to the owner of an archive.
pub(crate) struct Client {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

/// Why a client gets no answer.
pub(crate) enum ClientError {
    /// The owner has ended, or there was none.
    Lost(io::Error),
    /// The owner runs another version of the program.
    Version { found: String },
    /// The owner answered with an error.
    Answered(AskError),
    /// The client's own output failed (a dump into a closed pipe).
    Output(io::Error),
}

impl From<io::Error> for ClientError {
    fn from(error: io::Error) -> ClientError {
        ClientError::Lost(error)
    }
}

/// A cut that the owner holds.
pub(crate) struct HeldCut {
    /// The number of the cut in dump requests.
    pub(crate) cut: u64,
    pub(crate) of: CutEpochs,
    _connection: Connection,
}

struct Connection {
    input: BufReader<UnixStream>,
    output: BufWriter<UnixStream>,
}

impl Client {
    /// Connects and checks the version.
    pub(crate) fn connect(path: &Path) -> Result<Client, ClientError> {
        let first = Connection::open(path)?;
        Ok(Client {
            path: path.to_owned(),
            idle: Mutex::new(vec![first]),
        })
    }

    pub(crate) fn ask(&self, question: &Question, groups: Option<&Groups>) -> Result<Answer, ClientError> {
        let request = Request::Ask {
            question: Box::new(question.clone()),
            groups: groups.cloned(),
        };
        match self.request(&request, &mut io::sink())? {
            Reply::Answer(answer) => Ok(*answer),
            Reply::Error(error) => Err(ClientError::Answered(error)),
            Reply::Dumped(_) | Reply::Held { .. } => Err(unexpected("a reply that is not an answer")),
        }
    }

    pub(crate) fn dump(&self, request: &DumpRequest, out: &mut dyn Write) -> Result<u64, ClientError> {
        match self.request(&Request::Dump(request.clone()), out)? {
            Reply::Dumped(rows) => Ok(rows),
            Reply::Error(error) => Err(ClientError::Answered(error)),
            Reply::Answer(_) | Reply::Held { .. } => Err(unexpected("a reply that does not end a dump")),
        }
    }

    /// Makes the owner hold its newest cut until the returned value is dropped.
    pub(crate) fn hold(&self) -> Result<HeldCut, ClientError> {
        let mut connection = Connection::open(&self.path)?;
        match connection.exchange(&Request::Hold, &mut io::sink())? {
            Reply::Held { cut, of } => Ok(HeldCut {
                cut,
                of,
                _connection: connection,
            }),
            Reply::Error(error) => Err(ClientError::Answered(error)),
            Reply::Answer(_) | Reply::Dumped(_) => Err(unexpected("a reply that is not a cut")),
        }
    }

    /// Sends a request. The connection becomes idle again only after a complete exchange: after an
    /// error its state is unknown, so it is dropped.
    fn request(&self, request: &Request, data: &mut dyn Write) -> Result<Reply, ClientError> {
        let idle = self.idle.lock().pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => Connection::open(&self.path)?,
        };
        let reply = connection.exchange(request, data)?;
        let mut idle = self.idle.lock();
        if idle.len() < IDLE_MAX {
            idle.push(connection);
        }
        Ok(reply)
    }
}

impl Connection {
    fn open(path: &Path) -> Result<Connection, ClientError> {
        let stream = path::connect(path)?;
        stream.set_read_timeout(Some(GREETING_TIME_MAX))?;
        let mut connection = Connection {
            input: BufReader::new(stream.try_clone()?),
            output: BufWriter::new(stream),
        };
        write_message(&mut connection.output, &Hello::ours())?;
        let hello: Hello = connection.read()?.message()?;
        if hello.weft != crate::version::VERSION {
            return Err(ClientError::Version { found: hello.weft });
        }
        // From here on answers may take any time: a dump or a check reads the whole index.
        connection.input.get_ref().set_read_timeout(None)?;
        Ok(connection)
    }

    fn exchange(&mut self, request: &Request, data: &mut dyn Write) -> Result<Reply, ClientError> {
        write_message(&mut self.output, request)?;
        loop {
            match self.read()? {
                Frame::Data(bytes) => data.write_all(&bytes).map_err(ClientError::Output)?,
                message => return Ok(message.message()?),
            }
        }
    }

    fn read(&mut self) -> io::Result<Frame> {
        read_frame(&mut self.input)?.ok_or_else(|| ErrorKind::UnexpectedEof.into())
    }
}

fn unexpected(what: &str) -> ClientError {
    ClientError::Lost(io::Error::new(
        ErrorKind::InvalidData,
        format!("the owner sent {what}"),
    ))
}
