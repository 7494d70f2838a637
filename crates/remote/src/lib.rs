//! Remote inputs (S3, HTTPS, Weft's own store) read by ranges, and tables of facts in such stores.
//!
//! [`Remote`] examines, lists and opens `s3://bucket/name`, `https://`, `http://` and
//! `store://bucket/name` addresses. It opens a [`warc::Input`] that any thread can read;
//! asynchronous work runs on separate threads. [`Remote::folder`] is a folder for tables of facts,
//! and [`Remote::listing`] lists the keys of a bucket unchanged, page by page.
//!
//! Invariants:
//!  - All bytes of an input belong to the version seen on opening: requests carry `If-Match`, and
//!    every response is compared with that version. A changed input is an error.
//!  - After a temporary failure the request resumes at the next missing byte.
//!  - Once a public server has responded, no redirect leads to a non-public address. Credentials
//!    are sent only to the server they are for.
//!  - An input uses at most [`READ_AHEAD_BYTES`] of memory; without reads it fetches nothing.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod address;
mod bucket;
mod cached;
mod download;
mod failure;
mod folder;
mod listed_page;
mod listing;
mod own_store;
mod range_source;
mod reader;
mod redirects;
mod remote;
mod retry;
mod runtime;
mod s3;
mod s3_error;
mod s3_list;
mod settings;
mod stat;
mod warm;
mod web;

pub use folder::Folder;
pub use listed_page::{ListedObject, ListedPage};
pub use listing::Listing;
pub use own_store::{OwnStore, OwnStoreError};
pub use reader::READ_AHEAD_BYTES;
pub use remote::Remote;
pub use settings::{Retry, S3Settings, Settings};
pub use stat::Stat;
pub use warm::WarmReport;
