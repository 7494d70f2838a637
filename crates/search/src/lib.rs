//! Full-text search over pages. This is the only crate that depends on tantivy.
//!
//! Invariants:
//! - The index holds one document per URL key and one per past version, as of the epoch
//!   [`SearchIndex::covered_epoch`]. Documents and covered epoch are committed together.
//! - An answer (hits, order, scores, total, facets) depends only on the query and the documents,
//!   not on segments, merges, deletions not yet purged, or the order of loading.
//! - Any text is a valid query. Parts that are not used are reported in notes.
//!
//! Modules, from below: `words` (texts to words), `query` (the language), `documents` (fields,
//! keys, rows), `filter` (visible documents), `scoring`, `collect` (the best matches, facets),
//! `snippet`, `index` (writing, commits, views), `answer`, `suggest`. Each uses only those before
//! it.
//!
//! The crate does not read archives: it is given plain [`Document`]s, and asks its caller for the
//! texts of the few pages that it shows a snippet of.
//!
//! ```
//! use access::AccessFilter;
//! use search::{Change, Document, Query, SearchIndex, Settings};
//!
//! let folder = tempfile::tempdir()?;
//! let index = SearchIndex::open(folder.path(), Settings::default())?;
//! let page = Document {
//!     url_key: "com,example)/owls".to_owned(),
//!     url: "http://example.com/owls".to_owned(),
//!     title: "Owls".to_owned(),
//!     text: "Owls hunt at night.".to_owned(),
//!     ..Document::default()
//! };
//! index.apply(1, [Change::Upsert(Box::new(page))])?;
//! index.flush()?;
//!
//! let query = Query { text: "owl".to_owned(), limit: 10, ..Query::default() };
//! let results = index.search(&query, &AccessFilter::everything(), &|_| None)?;
//! assert_eq!(results.total, 1);
//! assert_eq!(results.hits[0].url, "http://example.com/owls");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod answer;
#[cfg(test)]
mod cacm;
mod collect;
mod dates;
mod documents;
mod error;
mod filter;
mod index;
mod panics;
mod query;
mod scoring;
mod settings;
mod snippet;
mod suggest;
mod words;

pub use answer::cursor::is_cursor;
pub use answer::profile::{Profile, ProfileError};
pub use answer::results::{
    ConcordanceLimits, Hit, InlinksAt, Query, Ranking, Results, TextRequest, TextSource,
};
pub use collect::facets::{Facet, FacetValue};
pub use collect::years::YearCount;
pub use collect::{Group, Order};
pub use documents::document::{
    Anchor, Change, Document, Likeness, Original, PastToDelete, TextCapture, Version,
};
pub use error::{ApplyError, OpenError, SearchError};
pub use index::check::ExpectedDocuments;
pub use index::crash::CRASH_POINTS;
pub use index::{ActiveSearches, SearchIndex};
pub use query::note::{Note, NoteKind};
pub use settings::Settings;
pub use snippet::{Line, SNIPPET_TEXT_BYTES_MAX, Snippet, SnippetPart};
pub use suggest::{Suggestion, Suggestions};
pub use words::{TextWords, TextWordsReader, word_count};
