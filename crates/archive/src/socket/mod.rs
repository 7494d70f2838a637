//! The protocol for asking the owner: frames over a Unix socket in the archive directory.
//!
//! | from | frame | content |
//! |---|---|---|
//! | client | message | `Hello` |
//! | owner | message | `Hello`; if the versions differ the client disconnects |
//! | client | message | `Request` |
//! | owner | data, any number | only for a dump: the bytes |
//! | owner | message | `Reply` |
//!
//! Requests follow one another on a connection, one at a time.

pub(crate) mod client;
mod frame;
mod path;
pub(crate) mod server;

use access::Groups;
use serde::{Deserialize, Serialize};

use crate::AskError;
use crate::cut_epochs::CutEpochs;
use crate::question::{Answer, DumpRequest, Question};

/// The first message of both sides.
#[derive(Debug, Serialize, Deserialize)]
struct Hello {
    /// Version of the program. Both sides must have the same.
    weft: String,
    /// Process number, for messages to users.
    pid: u32,
}

impl Hello {
    fn ours() -> Hello {
        Hello {
            weft: crate::version::VERSION.to_owned(),
            pid: std::process::id(),
        }
    }
}

/// A request of a client.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Request {
    Ask {
        question: Box<Question>,
        /// Groups of the client; absent for the owner of the archive.
        groups: Option<Groups>,
    },
    Dump(DumpRequest),
    /// Hold the newest cut until this connection ends, so that several dumps show the same epoch.
    Hold,
}

/// A reply of the owner.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reply {
    Answer(Box<Answer>),
    /// End of a dump, with the number of rows.
    Dumped(u64),
    /// The cut now held: its number in dump requests, and its epochs.
    Held {
        cut: u64,
        of: CutEpochs,
    },
    Error(AskError),
}
