//! A running node of the store within this process: started before everything that stands on it, shut down after.

use std::sync::Arc;

use anyhow::Context as _;
use server::storage::{Storage, StoreReport, gather};
use store::node::{ConnectSettings, NodeSettings, RunningNode, start};
use store::store::Store;
use tokio::runtime::{Handle, Runtime};

use crate::exit::WrongUse;
use crate::style::clean_lines;
use crate::units::counted;

/// A node, with the threads that it runs on.
pub(crate) struct Keeping {
    runtime: Runtime,
    node: RunningNode,
}

impl Keeping {
    /// Starts the node that `place` describes.
    pub(crate) fn start(place: &ConnectSettings) -> anyhow::Result<Keeping> {
        let settings = settings(place)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .thread_name("store")
            .build()
            .context("start the store's threads")?;
        let node = runtime.block_on(start(settings)).context("start the store")?;
        Ok(Keeping { runtime, node })
    }

    /// The running node.
    pub(crate) fn node(&self) -> &RunningNode {
        &self.node
    }

    /// What the Store page and the metrics show of it.
    pub(crate) fn storage(&self) -> Arc<dyn Storage> {
        Arc::new(Kept {
            store: self.node.store(),
            threads: self.runtime.handle().clone(),
        })
    }

    /// In a line who it is and where; and what it was given that it does not use.
    pub(crate) fn said(&self) -> String {
        let store = self.node.store();
        let view = store.cluster().view();
        let id = store.cluster().me().map(ToString::to_string).unwrap_or_default();
        let mut said = format!(
            "store node {id} at {}: layout {}, {} of every object on {}",
            self.node.address(),
            view.layouts.current.number,
            counted(view.replicas() as u64, "copy", "copies"),
            counted(view.volumes.len() as u64, "volume", "volumes"),
        );
        for volume in self.node.unplaced() {
            said.push_str(&format!(
                "\nvolume {volume} is in no layout and holds nothing: weft store layout apply takes it in"
            ));
        }
        clean_lines(&said)
    }

    /// Lets what is under way finish, stops the workers, closes the volumes.
    pub(crate) fn end(self) {
        self.runtime.block_on(self.node.shutdown());
    }
}

/// What a node needs to start: volumes given one by one make a store of this process alone.
fn settings(place: &ConnectSettings) -> anyhow::Result<NodeSettings> {
    match place {
        ConnectSettings::Volumes(volumes) => Ok(NodeSettings::of_volumes(volumes.clone())),
        ConnectSettings::Node(file) => Ok(NodeSettings::read(file)?),
        ConnectSettings::Cluster { .. } => Err(WrongUse(
            "a node is started by its own node.toml (--config), or by its volumes (--volume)".into(),
        )
        .into()),
    }
}

struct Kept {
    store: Store,
    /// Connections to other nodes live on the store's threads, whoever asks.
    threads: Handle,
}

#[async_trait::async_trait]
impl Storage for Kept {
    async fn report(&self) -> StoreReport {
        let cluster = Arc::clone(self.store.cluster());
        let gathered = self.threads.spawn(async move { gather(&cluster).await }).await;
        // Only a store that is being closed says nothing.
        gathered.unwrap_or_default()
    }
}
