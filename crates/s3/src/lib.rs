//! The S3 interface of the store: buckets and objects over HTTP, for clients of Amazon's S3.
//!
//! [`serve`] makes a [`store::Store`] available on a socket. s3s parses requests, checks signatures
//! and writes responses. This crate implements the operations, checks permissions, and limits the
//! resources that a client can use.
//!
//! ```
//! use cluster::{NodeSettings, VolumeSettings};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let dir = tempfile::tempdir()?;
//! // A store of two disks in this process.
//! let volumes = ["disk-1", "disk-2"].map(|disk| VolumeSettings::at(dir.path().join(disk)));
//! let node = cluster::start(NodeSettings::of_volumes(volumes.to_vec())).await?;
//!
//! // A free port of this machine, and a keys file with a new key.
//! let settings = s3::Settings::new("127.0.0.1:0".parse()?, dir.path().join("keys.toml"));
//! let server = s3::serve(settings, node.store()).await?;
//! let key = server.new_key().ok_or("no key was made")?;
//! println!("http://{}: access key {}, secret {}", server.address(), key.id, key.secret);
//!
//! server.shutdown().await;
//! node.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! Invariants:
//!  - every digest that a client declares is compared with the bytes before the object is visible;
//!  - content is streamed; only an object in a browser's form (at most 8 MiB) is held in memory;
//!  - every operation needs a permission from the keys file, an ACL or a policy (see `access`);
//!  - requests for unimplemented features (encryption) are refused, never ignored;
//!  - a signed request with an `x-amz-` header outside of its signature is refused.
//!
//! Modules: `service` (operations); `access`, `keys`, `acl`, `policy` (permissions); `serve`,
//! `answer`, `body` (HTTP server).

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
mod correct_response;
mod cors;
mod digests;
mod error;
mod exchange;
mod gateway;
mod glob;
mod keys;
mod lock;
mod log;
mod names;
mod operation;
mod options;
mod part_sizes;
mod policy;
mod preconditions;
mod query;
mod refusal;
mod serve;
mod service;
mod settings;
mod signature_checks;
mod xml;

pub use listen::{TlsError, TlsFiles};

pub use gateway::{BucketPrefix, BucketPrefixError, Credential, GatewayError, GatewaySettings, Map, Scope};
pub use keys::{ALL_RIGHTS, KeyPair, KeysError, Right};
pub use log::{LogFormat, LogFormatError, LogSettings, LogTarget, LogTargetError};
pub use options::{Limits, ServeError, Settings};
pub use serve::{Running, serve, serve_gateway};
