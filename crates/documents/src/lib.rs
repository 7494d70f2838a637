//! Title and text of PDF, EPUB and office files; size, perceptual hash, EXIF data
//! and thumbnail of images.
//!
//! Parsers of such files meet hostile input on the web: they crash, hang, and exhaust memory. So a
//! document is parsed by a *worker*, a separate process with limits of time and memory. A failure
//! costs only that document its text.
//!
//! Invariants:
//! - No bytes of a document end, stop or slow the calling process beyond the time limit.
//! - A worker ends when the process that started it ends, however that happens, and leaves no
//!   zombie.
//! - An answer depends only on the bytes of the document, unless a limit of time or memory was
//!   reached.
//!
//! [`Workers`] is the calling side, [`worker::run`] the parsing side.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod bounded;
mod image_exif;
mod limits;
mod office;
mod package;
mod pdf;
mod picture;
mod process;
mod protocol;
pub mod worker;
mod workers;
mod xml_text;

pub use limits::Limits;
pub use workers::Workers;
