//! What archivists do with files of records, apart from any archive: check them against the standard, write them anew.
//!
//! Invariants:
//! - inputs are never changed, and every byte of one is accounted for;
//! - memory does not depend on the size of a file or record, but for some bytes a record where a function says so.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod check;
