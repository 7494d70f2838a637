//! Flags of the web port: where it listens, by which names it may be called, and how many connections it
//! accepts.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use http::HeaderName;
use ipnet::IpNet;
use listen::ListenAddress;
use server::{GroupsHeader, Posts, ReplaySettings, ServerSettings};

use crate::flag_values::positive;

/// Flags of `weft serve` for the web port.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct WebArgs {
    /// Address to listen on; port 0 takes any free port
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8080")]
    listen: ListenAddress,

    /// A name that browsers may call this server by, besides localhost and the address it listens on; repeat it for more
    #[arg(long = "host", value_name = "NAME", help_heading = "Web")]
    hosts: Vec<String>,

    /// Where archived pages are shown as they were, on an origin of their own [default: the port after that of --listen, or any
    /// free one]
    #[arg(long, value_name = "HOST:PORT", help_heading = "Replay")]
    replay_listen: Option<ListenAddress>,

    /// Where browsers reach that address, if a proxy stands before it: https://replay.example.org
    #[arg(long, value_name = "URL", value_parser = parse_origin, help_heading = "Replay")]
    replay_url: Option<String>,

    /// Whether scripts of archived pages run
    #[arg(long, value_name = "ON|OFF", default_value = "on", value_parser = ["on", "off"], help_heading = "Replay")]
    replay_scripts: String,

    /// Do not show archived pages as they were
    #[arg(long, conflicts_with_all = ["replay_listen", "replay_url"], help_heading = "Replay")]
    no_replay: bool,

    /// Most connections at a time; more wait
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = positive, help_heading = "Web")]
    connections_max: usize,

    /// Most connections of one address at a time; more are closed. Behind a proxy all have its address
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = positive, help_heading = "Web")]
    connections_per_address: usize,

    /// A header in which a proxy in front names the groups of who asks; believed from --groups-from alone
    #[arg(
        long,
        value_name = "NAME",
        requires = "groups_from",
        help_heading = "Who asks"
    )]
    groups_header: Option<HeaderName>,

    /// An address or network of such a proxy; repeat it for more
    #[arg(long, value_name = "ADDRESS", requires = "groups_header", value_parser = parse_net, help_heading = "Who asks")]
    groups_from: Vec<IpNet>,

    /// A file of tokens that say who asks (weft rights token makes them); people sign in with one at /sign-in
    #[arg(long, value_name = "FILE", help_heading = "Who asks")]
    tokens: Option<PathBuf>,

    /// A group whose members administer the archive, as tokens made with --admin do; repeat it for more
    #[arg(long = "admin-group", value_name = "NAME", help_heading = "Who asks")]
    admin_groups: Vec<String>,

    /// Take captures that programs of this machine post or delete as at OutbackCDX: POST /outbackcdx/COLLECTION
    #[arg(long, conflicts_with = "read_only", help_heading = "Posts")]
    posts: bool,

    /// Take them from members of this group, from wherever they ask; repeat it for more
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with = "read_only",
        help_heading = "Posts"
    )]
    posts_group: Vec<String>,

    /// Close a connection that has sent no whole request after so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600), help_heading = "Web")]
    first_request_seconds: u64,
}

/// A network, or one address.
fn parse_net(text: &str) -> Result<IpNet, String> {
    let net = text.parse::<IpNet>().ok();
    let address = || text.parse::<IpAddr>().ok().map(IpNet::from);
    net.or_else(address)
        .ok_or_else(|| "an address (10.0.0.7) or a network (10.0.0.0/8) is expected".to_owned())
}

/// The origin of a web server.
fn parse_origin(text: &str) -> Result<String, String> {
    let expected =
        || format!("{text:?} is no origin: https://replay.example.org is expected, without a path");
    let rest = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    let host = rest.ok_or_else(expected)?.trim_end_matches('/');
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
    match !host.is_empty() && host.chars().all(plain) {
        true => Ok(text.trim_end_matches('/').to_owned()),
        false => Err(expected()),
    }
}

impl WebArgs {
    /// Returns the settings of the server.
    pub(crate) fn settings(&self) -> ServerSettings {
        let mut hosts = self.hosts.clone();
        // A server that listens on a name must accept requests for that name.
        hosts.push(self.listen.host.clone());
        let replay_host = self.replay_url.as_deref().and_then(|url| url.split("://").nth(1));
        // With its port, if it has one: names are compared without (`listen::Hosts`).
        hosts.extend(replay_host.map(str::to_owned));
        ServerSettings {
            listen: self.listen.address,
            hosts,
            replay: self.replay(),
            groups_header: self.groups_header.clone().map(|name| GroupsHeader {
                name,
                from: self.groups_from.clone(),
            }),
            tokens: self.tokens.clone(),
            admin_groups: self.admin_groups.clone(),
            posts: Posts {
                from_here: self.posts,
                groups: self.posts_group.clone(),
            },
            connections_max: self.connections_max,
            connections_per_address_max: self.connections_per_address,
            first_request_max: Duration::from_secs(self.first_request_seconds),
            ..ServerSettings::default()
        }
    }

    /// The port of archived pages.
    fn replay(&self) -> Option<ReplaySettings> {
        if self.no_replay {
            return None;
        }
        let mut beside = self.listen.address;
        beside.set_port(match beside.port() {
            0 => 0,
            port => port.checked_add(1).unwrap_or(0),
        });
        Some(ReplaySettings {
            listen: self.replay_listen.as_ref().map_or(beside, |given| given.address),
            any_port: self.replay_listen.is_none(),
            url: self.replay_url.clone(),
            scripts: self.replay_scripts == "on",
        })
    }
}
