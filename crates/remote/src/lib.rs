//! Inputs that are not local files: S3, HTTPS and our own store, read by ranges. And facts, written to such stores.
//!
//! [`Remote`] examines, lists and opens `s3://bucket/name`, `https://` and `http://` addresses, and
//! `store://bucket/name`. It opens a [`warc::Input`] that any thread can read; the asynchronous work behind
//! it runs on threads of its own. [`Remote::folder`] is a place of a store to write an archive's tables of facts to, and
//! [`Remote::listing`] lists the keys of a bucket as they are, page by page.
//!
//! Invariants:
//!  - all bytes of one opened input belong to one version of it: requests carry `If-Match`, and every answer
//!    is compared with what was seen when the input was opened; a changed input is an error, never a mixture;
//!  - after a temporary failure the request is retried from the byte reached;
//!  - once a public server has answered, no redirect leads to an address that is not public; what signs a request stays with its
//!    server;
//!  - an opened input holds at most [`READ_AHEAD_BYTES`] of memory; an input that is not read does not fetch.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod address;
mod bucket;
mod cached;
mod download;
mod failure;
mod folder;
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
pub use listing::{Listed, ListedPage, Listing};
pub use own_store::OwnStore;
pub use reader::READ_AHEAD_BYTES;
pub use remote::Remote;
pub use settings::{Retry, S3Settings, Settings};
pub use stat::Stat;
pub use warm::Warmed;
