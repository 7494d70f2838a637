//! What all pages have in common: styles and script ([`ASSETS`]), the frame with its navigation ([`Frame`]), charts, and text of
//! strangers made safe to show ([`clean`]).
//!
//! The pages of the archive and of the store, and that of SQL, are served by two programs and look alike. This crate knows nothing of
//! HTTP: it makes texts.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod assets;
pub mod chart;
mod frame;
pub mod network;
pub mod series;
mod text;
pub mod treemap;

pub use assets::{ASSETS, Asset, CACHE_CONTROL};
pub use frame::{Frame, Parts, Section, Viewer, search_box};
pub use text::{clean, clean_lines, cut};

/// The Content-Security-Policy of pages: a page may use its own styles, script and images, ask this server, and show archived content
/// in a frame. Inline script and styles, and anything from other servers, are forbidden.
pub const PAGE_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
    connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Headers of every answer of either program, unless an answer has its own. They keep browsers from guessing types, from sending
/// addresses of this server to other sites, and from sharing its answers or windows with other sites.
pub const HEADERS: [(&str, &str); 4] = [
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
];
