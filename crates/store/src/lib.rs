//! Replicated objects on volumes: placement, durable writes, verified reads, scrub, repair, census.
//!
//! A [`Store`] is one process's view of a whole cluster. It holds no data itself: it places every
//! object by the hash of its key ([`placement`]), writes it to several [`store_protocol::Volume`]s, and
//! reads the newest version among them. [`Connect`] turns the names of volumes into handles.
//!
//! ```
//! use futures_util::TryStreamExt;
//! use store::{Key, List, Put};
//! use store_testkit::rig::{Rig, body};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Three volumes in memory, with two copies of every object. `cluster::connect` returns a store
//! // on disks or other machines.
//! let rig = Rig::new(3, 2);
//! let store = rig.store();
//! let key = Key::new("crawls", "2026/a.warc.gz")?;
//! let meta = store.put(&key, body(b"content"), Put::default()).await?;
//! assert_eq!(meta.size, 7);
//!
//! let object = store.get(&key, None).await?;
//! let pieces: Vec<_> = object.body.try_collect().await?;
//! assert_eq!(pieces.concat(), b"content");
//!
//! let list = List { prefix: "crawls/2026/".to_owned(), limit: 100, ..List::default() };
//! let page = store.list(&list).await?;
//! assert_eq!(page.objects.len(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! Invariants:
//!  - a write is acknowledged only after R different volumes hold it, synced, on different nodes
//!    and zones as far as the layout has them, at least one of them at home for the key's
//!    partition;
//!  - bytes leave the store only after their block was compared with its BLAKE3 digest;
//!  - the store reports "no such object" only if the volumes that are unreachable or being rebuilt
//!    are too few, or on too few nodes or zones, to hold all copies of an acknowledged write;
//!  - a copy is dropped only after R copies of the same or a newer version were verified at home.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod bucket;
pub mod object;
pub mod upkeep;

mod bucket_records;
mod client;
mod cluster;
mod union;
mod version_id;
mod versioning;
mod versions;

pub use client::{
    Complete, Damage, Finisher, FinisherError, List, Listing, MULTIPART_AGE_MAX, Multipart, Multiparts,
    Object, PART_NUMBER_MAX, Part, Parts, Put, ReadMode, Store, StoreError, Timeouts,
};
pub use cluster::{Cluster, Connect, LayoutTag, Topology, announce, merge};
pub use placement::{NodeRole, VolumeRole};
pub use store_protocol::{
    BlockHasher, ByteStream, Condition, Counters, Digests, FixityEvent, InFlight, Key, KeyError,
    LATENCY_MICROS, Meta, NEWS, NodeId, NodeStatus, PARTITIONS, Partition, Protect, Protection, ReplicaEntry,
    ReplicaState, RequestCount, Retention, RetentionChange, RetentionMode, Version, VolumeId, VolumeState,
    VolumeStatus, WorkerState, WorkerStatus,
};
pub use version_id::{VersionId, is_delete_marker};
pub use versioning::Versioning;
pub use versions::{Deletion, ListVersions, ObjectVersion, VersionListing};
