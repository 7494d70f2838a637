//! An address to listen on, as users write it.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::str::FromStr;

/// An address, and the host name that it was given by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenAddress {
    /// The first address of the host.
    pub address: SocketAddr,
    /// The host as given, which clients may use as well.
    pub host: String,
}

impl FromStr for ListenAddress {
    type Err = String;

    /// Parses `HOST:PORT`. The error names the expected form.
    fn from_str(text: &str) -> Result<ListenAddress, String> {
        let expected = "expected HOST:PORT, such as 127.0.0.1:8080";
        let mut addresses = text
            .to_socket_addrs()
            .map_err(|error| format!("{error}; {expected}"))?;
        let address = addresses.next().ok_or_else(|| expected.to_owned())?;
        let host = text.rsplit_once(':').map_or(text, |(host, _)| host).to_owned();
        Ok(ListenAddress { address, host })
    }
}
