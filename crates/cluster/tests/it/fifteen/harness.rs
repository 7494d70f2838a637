//! The cluster: its files, processes and clients, and the checks after every hazard.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster::{ConnectSettings, Connection, Secret};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use store::upkeep::{Census, RepairOptions, RepairReport, census, repair_all};
use store::{Store, Topology};
use store_protocol::{Volume, VolumeId};
use tempfile::TempDir;

use super::proxy::Proxy;
use crate::process::Process;

/// Nodes at the start, and nodes per zone.
const NODES: usize = 15;
const ZONE: usize = 3;

/// The node that is added later.
pub(crate) const SPARE: &str = "n16";

/// The two nodes that are reached through proxies. They are in different zones.
pub(crate) const PAIR: [&str; 2] = ["n02", "n06"];

/// The node whose volume is on a separate small file system, if one may be mounted.
pub(crate) const SMALL: &str = "n15";
const SMALL_MIB: u64 = 48;

/// Clients that share the load.
const CLIENTS: usize = 3;

/// Longest wait for any condition.
const PING_AFTER: Duration = Duration::from_secs(120);

/// A running cluster.
pub(crate) struct Fifteen {
    pub(crate) seed: u64,
    clients: Vec<Connection>,
    processes: BTreeMap<String, Process>,
    proxies: BTreeMap<String, Proxy>,
    /// Unmounted after the processes have ended.
    pub(crate) small: Option<SmallDisk>,
    pub(crate) spare: Member,
    dir: TempDir,
}

/// One node as the cluster file names it.
#[derive(Clone)]
pub(crate) struct Member {
    pub(crate) id: String,
    pub(crate) zone: String,
    /// The address that it listens on.
    listen: String,
    /// The address at which others reach it.
    pub(crate) address: String,
}

impl Fifteen {
    /// Writes the files and starts all processes.
    pub(crate) async fn start(seed: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut members = members();
        let mut proxies = BTreeMap::new();
        for member in members
            .iter_mut()
            .filter(|member| PAIR.contains(&member.id.as_str()))
        {
            let proxy = Proxy::start(member.listen.clone()).await;
            member.address = proxy.address.clone();
            proxies.insert(member.id.clone(), proxy);
        }
        let small = SmallDisk::mount(&dir.path().join("small"));
        write_files(dir.path(), &members, small.as_ref());
        let spare = members.pop().unwrap();
        let tomls: Vec<_> = members
            .iter()
            .map(|member| toml(dir.path(), &member.id))
            .collect();
        let started = tokio::task::block_in_place(|| start_all(&tomls));
        let processes = members.into_iter().map(|member| member.id).zip(started).collect();
        let mut cluster = Self {
            seed,
            clients: Vec::new(),
            processes,
            proxies,
            small,
            spare,
            dir,
        };
        for _ in 0..CLIENTS {
            let client = cluster.client().await;
            cluster.clients.push(client);
        }
        cluster
    }

    /// Makes a new client.
    async fn client(&self) -> Connection {
        let settings = ConnectSettings::Cluster {
            file: self.dir.path().join("cluster.toml"),
            secret: self.dir.path().join("secret"),
        };
        cluster::connect(settings).await.unwrap()
    }

    /// Returns the store through each client.
    pub(crate) fn stores(&self) -> Vec<Store> {
        self.clients.iter().map(Connection::store).collect()
    }

    /// Returns the store through one client.
    pub(crate) fn store(&self) -> Store {
        self.clients[0].store()
    }

    /// Returns the volumes as one client reaches them.
    pub(crate) fn topology(&self) -> Arc<Topology> {
        self.store().cluster().topology()
    }

    /// Returns a volume, reached over the network.
    pub(crate) fn volume(&self, node: &str) -> Arc<dyn Volume> {
        self.topology().volumes[&volume_id(node)].clone()
    }

    /// Returns the directory of a node's volume.
    pub(crate) fn volume_dir(&self, node: &str) -> PathBuf {
        volume_dir(self.dir.path(), self.small.as_ref(), node)
    }

