//! The protocol for asking the owner: frames over a Unix socket in the archive directory.
//!
//! | from | frame | content |
//! |---|---|---|
//! | client | message | `Hello` |
//! | owner | message | `Hello`; if the versions differ the client goes away |
//! | client | message | `Request` |
//! | owner | data, any number | only for a dump: the bytes |
//! | owner | message | `Reply` |
//!
//! Requests follow one another on a connection, one at a time.

pub(crate) mod client;
mod frame;
mod path;
pub(crate) mod server;

use rights::Groups;
use serde::{Deserialize, Serialize};

use crate::AskError;
use crate::cut::CutEpochs;
use crate::question::{Answer, DumpRequest, Question};

/// First message of both sides.
#[derive(Debug, Serialize, Deserialize)]
struct Hello {
    /// Version of the program. Both sides must have the same.
    weft: String,
    /// Process number, for messages to people.
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
        /// For whom; the owner of the archive if absent.
        groups: Option<Groups>,
    },
    Dump(DumpRequest),
    /// Hold the newest cut until this connection ends, so that several dumps are of one epoch.
    Hold,
}

/// A reply of the owner.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reply {
    Answer(Box<Answer>),
    /// End of a dump, with the number of rows.
    Dumped(u64),
    /// The cut that is held now: what dumps name it by, and what it shows.
    Held {
        cut: u64,
        of: CutEpochs,
    },
    Error(AskError),
}
