//! Files that an operator writes for a node: how they are read, which names are valid, and why they
//! are refused.

use std::path::{Path, PathBuf};
use std::time::TryFromFloatSecsError;

/// Why settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A file that cannot be read.
    #[error("read {path}: {error}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What failed.
        error: std::io::Error,
    },
    /// A file with a wrong or unknown value.
    #[error("{path}: {error}")]
    Format {
        /// The file.
        path: PathBuf,
        /// The value.
        error: ValueError,
    },
    /// The secret.
    #[error(transparent)]
    Secret(#[from] super::secret::SecretError),
    /// The keys of connections could not be made.
    #[error("cannot make the keys for connections between nodes: {0}")]
    Tls(String),
    /// A `--volume` option that cannot be parsed.
    #[error("volume {text:?}: {error}: expected DIR[,name=NAME][,zone=ZONE][,weight=NUMBER]")]
    Volume {
        /// The text given.
        text: String,
        /// The value.
        error: ValueError,
    },
}

/// Why a value of a settings file or of a `--volume` option is refused.
#[derive(Debug, thiserror::Error)]
pub enum ValueError {
    /// The text is not TOML, or has an unknown key or a value of another type.
    #[error(transparent)]
    Toml(#[from] toml::de::Error),
    /// The name of a node or volume, as said first.
    #[error("{0} name {1:?}: expected 1 to 63 letters, digits, dots, hyphens or underscores")]
    Name(&'static str, String),
    /// The number of copies in a cluster file.
    #[error("replicas = {0}: expected 1 to {REPLICAS_MAX}")]
    ClusterReplicas(u8),
    /// The number of copies in the settings of a node.
    #[error("replicas: expected 1 to {REPLICAS_MAX}")]
    NodeReplicas,
    /// Two nodes of a cluster file have this id.
    #[error("two nodes have the id {0:?}")]
    SameNode(String),
    /// The address of this node.
    #[error("node {0:?}: address {1:?}: expected host:port")]
    Address(String, String),
    /// Two volumes of this node have this name.
    #[error("node {0:?} has two volumes named {1:?}")]
    SameVolumeOfNode(String, String),
    /// A cluster file without a volume.
    #[error("no node has a volume")]
    NoVolumes,
    /// Settings of a node without a volume.
    #[error("no volume is given: a node requires at least one")]
    NoVolume,
    /// Two volumes of the settings have this name.
    #[error("two volumes have the name {0:?}")]
    SameVolume(String),
    /// The node is not in its cluster file.
    #[error("the cluster file has no node {0:?}")]
    NoNode(String),
    /// A time of `[upkeep]`: its name and its seconds.
    #[error("upkeep: {0} = {1}: {2}")]
    Upkeep(&'static str, f64, TryFromFloatSecsError),
    /// A `--volume` option without a directory.
    #[error("the directory is missing")]
    NoDirectory,
    /// The weight in a `--volume` option.
    #[error("invalid weight {0:?}")]
    Weight(String),
    /// Another part of a `--volume` option.
    #[error("cannot parse {0:?}")]
    VolumePart(String),
}

/// Highest number of copies of an object.
pub const REPLICAS_MAX: u8 = 8;

/// Checks a name: names of nodes and volumes are used in paths, headers and logs.
pub(super) fn check_name(what: &'static str, name: &str) -> Result<(), ValueError> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    if (1..=63).contains(&name.len()) && name.bytes().all(allowed) {
        return Ok(());
    }
    Err(ValueError::Name(what, name.to_owned()))
}

/// Reads a TOML file.
pub(super) fn read_toml<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, SettingsError> {
    let text = std::fs::read_to_string(path).map_err(|error| SettingsError::Read {
        path: path.to_owned(),
        error,
    })?;
    toml::from_str(&text).map_err(|error| SettingsError::Format {
        path: path.to_owned(),
        error: error.into(),
    })
}

/// Returns the weight of a volume whose weight is not given.
pub(super) fn one() -> u32 {
    1
}
