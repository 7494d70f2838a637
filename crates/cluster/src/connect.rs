//! How a short command reaches a store: through the process that has its volumes open, or, if there
//! is no such process, as a separate node without background workers.

use std::collections::BTreeMap;
use std::path::PathBuf;

use placement::{Layouts, NodeRole};
use store::{Cluster, Store};
use store_protocol::NodeId;
use tokio::time::{Duration, Instant, sleep};

use super::ask_nodes::layouts_of;
use super::beacon::Beacon;
use super::cluster_file::ClusterFile;
use super::config_file::SettingsError;
use super::connector::Connector;
use super::layout_log::LayoutLog;
use super::secret::Secret;
use super::settings::{NodeSettings, VolumeSettings};
use super::start::{RunningNode, start};
use super::start_error::StartError;
use super::trust::Trust;
use super::wire::client::Peers;

/// How long a command waits for a node that is starting or stopping: its volumes are locked but it
/// does not answer.
const RETRY_FOR: Duration = Duration::from_secs(5);

/// Time between two attempts.
const RETRY_EVERY: Duration = Duration::from_millis(50);

/// A command that has sent no request for this long has ended: between two requests it only reads
/// or prints a little.
const QUIET_FOR: Duration = Duration::from_millis(300);

/// The store that a command is to work on, as given by its options.
#[derive(Debug, Clone)]
pub enum ConnectSettings {
    /// The volumes of a single-process store.
    Volumes(Vec<VolumeSettings>),
    /// A `node.toml` on this machine.
    Node(PathBuf),
    /// A running cluster, from any machine.
    Cluster {
        /// The cluster file, whose addresses are tried.
        file: PathBuf,
        /// The file with the secret.
        secret: PathBuf,
    },
}

/// A connection to a store. Call [`Connection::close`] at the end.
pub struct Connection {
    store: Store,
    through: ServingNode,
    /// Given volumes that the running node does not have open.
    unopened_volumes: Vec<PathBuf>,
}

enum ServingNode {
    Other(NodeId),
    Own(Box<RunningNode>),
}

/// Why a command cannot reach its store.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Settings that cannot be used.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// No process has the volumes open, and this one cannot open them.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The process that has the volumes open, or should have them, does not answer.
    #[error("no node answers: {0}")]
    NoAnswer(String),
}

/// Reaches a store that exists. Makes no volume: an absent directory means that its volume is out
/// of service, and if no directory is a volume there is no store.
///
/// # Errors
/// [`ConnectError`] if the settings are wrong, no node answers, or the volumes cannot be opened.
pub async fn connect(settings: ConnectSettings) -> Result<Connection, ConnectError> {
    connect_as(settings, false).await
}

/// Reaches a store, and makes the volumes that take part for the first time.
///
/// # Errors
/// The same as [`connect`].
pub async fn connect_or_begin(settings: ConnectSettings) -> Result<Connection, ConnectError> {
    connect_as(settings, true).await
}