    pub(crate) fn process(&mut self, node: &str) -> &mut Process {
        self.processes.get_mut(node).unwrap()
    }

    /// Returns the random generator of one hazard.
    pub(crate) fn random(&self, hazard: u64) -> StdRng {
        StdRng::seed_from_u64(self.seed ^ hazard << 32)
    }

    /// Returns different random nodes.
    pub(crate) fn victims<const N: usize>(&self, hazard: u64) -> [String; N] {
        let nodes = self.nodes();
        let chosen = nodes.sample_array(&mut self.random(hazard));
        chosen.unwrap()
    }

    /// Returns the names of the running nodes.
    pub(crate) fn nodes(&self) -> Vec<String> {
        self.processes.keys().cloned().collect()
    }

    /// Returns the volumes of [`PAIR`].
    pub(crate) fn pair(&self) -> [VolumeId; 2] {
        PAIR.map(volume_id)
    }

    /// Returns the proxy of one node of [`PAIR`].
    pub(crate) fn proxy(&self, node: &str) -> &Proxy {
        &self.proxies[node]
    }

    pub(crate) fn kill(&mut self, node: &str) {
        self.process(node).kill();
    }

    /// Starts a node again, and waits until it serves.
    pub(crate) fn restart(&mut self, node: &str) {
        tokio::task::block_in_place(|| self.process(node).restart());
    }

    /// Starts the node that has not taken part so far.
    pub(crate) fn start_spare(&mut self) {
        let toml = toml(self.dir.path(), SPARE);
        let process = tokio::task::block_in_place(|| Process::start(&toml));
        self.processes.insert(SPARE.to_owned(), process);
    }

    /// Ends a node permanently.
    pub(crate) fn dismiss(&mut self, node: &str) {
        let mut process = self.processes.remove(node).unwrap();
        tokio::task::block_in_place(|| process.shutdown());
    }

    /// Closes the clients and shuts down all nodes.
    pub(crate) async fn end(mut self) {
        for client in std::mem::take(&mut self.clients) {
            client.close().await;
        }
        for node in self.nodes() {
            self.dismiss(&node);
        }
    }

    /// Waits until every client reaches every volume.
    pub(crate) async fn all_answer(&self) {
        for store in self.stores() {
            for (id, volume) in &store.cluster().topology().volumes {
                until(&format!("{id} answers"), async || volume.status().await.is_ok()).await;
            }
        }
    }

    /// Repairs the store and counts every replica of every object. This must succeed after every
    /// hazard.
    pub(crate) async fn settle(&self, after: &str) {
        self.all_answer().await;
        self.repair(after).await;
        self.count(after).await;
    }

    /// Repairs the whole store, and checks that nothing is lost or fails.
    pub(crate) async fn repair(&self, after: &str) {
        let begun = Instant::now();
        let report = repair_all(self.store().cluster(), &RepairOptions::default(), &|_| {}).await;
        assert!(report.is_clean(), "{after}: {report:#?}");
        let RepairReport {
            keys,
            copies,
            dropped,
            ..
        } = report;
        let seconds = begun.elapsed().as_secs_f64();
        println!("  {after}: {copies} copies made, {dropped} dropped of {keys} objects in {seconds:.1} s");
    }

    /// Checks that every replica of every object exists, and no other file.
    pub(crate) async fn count(&self, after: &str) {
        let begun = Instant::now();
        let census = census(&self.topology(), &|_| {}).await;
        assert!(census.is_whole(), "{after}: {census:#?}");
        let Census {
            objects,
            tombstones,
            replicas_good,
            ..
        } = census;
        let seconds = begun.elapsed().as_secs_f64();
        println!(
            "  {after}: {replicas_good} replicas of {objects} objects and {tombstones} tombstones counted in {seconds:.1} s"
        );
    }
}

/// Waits until a condition holds.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !holds().await {
        assert!(begun.elapsed() < PING_AFTER, "timed out waiting: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub(crate) fn volume_id(node: &str) -> VolumeId {
    VolumeId::from(format!("{node}/d1"))
}

fn toml(dir: &Path, node: &str) -> PathBuf {
    dir.join(format!("{node}.toml"))
}

