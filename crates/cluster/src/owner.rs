//! Owner files: a running node says in each of its volumes where it is and what to prove to it, so that commands on
//! the same machine find it. Only its own user may read them.
//!
//! A file that was left behind by a node that is gone does no harm: nobody answers at its address who knows its secret,
//! and the volume's lock is free.

use std::io;
use std::path::Path;

use contract::NodeId;
use serde::{Deserialize, Serialize};

use super::trust::{Tls, Trust};
use super::{Secret, files};

/// Name of the file.
const FILE: &str = "owner.json";

/// Version of the file's format.
const FORMAT: u32 = 1;

/// What an owner file says.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owner {
    format: u32,
    /// The node.
    pub(super) node: NodeId,
    /// Where it listens, `host:port`.
    pub(super) address: String,
    /// Its secret in hexadecimal.
    secret: String,
    /// How it is spoken to.
    #[serde(default)]
    tls: Tls,
    /// Its process, for people.
    pub(super) pid: u32,
}

impl Owner {
    /// This process.
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

    /// What it takes to talk to it; `None` for a secret that is none.
    pub(super) fn trust(&self) -> Option<Trust> {
        Trust::new(Secret::from_hex(&self.secret)?, self.tls).ok()
    }

    /// Who has said to own the volume in this directory; `None` if nobody, or in a format of another version.
    pub(super) fn read(volume_dir: &Path) -> io::Result<Option<Self>> {
        let owner: Option<Self> = files::read(&files::path_of(volume_dir, FILE))?;
        Ok(owner.filter(|owner| owner.format == FORMAT))
    }

    /// Says so in a volume, unless it stands there already.
    pub(super) fn write(&self, volume_dir: &Path) -> io::Result<()> {
        if Self::read(volume_dir).is_ok_and(|owner| owner.as_ref() == Some(self)) {
            return Ok(());
        }
        files::replace(&files::path_of(volume_dir, FILE), self)
    }

    /// Takes it back, unless another has said so meanwhile.
    pub(super) fn remove(&self, volume_dir: &Path) {
        if Self::read(volume_dir).is_ok_and(|owner| owner.as_ref() == Some(self)) {
            // Left behind, it does no harm.
            let _ = std::fs::remove_file(files::path_of(volume_dir, FILE));
        }
    }
}
