//! Settings of the S3 server, and its startup errors.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use listen::{TlsError, TlsFiles};
use store::Counters;

use crate::gateway::GatewayError;
use crate::keys::KeysError;
use crate::log::LogSettings;

/// Longest XML body in bytes: fits deletion of a thousand keys of a thousand bytes, each byte
/// escaped.
pub(crate) const XML_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Settings of the S3 server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Address to listen on; port 0 picks a free one.
    pub listen: SocketAddr,
    /// Certificate chain and private key as PEM files; plain HTTP if `None`.
    pub tls: Option<TlsFiles>,
    /// The keys file; created if it does not exist.
    pub keys: PathBuf,
    /// Limits on clients.
    pub limits: Limits,
    /// Counters of the node. Its background workers wait while this server has requests in flight.
    pub node: Option<Arc<Counters>>,
    /// Host names allowed in unsigned requests over plain HTTP, besides `listen` and the local
    /// names of this machine. Other names are refused, which prevents DNS rebinding by web pages.
    pub hosts: Vec<String>,
    /// Whether to accept version 2 signatures: HMAC-SHA1 over only part of a request.
    pub version_2: bool,
    /// The access log; `None` for no log.
    pub log: Option<LogSettings>,
}

impl Settings {
    /// Returns settings with defaults for everything else: plain HTTP, no log, only version 4
    /// signatures.
    pub fn new(listen: SocketAddr, keys: PathBuf) -> Self {
        Self {
            listen,
            tls: None,
            keys,
            limits: Limits::default(),
            node: None,
            hosts: Vec::new(),
            version_2: false,
            log: None,
        }
    }
}

/// Limits on clients.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Most concurrent connections; others wait in the kernel's queue.
    pub connections_max: usize,
    /// Most connections from one address (for IPv6: one /64 network) that have sent no signed
    /// request. Further ones are closed immediately.
    pub per_address_max: usize,
    /// How many of `connections_max` are reserved for networks that sent signed requests recently.
    pub reserve: usize,
    /// How long a connection without a signed request may be idle: before its first request (with
    /// TLS, before the handshake ends) and between requests.
    pub stranger_time_max: Duration,
    /// Most bytes of the request line and headers together.
    pub header_bytes_max: usize,
    /// Most bytes of a request's content.
    pub body_bytes_max: u64,
    /// How long a connection may take to send its headers, or stay idle between requests.
    pub header_time_max: Duration,
    /// How long a client may pause sending its body or reading its response.
    pub idle_time_max: Duration,
}

impl Default for Limits {
    /// 5 GiB is S3's own limit of one put. S3 allows 8 KB of headers; presigned URLs need some
    /// more.
    fn default() -> Self {
        Self {
            connections_max: 1024,
            per_address_max: 128,
            reserve: 256,
            stranger_time_max: Duration::from_secs(10),
            header_bytes_max: 32 * 1024,
            body_bytes_max: 5 * 1024 * 1024 * 1024,
            header_time_max: Duration::from_secs(30),
            idle_time_max: Duration::from_secs(60),
        }
    }
}

/// Why the server does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is in use or does not belong to this machine.
    #[error("listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The I/O error.
        source: io::Error,
    },
    /// The keys file is invalid or cannot be read.
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// The certificate or its key is invalid or cannot be read.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The file of the access log cannot be opened.
    #[error("open the access log: {0}")]
    Log(io::Error),
    /// The connection of a gateway to its upstream cannot be set up.
    #[error(transparent)]
    Gateway(#[from] GatewayError),
}
