//! A store node that runs in this process, with its S3 server. It starts before its users and ends
//! after them.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use cluster::{ConnectSettings, NodeSettings, RunningNode, start};
use server::storage::{ConnectionCount, Storage, StoreReport, gather};
use store::upkeep::Workers;
use store::{RequestCount, Store};
use tokio::runtime::{Handle, Runtime};

use crate::outcome::WrongUse;
use crate::s3_server::{S3Server, S3ServerArgs};
use crate::style::clean_lines;
use crate::threads;
use crate::units::counted;

/// A running node and its threads.
pub(crate) struct StoreNode {
    runtime: Runtime,
    running: RunningNode,
    s3_server: Option<S3Server>,
}

impl StoreNode {
    /// Starts the node that `place` describes, and its S3 server if one was requested. `keys` is the
    /// keys file of the S3 server if no flag names one.
    pub(crate) fn start(
        place: &ConnectSettings,
        s3_server: &S3ServerArgs,
        keys: PathBuf,
    ) -> anyhow::Result<StoreNode> {
        let settings = settings(place)?;
        let runtime = threads::start("store")?;
        let running = runtime.block_on(start(settings)).context("start the store")?;
        let mut started = StoreNode {
            runtime,
            running,
            s3_server: None,
        };
        if let Some(mut settings) = s3_server.settings(keys) {
            settings.node = Some(started.running.counters());
            let s3_server = S3Server::start(settings, started.running.store());
            match started.runtime.block_on(s3_server) {
                Ok(s3_server) => started.s3_server = Some(s3_server),
                Err(error) => {
                    started.end();
                    return Err(error);
                }
            }
        }
        Ok(started)
    }

    /// Returns the running node.
    pub(crate) fn running(&self) -> &RunningNode {
        &self.running
    }

    /// Returns its S3 server, if any.
    pub(crate) fn s3_server(&self) -> Option<&S3Server> {
        self.s3_server.as_ref()
    }

    /// Returns the node's data for the Store page and the metrics.
    pub(crate) fn storage(&self) -> Arc<dyn Storage> {
        Arc::new(NodeStorage {
            store: self.running.store(),
            workers: self.running.workers(),
            s3: self
                .s3_server
                .as_ref()
                .map(|s3_server| Box::new(s3_server.counts()) as Counts),
            threads: self.runtime.handle().clone(),
        })
    }

    /// Returns the announcement: the node's id and address, volumes that it was given but does not
    /// use, and the address of its S3 server.
    pub(crate) fn announcement(&self) -> String {
        let store = self.running.store();
        let topology = store.cluster().topology();
        let id = store.cluster().me().map(ToString::to_string).unwrap_or_default();
        let mut text = format!(
            "store node {id} at {}: layout {}, {} of every object on {}",
            self.running.address(),
            topology.layouts.current.number,
            counted(topology.replicas() as u64, "copy", "copies"),
            counted(topology.volumes.len() as u64, "volume", "volumes"),
        );
        // Retired volumes are covered in the log.
        let retired = &topology.layouts.current.roles.retired;
        for volume in self
            .running
            .unplaced()
            .iter()
            .filter(|volume| !retired.contains(*volume))
        {
            text.push_str(&format!(
                "\nvolume {volume} is in no layout and is empty: add it with weft store layout apply"
            ));
        }
        if let Some(s3_server) = &self.s3_server {
            text.push('\n');
            text.push_str(&s3_server.announcement());
        }
        clean_lines(&text)
    }

    /// Waits for running requests, stops the workers and closes the volumes.
    pub(crate) fn end(self) {
        self.runtime.block_on(async {
            if let Some(s3_server) = self.s3_server {
                s3_server.end().await;
            }
            self.running.shutdown().await;
        });
    }
}

/// Returns the settings of a node. Volumes given one by one form a store that only this process
/// serves.
fn settings(place: &ConnectSettings) -> anyhow::Result<NodeSettings> {
    match place {
        ConnectSettings::Volumes(volumes) => Ok(NodeSettings::of_volumes(volumes.clone())),
        ConnectSettings::Node(file) => Ok(NodeSettings::read(file)?),
        ConnectSettings::Cluster { .. } => Err(WrongUse(
            "a node is started with its own node.toml (--config), or with its volumes (--volume)".into(),
        )
        .into()),
    }
}

/// Requests and connections of the S3 server.
type Counts = Box<dyn Fn() -> (Vec<RequestCount>, ConnectionCount) + Send + Sync>;

struct NodeStorage {
    store: Store,
    workers: Option<Workers>,
    s3: Option<Counts>,
    /// Connections to other nodes must be used on the store's threads, whichever thread the caller
    /// is on.
    threads: Handle,
}

#[async_trait::async_trait]
impl Storage for NodeStorage {
    async fn report(&self) -> StoreReport {
        let cluster = Arc::clone(self.store.cluster());
        let gathered = self.threads.spawn(async move { gather(&cluster).await }).await;
        let (s3, s3_connections) = self.s3.as_ref().map(|counts| counts()).unzip();
        StoreReport {
            census: self.workers.as_ref().and_then(Workers::last_census),
            s3: s3.unwrap_or_default(),
            s3_connections,
            // Gathering fails only while the store is closing.
            ..gathered.unwrap_or_default()
        }
    }
}
