//! How a short command gets at a store: through the process that has its volumes open, or, when there is none, as a
//! node of its own without background workers.

use std::path::PathBuf;

use super::{SettingsError, StartError, VolumeSettings};
use crate::store::Store;
use crate::volume::NodeId;

/// What a command was told about the store it is to work on.
#[derive(Debug, Clone)]
pub enum ConnectSettings {
    /// The volumes of a store of one process.
    Volumes(Vec<VolumeSettings>),
    /// A `node.toml` of this machine.
    Node(PathBuf),
    /// A running cluster, from anywhere.
    Cluster {
        /// The cluster file: its addresses are tried in turn.
        file: PathBuf,
        /// The file with the secret.
        secret: PathBuf,
    },
}

/// A store to work on. [`Connection::close`] it at the end.
pub struct Connection {
    store: Store,
    through: Option<NodeId>,
}

/// Why a command does not get at its store.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Settings that cannot be used.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Nobody has the volumes open, and they cannot be opened.
    #[error(transparent)]
    Start(#[from] StartError),
    /// Somebody has the volumes open or should, but does not answer.
    #[error("no node answers: {0}")]
    NoAnswer(String),
}

/// Gets at a store.
///
/// # Errors
/// [`ConnectError`]
pub async fn connect(settings: ConnectSettings) -> Result<Connection, ConnectError> {
    let _ = settings;
    todo!()
}

impl Connection {
    /// The store.
    pub fn store(&self) -> Store {
        self.store.clone()
    }

    /// The running node that it works through; `None` when this process has opened the volumes itself.
    pub fn through(&self) -> Option<&NodeId> {
        self.through.as_ref()
    }

    /// Closes the volumes if this process has opened them.
    pub async fn close(self) {
        todo!()
    }
}
