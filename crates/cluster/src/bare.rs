//! A node without a port: its volumes, its promises and the layouts it has accepted, with the same
//! checks and files as a node that serves. The caller carries requests from it and to it.
//!
//! Simulations run clusters of these in one process.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use placement::Layouts;
use store::{Cluster, Connect, LayoutTag, Store, Timeouts, Topology, merge};
use store_protocol::{Node, NodeId, Volume, VolumeId};

use super::layout_log::{LayoutLog, LayoutLogError, LayoutsFile};
use super::local::LocalNode;
use super::promises::Promises;

/// A node without a port.
#[derive(Clone)]
pub struct BareNode(Arc<LocalNode>);

impl BareNode {
    /// Makes a node of these open volumes, each with its directory. It continues from the layouts
    /// and promises that it finds on them. If there are no layouts, it begins with `first`.
    ///
    /// # Errors
    /// [`LayoutLogError`] if a file of layouts cannot be read, or none can be written.
    pub async fn open(
        id: NodeId,
        volumes: Vec<(Arc<dyn Volume>, PathBuf)>,
        first: Layouts,
    ) -> Result<Self, LayoutLogError> {
        let of = |(volume, path): &(Arc<dyn Volume>, PathBuf)| (volume.id().clone(), path.clone());
        let places: Vec<(VolumeId, PathBuf)> = volumes.iter().map(of).collect();
        let (mut layouts, mut accepted) = (first, Vec::new());
        for (_, path) in &places {
            let Some(file) = LayoutsFile::read(path)? else {
                continue;
            };
            layouts = merge(&layouts, file.layouts).unwrap_or(layouts);
            accepted.push(file.accepted);
        }
        let newest = accepted
            .into_iter()
            .max_by_key(|list| list.last().map(|layout| layout.number));
        let mut accepted = newest.unwrap_or_default();
        accepted.retain(|layout| layout.number > layouts.current.number);
        let layout_log = LayoutLog::new(layouts, accepted, places.clone());
        let promises = Promises::read(places.clone());
        layout_log.fill().await?;
        let volumes: BTreeMap<_, _> = volumes
            .into_iter()
            .map(|(volume, _)| (volume.id().clone(), volume))
            .collect();
        let paths = places.into_iter().collect();
        Ok(Self(LocalNode::new(id, volumes, paths, layout_log, promises)))
    }

    /// Makes the node's store, which reaches other nodes through `connect`. From now on the node
    /// decides writes. The tables of the layouts in `before` are reused.
    pub async fn begin(
        &self,
        before: Option<&Topology>,
        connect: Box<dyn Connect>,
        timeouts: Timeouts,
    ) -> Store {
        let layouts = self.0.layout_log.layouts().await;
        let cluster = Cluster::with_tables_of(before, Some(self.0.id.clone()), layouts, connect);
        self.0.layout_log.tell(&cluster);
        let store = Store::with_timeouts(cluster, timeouts);
        self.0.begin(store.clone(), None);
        store
    }

    /// Returns a volume of this node, guarded for requests under this layout.
    pub fn volume(&self, id: &VolumeId, under: LayoutTag) -> Option<Arc<dyn Volume>> {
        self.0.volume(id, under)
    }

    /// Returns the handle that answers requests of other nodes.
    pub fn node(&self) -> Arc<dyn Node> {
        self.0.clone()
    }

    /// Ends the node. From now on it decides no writes.
    pub fn end(&self) {
        self.0.end();
    }
}
