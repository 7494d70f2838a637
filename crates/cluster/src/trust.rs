//! The credentials for talking to nodes: the secret, and how the connections are protected.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::config_file::SettingsError;
use super::secret::Secret;
use super::tls::Keys;

/// How connections between the processes of a cluster are protected: `tls` in the cluster file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tls {
    /// TLS with a key derived from the secret, for every connection. Others are closed without a
    /// response.
    #[default]
    On,
    /// While a cluster changes from plain connections to TLS: TLS with processes that speak it,
    /// plain with the others.
    Both,
    /// No TLS: for a network that is protected by other means.
    Off,
}

/// The secret of a cluster, and the keys derived from it.
#[derive(Clone)]
pub(super) struct Trust {
    pub(super) secret: Secret,
    pub(super) tls: Tls,
    pub(super) keys: Keys,
}

impl Trust {
    /// Derives the keys from the secret.
    ///
    /// # Errors
    /// [`SettingsError::Tls`] if the cryptography library refuses the key or TLS 1.3.
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
