//! This process as a node.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::RwLock;
use placement::{Layout, Layouts};
use store::upkeep::Workers;
use store::{LayoutTag, Store};
use store_protocol::{
    ChangeRequest, Claim, Counters, Meta, Node, NodeError, NodeId, NodeStatus, Volume, VolumeError, VolumeId,
    VolumeStatus,
};

use super::layout_log::LayoutLog;
use super::promises::Promises;
use super::{Guarded, lazy_volume};

/// The parts of a node, shared by its own handle and its server.
pub(crate) struct LocalNode {
    pub(crate) id: NodeId,
    /// The volumes that it serves.
    pub(crate) volumes: BTreeMap<VolumeId, Arc<dyn Volume>>,
    /// Their directories.
    pub(crate) paths: BTreeMap<VolumeId, PathBuf>,
    pub(crate) layout_log: Arc<LayoutLog>,
    promises: Arc<Promises>,
    pub(crate) counters: Arc<Counters>,
    started_ms: u64,
    /// The process's store. `None` before it is made and after the node has ended. The store holds
    /// the cluster, which holds this node: `end` breaks the cycle.
    store: RwLock<Option<Store>>,
    workers: RwLock<Option<Workers>>,
}

impl LocalNode {
    /// Makes a node of these volumes, without a store yet.
    pub(crate) fn new(
        id: NodeId,
        volumes: BTreeMap<VolumeId, Arc<dyn Volume>>,
        paths: BTreeMap<VolumeId, PathBuf>,
        layout_log: Arc<LayoutLog>,
        promises: Arc<Promises>,
    ) -> Arc<Self> {
        Arc::new(Self {
            id,
            volumes,
            paths,
            layout_log,
            promises,
            counters: Arc::default(),
            started_ms: system::wall_ms(),
            store: RwLock::new(None),
            workers: RwLock::new(None),
        })
    }

    /// Returns a volume of this node, guarded for requests under this layout.
    pub(crate) fn volume(&self, id: &VolumeId, under: LayoutTag) -> Option<Arc<dyn Volume>> {
        let volume = self.volumes.get(id)?.clone();
        let under = Some((under, self.layout_log.clone()));
        Some(Guarded::new(volume, self.promises.clone(), under))
    }

    /// Sets the store. From now on the node decides writes.
    pub(crate) fn begin(&self, store: Store, workers: Option<Workers>) {
        *self.store.write() = Some(store);
        *self.workers.write() = workers;
    }

    /// Drops the store. From now on the node decides no writes.
    pub(crate) fn end(&self) {
        *self.store.write() = None;
        *self.workers.write() = None;
    }

    /// Returns its background workers, if it runs with any.
    pub(crate) fn workers(&self) -> Option<Workers> {
        self.workers.read().clone()
    }

    /// Returns the status of the node. A volume that fails to return its status is shown as out of
    /// service, with its error.
    pub(crate) async fn status_here(&self) -> NodeStatus {
        let mut volumes = Vec::with_capacity(self.volumes.len());
        for (id, volume) in &self.volumes {
            let status = volume.status().await;
            volumes.push(status.unwrap_or_else(|error| self.silent(id, &error)));
        }
        let workers = self.workers.read().as_ref().map(Workers::statuses);
        NodeStatus {
            id: self.id.clone(),
            program: env!("CARGO_PKG_VERSION").to_owned(),
            started_ms: self.started_ms,
            layout: self.layout_log.tag().number,
            volumes,
            workers: workers.unwrap_or_default(),
            requests: self.counters.counts(),
        }
    }

    fn silent(&self, id: &VolumeId, error: &VolumeError) -> VolumeStatus {
        let path = self.paths.get(id).map(|path| path.display().to_string());
        lazy_volume::out(id, path.unwrap_or_default(), error.to_string())
    }
}

#[async_trait]
impl Node for LocalNode {
    fn id(&self) -> &NodeId {
        &self.id
    }

    async fn decide(&self, request: ChangeRequest) -> Result<Option<Meta>, NodeError> {
        let store = self.store.read().clone();
        let store = store.ok_or_else(|| NodeError::Unreachable {
            node: self.id.clone(),
            detail: "the node is starting or shutting down".to_owned(),
            asked: false,
        })?;
        store.decide_or_relay(request).await
    }

    async fn promise(&self, claims: &[Claim]) -> Result<Vec<Claim>, NodeError> {
        let promised = self.promises.promise(claims).await;
        promised.map_err(|error| NodeError::Failed(error.to_string()))
    }

    async fn layouts(&self) -> Result<Layouts, NodeError> {
        Ok(self.layout_log.layouts().await)
    }

    async fn propose(&self, layout: &Layout) -> Result<(), NodeError> {
        let accepted = self.layout_log.propose(layout).await;
        accepted.map_err(|error| NodeError::LayoutRefused {
            node: self.id.clone(),
            detail: error.to_string(),
        })
    }

    async fn accepted(&self) -> Result<Vec<Layout>, NodeError> {
        Ok(self.layout_log.accepted().await)
    }

    async fn adopt(&self, layouts: &Layouts) -> Result<(), NodeError> {
        self.layout_log.adopt(layouts.clone()).await;
        Ok(())
    }

    async fn status(&self) -> Result<NodeStatus, NodeError> {
        Ok(self.status_here().await)
    }
}
