//! The S3 face of the store: buckets and objects over HTTP, for clients that speak Amazon's S3.
//!
//! [`serve`] puts a [`store::Store`] on a socket. s3s reads requests, checks signatures and writes answers; what is
//! done here is what the operations mean for the store, who may ask for them, and the limits of what a client can make the
//! process do.
//!
//! Invariants:
//!  - every digest that a client declares - MD5, checksum in a header or trailer, SHA-256 of the signature, signatures
//!    of chunks - is compared with the bytes before the object can be seen;
//!  - no request makes the process hold an object in memory: content passes in pieces, in both directions;
//!  - nothing is done without a right that the keys file gives, or an ACL or a policy of an owner whom the file lets own;
//!  - what a client asks for and is not done here (encryption, locks, versions) is refused, never ignored;
//!  - what a signature does not cover is not obeyed.
//!
//! Where things are: `face` has the operations, one module for each kind; `content`, `checksum`, `preconditions`,
//! `attributes` what they share; `access`, `keys`, `acl`, `policy` and `settings` who may do what; `cors` which web pages may
//! ask; `serve`, `answer`, `body` the port and what passes through it.

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
mod glob;
mod keys;
mod log;
mod mend;
mod names;
mod options;
mod part_sizes;
mod policy;
mod preconditions;
mod refusal;
mod serve;
mod settings;
mod xml;

pub use listen::{TlsError, TlsFiles};

pub use keys::{ALL_RIGHTS, KeyPair, KeysError, Right};
pub use log::{LogFormat, LogSettings, LogTarget};
pub use options::{Limits, ServeError, Settings};
pub use serve::{Running, serve};
