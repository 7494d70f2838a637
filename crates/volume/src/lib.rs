//! A volume in a local directory: the files of replicas, their index, and the log of their fixity.
//!
//! [`DiskVolume`] is a [`store_protocol::Volume`]. A replica is one self-describing file ([`replica`],
//! `docs/format-replica.md`); [`CRASH_POINTS`] names every durable step.
//!
//! Invariants:
//!  - The file of a replica is complete and synced before it gets its name.
//!  - The files are authoritative. The index is a cache, which opening compares with them and which
//!    can be deleted.
//!  - After a failed sync a volume stays out of service until it is opened again.
//!
//! This crate does not know which replicas belong here, which other volumes hold them, or which
//! node serves them.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod crash;
mod disk;
pub mod fixity;
mod group;
mod io;
pub mod replica;

pub use crash::CRASH_POINTS;
pub use disk::{DiskSettings, DiskVolume, NODE_DIR, NodeFilesWriter, OpenVolumeError, Reconciled};
pub use fixity::FixityLog;
pub use io::{Disk, DiskFile, RealDisk, Space, Stat};
