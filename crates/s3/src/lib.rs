//! The S3 interface of the store: buckets and objects over HTTP, for clients that speak Amazon's S3.
//!
//! [`serve`] puts a [`store::Store`] on a socket. s3s parses requests, checks signatures and writes
//! responses; this crate implements the operations on the store, decides who may call them, and limits what a
//! client can make the process do.
//!
//! Invariants:
//!  - every digest that a client declares is compared with the bytes before the object is visible;
//!  - no request makes the process hold an object in memory: content passes in pieces, in both directions;
//!  - every operation needs a right: from the keys file, or from an ACL or policy of an owner whom the file
//!    lets own;
//!  - requests for what is not implemented (encryption) are refused, never ignored;
//!  - what a signature does not cover is not obeyed.
//!
//! Modules: `face` has the operations; `access`, `keys`, `acl`, `policy` the rights; `serve`, `answer`,
//! `body` the port and its traffic.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod access;
mod acl;
mod answer;
mod attributes;
mod body;
mod checksum;
mod chunks;
mod content;
mod cors;
mod digests;
mod error;
mod exchange;
mod face;
mod gate;
mod gateway;
mod glob;
mod keys;
mod lock;
mod log;
mod mend;
mod names;
mod operation;
mod options;
mod part_sizes;
mod policy;
mod preconditions;
mod query;
mod refusal;
mod serve;
mod settings;
mod xml;

pub use listen::{TlsError, TlsFiles};

pub use gateway::{Credential, GatewayError, GatewaySettings, Map, Place, PlaceError, Scope};
pub use keys::{ALL_RIGHTS, KeyPair, KeysError, Right};
pub use log::{LogFormat, LogSettings, LogTarget};
pub use options::{Limits, ServeError, Settings};
pub use serve::{Running, serve, serve_gateway};
