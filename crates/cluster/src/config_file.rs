//! Files that an operator writes for a node: how they are read, which names are valid, and why they
//! are refused.

use std::path::{Path, PathBuf};

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
    #[error("{path}: {detail}")]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong, and the expected value.
        detail: String,
    },
    /// The secret.
    #[error(transparent)]
    Secret(#[from] super::secret::SecretError),
    /// The keys of connections could not be made.
    #[error("cannot make the keys for connections between nodes: {0}")]
    Tls(String),
    /// A `--volume` option that cannot be parsed.
    #[error("volume {text:?}: {detail}: expected DIR[,name=NAME][,zone=ZONE][,weight=NUMBER]")]
    Volume {
        /// The text given.
        text: String,
        /// What is wrong.
        detail: String,
    },
}

/// Highest number of copies of an object.
pub const REPLICAS_MAX: u8 = 8;

/// Checks a name: names of nodes and volumes are used in paths, headers and logs.
pub(super) fn check_name(what: &str, name: &str) -> Result<(), String> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    if (1..=63).contains(&name.len()) && name.bytes().all(allowed) {
        return Ok(());
    }
    Err(format!(
        "{what} name {name:?}: expected 1 to 63 letters, digits, dots, hyphens or underscores"
    ))
}

/// Reads a TOML file.
pub(super) fn read_toml<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, SettingsError> {
    let text = std::fs::read_to_string(path).map_err(|error| SettingsError::Read {
        path: path.to_owned(),
        error,
    })?;
    toml::from_str(&text).map_err(|error| SettingsError::Format {
        path: path.to_owned(),
        detail: error.to_string(),
    })
}

/// Returns the weight of a volume whose weight is not given.
pub(super) fn one() -> u32 {
    1
}
