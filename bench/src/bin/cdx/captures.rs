//! The captures to query.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use serde::Deserialize;

/// A capture in the output of `weft dump captures`.
#[derive(Debug, Deserialize)]
struct Row {
    url_key: String,
    fetch_time: String,
    url: String,
    mime: String,
    status: u16,
    digest: String,
    length: u64,
    offset: u64,
    input: String,
}

/// Captures, and the URLs to query.
pub(crate) struct Captures {
    lines: Vec<String>,
    /// In random order, escaped for a query.
    pub(crate) urls: Vec<String>,
}

impl Captures {
    pub(crate) fn of(weft: &Path, archive: &Path, seed: u64) -> anyhow::Result<Captures> {
        let mut dump = Command::new(weft)
            .args(["dump", "captures", "--format", "jsonl", "--archive"])
            .arg(archive)
            .stdout(Stdio::piped())
            .spawn()
            .context("start weft dump")?;
        let stdout = dump.stdout.take().context("read the output of weft dump")?;
        let (mut lines, mut urls) = (Vec::new(), Vec::new());
        for line in BufReader::new(stdout).lines() {
            let row: Row = serde_json::from_str(&line?).context("read a capture")?;
            urls.push(bench::http::encoded(&row.url));
            lines.push(row.cdx());
        }
        let status = dump.wait()?;
        ensure!(
            status.success() && !urls.is_empty(),
            "weft dump printed no captures: {status}"
        );
        urls.shuffle(&mut StdRng::seed_from_u64(seed));
        Ok(Captures { lines, urls })
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Returns the lines of a CDX file with 11 fields, in parts that a server accepts at once.
    pub(crate) fn parts(&self) -> impl Iterator<Item = String> {
        self.lines.chunks(10_000).map(|lines| lines.concat())
    }
}

impl Row {
    fn cdx(&self) -> String {
        let time: String = self
            .fetch_time
            .chars()
            .filter(char::is_ascii_digit)
            .take(14)
            .collect();
        format!(
            "{} {time} {} {} {} {} - - {} {} {}\n",
            self.url_key, self.url, self.mime, self.status, self.digest, self.length, self.offset, self.input
        )
    }
}
