//! Makes handles to volumes and nodes: direct ones within this process, HTTP clients for all
//! others.

use std::sync::Arc;

use placement::{NodeRole, VolumeRole};
use store::{Connect, LayoutTag};
use store_protocol::{Node, Volume};

use super::local::LocalNode;
use super::wire::client::Peers;
use super::wire::remote_node::RemoteNode;
use super::wire::remote_volume::RemoteVolume;

/// Makes the handles of one process.
pub(super) struct Connector {
    /// This process, if it is a node.
    pub(super) local: Option<Arc<LocalNode>>,
    /// All other nodes.
    pub(super) peers: Arc<Peers>,
}

impl Connect for Connector {
    fn volume(&self, under: LayoutTag, volume: &VolumeRole, node: &NodeRole) -> Arc<dyn Volume> {
        let own = self
            .local
            .as_ref()
            .and_then(|local| local.volume(&volume.id, under));
        match own {
            Some(own) => own,
            // A volume of this node that was not given to it is asked over HTTP too. The response
            // says that it is missing.
            None => Arc::new(RemoteVolume::new(volume.id.clone(), self.peers.peer(under, node))),
        }
    }

    fn node(&self, under: LayoutTag, node: &NodeRole) -> Arc<dyn Node> {
        match &self.local {
            Some(local) if local.id == node.id => local.clone(),
            _ => Arc::new(RemoteNode(self.peers.peer(under, node))),
        }
    }
}
