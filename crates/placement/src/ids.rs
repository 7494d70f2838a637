//! Names of nodes and volumes.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Name of a volume in its cluster, `node/name`. Never used again once retired.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct VolumeId(pub Arc<str>);

/// Name of a node in its cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct NodeId(pub Arc<str>);

impl fmt::Display for VolumeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<String> for VolumeId {
    fn from(name: String) -> Self {
        Self(name.into())
    }
}

impl From<VolumeId> for String {
    fn from(id: VolumeId) -> Self {
        id.0.as_ref().to_owned()
    }
}

impl From<String> for NodeId {
    fn from(name: String) -> Self {
        Self(name.into())
    }
}

impl From<NodeId> for String {
    fn from(id: NodeId) -> Self {
        id.0.as_ref().to_owned()
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
