//! Settings of the server. The defaults suit a laptop and a small server.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use crate::replay::ReplaySettings;
use crate::who_asks::GroupsHeader;

/// Plain values. Components are passed to [`crate::serve`] separately.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// Address to bind. Port 0 takes any free port, which [`crate::Server::address`] returns.
    pub listen: SocketAddr,
    /// Names and addresses of the server in addition to those of this machine and `listen`. Requests for any
    /// other name get status 421, because a web page may have pointed its own name here (see
    /// [`listen::Hosts`]).
    pub hosts: Vec<String>,
    /// The port that shows archived pages as they were, if there is to be one.
    pub replay: Option<ReplaySettings>,
    /// Whether `POST /api/v1/loads` and cancelling are allowed, and then only to those who administer the archive, because a load reads any
    /// file that the server may read.
    pub loads_over_http: bool,
    /// Who may post captures as to OutbackCDX.
    pub posts: Posts,
    /// The header in which a proxy names the groups of who asks; without it all are the public, but who has a token.
    pub groups_header: Option<GroupsHeader>,
    /// The file of tokens, if any are taken.
    pub tokens: Option<PathBuf>,
    /// Groups whose members administer the archive, besides those whose token says it.
    pub admin_groups: Vec<String>,
    /// Most connections at once. Further ones wait in the system's queue.
    pub connections_max: usize,
    /// Most connections of one address at once. Further ones are closed at once. Behind a proxy all
    /// connections have the proxy's address.
    pub connections_per_address_max: usize,
    /// A connection without a whole request is closed after this time.
    pub first_request_max: Duration,
    /// A connection is closed after this time without another request, or if its client reads nothing of an
    /// answer for this time.
    pub idle_max: Duration,
    /// Most questions that the archive gets at once. Further ones wait, at most for `request_timeout`.
    pub questions_max: usize,
    /// A request without an answer after this time gets status 503.
    pub request_timeout: Duration,
    /// Archived content is cut off after this time, however much of it is left.
    pub content_max: Duration,
    /// Largest size of request line and header fields together, in bytes. It is large because the request
    /// line may contain a long archived URL.
    pub header_bytes_max: usize,
    /// Largest body of a request for a load, in bytes.
    pub body_bytes_max: usize,
    /// Time between two samples of the statistics charts.
    pub sample_interval: Duration,
}

/// Who may add and delete captures over HTTP (`POST /outbackcdx/<collection>`); nobody, where nothing is set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Posts {
    /// Programs of this machine, as far as can be told, if nothing of the archive is hidden from them.
    pub from_here: bool,
    /// Members of these groups, from wherever they ask.
    pub groups: Vec<String>,
}

impl Default for ServerSettings {
    fn default() -> ServerSettings {
        let cores = std::thread::available_parallelism().map_or(2, |n| n.get());
        ServerSettings {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            hosts: Vec::new(),
            replay: None,
            loads_over_http: false,
            posts: Posts::default(),
            groups_header: None,
            tokens: None,
            admin_groups: Vec::new(),
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
