//! Settings of a gateway, and their errors.

use super::places::{BucketPrefixError, Map, Scope};
use super::sign::Credential;

/// The upstream of a gateway.
#[derive(Debug, Clone)]
pub struct GatewaySettings {
    /// The part of the upstream to serve.
    pub scope: Scope,
    /// Client names that differ from upstream names.
    pub maps: Vec<Map>,
    /// URL of its S3 interface, `http://` or `https://`; buckets are part of the path. `None` for
    /// Amazon's endpoint in the region.
    pub endpoint: Option<String>,
    /// The region in signatures.
    pub region: String,
    /// The key for requests to the upstream. Without one, requests are not signed, as for public
    /// buckets.
    pub credential: Option<Credential>,
}

/// Why a gateway cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// The maps contradict each other.
    #[error(transparent)]
    Places(#[from] BucketPrefixError),
    /// The endpoint is not a valid URL.
    #[error("{endpoint:?} is not an S3 endpoint ({detail}): expected http://HOST:PORT or https://HOST")]
    Endpoint {
        /// The endpoint.
        endpoint: String,
        /// The reason.
        detail: String,
    },
    /// TLS to the upstream cannot be set up.
    #[error("TLS to the upstream: {0}")]
    Tls(String),
}
