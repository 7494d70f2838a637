//! Rules for roles, checked before a layout is made of them, and when a layout is received.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::{NodeId, VolumeId};
use crate::layout::{Layout, Roles};

/// Highest number of copies of an object.
pub const REPLICAS_MAX: u8 = crate::capacity::REPLICAS_MAX as u8;

/// Most volumes in a layout. The table takes 32 KiB of memory per volume while it is computed, and
/// there are only this many partitions to share.
pub const VOLUMES_MAX: usize = 4096;

/// Why roles cannot form a layout.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RolesError {
    /// R has a value out of range.
    #[error("{0} replicas: expected 1 to {REPLICAS_MAX}")]
    Replicas(u8),
    /// There is no volume.
    #[error("no volumes: give at least one")]
    NoVolumes,
    /// There are too many volumes.
    #[error("{0} volumes: expected at most {VOLUMES_MAX}")]
    Volumes(usize),
    /// No volume has a weight.
    #[error("no volume has a weight above 0, so no data can be stored: give at least one volume a weight")]
    NoWeight,
    /// More copies are requested than there are volumes that may hold them.
    #[error(
        "{replicas} copies of every object require as many volumes with a weight above 0, but there are {volumes}: \
         give more volumes a weight, or request fewer copies"
    )]
    Copies {
        /// Requested copies.
        replicas: u8,
        /// Volumes with a weight.
        volumes: usize,
    },
    /// A name is empty, or has white space or control characters.
    #[error(
        "{what} name {name:?}: expected one or more characters without white space and control characters"
    )]
    Name {
        /// `node` or `volume`.
        what: &'static str,
        /// The invalid name.
        name: String,
    },
    /// A node is listed twice.
    #[error("node {0} is listed twice: give each node its own name")]
    NodeTwice(NodeId),
    /// A volume is listed twice.
    #[error("volume {0} is listed twice: give each volume its own name")]
    VolumeTwice(VolumeId),
    /// A volume names a node that is not in the roles.
    #[error("volume {volume} belongs to node {node}, which is not in the list of nodes")]
    UnknownNode {
        /// The volume.
        volume: VolumeId,
        /// The node that it names.
        node: NodeId,
    },
    /// A volume has the name of a retired one.
    #[error(
        "volume {0} was in the cluster before and is retired: give it another name, because an old disk must not \
         bring deleted objects back"
    )]
    Retired(VolumeId),
    /// One of several nodes has volumes in more than one zone: copies in two zones could be lost
    /// with one node.
    #[error(
        "node {node} has volumes in zones {one:?} and {other:?}: with several nodes, each must be in one zone"
    )]
    NodeInZones {
        /// The node.
        node: NodeId,
        /// The zone of one of its volumes.
        one: String,
        /// The zone of another one.
        other: String,
    },
    /// The number is 0. Layouts count from 1.
    #[error("layout number 0: expected 1 or more")]
    Number,
}

impl Roles {
    /// Returns the number of copies that every object can have: those requested, or one on each
    /// volume with a weight if those are fewer.
    pub fn copies(&self) -> u8 {
        u8::try_from(self.weighted()).map_or(self.replicas, |volumes| self.replicas.min(volumes))
    }

    /// Checks whether all requested copies can be placed. Required of every layout that is made. A
    /// received layout may be older than this rule.
    ///
    /// # Errors
    /// [`RolesError::Copies`] if fewer volumes have a weight.
    pub fn check_copies(&self) -> Result<(), RolesError> {
        if self.copies() == self.replicas {
            return Ok(());
        }
        Err(RolesError::Copies {
            replicas: self.replicas,
            volumes: self.weighted(),
        })
    }

    fn weighted(&self) -> usize {
        self.volumes.iter().filter(|volume| volume.weight > 0).count()
    }

    /// Checks whether a layout can be made of the roles.
    ///
    /// # Errors
    /// [`RolesError`]: the first broken rule.
    pub fn check(&self) -> Result<(), RolesError> {
        if self.replicas == 0 || self.replicas > REPLICAS_MAX {
            return Err(RolesError::Replicas(self.replicas));
        }
        if self.volumes.is_empty() {
            return Err(RolesError::NoVolumes);
        }
        if self.volumes.len() > VOLUMES_MAX {
            return Err(RolesError::Volumes(self.volumes.len()));
        }
        let nodes = self.check_nodes()?;
        self.check_volumes(&nodes)?;
        self.check_zones()?;
        if self.volumes.iter().all(|volume| volume.weight == 0) {
            return Err(RolesError::NoWeight);
        }
        Ok(())
    }

    fn check_nodes(&self) -> Result<BTreeSet<&NodeId>, RolesError> {
        let mut nodes = BTreeSet::new();
        for node in &self.nodes {
            check_name("node", &node.id.0)?;
            if !nodes.insert(&node.id) {
                return Err(RolesError::NodeTwice(node.id.clone()));
            }
        }
        Ok(nodes)
    }

    fn check_volumes(&self, nodes: &BTreeSet<&NodeId>) -> Result<(), RolesError> {
        let mut volumes = BTreeSet::new();
        for volume in &self.volumes {
            check_name("volume", &volume.id.0)?;
            if !volumes.insert(&volume.id) {
                return Err(RolesError::VolumeTwice(volume.id.clone()));
            }
            if !nodes.contains(&volume.node) {
                return Err(RolesError::UnknownNode {
                    volume: volume.id.clone(),
                    node: volume.node.clone(),
                });
            }
            if self.retired.contains(&volume.id) {
                return Err(RolesError::Retired(volume.id.clone()));
            }
        }
        Ok(())
    }

    fn check_zones(&self) -> Result<(), RolesError> {
        let mut zones: BTreeMap<&NodeId, &str> = BTreeMap::new();
        for volume in &self.volumes {
            zones.entry(&volume.node).or_insert(&volume.zone);
        }
        let elsewhere = self
            .volumes
            .iter()
            .find(|volume| zones[&volume.node] != volume.zone);
        match elsewhere {
            Some(volume) if zones.len() > 1 => Err(RolesError::NodeInZones {
                node: volume.node.clone(),
                one: zones[&volume.node].to_owned(),
                other: volume.zone.clone(),
            }),
            _ => Ok(()),
        }
    }
}

impl Layout {
    /// Checks whether a received layout follows the rules.
    ///
    /// # Errors
    /// [`RolesError`]: the first broken rule.
    pub fn check(&self) -> Result<(), RolesError> {
        if self.number == 0 {
            return Err(RolesError::Number);
        }
        self.roles.check()
    }
}

fn check_name(what: &'static str, name: &str) -> Result<(), RolesError> {
    if name.is_empty() || name.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(RolesError::Name {
            what,
            name: name.to_owned(),
        });
    }
    Ok(())
}
