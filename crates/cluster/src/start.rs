//! Starts and stops a node.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use listen::Port;
use placement::Layouts;
use store::upkeep::{Workers, WorkersConfig};
use store::{Cluster, Store};
use store_protocol::{Cause, Counters, NodeStatus, Volume, VolumeId};
use volume::{FixityLog, NODE_DIR, fixity};

use super::beacon::Beacon;
use super::connector::Connector;
use super::durable_file;
use super::event_log::EventLog;
use super::layout_log::LayoutLog;
use super::lazy_volume::{LazyVolume, Opening};
use super::local::LocalNode;
use super::membership::{Membership, join};
use super::node_files::NodeFiles;
use super::open::{self, OpenVolume, Opener};
use super::promises::Promises;
use super::settings::{ConnectionSettings, NodeSettings};
use super::start_error::StartError;
use super::trust::Trust;
use super::wire::client::Peers;
use super::wire::server::{Serving, door};

/// A node that serves its volumes until it is shut down. Its volumes are closed once it is shut
/// down and all clones of its store are dropped.
pub struct RunningNode {
    node: Arc<LocalNode>,
    store: Store,
    address: SocketAddr,
    node_files: Arc<NodeFiles>,
    unplaced: Vec<VolumeId>,
    _news: Option<EventLog>,
    serving: Option<Serving>,
}

/// Opens the volumes, agrees on the layouts, listens, and starts the background workers.
///
/// # Errors
/// [`StartError`] if the settings are wrong or no volume opens. Nothing is left running.
pub async fn start(settings: NodeSettings) -> Result<RunningNode, StartError> {
    let log = FixityLog::new();
    start_node(settings, open::directories(log.clone()), Some(log)).await
}

/// Like [`start`], with volumes that the caller opens. Tests use it to inject faults.
///
/// # Errors
/// The same as [`start`].
pub async fn start_with(settings: NodeSettings, opener: Opener) -> Result<RunningNode, StartError> {
    start_node(settings, opener, None).await
}

async fn start_node(
    settings: NodeSettings,
    opener: Opener,
    log: Option<Arc<FixityLog>>,
) -> Result<RunningNode, StartError> {
    let trust = settings.trust()?;
    let membership = join(&settings).await?;
    let places = membership.places();
    let layout_log = LayoutLog::new(
        membership.layouts.clone(),
        membership.accepted.clone(),
        places.clone(),
    );
    let promises = Promises::read(places.clone());
    let node_files = NodeFiles::new(layout_log.clone(), promises.clone());
    let opening = Opening {
        opener,
        layout_log: layout_log.clone(),
        // A node without background workers is a short command. It does not log that volumes are
        // out of service.
        log: log.filter(|_| settings.upkeep.is_some()),
    };
    let event_log = opening.log.as_deref().map(EventLog::of);
    // Before the layouts are written below: an open volume is locked, so no other process changes
    // it.
    let volumes = open_all(&membership, &node_files, opening).await?;
    let port = listen(settings.listen, settings.connections).await?;
    let address = port.address();
    let filled = layout_log.fill().await;
    filled.map_err(|error| StartError::conflict(&settings.id, error))?;
    let node = LocalNode::new(
        settings.id.clone(),
        volumes,
        places.into_iter().collect(),
        layout_log.clone(),
        promises,
    );
    let store = store_of(&node, &trust, address, membership.layouts.clone());
    let workers = workers_of(&node, &settings, &store);
    // Before the beacons are written and requests are served: from then on commands find this node
    // and send it requests.
    node.begin(store.clone(), workers);
    let beacon = Beacon::me(&settings.id, reachable(address).to_string(), &trust);
    node_files.serve(beacon, node.paths.iter());
    let serving = Serving::start(port, node.clone(), &trust, settings.connections);
    tracing::info!(node = %node.id, %address, layout = layout_log.tag().number, "node serves");
    Ok(RunningNode {
        node,
        store,
        address,
        node_files,
        unplaced: membership.unplaced,
        _news: event_log,
        serving: Some(serving),
    })
}

/// Opens all volumes that can be opened. The others are out of service, with the reason, and are
/// retried later. Wrong settings and volumes that another process has open are still errors: two
/// processes must not divide the volumes of a store between them.
async fn open_all(
    membership: &Membership,
    node_files: &Arc<NodeFiles>,
    opening: Opening,
) -> Result<BTreeMap<VolumeId, Arc<dyn Volume>>, StartError> {
    let given = membership.volumes.iter().map(|volume| OpenVolume {
        write_node_files: Some(node_files.write_node_files(&volume.id)),
        ..volume.clone()
    });
    let given: Vec<_> = given.collect();
    let opened = system::blocking(move || open_each(given, &opening));
    opened.await.unwrap_or_else(|error| {
        Err(StartError::Volume {
            path: PathBuf::new(),
            detail: error.to_string(),
        })
    })
}

