//! Servers that have the first core for themselves.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, ensure};
use serde_json::Value;

/// A server process; dropping it ends the process.
pub struct Server {
    child: Child,
    /// The address it listens at.
    pub address: SocketAddr,
    /// The address of its replay, if it has one.
    pub replay: Option<SocketAddr>,
}

impl Server {
    /// Starts `weft serve` over an archive, with `flags`.
    ///
    /// # Errors
    /// If it does not start, or `taskset` (util-linux) is missing.
    pub fn weft(weft: &Path, archive: &Path, flags: &[&str]) -> anyhow::Result<Server> {
        let mut child = on_first_core(weft)
            .args(["serve", "--json", "--listen", "127.0.0.1:0"])
            .args(flags)
            .arg("--archive")
            .arg(archive)
            .stdout(Stdio::piped())
            .spawn()
            .context("start weft serve with taskset")?;
        let stdout = child.stdout.take().context("read the output of weft serve")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let said: Value =
            serde_json::from_str(&line).context("weft serve --json printed unexpected output")?;
        let address = said["address"]
            .as_str()
            .context("weft serve printed no address")?;
        let address = address.parse().context("read the server's address")?;
        let replay = said["replay"].as_str().map(|url| {
            let address = url.trim_start_matches("http://").trim_end_matches('/');
            address.parse().context("read the address of archived pages")
        });
        Ok(Server {
            child,
            address,
            replay: replay.transpose()?,
        })
    }

    /// Wraps a process that listens at an address.
    pub fn of(child: Child, address: SocketAddr) -> Server {
        Server {
            child,
            address,
            replay: None,
        }
    }

    /// Returns its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a command whose process runs on the first core only.
pub fn on_first_core(program: &Path) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", "0"]).arg(program);
    command
}

/// Leaves the first core to the server, if there is another.
///
/// # Errors
/// If `taskset` (util-linux) is missing.
pub fn leave_first_core() -> anyhow::Result<()> {
    let cores = std::thread::available_parallelism()?.get();
    if cores > 1 {
        let status = Command::new("taskset")
            .args(["-a", "-c", "-p", &format!("1-{}", cores - 1)])
            .arg(std::process::id().to_string())
            .stdout(Stdio::null())
            .status()
            .context("run taskset, which is part of util-linux")?;
        ensure!(status.success(), "taskset failed: {status}");
    }
    Ok(())
}
