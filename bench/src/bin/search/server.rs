//! The server under test, in a separate process.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, ensure};
use serde_json::Value;

use bench::http::Connection;

/// `weft serve` on a free port.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    pub(crate) fn start(weft: &Path, archive: &Path) -> anyhow::Result<Server> {
        let mut child = Command::new(weft)
            .args(["serve", "--json", "--listen", "127.0.0.1:0", "--archive"])
            .arg(archive)
            .stdout(Stdio::piped())
            .spawn()
            .context("start weft serve")?;
        let stdout = child.stdout.take().context("read the output of weft serve")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let said: Value =
            serde_json::from_str(&line).context("weft serve --json printed unexpected output")?;
        let address = said["address"]
            .as_str()
            .context("weft serve printed no address")?;
        let address = address.parse().context("read the server's address")?;
        Ok(Server { child, address })
    }

    /// Returns the JSON response to a GET.
    pub(crate) fn get(&self, path: &str) -> anyhow::Result<Value> {
        let answer = Connection::open(self.address)?.get(path)?;
        let text = String::from_utf8_lossy(&answer.body);
        ensure!(answer.status == 200, "{path}: status {}: {text}", answer.status);
        serde_json::from_str(&text).with_context(|| format!("parse the response to {path}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
