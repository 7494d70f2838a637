//! The interfaces between the parts of a store: the traits [`Volume`] and [`Node`], and the plain
//! values that they exchange.
//!
//! Code that stores, copies or serves objects uses these two traits and does not know the
//! implementation: a directory of this process, another process reached over HTTP, or a test's
//! table in memory.
//!
//! Invariants:
//!  - every value here means the same on every node and in every version of the program: the wire
//!    and disk formats (`docs/format-cluster.md`, `docs/format-replica.md`) are made of these
//!    types;
//!  - all nodes agree which of two versions of a key is later ([`Version`]);
//!  - an error says what the caller may do next ([`VolumeError`], [`NodeError`]).
//!
//! This crate does not access any disk or network.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod block_set;
mod blocks;
mod change;
mod clock;
mod draft;
mod fixity;
mod held;
mod key;
mod meta;
mod node;
mod node_error;
mod operation_spec;
mod protection;
mod stream;
mod upload;
mod volume;
mod volume_error;
mod volume_request;
mod volume_status;
mod worker;

pub use block_set::{BlockSet, RANGES_MAX};
pub use blocks::{
    BlockHasher, BlockTable, ContentBlocks, HashedContent, block_bytes, block_count, block_value,
};
pub use change::{Change, ChangeRequest, Claim, Condition, NewestVersion};
pub use clock::{Clock, DRIFT_MS_MAX, DriftError, Term, Version, VersionError};
pub use draft::Draft;
pub use fixity::{Cause, FixityEvent, NEWS};
pub use held::{
    Head, KeysInDoubt, ListQuery, Pending, ReplicaEntry, ReplicaRead, ReplicaState, SurveyEntry, Verdict,
};
pub use key::{BUCKET_BYTES_MAX, Key, KeyError, NAME_BYTES_MAX};
pub use meta::{BLOCK_BYTES, Digests, Meta, WriteId};
pub use metrics::{Counters, InFlight, LATENCY_MICROS, RequestCount, TrackedRequest};
pub use node::{Node, NodeStatus};
pub use node_error::NodeError;
pub use operation_spec::{DURABLE, JOINT, LONG, OperationSpec, QUICK};
pub use placement::{NodeId, PARTITIONS, Partition, VolumeId};
pub use protection::{Protect, Protection, Retention, RetentionChange, RetentionMode};
pub use stream::ByteStream;
pub use upload::{AbortScope, Purpose, Receipt, UploadId, UploadRead};
pub use volume::{SURVEY_ENTRIES, Volume};
pub use volume_error::VolumeError;
pub use volume_request::{UnexpectedResponse, VolumeRequest, VolumeResponse};
pub use volume_status::{VolumeState, VolumeStatus};
pub use worker::{WorkerState, WorkerStateError, WorkerStatus};
