//! Why a node does not start.

use std::net::SocketAddr;
use std::path::PathBuf;

use store_protocol::NodeId;

use super::config_file::SettingsError;

/// Why a node does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Invalid settings.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Settings that contradict each other or the volumes.
    #[error("node {node}: {detail}")]
    Conflict {
        /// The node.
        node: String,
        /// What is contradictory, and what to do.
        detail: String,
    },
    /// The address is taken or does not belong to this machine.
    #[error("listen on {address}: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What failed.
        error: std::io::Error,
    },
    /// Another process has the volume open.
    #[error("volume {path} is in use: {detail}")]
    InUse {
        /// Its directory.
        path: PathBuf,
        /// The error of opening it.
        detail: String,
    },
    /// A directory that is another volume or not a volume: correct the settings.
    #[error("{detail}")]
    WrongDirectory {
        /// The directory.
        path: PathBuf,
        /// What it is instead.
        detail: String,
    },
    /// A volume that cannot be opened at present. The node starts without it if another volume
    /// opens.
    #[error("open volume {path}: {detail}")]
    Volume {
        /// Its directory.
        path: PathBuf,
        /// What failed.
        detail: String,
    },
    /// No layouts are found, but the volumes were used before. An operator must confirm that the
    /// layouts are lost.
    #[error("the layouts of this store are missing, so its objects cannot be found: {found}. {advice}")]
    LayoutsLost {
        /// The state of each directory.
        found: String,
        /// What to do.
        advice: String,
    },
    /// No directory is a volume.
    #[error("there is no store: {found}")]
    NoStore {
        /// The state of each directory.
        found: String,
    },
}

impl StartError {
    /// Returns the error for settings of this node that contradict each other or the volumes.
    pub(super) fn conflict(node: &NodeId, detail: impl ToString) -> Self {
        Self::Conflict {
            node: node.to_string(),
            detail: detail.to_string(),
        }
    }
}
