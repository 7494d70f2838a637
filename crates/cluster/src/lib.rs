//! Nodes: the processes that serve volumes, how they agree on a layout, and how they communicate.
//!
//! Start a node with [`start()`]. A short command reaches a store with [`connect()`], through the
//! process that has its volumes open if there is one. [`apply_layout`] changes the nodes and
//! volumes of the cluster. Formats: `docs/format-cluster.md`.
//!
//! Invariants:
//!  - two layouts in force never share a number: a majority accepts a layout durably before use;
//!  - a node accepts no decided version of an earlier term than the one it has promised, and a
//!    promise is on disk before it is answered;
//!  - a request that changes something is carried out once, however often it arrives;
//!  - volumes of two stores are never mixed, and a node never starts as new on volumes that were
//!    used before.
//!
//! This crate knows neither the client protocol (S3) nor how a replica is stored on disk.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod apply;
mod ask_nodes;
mod bare;
mod beacon;
mod cluster_file;
mod config_file;
mod connect;
mod connector;
mod discovery;
mod durable_file;
mod event_log;
mod guarded;
mod layout_log;
mod lazy_volume;
mod local;
mod membership;
mod node_files;
mod open;
mod promises;
mod recover;
mod secret;
mod settings;
mod start;
mod start_error;
mod tls;
mod trust;
mod wire;

pub use apply::{ApplyError, apply_layout};
pub use bare::BareNode;
pub use cluster_file::{ClusterFile, MemberNode, MemberVolume};
pub use config_file::{REPLICAS_MAX, SettingsError, ValueError};
pub use connect::{ConnectError, ConnectSettings, Connection, connect, connect_or_begin};
pub use durable_file::NodeFileError;
pub use guarded::Guarded;
pub use layout_log::LayoutLogError;
pub use membership::wanted_roles;
pub use open::{OpenVolume, Opener};
pub use promises::{PromiseError, Promises};
pub use recover::recover_layouts;
pub use secret::{SECRET_BYTES_MIN, Secret, SecretError};
pub use settings::{ConnectionSettings, LOCAL_NODE, NodeSettings, VolumeSettings};
pub use start::{RunningNode, start, start_with};
pub use start_error::StartError;
pub use trust::Tls;
#[doc(hidden)]
#[cfg(feature = "testing")]
pub use wire::fuzzing;
