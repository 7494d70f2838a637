//! Settings of the S3 server, and errors of its start.

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

/// Settings of the S3 server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Address to listen on; port 0 for a free one.
    pub listen: SocketAddr,
    /// Certificate chain and private key as PEM files; plain HTTP if `None`.
    pub tls: Option<TlsFiles>,
    /// The keys file; made if it does not exist.
    pub keys: PathBuf,
    /// Limits on clients.
    pub limits: Limits,
    /// Counters of the node, whose background workers wait while requests are in flight here.
    pub node: Option<Arc<Counters>>,
    /// Host names allowed in unsigned requests over plain HTTP, besides `listen` and this machine's names for
    /// itself. Other names are refused, against web pages whose own name points here (DNS rebinding).
    pub hosts: Vec<String>,
    /// Whether signatures of version 2 are accepted: HMAC-SHA1 over only part of a request.
    pub version_2: bool,
    /// The access log; none if `None`.
    pub log: Option<LogSettings>,
}

impl Settings {
    /// Defaults for everything else: plain HTTP, no log, only signatures of version 4.
    pub fn at(listen: SocketAddr, keys: PathBuf) -> Self {
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
    /// Most connections at a time; others wait in the system's queue.
    pub connections_max: usize,
    /// Most connections of one address (for IPv6: of one /64 network) that have sent no signed request; more
    /// are closed at once.
    pub per_address_max: usize,
    /// How many of `connections_max` are reserved for networks that have sent signed requests recently.
    pub reserve: usize,
    /// How long a connection without a signed request may be idle: before its first request (with TLS, before
    /// the handshake ends) and between requests.
    pub stranger_time_max: Duration,
    /// Most bytes of request line and headers together.
    pub header_bytes_max: usize,
    /// Most bytes of a request's content.
    pub body_bytes_max: u64,
    /// How long a connection may take to send its headers, or stay idle between requests.
    pub header_time_max: Duration,
    /// How long a client may stop sending its body or reading its response.
    pub idle_time_max: Duration,
}

impl Default for Limits {
    /// 5 GiB is S3's own limit for one put. S3 allows 8 KB of headers; presigned addresses need some more.
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
    /// The address is in use or not this machine's.
    #[error("listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
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
    /// The upstream of a gateway cannot be asked.
    #[error(transparent)]
    Gateway(#[from] GatewayError),
}
