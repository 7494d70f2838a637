//! How documents are stored: the fields of the index, keys, rows, and the in-link buckets beside
//! the segments.
//!
//! This module uses `words` for the terms of texts. It does not know queries, scores, or when
//! changes are committed.

pub(crate) mod bucket_log;
pub(crate) mod buckets;
pub(crate) mod document;
pub(crate) mod hash;
pub(crate) mod keys;
pub(crate) mod rows;
pub(crate) mod schema;
