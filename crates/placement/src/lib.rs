//! Placement: which volumes a partition's replicas belong on.
//!
//! A person decides [`Roles`]; a [`Layout`] is roles with a number; [`Placement::compute`] makes the table of it, the
//! same on every machine and for ever (`docs/format-layout.md`). [`Domains`] says on how many different volumes, nodes
//! and zones something lies.
//!
//! Invariants of a table:
//!  - every partition has R different volumes (all, if they are fewer), in as many zones as can be, then nodes;
//!  - every volume has exactly its quota of copies: by weight, a zone and a volume at most one copy of each partition
//!    while there are R of them;
//!  - of a volume's copies one in R is the owner.
//!
//! Everything here is integer arithmetic on plain values. Nothing here knows what an object is, where data lies or who
//! moves it.

mod assign;
mod capacity;
mod domains;
mod draw;
mod figures;
mod ids;
mod layout;
mod owners;
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
pub use partition::{PARTITIONS, Partition};
pub use placement::Placement;
pub use plan::{Move, Plan, Share, Sizes, VolumePlan, plan};
pub use rules::{REPLICAS_MAX, RolesError, VOLUMES_MAX};
