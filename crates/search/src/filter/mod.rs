//! Which documents an answer may contain: those that a caller can see, and the filters that are
//! evaluated on columns (URL keys, likenesses).
//!
//! This module reads `documents`. It does not know scores or the order of results.

pub(crate) mod doc_bits;
pub(crate) mod keys_query;
pub(crate) mod like_query;
pub(crate) mod visible;
