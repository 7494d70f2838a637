//! Layouts and the roles that they are made of.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::ids::{NodeId, VolumeId};

/// The nodes and volumes of a cluster, as decided by an operator. Everything else follows from
/// them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Roles {
    /// Copies of every object (R), 1 to 8.
    pub replicas: u8,
    /// Processes that serve volumes, in order of id.
    pub nodes: Vec<NodeRole>,
    /// Places for replicas, in order of id.
    pub volumes: Vec<VolumeRole>,
    /// Volumes of earlier layouts. Their names are never used again, so that an old disk does not
    /// bring deleted objects back.
    #[serde(default)]
    pub retired: BTreeSet<VolumeId>,
}

/// One node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRole {
    /// Its name.
    pub id: NodeId,
    /// Its failure domain.
    pub zone: String,
    /// Where other nodes reach it, `host:port`.
    pub address: String,
}

/// One volume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeRole {
    /// Its name.
    pub id: VolumeId,
    /// The node that serves it.
    pub node: NodeId,
    /// Its failure domain, usually that of its node. On one machine, disks may be zones.
    pub zone: String,
    /// Its capacity relative to the other volumes; 0 while it is drained.
    pub weight: u32,
}

/// Roles with a number and a seed, which together determine the table from partitions to volumes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// Its number, from 1. Two layouts never share one.
    pub number: u64,
    /// Salt of the placement. A cluster never changes it.
    pub seed: u64,
    /// Nodes and volumes.
    pub roles: Roles,
}

/// The layouts in force: the current one, and older ones from which data may still have to move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layouts {
    /// The layout for writes.
    pub current: Layout,
    /// Layouts that reads also use, newest first.
    pub older: Vec<Layout>,
}
