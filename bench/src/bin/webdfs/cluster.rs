//! Fifteen real servers on loopback: `weft store serve`, five zones of three, each with one volume
//! and an S3 server.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{io, thread};

use anyhow::{Context, bail, ensure};

/// Bucket of the experiment.
pub(crate) const BUCKET: &str = "webdfs";

const ZONES: usize = 5;
const SERVERS_A_ZONE: usize = 3;
/// A server that does not answer within this time is broken.
const START: Duration = Duration::from_secs(60);

/// The cluster; dropping it kills the servers.
pub(crate) struct Cluster {
    weft: PathBuf,
    servers: Vec<Server>,
}

struct Server {
    folder: PathBuf,
    s3: u16,
    process: Option<Child>,
}

impl Cluster {
    /// Writes the settings of all servers below `folder` and starts them.
    pub(crate) fn start(weft: &Path, folder: &Path) -> anyhow::Result<Self> {
        let count = ZONES * SERVERS_A_ZONE;
        let ports = free_ports(count * 2)?;
        let (nodes, faces) = ports.split_at(count);
        fs::write(folder.join("cluster.toml"), cluster_file(nodes))?;
        fs::write(folder.join("s3-keys.toml"), bench::s3::keys_file())?;
        secret_permissions(&folder.join("s3-keys.toml"))?;
        let mut servers = Vec::new();
        for (server, &s3) in faces.iter().enumerate() {
            let home = folder.join(name(server));
            fs::create_dir_all(&home).with_context(|| format!("create {}", home.display()))?;
            fs::write(home.join("node.toml"), node_file(server, nodes[server]))?;
            servers.push(Server {
                folder: home,
                s3,
                process: None,
            });
        }
        let mut cluster = Self {
            weft: weft.to_owned(),
            servers,
        };
        for server in 0..count {
            cluster.launch(server)?;
        }
        for server in 0..count {
            cluster.wait_until_up(server)?;
        }
        Ok(cluster)
    }

    /// Starts one server's process, or restarts it.
    pub(crate) fn launch(&mut self, server: usize) -> anyhow::Result<()> {
        let Server { folder, s3, process } = &mut self.servers[server];
        let log = File::options()
            .create(true)
            .append(true)
            .open(folder.join("log"))?;
        let child = Command::new(&self.weft)
            .args(["store", "serve", "--config"])
            .arg(folder.join("node.toml"))
            .args(["--s3", &format!("127.0.0.1:{s3}"), "--s3-keys"])
            .arg(folder.with_file_name("s3-keys.toml"))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("start {}", self.weft.display()))?;
        *process = Some(child);
        Ok(())
    }

    /// Waits until a server accepts connections.
    pub(crate) fn wait_until_up(&mut self, server: usize) -> anyhow::Result<()> {
        let Server { folder, s3, process } = &mut self.servers[server];
        let started = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", *s3)).is_err() {
            if let Some(status) = process.as_mut().map(Child::try_wait).transpose()?.flatten() {
                bail!(
                    "server {} exited: {status}; see {}",
                    name(server),
                    folder.join("log").display()
                );
            }
            ensure!(
                started.elapsed() < START,
                "server {} does not respond; see {}",
                name(server),
                folder.join("log").display()
            );
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Kills a server, as `kill -9` does.
    pub(crate) fn kill(&mut self, server: usize) -> anyhow::Result<()> {
        if let Some(mut child) = self.servers[server].process.take() {
            child.kill().context("kill a server")?;
            child.wait()?;
        }
        Ok(())
    }

    /// Returns the process id of a running server.
    pub(crate) fn process(&self, server: usize) -> anyhow::Result<u32> {
        self.servers[server]
            .process
            .as_ref()
            .map(Child::id)
            .context("the server is not running")
    }

    /// Returns the S3 endpoint of each server.
    pub(crate) fn endpoints(&self) -> Vec<String> {
        self.servers
            .iter()
            .map(|server| format!("http://127.0.0.1:{}", server.s3))
            .collect()
    }

    /// Returns the directory of each server's volume.
    pub(crate) fn volumes(&self) -> Vec<PathBuf> {
        self.servers
            .iter()
            .map(|server| server.folder.join("volume"))
            .collect()
    }

    /// Returns the volumes of one zone.
    pub(crate) fn volumes_of_zone(&self, zone: usize) -> Vec<PathBuf> {
        self.volumes()[zone * SERVERS_A_ZONE..(zone + 1) * SERVERS_A_ZONE].to_vec()
    }

    /// Runs `weft store COMMAND` through the first server. Returns true if it found nothing
    /// missing, bad or lost.
    pub(crate) fn store(&self, command: &str) -> anyhow::Result<bool> {
        let status = Command::new(&self.weft)
            .args(["store", command, "--config"])
            .arg(self.servers[0].folder.join("node.toml"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .with_context(|| format!("run weft store {command}"))?;
        match status.code() {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => bail!("weft store {command}: {status}"),
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for server in 0..self.servers.len() {
            let _ = self.kill(server);
        }
    }
}

fn name(server: usize) -> String {
    format!("node-{server:02}")
}

fn cluster_file(ports: &[u16]) -> String {
    let mut text = "replicas = 2\nseed = 2009\n".to_owned();
    for (server, port) in ports.iter().enumerate() {
        let zone = server / SERVERS_A_ZONE + 1;
        text += &format!(
            "\n[[node]]\nid = \"{}\"\nzone = \"zone-{zone}\"\naddress = \"127.0.0.1:{port}\"\n[[node.volume]]\nname = \"a\"\n",
            name(server)
        );
    }
    text
}

fn node_file(server: usize, port: u16) -> String {
    format!(
        "id = \"{}\"\nlisten = \"127.0.0.1:{port}\"\ncluster = \"../cluster.toml\"\nsecret = \"../secret\"\n\n\
         [[volume]]\nname = \"a\"\npath = \"volume\"\n",
        name(server)
    )
}

fn secret_permissions(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))
}

/// Returns ports that were just free, all different.
fn free_ports(count: usize) -> anyhow::Result<Vec<u16>> {
    let listeners = (0..count)
        .map(|_| TcpListener::bind("127.0.0.1:0"))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(listeners
        .iter()
        .map(|listener| listener.local_addr().map(|address| address.port()))
        .collect::<Result<_, _>>()?)
}
