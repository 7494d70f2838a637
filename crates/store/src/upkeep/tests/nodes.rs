//! Nodes that know only layouts, over volumes in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use placement::{Layout, Layouts, NodeRole, VolumeRole};
use store_protocol::{ChangeRequest, Claim, Meta, Node, NodeError, NodeId, NodeStatus, Volume, VolumeId};
use store_testkit::MemoryVolume;

use crate::cluster::{Connect, LayoutTag};

/// A node that knows only layouts.
pub(crate) struct MemNode {
    id: NodeId,
    layouts: Arc<Mutex<Layouts>>,
}

#[async_trait]
impl Node for MemNode {
    fn id(&self) -> &NodeId {
        &self.id
    }

    async fn decide(&self, _: ChangeRequest) -> Result<Option<Meta>, NodeError> {
        Err(NodeError::Failed("takes no writes".into()))
    }

    async fn promise(&self, _: &[Claim]) -> Result<Vec<Claim>, NodeError> {
        Err(NodeError::Failed("takes no writes".into()))
    }

    async fn layouts(&self) -> Result<Layouts, NodeError> {
        Ok(self.layouts.lock().clone())
    }

    async fn accepted(&self) -> Result<Vec<Layout>, NodeError> {
        Ok(vec![self.layouts.lock().current.clone()])
    }

    async fn propose(&self, _: &Layout) -> Result<(), NodeError> {
        Ok(())
    }

    async fn adopt(&self, layouts: &Layouts) -> Result<(), NodeError> {
        *self.layouts.lock() = layouts.clone();
        Ok(())
    }

    async fn status(&self) -> Result<NodeStatus, NodeError> {
        Err(NodeError::Failed("has no status".into()))
    }
}

/// Returns the same volumes and nodes for every layout.
#[derive(Clone)]
pub(crate) struct MemConnect {
    pub volumes: Arc<Mutex<BTreeMap<VolumeId, Arc<MemoryVolume>>>>,
    /// The layouts that all nodes know.
    pub layouts: Arc<Mutex<Layouts>>,
}

impl Connect for MemConnect {
    fn volume(&self, _: LayoutTag, volume: &VolumeRole, _: &NodeRole) -> Arc<dyn Volume> {
        let mut volumes = self.volumes.lock();
        volumes
            .entry(volume.id.clone())
            .or_insert_with(|| MemoryVolume::new(volume.id.clone()))
            .clone()
    }

    fn node(&self, _: LayoutTag, node: &NodeRole) -> Arc<dyn Node> {
        Arc::new(MemNode {
            id: node.id.clone(),
            layouts: self.layouts.clone(),
        })
    }
}
