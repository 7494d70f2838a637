//! What the two databases on fjall, the index and the catalogue, have in common: opening without
//! writing ([`Overlay`]), permissions of their files ([`make_readable`]), and messages for errors of
//! the engine ([`diagnosis`]). An overlay serves the search index too.
//!
//! Not here: tables and rows.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod diagnosis;
mod overlay;
mod readable;

pub use overlay::Overlay;
pub use readable::make_readable;
