//! The store's own records of damage: the fixity logs, read as JSON lines.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::Value;

/// All relevant events of all servers' logs.
pub(crate) struct Evidence {
    /// Bad or missing replicas: folder of the server, and beginning of the file's name.
    bad: HashSet<(String, String)>,
    /// Replicas that were removed after the homes of their object were verified: hand-offs, and
    /// copies that moved to another home.
    given_up: HashSet<(String, String)>,
    /// Number of replicas that were recreated.
    pub(crate) repaired: u64,
}

impl Evidence {
    /// Reads the logs of these volumes.
    pub(crate) fn read(volumes: &[PathBuf]) -> anyhow::Result<Self> {
        let mut bad = HashSet::new();
        let mut given_up = HashSet::new();
        let mut repaired = HashSet::new();
        for volume in volumes {
            let log = volume.join("fixity.jsonl");
            let text = fs::read_to_string(&log).with_context(|| format!("read {}", log.display()))?;
            // A server that was killed may have left an incomplete line.
            for event in text
                .lines()
                .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            {
                let Some(replica) = replica(&event) else { continue };
                match event["event"].as_str() {
                    Some("bad" | "missing") => drop(bad.insert(replica)),
                    Some("dropped") => drop(given_up.insert(replica)),
                    Some("repaired") => drop(repaired.insert(replica)),
                    _ => {}
                }
            }
        }
        Ok(Self {
            bad,
            given_up,
            repaired: repaired.len() as u64,
        })
    }

    /// Returns the number of replicas that were found bad or missing.
    pub(crate) fn found(&self) -> u64 {
        self.bad.len() as u64
    }

    /// Returns whether a log reports the damage of this file, or its removal: damage to a copy that
    /// was no longer needed.
    pub(crate) fn noticed(&self, file: &Path) -> bool {
        place(file).is_some_and(|place| self.bad.contains(&place) || self.given_up.contains(&place))
    }
}

/// Returns server and file stem of the replica that an event is about.
fn replica(event: &Value) -> Option<(String, String)> {
    let server = event["volume"].as_str()?.split('/').next()?;
    let stem = blake3::hash(event["key"].as_str()?.as_bytes()).to_hex()[..32].to_owned();
    Some((server.to_owned(), stem))
}

/// Returns server and file stem of `.../node-00/volume/objects/PPP/STEM.VERSION`.
fn place(path: &Path) -> Option<(String, String)> {
    let server = path.ancestors().nth(4)?.file_name()?.to_str()?;
    let stem = path.file_name()?.to_str()?.split('.').next()?;
    Some((server.to_owned(), stem.to_owned()))
}
