//! A cluster in a temporary directory: its files, and its nodes in this process.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cluster::{ConnectSettings, Connection, NodeSettings, OpenVolume, Opener, RunningNode};
use store::{Cluster, Topology};
use store_protocol::{Volume, VolumeId};
use tempfile::TempDir;
use volume::{DiskSettings, DiskVolume, FixityLog};

/// Files of a cluster of nodes `n1`, `n2`, ..., each in a separate zone.
pub(crate) struct Files {
    dir: TempDir,
    pub(crate) nodes: Vec<String>,
}

/// Returns addresses that are free now. They are held together, so that none is returned twice.
pub(crate) fn free_addresses(count: usize) -> Vec<String> {
    let held: Vec<_> = (0..count)
        .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
        .collect();
    held.iter()
        .map(|listener| listener.local_addr().unwrap().to_string())
        .collect()
}

impl Files {
    /// Makes a cluster of `nodes` nodes with `volumes` volumes `d1`, `d2`, ... each.
    pub(crate) fn new(nodes: usize, volumes: usize, replicas: u8) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let addresses = free_addresses(nodes);
        let names: Vec<_> = (1..=nodes).map(|i| format!("n{i}")).collect();
        let mut cluster = format!("replicas = {replicas}\nseed = 7\n");
        for (name, address) in names.iter().zip(&addresses) {
            cluster += &format!("[[node]]\nid = {name:?}\nzone = \"z-{name}\"\naddress = {address:?}\n");
            let mut own = format!(
                "id = {name:?}\nlisten = {address:?}\ncluster = \"cluster.toml\"\nsecret = \"secret\"\n"
            );
            for volume in 1..=volumes {
                cluster += &format!("[[node.volume]]\nname = \"d{volume}\"\n");
                own += &format!("[[volume]]\nname = \"d{volume}\"\npath = \"{name}-d{volume}\"\n");
            }
            std::fs::write(dir.path().join(format!("{name}.toml")), own).unwrap();
        }
        std::fs::write(dir.path().join("cluster.toml"), cluster).unwrap();
        Self { dir, nodes: names }
    }

    /// Sets how connections are protected, for nodes that start from now on.
    pub(crate) fn set_tls(&self, tls: &str) {
        let path = self.path().join("cluster.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        let others: Vec<_> = text.lines().filter(|line| !line.starts_with("tls = ")).collect();
        std::fs::write(path, format!("tls = {tls:?}\n{}\n", others.join("\n"))).unwrap();
    }

    /// Makes the other nodes reach a node at another address than the one it listens on. Returns
    /// the address that it listens on.
    pub(crate) fn redirect(&self, node: usize, address: &str) -> String {
        let path = self.path().join("cluster.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        let mut addresses = text.lines().filter_map(|line| line.strip_prefix("address = "));
        let listens = addresses.nth(node).unwrap().trim_matches('"').to_owned();
        std::fs::write(path, text.replace(&listens, address)).unwrap();
        listens
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Returns the path of a node's `node.toml`.
    pub(crate) fn toml(&self, node: &str) -> PathBuf {
        self.path().join(format!("{node}.toml"))
    }

    /// Returns the directory of a volume.
    pub(crate) fn volume(&self, node: &str, volume: &str) -> PathBuf {
        self.path().join(format!("{node}-{volume}"))
    }

    /// Returns the settings of a node without background workers.
    pub(crate) fn settings(&self, node: &str) -> NodeSettings {
        NodeSettings {
            upkeep: None,
            ..NodeSettings::read(&self.toml(node)).unwrap()
        }
    }

    pub(crate) async fn start(&self, node: &str) -> RunningNode {
        cluster::start(self.settings(node)).await.unwrap()
    }

    /// Starts all nodes, in order of their names.
    pub(crate) async fn start_all(&self) -> Vec<RunningNode> {
        let mut running = Vec::new();
        for node in &self.nodes {
            running.push(self.start(node).await);
        }
        running
    }

    /// Connects as a command from any machine does.
    pub(crate) async fn client(&self) -> Connection {
        let settings = ConnectSettings::Cluster {
            file: self.path().join("cluster.toml"),
            secret: self.path().join("secret"),
        };
        cluster::connect(settings).await.unwrap()
    }
}

/// Returns the cluster that a node or a command sees.
pub(crate) fn seen(store: &store::Store) -> Arc<Cluster> {
    store.cluster().clone()
}

/// Returns a volume as a topology reaches it.
pub(crate) fn volume(topology: &Topology, id: &str) -> Arc<dyn Volume> {
    topology.volumes[&VolumeId::from(id.to_owned())].clone()
}

/// Returns an opener of directories that wraps each volume.
pub(crate) fn opener(wrap: impl Fn(Arc<dyn Volume>) -> Arc<dyn Volume> + Send + Sync + 'static) -> Opener {
    let fixity = FixityLog::new();
    Arc::new(move |volume: OpenVolume| {
        let settings = DiskSettings::new(volume.path, volume.id, fixity.clone());
        Ok(wrap(DiskVolume::open(settings).unwrap()))
    })
}
