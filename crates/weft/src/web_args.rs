//! Flags of the web port: where it listens, which host names it accepts, and how many connections.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{anyhow, ensure};
use http::HeaderName;
use ipnet::IpNet;
use listen::ListenAddress;
use server::{GroupsHeader, Posts, REPLAY_DOMAIN, ReplaySettings, ServerSettings};

use crate::flag_values::{whole, whole_from};

/// Flags of `weft serve` for the web port.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct WebArgs {
    /// Address to listen on; port 0 picks any free port
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8080")]
    listen: ListenAddress,

    /// Host name that browsers may use for this server, besides localhost and the address it
    /// listens on; repeat for more
    #[arg(long = "host", value_name = "NAME", help_heading = "Web")]
    hosts: Vec<String>,

    /// Address for replay of archived pages, which needs a separate origin [default: the next port
    /// after --listen, or any free one]
    #[arg(
        long,
        value_name = "HOST:PORT",
        help_heading = "Replay",
        hide_short_help = true
    )]
    replay_listen: Option<ListenAddress>,

    /// Public URL of the replay address, if it is behind a proxy: https://replay.example.org
    #[arg(long, value_name = "URL", value_parser = parse_origin, help_heading = "Replay", hide_short_help = true)]
    replay_url: Option<String>,

    /// Whether scripts of archived pages run
    #[arg(long, value_name = "ON|OFF", default_value = "on", value_parser = ["on", "off"], help_heading = "Replay", hide_short_help = true)]
    replay_scripts: String,

    /// Site that may show archived pages in frames of its pages, such as https://example.org;
    /// repeat for more
    #[arg(long, value_name = "URL", value_parser = parse_origin, help_heading = "Replay", hide_short_help = true)]
    embed_on: Vec<String>,

    /// Name below which every archived site has its own origin, or off; behind a proxy, which
    /// needs all names below it, also give --replay-url
    #[arg(long, value_name = "NAME", default_value = REPLAY_DOMAIN, value_parser = parse_domain, help_heading = "Replay", hide_short_help = true)]
    replay_domain: String,

    /// Do not replay archived pages
    #[arg(long, conflicts_with_all = ["replay_listen", "replay_url", "embed_on", "replay_domain"], help_heading = "Replay", hide_short_help = true)]
    no_replay: bool,

    /// Maximum number of connections; further ones wait
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = whole_from(1_usize, 1024), help_heading = "Web", hide_short_help = true)]
    connections_max: usize,

    /// Maximum number of connections per address; further ones are closed. Behind a proxy all share
    /// its address
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = whole_from(1_usize, 1024), help_heading = "Web", hide_short_help = true)]
    connections_per_address: usize,

    /// Header in which a proxy names the groups of the user; trusted only from addresses in
    /// --groups-from
    #[arg(
        long,
        value_name = "NAME",
        requires = "groups_from",
        help_heading = "Access control",
        hide_short_help = true
    )]
    groups_header: Option<HeaderName>,

    /// Address or network of a trusted proxy; repeat for more
    #[arg(long, value_name = "ADDRESS", requires = "groups_header", value_parser = parse_net, help_heading = "Access \
                                                                                                              control", hide_short_help = true)]
    groups_from: Vec<IpNet>,

    /// File of tokens that identify users (weft rights token makes them); people sign in with one
    /// at /sign-in
    #[arg(long, value_name = "FILE", help_heading = "Access control")]
    tokens: Option<PathBuf>,

    /// Group whose members administer the archive, like tokens made with --admin; repeat for more
    #[arg(
        long = "admin-group",
        value_name = "NAME",
        help_heading = "Access control",
        hide_short_help = true
    )]
    admin_groups: Vec<String>,

    /// Accept captures that programs on this machine post or delete in the manner of OutbackCDX:
    /// POST /outbackcdx/COLLECTION
    #[arg(
        long,
        conflicts_with = "read_only",
        help_heading = "Posts",
        hide_short_help = true
    )]
    posts: bool,

    /// Accept such posts from members of this group at any address; repeat for more
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with = "read_only",
        help_heading = "Posts",
        hide_short_help = true
    )]
    posts_group: Vec<String>,

    /// Close a connection that has not sent a complete first request within this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = whole(1_u64..=3600, 10), help_heading = "Web", hide_short_help = true)]
    first_request_seconds: u64,
}

/// Parses a network or a single address.
fn parse_net(text: &str) -> anyhow::Result<IpNet> {
    let net = text.parse::<IpNet>().ok();
    net.or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
        .ok_or_else(|| anyhow!("expected an address (10.0.0.7) or a network (10.0.0.0/8)"))
}

/// Parses the origin of a web server.
fn parse_origin(text: &str) -> anyhow::Result<String> {
    let expected = || anyhow!("{text:?} is not an origin such as https://replay.example.org, without a path");
    let rest = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    let host = rest.ok_or_else(expected)?.trim_end_matches('/');
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
    ensure!(!host.is_empty() && host.chars().all(plain), expected());
    Ok(text.trim_end_matches('/').to_owned())
}

/// Value of `--replay-domain` for no domain.
const NO_DOMAIN: &str = "off";

/// Parses a host name without a port, or [`NO_DOMAIN`].
fn parse_domain(text: &str) -> anyhow::Result<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    let is_name = text.chars().all(plain) && text.split('.').all(|label| !label.is_empty());
    ensure!(is_name, "{text:?} is not a host name such as replay.example.org");
    Ok(text.to_ascii_lowercase())
}

impl WebArgs {
    /// Returns the settings of the server.
    pub(crate) fn settings(&self) -> ServerSettings {
        let mut hosts = self.hosts.clone();
        // A server that listens on a host name must accept requests for that name.
        hosts.push(self.listen.host.clone());
        let replay_host = self.replay_url.as_deref().and_then(|url| url.split("://").nth(1));
        // Includes the port, if any: `door::Hosts` compares names without ports.
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

    /// Returns the settings of the replay port.
    fn replay(&self) -> Option<ReplaySettings> {
        if self.no_replay {
            return None;
        }
        let mut address = self.listen.address;
        address.set_port(match address.port() {
            0 => 0,
            port => port.checked_add(1).unwrap_or(0),
        });
        Some(ReplaySettings {
            listen: self.replay_listen.as_ref().map_or(address, |given| given.address),
            any_port: self.replay_listen.is_none(),
            url: self.replay_url.clone(),
            scripts: self.replay_scripts == "on",
            embed_on: self.embed_on.clone(),
            domain: (self.replay_domain != NO_DOMAIN).then(|| self.replay_domain.clone()),
        })
    }
}
