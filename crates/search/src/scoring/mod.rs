//! Which pages match a word in which form, and how much they score: BM25 over visible documents,
//! the proximity of words, and the prior for in-links.
//!
//! This module uses `words`, `documents` and `filter`. It does not know the query language, the
//! order of results, or facets.

pub(crate) mod bm25;
pub(crate) mod bounded;
pub(crate) mod form_counts;
pub(crate) mod forms;
pub(crate) mod lists;
pub(crate) mod live;
pub(crate) mod near;
pub(crate) mod phrase_docs;
pub(crate) mod rank;
pub(crate) mod wanted;
pub(crate) mod words_query;
