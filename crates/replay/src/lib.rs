//! Rewrites archived pages so that their references lead to captures: addresses of captures, and
//! references in HTML, CSS and redirects.
//!
//! The crate consists of pure functions and streams, without I/O. It does not know the captures or
//! how they are served.
//!
//! Invariants:
//! - Content other than references is unchanged, byte for byte. A document without references only
//!   gets the shim ([`SHIM`]).
//! - A reference to the web becomes an [`Address`] of the archive or is unchanged. Rewriting never
//!   adds references to the live web.
//! - No input causes a panic, and memory is bounded for any input ([`MEMORY_BYTES_MAX`],
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
pub mod sandbox;
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

/// The script that runs before all others in a rewritten page. It redirects requests of scripts to
/// the archive.
pub const SHIM: &str = include_str!("../assets/shim.js");

/// Name of the frame that shows a page. Links that would leave the frame or open a window open in
/// it. [`SHIM`] contains the same name.
pub const FRAME_NAME: &str = "weft-replay";

/// Path of [`SHIM`] on the port that shows archived pages.
pub const SHIM_PATH: &str = "/static/replay.js";

/// Maximum memory of a document being rewritten, without its pieces, in bytes. A longer tag or text
/// of a style sheet ends the rewriting with an error.
pub const MEMORY_BYTES_MAX: usize = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shim_knows_its_frame() {
        assert!(SHIM.contains(&format!("const FRAME = \"{FRAME_NAME}\";")));
    }
}
