//! Makes archived pages lead to captures: addresses of captures, and HTML, CSS and redirects whose references are rewritten to them.
//!
//! Pure functions and streams, without input or output; who serves them and what is captured is not known here.
//!
//! Invariants:
//! - what is no reference stays as it is, byte for byte: a document without references is only given the shim ([`SHIM`]);
//! - a reference to the web leads to an [`Address`] of the archive or stays as it is; no rewritten document names more of the live
//!   web than it did before;
//! - no bytes cause a panic, and memory is bounded whatever they are ([`MEMORY_BYTES_MAX`],
//!   [`REWRITTEN_BYTES_MAX`]).

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod address;
mod bounded;
mod css;
mod elements;
mod html;
mod instruction;
mod plain;
mod prolog;
mod references;
mod scope;
mod script;
mod srcset;
mod xhtml;

pub use address::{Address, AddressError, Modifier, PREFIX};
pub use bounded::REWRITTEN_BYTES_MAX;
pub use css::{CSS_BYTES_MAX, rewrite_css};
pub use html::{Markup, Rewriter, Scripts};
pub use references::{Reference, References, Role};
pub use scope::Scope;
pub use xhtml::xml_markup;

/// The script that stands before all others in a rewritten page. It maps what scripts ask for to the archive.
pub const SHIM: &str = include_str!("../assets/shim.js");

/// Name of the frame that a page is shown in; links that would leave it or open a window open in it. [`SHIM`] has it, too.
pub const FRAME_NAME: &str = "weft-replay";

/// Path of [`SHIM`] on the port that shows archived pages.
pub const SHIM_PATH: &str = "/static/replay.js";

/// Most bytes that a document being rewritten may need beside its pieces: a tag, or the text of a style, that is longer ends the
/// rewriting with an error.
pub const MEMORY_BYTES_MAX: usize = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shim_knows_its_frame() {
        assert!(SHIM.contains(&format!("const FRAME = \"{FRAME_NAME}\";")));
    }
}
