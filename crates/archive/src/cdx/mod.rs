//! What a CDX look-up can ask for, and how the field writes it: patterns of URLs, names of fields, filters,
//! collapsing, order, and the forms that captures are written in.
//!
//! The program, `/cdx` and `/api/v1/captures` all read and write these with the functions here, so that one text means
//! one thing. Two servers are followed, the Internet Archive's wayback-cdx-server and pywb's; where they
//! differ, a [`Dialect`] says which of them is meant.

mod field;
mod filter;
mod form;
mod pattern;

use serde::{Deserialize, Serialize};

pub use field::{Field, push_word, text_line};
pub use filter::{Collapse, Filter, FilterError, Test};
pub(crate) use filter::{Collapsing, Filters};
pub use form::{Column, Form, Writer, cdxj_line};
pub use pattern::url_and_match;

/// Whose rules a text is read by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// pywb's CDXJ server, whose index the OutbackCDX recipe reads too.
    Pywb,
    /// The Internet Archive's.
    WaybackMachine,
}

/// Order of the captures of a look-up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// By URL key, then time.
    #[default]
    Forward,
    /// The same from the end.
    Reverse,
    /// By distance in time from this one (1 to 14 digits), the earlier of two as near first. Only captures of one
    /// URL key can be put so; others come forward.
    Closest(String),
}
