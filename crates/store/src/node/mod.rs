//! A node: the process that serves volumes, and how nodes talk to each other.
//!
//! Start one with [`start()`]; a short command gets at a store with [`connect()`], through the process that has its volumes
//! open if there is one; [`apply_layout`] changes who takes part.

mod apply;
mod cluster_file;
mod connect;
mod connector;
mod files;
mod found;
mod guarded;
mod join;
mod keeper;
mod local;
mod marks;
mod news;
mod open;
mod owner;
pub(crate) mod promises;
mod recover;
mod secret;
mod settings;
mod slot;
mod start;
mod trust;
mod wire;

pub use apply::{ApplyError, apply_layout};
pub use cluster_file::{ClusterFile, MemberNode, MemberVolume};
pub use connect::{ConnectError, ConnectSettings, Connection, connect, connect_or_begin};
pub(crate) use guarded::Guarded;
pub use join::wanted_roles;
pub use recover::recover_layouts;
pub use secret::{SECRET_BYTES_MIN, Secret, SecretError};
pub use settings::{
    ConnectionSettings, LOCAL_NODE, NodeSettings, REPLICAS_MAX, SettingsError, VolumeSettings,
};
pub use start::{OpenVolume, Opener, RunningNode, StartError, start, start_with};
pub use trust::Tls;
