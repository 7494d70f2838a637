//! Placement: which volumes a partition's replicas belong on.
//!
//! An operator decides [`Roles`]. A [`Layout`] is roles with a number and a seed.
//! [`Placement::compute`] makes its table, which is the same on every machine and in every version
//! (`docs/format-layout.md`). [`Domains`] counts the different volumes, nodes and zones that copies
//! are on.
//!
//! Invariants of a table:
//!  - every partition has R different volumes (all, if there are fewer), in as many zones as
//!    possible, then nodes;
//!  - every volume has exactly its quota of copies: by weight, with at most one copy of each
//!    partition per zone and volume while there are R of them;
//!  - each volume is the decider of one in R of its copies.
//!
//! Everything is integer arithmetic on plain values, without objects, disks or moves of data.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod assign;
mod capacity;
mod deciders;
mod domains;
mod draw;
mod figures;
mod ids;
mod layout;
mod partition;
mod pick;
mod placement;
mod plan;
mod rules;
mod settle;
mod succession;

#[cfg(test)]
mod tests;

pub use domains::{Domains, Width};
pub use figures::{Figure, figures};
pub use ids::{NodeId, VolumeId};
pub use layout::{Layout, Layouts, NodeRole, Roles, VolumeRole};
pub use partition::{PARTITIONS, Partition, PartitionError};
pub use placement::Placement;
pub use plan::{Move, Plan, Share, Sizes, VolumePlan, plan};
pub use rules::{REPLICAS_MAX, RolesError, VOLUMES_MAX};
