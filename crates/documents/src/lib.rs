//! Title and text of PDF, EPUB and office files.
//!
//! Their parsers meet whatever the web has: they crash, hang, and ask for more memory than there is. So a document is parsed by a
//! *worker*, a process of its own with limits of time and memory, which costs that one document its text when it fails.
//!
//! Invariants:
//! - no bytes of a document end, stop or slow the process that asks, beyond the time limit;
//! - a worker ends when the process that started it does, however that ends, and none is left behind as a zombie;
//! - the text of a document follows from its bytes alone, unless a limit of time or memory was reached.
//!
//! [`Workers`] is the side that asks, [`worker::run`] the one that parses.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod bounded;
mod office;
mod package;
mod pdf;
mod process;
mod protocol;
pub mod worker;
mod workers;
mod xml_text;

pub use workers::{Limits, Workers};
