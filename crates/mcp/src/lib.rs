//! The Model Context Protocol (<https://modelcontextprotocol.io/specification>): offers questions to
//! an archive as tools for language models.
//!
//! [`answer`] maps one JSON-RPC message to its reply and keeps no state between messages. [`serve`]
//! reads messages from a stream, one per line. [`answer_http`] is for a server that receives them over
//! HTTP. Invariants:
//!
//! - Each request gets exactly one reply, a result or an error, whatever its content. Other
//!   messages get none.
//! - Archived text is in lines that begin with [`QUOTE`], and in no others.
//! - An answer has at most [`ANSWER_CHARS_MAX`] characters. A longer list or text is cut, and the
//!   answer says how to get the rest.
//!
//! Only the few messages that a server of tools needs are implemented, because the crate `rmcp`
//! changes features of `serde` and `schemars`, with which almost every dependency would be built
//! again for `weft`.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod arguments;
mod http;
mod lines;
mod message;
mod protocol;
mod text;
mod tools;

use archive::AskError;
use archive::question::{Answer, Question};

pub use http::{HttpReply, RoutingHeaders};
pub use lines::serve;
pub use message::MESSAGE_BYTES_MAX;
pub use protocol::{answer, answer_http};
pub use text::{ANSWER_CHARS_MAX, QUOTE};

/// Asks the archive one question, with the permissions of the client.
pub type AskArchive<'a> = &'a dyn Fn(Question) -> Result<Answer, AskError>;
