//! A volume that is a directory of this machine: the files of replicas, their index, and the log of what was
//! done to them.
//!
//! [`DiskVolume`] is a [`contract::Volume`]. A replica is one file that says itself what it is ([`replica`],
//! `docs/format-replica.md`); [`CRASH_POINTS`] name every durable step.
//!
//! Invariants:
//!  - a replica's file is complete and synced before it gets its name;
//!  - the files are the truth: the index is a cache, which opening compares with them and which can be
//!    deleted;
//!  - after a failed sync a volume is out of service until it is opened again.
//!
//! This crate does not know which replicas should be here, who else holds them, or which node serves them.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod crash;
mod disk;
pub mod fixity;
mod group;
mod io;
pub mod replica;

pub use crash::CRASH_POINTS;
pub use disk::{DiskSettings, DiskVolume, Furnish, NODE_DIR, OpenVolumeError, Reconciled};
pub use fixity::FixityLog;
pub use io::{Disk, DiskFile, RealDisk, Space, Stat};
