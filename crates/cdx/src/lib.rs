//! The text formats of CDX look-ups: URL patterns, field names, filters, collapsing, order, and the
//! formats in which captures are written.
//!
//! The command line, `/cdx` and `/api/v1/captures` all parse and write these with the functions
//! here, so that a text means the same everywhere. They follow three servers: pywb, the Internet
//! Archive's wayback-cdx-server and OutbackCDX. If these differ, a [`Dialect`] selects one.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod collapse;
mod field;
mod filter;
mod form;
mod line;
mod pages;
mod pattern;
mod row;

use serde::{Deserialize, Serialize};

pub use collapse::{Collapse, CollapseTime, Collapsing};
pub use field::{Field, push_word, text_line};
pub use filter::{Filter, FilterError, Filters, Test};
pub use form::{Column, Form, Writer, cdxj_line};
pub use line::{Line, LineReader, kept_lines, line_text};
pub use pages::{BLOCK_ROWS, Blocks, page_number, page_size};
pub use pattern::{PatternError, url_and_match, url_pattern};
pub use row::{CdxRow, ComputedFields, Original, SkippedCounts};
pub use urlkey::MatchType;

/// The server whose rules apply to a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// pywb's CDXJ server, which Common Crawl's index server runs.
    Pywb,
    /// The Internet Archive's wayback-cdx-server.
    WaybackMachine,
    /// OutbackCDX, the index of other replay servers.
    OutbackCdx,
}

/// Order of the captures of a look-up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// By URL key, then time.
    #[default]
    Forward,
    /// By URL key, then time, descending.
    Reverse,
    /// By distance from this time (1 to 14 digits). If two are equally distant, the earlier comes
    /// first. Works only for captures of one URL key; others are returned in forward order.
    Closest(String),
}
