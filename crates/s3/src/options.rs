//! What the face is told before it starts, and why it does not start.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use listen::{TlsError, TlsFiles};
use store::Counters;

use crate::keys::KeysError;
use crate::log::LogSettings;

/// What the face is told before it starts.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where it listens; port 0 for a free one.
    pub listen: SocketAddr,
    /// Certificate chain and private key, PEM files; plain HTTP without.
    pub tls: Option<TlsFiles>,
    /// The keys file, made when absent.
    pub keys: PathBuf,
    /// What clients may ask of it.
    pub limits: Limits,
    /// The node beside it, whose background workers make way for the requests of the face.
    pub node: Option<Arc<Counters>>,
    /// Names by which unsigned requests over plain HTTP may address it, beside those of this machine for itself and
    /// `listen`: against web pages that have a name of their own pointed here.
    pub hosts: Vec<String>,
    /// Whether signatures of version 2 are accepted: HMAC-SHA1 over less than all of a request.
    pub version_2: bool,
    /// The access log, if there is to be one.
    pub log: Option<LogSettings>,
}

impl Settings {
    /// With everything else as it is by default: plain HTTP, no log, signatures of version 4.
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

/// What clients may ask of it.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Connections at a time; others wait in the system's queue.
    pub connections_max: usize,
    /// Connections of one address (for IPv6: of one network of 64 bits) that have sent no signed request; what comes then is
    /// closed at once.
    pub per_address_max: usize,
    /// How many of `connections_max` are kept for networks that have signed lately.
    pub reserve: usize,
    /// How long a connection that has sent no signed request may ask for nothing: before its first request, with TLS
    /// before that, and between requests.
    pub stranger_time_max: Duration,
    /// Request line and headers together, in bytes.
    pub header_bytes_max: usize,
    /// Content of a request, in bytes.
    pub body_bytes_max: u64,
    /// How long a connection may take to send its headers, or stay idle between requests.
    pub header_time_max: Duration,
    /// How long a client may neither send its body nor read its answer.
    pub idle_time_max: Duration,
}

impl Default for Limits {
    /// 5 GiB is S3's own limit for one put; S3's headers have at most 8 KB, its presigned addresses some more.
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

/// Why the face does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is taken or not this machine's.
    #[error("listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What failed.
        source: io::Error,
    },
    /// The keys file.
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// The certificate or its key.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The file of the access log cannot be opened.
    #[error("open the access log: {0}")]
    Log(io::Error),
}
