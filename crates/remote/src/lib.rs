//! Inputs that are not local files: S3, HTTPS and our own store, read by ranges.
//!
//! [`Remote`] looks at, lists and opens `s3://bucket/name`, `https://` and `http://` addresses, and
//! `store://bucket/name`. What it opens is a [`warc::Input`], read by any thread; the asynchronous work behind it has
//! threads of its own.
//!
//! Invariants:
//!  - all bytes that one opened input gives belong to one version of it: requests carry `If-Match`, and answers are
//!    compared with what was seen when it was opened; an input that changed is an error, never a mixture;
//!  - a failure that may pass is tried again, from the byte reached;
//!  - an opened input holds at most [`READ_AHEAD_BYTES`] of memory; an input that is not read does not fetch.

mod address;
mod bucket;
mod download;
mod failure;
mod own_store;
mod range_source;
mod reader;
mod remote;
mod retry;
mod runtime;
mod s3;
mod s3_error;
mod settings;
mod stat;
mod web;

pub use own_store::OwnStore;
pub use reader::READ_AHEAD_BYTES;
pub use remote::Remote;
pub use settings::{Retry, S3Settings, Settings};
pub use stat::Stat;
