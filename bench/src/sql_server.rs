//! `weft-sql serve` under test, in a separate process, over HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::Value;

/// A server process; dropping it ends the process.
pub struct Server {
    child: Child,
    address: String,
}

impl Server {
    /// Starts a server of an archive; `more` adds to its command.
    ///
    /// # Errors
    /// The server does not start.
    pub fn start(
        weft_sql: &Path,
        archive: &Path,
        memory_bytes: u64,
        more: impl FnOnce(&mut Command),
    ) -> anyhow::Result<Server> {
        let mut command = Command::new(weft_sql);
        command
            .args([
                "serve",
                "--json",
                "--listen",
                "127.0.0.1:0",
                "--flight",
                "none",
                "--time-limit",
                "3600",
            ])
            .args(["--memory", &memory_bytes.to_string(), "--archive"])
            .arg(archive)
            .stdout(Stdio::piped());
        more(&mut command);
        let mut child = command.spawn().context("start weft-sql serve")?;
        let stdout = child.stdout.take().context("read the output of weft-sql serve")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let said: Value =
            serde_json::from_str(&line).context("weft-sql serve --json printed unexpected output")?;
        let url = said["url"]
            .as_str()
            .context("weft-sql serve printed no address")?;
        let address = url
            .trim_start_matches("http://")
            .trim_end_matches("/sql")
            .to_owned();
        Ok(Server { child, address })
    }

    fn ask(&self, statement: &str, format: &str) -> anyhow::Result<Vec<u8>> {
        let mut stream = TcpStream::connect(&self.address).context("connect")?;
        stream.set_nodelay(true)?;
        let head = format!(
            "POST /api/v1/sql?format={format} HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/sql\r\nContent-Length: {}\r\n\r\n",
            statement.len()
        );
        stream.write_all((head + statement).as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let end = answer
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .context("a response without a header")?;
        let body = answer.split_off(end + 4);
        let head = String::from_utf8_lossy(&answer);
        ensure!(
            head.contains(" 200 "),
            "{statement}: {head}{}",
            String::from_utf8_lossy(&body)
        );
        Ok(body)
    }

    /// Returns how long a statement took, to its last row, and how many rows it has.
    ///
    /// # Errors
    /// The server refuses it, or has ended.
    pub fn rows(&self, statement: &str) -> anyhow::Result<(Duration, u64)> {
        let begun = Instant::now();
        let body = self.ask(statement, "jsonl")?;
        let took = begun.elapsed();
        Ok((took, body.iter().filter(|byte| **byte == b'\n').count() as u64))
    }

    /// Returns the number in the only row.
    ///
    /// # Errors
    /// As [`Server::rows`], or there is no number.
    pub fn count(&self, statement: &str) -> anyhow::Result<u64> {
        let first = self.texts(statement)?;
        first
            .first()
            .and_then(|text| text.parse().ok())
            .context("the response has no count")
    }

    /// Returns the first column, as texts.
    ///
    /// # Errors
    /// As [`Server::rows`].
    pub fn texts(&self, statement: &str) -> anyhow::Result<Vec<String>> {
        let body = self.ask(statement, "jsonl")?;
        let lines = body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines
            .map(|line| {
                let row: Value = serde_json::from_slice(line)?;
                let first = row.as_object().and_then(|row| row.values().next());
                Ok(match first.context("a row without columns")? {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                })
            })
            .collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
