//! Flags of the web port: where it listens, by which names it may be called, and how many connections it
//! accepts.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use http::HeaderName;
use ipnet::IpNet;
use listen::ListenAddress;
use server::{GroupsHeader, ServerSettings};

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

impl WebArgs {
    /// Returns the settings of the server.
    pub(crate) fn settings(&self) -> ServerSettings {
        let mut hosts = self.hosts.clone();
        // A server that listens on a name must accept requests for that name.
        hosts.push(self.listen.host.clone());
        ServerSettings {
            listen: self.listen.address,
            hosts,
            groups_header: self.groups_header.clone().map(|name| GroupsHeader {
                name,
                from: self.groups_from.clone(),
            }),
            tokens: self.tokens.clone(),
            connections_max: self.connections_max,
            connections_per_address_max: self.connections_per_address,
            first_request_max: Duration::from_secs(self.first_request_seconds),
            ..ServerSettings::default()
        }
    }
}
