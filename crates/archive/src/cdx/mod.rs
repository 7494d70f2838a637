//! The text forms of CDX look-ups: patterns of URLs, names of fields, filters, collapsing, order, and the
//! forms in which captures are written.
//!
//! The program, `/cdx` and `/api/v1/captures` all read and write these with the functions here, so that a
//! text means the same everywhere. They follow two servers, the Internet Archive's wayback-cdx-server and
//! pywb's. Where the two differ, a [`Dialect`] says which one is meant.

mod field;
mod filter;
mod form;
mod pages;
mod pattern;
mod row;

use serde::{Deserialize, Serialize};

pub use field::{Field, push_word, text_line};
pub use filter::{Collapse, Filter, FilterError, Test};
pub(crate) use filter::{Collapsing, Filters};
pub use form::{Column, Form, Writer, cdxj_line};
pub use pages::{BLOCK_ROWS, Blocks, page_number, page_size};
pub use pattern::url_and_match;
pub use row::CdxRow;
pub use urlkey::MatchType;

/// Which server's rules to read a text by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// pywb's CDXJ server, whose index the OutbackCDX recipe reads too.
    Pywb,
    /// The Internet Archive's wayback-cdx-server.
    WaybackMachine,
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
    /// By distance from this time (1 to 14 digits); of two equally distant captures the earlier comes first.
    /// This works only for captures of one URL key; others are returned in forward order.
    Closest(String),
}
