//! `weft store serve` in a separate process: an S3 store on loopback.

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

/// A server that does not answer within this time is broken.
const START: Duration = Duration::from_secs(30);

/// A server process; dropping it ends the process.
pub struct StoreServer(Child);

impl StoreServer {
    /// Starts a server with two volumes in a directory.
    ///
    /// # Errors
    /// The server does not start.
    pub fn start(weft: &Path, dir: &Path, port: u16) -> anyhow::Result<StoreServer> {
        let keys = dir.join("keys.toml");
        fs::write(&keys, crate::s3::keys_file())?;
        fs::set_permissions(&keys, fs::Permissions::from_mode(0o600))?;
        let mut command = Command::new(weft);
        command
            .args([
                "store",
                "serve",
                "--s3",
                &format!("127.0.0.1:{port}"),
                "--s3-keys",
            ])
            .arg(&keys);
        for volume in ["a", "b"] {
            command.arg("--volume").arg(dir.join(volume));
        }
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .context("start weft store serve")?;
        let mut server = StoreServer(child);
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            ensure!(
                server.0.try_wait()?.is_none(),
                "weft store serve exited immediately"
            );
            ensure!(started.elapsed() < START, "weft store serve does not respond");
            thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    /// Returns its process id.
    pub fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for StoreServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
