//! Starting a node, and ending it.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::{NodeSettings, NodeStatus, SettingsError};
use crate::store::Store;
use crate::volume::VolumeId;

/// A node that serves its volumes until it is shut down.
pub struct RunningNode {
    store: Store,
    address: SocketAddr,
    unplaced: Vec<VolumeId>,
}

/// Why a node does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Settings that cannot be right.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Settings that do not go together, or not with what the volumes hold.
    #[error("node {node}: {detail}")]
    Conflict {
        /// The node.
        node: String,
        /// What does not go together, and what to do.
        detail: String,
    },
    /// The address is taken or not this machine's.
    #[error("listen on {address}: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What failed.
        error: std::io::Error,
    },
    /// A volume that cannot be opened: another process has it, or its directory cannot be used.
    #[error("open volume {path}: {detail}")]
    Volume {
        /// Its directory.
        path: PathBuf,
        /// What failed.
        detail: String,
    },
    /// A file of the node's own on a volume.
    #[error("{path}: {detail}")]
    File {
        /// The file.
        path: PathBuf,
        /// What failed.
        detail: String,
    },
}

/// Opens the volumes, agrees on the layouts, listens, and starts the background workers.
///
/// # Errors
/// [`StartError`]; nothing is left running then.
pub async fn start(settings: NodeSettings) -> Result<RunningNode, StartError> {
    let _ = settings;
    todo!()
}

impl RunningNode {
    /// The store, through this node.
    pub fn store(&self) -> Store {
        self.store.clone()
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Volumes that it was given and that are in no layout in force: they hold nothing until a layout is applied that
    /// names them.
    pub fn unplaced(&self) -> &[VolumeId] {
        &self.unplaced
    }

    /// How it is doing.
    pub async fn status(&self) -> NodeStatus {
        todo!()
    }

    /// Ends it: answers in flight finish (for some seconds at most), workers stop, volumes are closed.
    pub async fn shutdown(self) {
        todo!()
    }
}
