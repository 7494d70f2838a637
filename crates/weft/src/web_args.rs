//! Flags of the web port: where it listens, by which names it may be called, and how many connections it
//! accepts.

use std::time::Duration;

use listen::ListenAddress;
use server::ServerSettings;

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

    /// Close a connection that has sent no whole request after so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600), help_heading = "Web")]
    first_request_seconds: u64,
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
            connections_max: self.connections_max,
            connections_per_address_max: self.connections_per_address,
            first_request_max: Duration::from_secs(self.first_request_seconds),
            ..ServerSettings::default()
        }
    }
}
