//! The cluster file, written by an operator: the nodes and volumes of the cluster. All nodes get
//! the same file.
//!
//! Every node makes the same layout 1 from it. Afterwards the layouts on the volumes count, and the
//! file is used only to plan and apply a change of the layout. Format: `docs/format-cluster.md`.

use std::collections::BTreeSet;
use std::path::Path;

use placement::{Layout, Layouts, NodeRole, Roles, VolumeRole};
use serde::Deserialize;
use store_protocol::{NodeId, VolumeId};

use super::config_file::{REPLICAS_MAX, SettingsError, ValueError, check_name, one, read_toml};
use super::trust::Tls;

/// A cluster file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterFile {
    /// Copies of every object, 1 to 8.
    pub replicas: u8,
    /// Salt of the placement. Used only for layout 1.
    #[serde(default)]
    pub seed: u64,
    /// How connections between its processes are protected. It is not part of a layout.
    #[serde(default)]
    pub tls: Tls,
    /// The nodes.
    #[serde(rename = "node")]
    pub nodes: Vec<MemberNode>,
}

/// One node of a cluster file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemberNode {
    /// Its name.
    pub id: String,
    /// Its failure domain.
    pub zone: String,
    /// Where other nodes reach it, `host:port`.
    pub address: String,
    /// Its volumes.
    #[serde(rename = "volume")]
    pub volumes: Vec<MemberVolume>,
}

/// One volume of a cluster file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemberVolume {
    /// Its name within the node.
    pub name: String,
    /// Its share relative to other volumes; 0 drains it.
    #[serde(default = "one")]
    pub weight: u32,
    /// Its failure domain, or that of its node if `None`.
    #[serde(default)]
    pub zone: Option<String>,
}

impl ClusterFile {
    /// Reads and checks a cluster file.
    ///
    /// # Errors
    /// [`SettingsError`] for a file that cannot be read or has a wrong value.
    pub fn read(path: &Path) -> Result<Self, SettingsError> {
        let file: Self = read_toml(path)?;
        file.check().map_err(|error| SettingsError::Format {
            path: path.to_owned(),
            error,
        })?;
        Ok(file)
    }

    /// Returns the roles that the file asks for, in order of their ids.
    pub fn roles(&self) -> Roles {
        let mut nodes: Vec<_> = self.nodes.iter().map(MemberNode::role).collect();
        let mut volumes: Vec<_> = self.nodes.iter().flat_map(MemberNode::volume_roles).collect();
        // Sorted by id, so that files that list the same nodes in another order make the same
        // layout 1.
        nodes.sort_by(|a, b| a.id.cmp(&b.id));
        volumes.sort_by(|a, b| a.id.cmp(&b.id));
        Roles {
            replicas: self.replicas,
            nodes,
            volumes,
            retired: BTreeSet::new(),
        }
    }

    /// Returns layout 1, for a cluster that has no layout yet.
    pub fn first_layouts(&self) -> Layouts {
        let current = Layout {
            number: 1,
            seed: self.seed,
            roles: self.roles(),
        };
        Layouts {
            current,
            older: Vec::new(),
        }
    }

    fn check(&self) -> Result<(), ValueError> {
        if !(1..=REPLICAS_MAX).contains(&self.replicas) {
            return Err(ValueError::ClusterReplicas(self.replicas));
        }
        let mut ids = BTreeSet::new();
        for node in &self.nodes {
            check_name("node", &node.id)?;
            if !ids.insert(&node.id) {
                return Err(ValueError::SameNode(node.id.clone()));
            }
            node.check()?;
        }
        if self.nodes.iter().all(|node| node.volumes.is_empty()) {
            return Err(ValueError::NoVolumes);
        }
        Ok(())
    }
}

impl MemberNode {
    fn role(&self) -> NodeRole {
        NodeRole {
            id: NodeId::from(self.id.clone()),
            zone: self.zone.clone(),
            address: self.address.clone(),
        }
    }

    fn volume_roles(&self) -> impl Iterator<Item = VolumeRole> {
        self.volumes.iter().map(|volume| VolumeRole {
            id: volume_id(&self.id, &volume.name),
            node: NodeId::from(self.id.clone()),
            zone: volume.zone.as_ref().unwrap_or(&self.zone).clone(),
            weight: volume.weight,
        })
    }

    fn check(&self) -> Result<(), ValueError> {
        if self.address.parse::<http::uri::Authority>().is_err() {
            return Err(ValueError::Address(self.id.clone(), self.address.clone()));
        }
        let mut names = BTreeSet::new();
        for volume in &self.volumes {
            check_name("volume", &volume.name)?;
            if !names.insert(&volume.name) {
                let name = volume.name.clone();
                return Err(ValueError::SameVolumeOfNode(self.id.clone(), name));
            }
        }
        Ok(())
    }
}

/// Returns the volume id `node/name`.
pub(super) fn volume_id(node: &str, name: &str) -> VolumeId {
    VolumeId::from(format!("{node}/{name}"))
}
