//! Rewrites archived pages so that their references lead to captures: addresses of captures, and
//! references in HTML, CSS and redirects.
//!
//! The crate consists of pure functions and streams, without I/O. It does not know the captures or
//! how they are served.
//!
//! A document in the origin of its site ([`origin`]) keeps its references. These invariants are about
//! all others.
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
mod markup;
pub mod origin;
mod plain;
mod prolog;
mod references;
pub mod sandbox;
mod scope;
mod script;
mod shim;
mod srcset;
mod xhtml;

pub use address::{Address, AddressError, Modifier, PREFIX};
pub use bounded::{MEMORY_BYTES_MAX, REWRITTEN_BYTES_MAX};
pub use css::{CSS_BYTES_MAX, rewrite_css};
pub use html::{Rewriter, Scripts};
pub use markup::{Markup, xml_markup};
pub use references::{Reference, References, Role};
pub use scope::Scope;
pub use shim::{FRAME_NAME, SHIM, SHIM_PATH};
