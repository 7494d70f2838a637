//! What can be set of the server. Each default serves a laptop and a small server alike.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// Plain values; components are given to [`crate::serve`] beside them.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// Address to bind. Port 0 takes any free port; [`crate::Server::address`] says which.
    pub listen: SocketAddr,
    /// Names and addresses that the server goes by besides those of this machine and `listen`: requests for any other
    /// get status 421, because a web page may have pointed its own name here (see [`door::Hosts`]).
    pub hosts: Vec<String>,
    /// Whether `POST /api/v1/loads` (and cancelling) is served, and then only to askers on this machine:
    /// a load reads any file that the server may read.
    pub loads_over_http: bool,
    /// Connections held at once; more wait in the system's queue.
    pub connections_max: usize,
    /// Connections of one address held at once; more are closed as they come. Behind a proxy all have its address.
    pub connections_per_address_max: usize,
    /// A connection without a whole request after this long is closed.
    pub first_request_max: Duration,
    /// A connection is closed after this long without another request, or when its other end takes nothing of an answer
    /// for this long.
    pub idle_max: Duration,
    /// Questions put to the archive at once; more wait until `request_timeout`.
    pub questions_max: usize,
    /// A request that has no answer after this long gets status 503.
    pub request_timeout: Duration,
    /// Archived content is cut off after this long, however much of it is left.
    pub content_max: Duration,
    /// Request line and header fields together, in bytes. Long archived URLs stand in the request line.
    pub header_bytes_max: usize,
    /// Request body, in bytes. Only loads have one.
    pub body_bytes_max: usize,
    /// Time between two samples of the statistics charts.
    pub sample_interval: Duration,
}

impl Default for ServerSettings {
    fn default() -> ServerSettings {
        let cores = std::thread::available_parallelism().map_or(2, |n| n.get());
        ServerSettings {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            hosts: Vec::new(),
            loads_over_http: false,
            connections_max: 1024,
            connections_per_address_max: 256,
            first_request_max: Duration::from_secs(10),
            idle_max: Duration::from_secs(60),
            questions_max: (cores * 4).max(8),
            request_timeout: Duration::from_secs(30),
            content_max: Duration::from_secs(60),
            header_bytes_max: 128 * 1024,
            body_bytes_max: 1024 * 1024,
            sample_interval: Duration::from_secs(2),
        }
    }
}
