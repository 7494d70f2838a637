//! Settings of the server. The defaults suit a laptop and a small server.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use axum::http::HeaderName;
use ipnet::IpNet;

/// Settings of the server, as plain values. Components are passed to [`crate::serve`] separately.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// Address to bind. Port 0 takes any free port, which [`crate::Server::address`] returns.
    pub listen: SocketAddr,
    /// Names and addresses of the server in addition to those of this machine and `listen`.
    /// Requests for any other name get status 421, because another site may have pointed its name
    /// here (see [`listen::Hosts`]).
    pub hosts: Vec<String>,
    /// The port that shows archived pages, if enabled.
    pub replay: Option<ReplaySettings>,
    /// Whether `POST /api/v1/loads` and cancelling are allowed. They are only for administrators,
    /// because a load reads any file that the server may read.
    pub loads_over_http: bool,
    /// Where files are stored that administrators upload. Without it, uploads are refused.
    pub uploads: Option<UploadSettings>,
    /// Who may post captures as to OutbackCDX.
    pub posts: Posts,
    /// The header in which a proxy names the groups of the client. Without it, clients without a
    /// token are the public.
    pub groups_header: Option<GroupsHeader>,
    /// The file of tokens, if tokens are accepted.
    pub tokens: Option<PathBuf>,
    /// Groups whose members are administrators, in addition to the bearers of administrator tokens.
    pub admin_groups: Vec<String>,
    /// Maximum number of open connections. Further ones wait in the system's queue.
    pub connections_max: usize,
    /// Maximum number of open connections per address. Further ones are closed at once. Behind a
    /// proxy all connections have the proxy's address.
    pub connections_per_address_max: usize,
    /// Time after which a connection without a complete request is closed.
    pub first_request_max: Duration,
    /// Time after which a connection is closed if it has no further request, or if its client stops
    /// reading an answer.
    pub idle_max: Duration,
    /// Maximum number of questions that the archive answers at once. Further ones wait, at most for
    /// `request_timeout`.
    pub questions_max: usize,
    /// Time limit of a request. A request without an answer by then gets status 503.
    pub request_timeout: Duration,
    /// Time limit of sending archived content. It is cut off then, even if much of it is left.
    pub content_max: Duration,
    /// Maximum size of request line and header fields together, in bytes. It is large because the
    /// request line may contain a long archived URL.
    pub header_bytes_max: usize,
    /// Maximum size of the body of a load request, in bytes.
    pub body_bytes_max: usize,
    /// Time between two samples of the statistics charts.
    pub sample_interval: Duration,
}

/// A header in which a proxy names the groups of the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupsHeader {
    /// Name of the header. Its value is a comma-separated list of groups.
    pub name: HeaderName,
    /// Addresses of the trusted proxies.
    pub from: Vec<IpNet>,
}

/// Settings of the replay origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplaySettings {
    /// Address to bind. Port 0 takes any free port.
    pub listen: SocketAddr,
    /// Whether to use any free port if `listen` is in use.
    pub any_port: bool,
    /// Address at which browsers reach the replay origin, such as `https://replay.example.org`.
    /// `None` if it is the address of the port.
    pub url: Option<String>,
    /// Whether archived scripts run.
    pub scripts: bool,
    /// Origins of other sites that may show archived pages in frames, such as
    /// `https://example.org`.
    pub embed_on: Vec<String>,
    /// The name below which every archived site has its own origin, in lower case, such as
    /// [`REPLAY_DOMAIN`]. With `url`, browsers reach it by the scheme and port of that. `None` if
    /// archived sites have no origins.
    pub domain: Option<String>,
}

/// The default of [`ReplaySettings::domain`]. Browsers look for names below `localhost` on their
/// own machine (RFC 6761, section 6.3).
pub const REPLAY_DOMAIN: &str = "replay.localhost";

/// Maximum size of an uploaded file, in bytes. A larger file is loaded from the server's disk.
pub const UPLOAD_BYTES_MAX: u64 = 64 << 30;

/// Where files are stored that administrators upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadSettings {
    /// Absolute path of the folder. It is created with the first upload, and the archive reads
    /// records from it.
    pub dir: PathBuf,
    /// Maximum size of a file, in bytes.
    pub bytes_max: u64,
}

impl UploadSettings {
    /// Stores files of up to [`UPLOAD_BYTES_MAX`] bytes in `dir`.
    pub fn at(dir: PathBuf) -> UploadSettings {
        UploadSettings {
            dir,
            bytes_max: UPLOAD_BYTES_MAX,
        }
    }
}

/// Clients that may add and delete captures over HTTP (`POST /outbackcdx/<collection>`). By default
/// nobody may.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Posts {
    /// Programs on this machine, as far as can be determined, if they may see the whole archive.
    pub from_here: bool,
    /// Members of these groups, from any address.
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
            uploads: None,
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
