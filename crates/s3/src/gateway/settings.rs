//! What a gateway is before, and what can be wrong with it.

use super::places::{Map, PlaceError, Scope};
use super::sign::Credential;

/// The store that a gateway is before.
#[derive(Debug, Clone)]
pub struct GatewaySettings {
    /// What of it is shown.
    pub scope: Scope,
    /// Names of clients that are others at the upstream.
    pub maps: Vec<Map>,
    /// URL of its S3 interface, `http://` or `https://`; buckets are part of the path. Amazon's of the region if `None`.
    pub endpoint: Option<String>,
    /// The region that signatures name.
    pub region: String,
    /// The key with which it is asked. Without one requests are not signed, as for public buckets.
    pub credential: Option<Credential>,
}

/// Why a gateway cannot be.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// The maps contradict each other.
    #[error(transparent)]
    Places(#[from] PlaceError),
    /// The endpoint is no URL that can be asked.
    #[error("{endpoint:?} is no endpoint of S3 ({detail}): expected http://HOST:PORT or https://HOST")]
    Endpoint {
        /// The endpoint.
        endpoint: String,
        /// What is wrong with it.
        detail: String,
    },
    /// TLS to the upstream cannot be set up.
    #[error("TLS to the upstream: {0}")]
    Tls(String),
}