async fn connect_as(settings: ConnectSettings, makes_volumes: bool) -> Result<Connection, ConnectError> {
    let settings = match settings {
        ConnectSettings::Volumes(volumes) => NodeSettings::of_volumes(volumes),
        ConnectSettings::Node(file) => NodeSettings::read(&file)?,
        ConnectSettings::Cluster { file, secret } => {
            let cluster = ClusterFile::read(&file)?;
            let secret = Secret::read(&secret).map_err(SettingsError::from)?;
            let trust = Trust::new(secret, cluster.tls)?;
            return through_cluster(&cluster, trust).await;
        }
    };
    let settings = NodeSettings {
        upkeep: None,
        makes_volumes,
        ..settings
    };
    let deadline = Instant::now() + RETRY_FOR;
    loop {
        if let Some(connection) = through_running_node(&settings).await {
            return Ok(connection);
        }
        match start(settings.clone()).await {
            Ok(node) => return Ok(Connection::with_own_node(node)),
            // Listening fails if a node that is about to lock the volumes already listens on the
            // same address.
            Err(StartError::InUse { .. } | StartError::Listen { .. }) if Instant::now() < deadline => {
                sleep(RETRY_EVERY).await;
            }
            Err(StartError::InUse { path, detail }) => {
                let detail = format!("volume {} is in use: {detail}", path.display());
                return Err(ConnectError::NoAnswer(detail));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Connects through the node whose beacon is in the volumes. Returns `None` if it does not answer.
async fn through_running_node(settings: &NodeSettings) -> Option<Connection> {
    let beacons = settings.volumes.iter();
    let beacons = beacons.filter_map(|volume| Beacon::read(&volume.path).ok().flatten());
    let mut tried: Vec<Beacon> = Vec::new();
    for beacon in beacons {
        if tried.contains(&beacon) {
            continue;
        }
        tried.push(beacon.clone());
        let trust = beacon.trust()?;
        let role = NodeRole {
            id: beacon.node.clone(),
            zone: String::new(),
            address: beacon.address.clone(),
        };
        if let Some(told) = layouts_of([&role].into_iter(), &trust).await {
            let unopened_volumes = unopened_volumes(settings, &beacon);
            let addresses = BTreeMap::from([(beacon.node.clone(), beacon.address)]);
            return Some(Connection {
                store: client(told.layouts, trust, addresses),
                through: ServingNode::Other(beacon.node),
                unopened_volumes,
            });
        }
        tracing::debug!(node = %beacon.node, pid = beacon.pid, "the node of this beacon does not answer");
    }
    None
}

/// Returns the given volumes that do not have this beacon.
fn unopened_volumes(settings: &NodeSettings, beacon: &Beacon) -> Vec<PathBuf> {
    let paths = settings.volumes.iter().map(|volume| volume.path.clone());
    let is_unopened = |path: &PathBuf| !Beacon::read(path).is_ok_and(|found| found.as_ref() == Some(beacon));
    let unopened_volumes: Vec<_> = paths.filter(is_unopened).collect();
    for path in &unopened_volumes {
        tracing::warn!(
            "{} is not open in the running process (node {}) and is ignored",
            path.display(),
            beacon.node
        );
    }
    unopened_volumes
}

async fn through_cluster(cluster: &ClusterFile, trust: Trust) -> Result<Connection, ConnectError> {
    let nodes = cluster.roles().nodes;
    let told = layouts_of(nodes.iter(), &trust).await.ok_or_else(|| {
        let addresses: Vec<_> = nodes.iter().map(|node| node.address.as_str()).collect();
        ConnectError::NoAnswer(format!("asked {}", addresses.join(", ")))
    })?;
    Ok(Connection {
        store: client(told.layouts, trust, BTreeMap::new()),
        through: ServingNode::Other(told.by),
        unopened_volumes: Vec::new(),
    })
}

/// Makes the store for a process that is not a node.
fn client(layouts: Layouts, trust: Trust, addresses: BTreeMap<NodeId, String>) -> Store {
    let layout_log = LayoutLog::new(layouts.clone(), Vec::new(), Vec::new());
    let connector = Connector {
        local: None,
        peers: Peers::new("client", trust, addresses, layout_log.clone()),
    };
    let cluster = Cluster::new(None, layouts, Box::new(connector));
    // The handles that the cluster holds keep the log alive.
    layout_log.tell(&cluster);
    Store::new(cluster)
}

impl Connection {
    fn with_own_node(node: RunningNode) -> Self {
        Self {
            store: node.store(),
            through: ServingNode::Own(Box::new(node)),
            unopened_volumes: Vec::new(),
        }
    }

    /// Returns the store.
    pub fn store(&self) -> Store {
        self.store.clone()
    }

    /// Returns the running node that it works through, or `None` if this process has opened the
    /// volumes itself.
    pub fn through(&self) -> Option<&NodeId> {
        match &self.through {
            ServingNode::Other(node) => Some(node),
            ServingNode::Own(_) => None,
        }
    }

    /// Waits until no other command works through this process, because closing it would interrupt
    /// them. Returns at once if there was no other command.
    pub async fn quiet(&self) {
        let ServingNode::Own(node) = &self.through else {
            return;
        };
        let counters = node.counters();
        let tried = || {
            counters
                .counts()
                .iter()
                .map(|operation| operation.count)
                .sum::<u64>()
        };
        let mut before = 0;
        while counters.in_flight() > 0 || tried() > before {
            before = tried();
            sleep(QUIET_FOR).await;
        }
    }

    /// Returns the given directories that the running node does not have open. They are ignored.
    pub fn unopened_volumes(&self) -> &[PathBuf] {
        &self.unopened_volumes
    }

    /// Closes the volumes if this process has opened them.
    pub async fn close(self) {
        if let ServingNode::Own(node) = self.through {
            node.shutdown().await;
        }
    }
}