fn volume_dir(dir: &Path, small: Option<&SmallDisk>, node: &str) -> PathBuf {
    match small {
        Some(small) if node == SMALL => small.path.join("d1"),
        _ => dir.join(format!("{node}-d1")),
    }
}

/// Returns the fifteen members and the spare, in zones, each with a free address.
fn members() -> Vec<Member> {
    let id = std::process::id();
    // A separate loopback address, on which no outgoing connection takes the port of a stopped
    // node.
    let own = format!(
        "127.{}.{}.{}:0",
        1 + id / 62_500 % 250,
        1 + id / 250 % 250,
        1 + id % 250
    );
    let held: Vec<_> = (0..=NODES).map(|_| TcpListener::bind(&own).unwrap()).collect();
    let addresses = held
        .iter()
        .map(|listener| listener.local_addr().unwrap().to_string());
    let member = |(i, address): (usize, String)| Member {
        id: format!("n{:02}", i + 1),
        zone: format!("z{}", i % NODES / ZONE + 1),
        listen: address.clone(),
        address,
    };
    addresses.enumerate().map(member).collect()
}

fn write_files(dir: &Path, members: &[Member], small: Option<&SmallDisk>) {
    // The proxies identify the caller by the heads of its requests.
    let mut cluster = "replicas = 2\nseed = 7\ntls = \"off\"\n".to_owned();
    for (i, member) in members.iter().enumerate() {
        let Member {
            id,
            zone,
            listen,
            address,
        } = member;
        write!(
            cluster,
            "[[node]]\nid = {id:?}\nzone = {zone:?}\naddress = {address:?}\n"
        )
        .unwrap();
        cluster += "[[node.volume]]\nname = \"d1\"\n";
        // The last one is only in a separate file.
        let file = if i < NODES {
            "cluster.toml"
        } else {
            "cluster-more.toml"
        };
        if i + 1 >= NODES {
            std::fs::write(dir.join(file), &cluster).unwrap();
        }
        let path = volume_dir(dir, small, id);
        let own = format!(
            "id = {id:?}\nlisten = {listen:?}\ncluster = {file:?}\nsecret = \"secret\"\n\
             [[volume]]\nname = \"d1\"\npath = {path:?}\n\
             [upkeep]\nwatch_every_s = 1\nretry_after_s = 0.2\n"
        );
        std::fs::write(toml(dir, id), own).unwrap();
    }
    Secret::of_file(&dir.join("secret")).unwrap();
}

/// Starts all nodes in parallel, because each takes some time.
fn start_all(tomls: &[PathBuf]) -> Vec<Process> {
    std::thread::scope(|scope| {
        let starting: Vec<_> = tomls
            .iter()
            .map(|toml| scope.spawn(|| Process::start(toml)))
            .collect();
        starting
            .into_iter()
            .map(|process| process.join().unwrap())
            .collect()
    })
}

/// A file system small enough to be filled. Unmounted when dropped.
pub(crate) struct SmallDisk {
    path: PathBuf,
}

impl SmallDisk {
    /// Mounts one, if this user may.
    fn mount(path: &Path) -> Option<Self> {
        std::fs::create_dir(path).unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={SMALL_MIB}m"), "weft-test"])
            .arg(path)
            .output();
        match mount {
            Ok(output) if output.status.success() => Some(Self {
                path: path.to_owned(),
            }),
            Ok(output) => {
                println!(
                    "no small disk: {}",
                    String::from_utf8_lossy(&output.stderr).trim()
                );
                None
            }
            Err(error) => {
                println!("no small disk: mount: {error}");
                None
            }
        }
    }

    /// Fills all free space.
    pub(crate) fn fill(&self) {
        let mut file = std::fs::File::create(self.path.join("filler")).unwrap();
        let zeros = vec![0; 64 << 10];
        while std::io::Write::write_all(&mut file, &zeros).is_ok() {}
        while std::io::Write::write_all(&mut file, &[0]).is_ok() {}
    }

    /// Frees the space again.
    pub(crate) fn empty(&self) {
        std::fs::remove_file(self.path.join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.path).status();
    }
}
