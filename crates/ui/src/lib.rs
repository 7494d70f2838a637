//! Common parts of all pages: styles and script ([`ASSETS`]), the frame with its navigation
//! ([`Frame`]), charts, and functions that make untrusted text safe to show ([`clean`]).
//!
//! Two programs use it: one serves the pages of the archive and of the store, the other the SQL
//! page. All pages look alike. This crate produces text and does not depend on HTTP.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod assets;
pub mod chart;
mod frame;
pub mod network;
pub mod series;
pub mod shares;
mod text;
pub mod treemap;

pub use assets::{ASSETS, Asset, CACHE_CONTROL};
pub use frame::{Frame, Parts, Section, Viewer, search_box};
pub use text::{clean, clean_lines, cut};

/// The Content-Security-Policy of pages: a page may use its own styles, script and images, send
/// requests to this server, and show archived content in a frame. Inline scripts and styles, and
/// anything from other servers, are forbidden.
pub const PAGE_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
    connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Default headers of every response of either program. They keep browsers from guessing types,
/// from sending addresses of this server to other sites, and from sharing its responses or windows
/// with other sites.
pub const HEADERS: [(&str, &str); 4] = [
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
];
