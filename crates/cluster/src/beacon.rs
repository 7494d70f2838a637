//! Beacons (`owner.json`): a running node writes its address and secret into each of its volumes,
//! so that commands on the same machine find it. Only its own user may read them.
//!
//! A file left behind by a node that has ended does no harm: no process at its address knows its
//! secret, and the volume's lock is free.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use store_protocol::NodeId;

use super::trust::{Tls, Trust};
use super::{Secret, durable_file};

/// Name of the file.
const FILE: &str = "owner.json";

/// Version of the file's format.
const FORMAT: u32 = 1;

/// The content of a beacon file.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Beacon {
    format: u32,
    /// The node.
    pub(super) node: NodeId,
    /// Where it listens, `host:port`.
    pub(super) address: String,
    /// Its secret in hexadecimal.
    secret: String,
    /// Whether connections to it use TLS.
    #[serde(default)]
    tls: Tls,
    /// Its process id, for display.
    pub(super) pid: u32,
}

impl Beacon {
    /// Returns the beacon of this process.
    pub(super) fn me(node: &NodeId, address: String, trust: &Trust) -> Self {
        Self {
            format: FORMAT,
            node: node.clone(),
            address,
            secret: trust.secret.to_hex(),
            tls: trust.tls,
            pid: std::process::id(),
        }
    }

    /// Returns the secret and keys for talking to the node, or `None` if the text is not a secret.
    pub(super) fn trust(&self) -> Option<Trust> {
        Trust::new(Secret::from_hex(&self.secret)?, self.tls).ok()
    }

    /// Reads the beacon of the volume in this directory. Returns `None` if there is no beacon, or
    /// if it has another format version.
    pub(super) fn read(volume_dir: &Path) -> io::Result<Option<Self>> {
        let beacon: Option<Self> = durable_file::read(&durable_file::path_of(volume_dir, FILE))?;
        Ok(beacon.filter(|beacon| beacon.format == FORMAT))
    }

    /// Writes the beacon to a volume, unless it is already there.
    pub(super) fn write(&self, volume_dir: &Path) -> io::Result<()> {
        if Self::read(volume_dir).is_ok_and(|beacon| beacon.as_ref() == Some(self)) {
            return Ok(());
        }
        durable_file::replace(&durable_file::path_of(volume_dir, FILE), self)
    }

    /// Removes the beacon, unless another node has replaced it meanwhile.
    pub(super) fn remove(&self, volume_dir: &Path) {
        if Self::read(volume_dir).is_ok_and(|beacon| beacon.as_ref() == Some(self)) {
            // If it stays, it does no harm.
            let _ = durable_file::remove(&durable_file::path_of(volume_dir, FILE));
        }
    }
}
