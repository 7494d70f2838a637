//! Full-text search over pages. This is the only crate that depends on tantivy.
//!
//! Invariants:
//! - The index holds one document per URL key and one per past version, as of the epoch
//!   [`SearchIndex::covered_epoch`]. Documents and covered epoch are committed together.
//! - An answer (hits, order, scores, total, facets) depends only on the query and the documents,
//!   not on segments, merges, deletions not yet purged, or the order of loading.
//! - Any text is a valid query. Parts that are not used are reported in notes.
//!
//! The crate does not read archives: it is given plain [`Document`]s, and asks its caller for the
//! texts of the few pages that it shows a snippet of.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod answer;
mod bm25;
mod bucket_log;
mod buckets;
#[cfg(test)]
mod cacm;
mod check;
mod collect;
mod compile;
mod crash;
mod cursor;
mod dates;
mod doc_bits;
mod document;
mod error;
mod explain;
mod facets;
mod fence;
mod forms;
mod grouped;
mod index;
mod keys;
mod keys_query;
mod like_query;
mod likeness;
mod live;
mod near;
mod near_duplicates;
mod note;
mod panics;
mod phrase_docs;
mod profile;
mod query;
mod queue;
mod rank;
mod results;
mod rows;
mod schema;
mod settings;
mod snippet;
mod suggest;
mod view;
mod visible;
mod words;
mod words_query;
mod writer;
mod years;

pub use check::Held;
pub use crash::CRASH_POINTS;
pub use cursor::is_cursor;
pub use document::{Anchor, Change, Document, Gone, Original, TextCapture, Version};
pub use error::{ApplyError, OpenError, SearchError};
pub use index::{SearchIndex, Searches};
pub use note::{Note, NoteKind};
pub use profile::{Profile, ProfileError};
pub use results::{
    Facet, FacetValue, Group, Hit, Lines, Order, Query, Ranking, Results, TextOf, TextSought, YearCount,
};
pub use settings::Settings;
pub use snippet::{Line, SNIPPET_TEXT_BYTES_MAX, Snippet, SnippetPart};
pub use suggest::{Suggestion, Suggestions};
