//! What a process must have to talk to nodes: the secret, and how the connections are protected.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::config_file::SettingsError;
use super::secret::Secret;
use super::tls::Keys;

/// How connections between the processes of a cluster are protected: `tls` in the cluster file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tls {
    /// All of them, by TLS with a key made from the secret; others are closed without an answer.
    #[default]
    On,
    /// While a cluster changes from plain connections to TLS: TLS with those who speak it, plain with the
    /// others.
    Both,
    /// None of them: for a network that is protected by other means.
    Off,
}

/// The secret of a cluster, and the keys made from it.
#[derive(Clone)]
pub(super) struct Trust {
    pub(super) secret: Secret,
    pub(super) tls: Tls,
    pub(super) keys: Keys,
}

impl Trust {
    /// # Errors
    /// [`SettingsError::Tls`] when the cryptography library refuses the key or TLS 1.3.
    pub(super) fn new(secret: Secret, tls: Tls) -> Result<Self, SettingsError> {
        let keys = Keys::of(&secret).map_err(|error| SettingsError::Tls(error.to_string()))?;
        Ok(Self { secret, tls, keys })
    }
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trust({:?})", self.tls)
    }
}
