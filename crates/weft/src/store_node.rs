//! A store node that runs in this process, with its S3 face. It starts before its users and ends
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
use crate::s3_face::{Face, FaceArgs};
use crate::style::clean_lines;
use crate::threads;
use crate::units::counted;

/// A running node and its threads.
pub(crate) struct StoreNode {
    runtime: Runtime,
    running: RunningNode,
    face: Option<Face>,
}

impl StoreNode {
    /// Starts the node that `place` describes, and its S3 face if one was requested. `keys` is the
    /// keys file of the face if no flag names one.
    pub(crate) fn start(
        place: &ConnectSettings,
        face: &FaceArgs,
        keys: PathBuf,
    ) -> anyhow::Result<StoreNode> {
        let settings = settings(place)?;
        let runtime = threads::start("store")?;
        let running = runtime.block_on(start(settings)).context("start the store")?;
        let mut started = StoreNode {
            runtime,
            running,
            face: None,
        };
        if let Some(mut settings) = face.settings(keys) {
            settings.node = Some(started.running.counters());
            let face = Face::start(settings, started.running.store());
            match started.runtime.block_on(face) {
                Ok(face) => started.face = Some(face),
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

    /// Returns its S3 face, if any.
    pub(crate) fn face(&self) -> Option<&Face> {
        self.face.as_ref()
    }

    /// Returns the node's data for the Store page and the metrics.
    pub(crate) fn storage(&self) -> Arc<dyn Storage> {
        Arc::new(NodeStorage {
            store: self.running.store(),
            workers: self.running.workers(),
            s3: self.face.as_ref().map(|face| Box::new(face.counts()) as Counts),
            threads: self.runtime.handle().clone(),
        })
    }

    /// Returns the announcement: the node's id and address, volumes that it was given but does not
    /// use, and the address of its S3 face.
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
        if let Some(face) = &self.face {
            text.push('\n');
            text.push_str(&face.announcement());
        }
        clean_lines(&text)
    }

    /// Waits for running requests, stops the workers and closes the volumes.
    pub(crate) fn end(self) {
        self.runtime.block_on(async {
            if let Some(face) = self.face {
                face.end().await;
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

/// Requests and connections of the S3 face.
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