fn open_each(
    given: Vec<OpenVolume>,
    opening: &Opening,
) -> Result<BTreeMap<VolumeId, Arc<dyn Volume>>, StartError> {
    let mut volumes: BTreeMap<VolumeId, Arc<dyn Volume>> = BTreeMap::new();
    let mut shut = Vec::new();
    make_directories(&given);
    for volume in given {
        match (opening.opener)(volume.clone()) {
            Ok(opened) => drop(volumes.insert(volume.id, opened)),
            Err(StartError::Volume { detail, .. }) => shut.push((volume, detail)),
            Err(error) => return Err(error),
        }
    }
    if volumes.is_empty() {
        let (path, detail) = none_opens(shut);
        return Err(StartError::Volume { path, detail });
    }
    for (volume, reason) in shut {
        tracing::warn!(volume = %volume.id, path = %volume.path.display(), "out of service: {reason}");
        let event = fixity::event("volume-out", &volume.id, None, Cause::Request, reason.clone());
        if let Some(log) = &opening.log {
            log.append(&event, true);
        }
        volumes.insert(
            volume.id.clone(),
            LazyVolume::new(volume, reason, opening.clone()),
        );
    }
    Ok(volumes)
}

/// Makes all directories that are to be made before it makes the first volume. A new volume gets
/// the layout, and an absent directory named by a layout counts as an unmounted disk. If the
/// process is killed between two volumes, the second directory must therefore already exist.
fn make_directories(given: &[OpenVolume]) {
    for volume in given.iter().filter(|volume| volume.makes_directory) {
        if let Err(error) = durable_file::make_dir(&volume.path) {
            // Opening the volume reports the error.
            tracing::debug!(volume = %volume.id, path = %volume.path.display(), %error, "a directory cannot be created");
        }
    }
}

/// Returns the path of the first volume, and why none can be opened.
fn none_opens(shut: Vec<(OpenVolume, String)>) -> (PathBuf, String) {
    let mut shut = shut.into_iter();
    let (path, mut reasons) = shut
        .next()
        .map_or_else(Default::default, |(volume, detail)| (volume.path, detail));
    for (volume, detail) in shut {
        reasons.push_str(&format!("; volume {}: {detail}", volume.path.display()));
    }
    (path, reasons)
}

async fn listen(address: Option<SocketAddr>, connections: ConnectionSettings) -> Result<Port, StartError> {
    let address = address.unwrap_or_else(free_port);
    let port = Port::bind(address, door(connections)).await;
    port.map_err(|error| StartError::Listen { address, error })
}

fn free_port() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

/// Returns the address at which commands on this machine reach a node that listens on `address`.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(Ipv4Addr::LOCALHOST.into());
    }
    address
}

fn store_of(node: &Arc<LocalNode>, trust: &Trust, address: SocketAddr, layouts: Layouts) -> Store {
    let own_address = BTreeMap::from([(node.id.clone(), reachable(address).to_string())]);
    let connector = Connector {
        local: Some(node.clone()),
        peers: Peers::new(&node.id.0, trust.clone(), own_address, node.layout_log.clone()),
    };
    let cluster = Cluster::new(Some(node.id.clone()), layouts, Box::new(connector));
    node.layout_log.tell(&cluster);
    Store::new(cluster)
}

fn workers_of(node: &Arc<LocalNode>, settings: &NodeSettings, store: &Store) -> Option<Workers> {
    let upkeep = settings.upkeep.clone()?;
    let dirs = node.paths.values();
    let state_dirs = dirs.map(|dir| dir.join(NODE_DIR)).collect();
    let counters = node.counters.clone();
    Some(Workers::start(WorkersConfig {
        store: store.clone(),
        local: node.volumes.keys().cloned().collect(),
        settings: upkeep,
        state_dirs,
        load: Arc::new(move || counters.in_flight()),
    }))
}

impl RunningNode {
    /// Returns the store, through this node.
    pub fn store(&self) -> Store {
        self.store.clone()
    }

    /// Returns the address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns given volumes that are in no layout in force. They hold nothing until a layout that
    /// names them is applied.
    pub fn unplaced(&self) -> &[VolumeId] {
        &self.unplaced
    }

    /// Returns its counters. Other servers of this process must count their requests here: they are
    /// shown with the node's own, and the background workers slow down for them.
    pub fn counters(&self) -> Arc<Counters> {
        self.node.counters.clone()
    }

    /// Returns its background workers, or `None` if it runs without.
    pub fn workers(&self) -> Option<Workers> {
        self.node.workers()
    }

    /// Returns the state of the node, its volumes and its workers.
    pub async fn status(&self) -> NodeStatus {
        self.node.status_here().await
    }

    /// Ends the node: finishes responses in flight (for some seconds at most), stops the workers
    /// and closes the volumes.
    pub async fn shutdown(mut self) {
        if let Some(serving) = self.serving.take() {
            serving.stop().await;
        }
        if let Some(workers) = self.node.workers() {
            workers.shutdown().await;
        }
        tracing::info!(node = %self.node.id, "node has ended");
    }
}

impl Drop for RunningNode {
    fn drop(&mut self) {
        self.node.end();
        self.node_files.end(self.node.paths.values());
    }
}
