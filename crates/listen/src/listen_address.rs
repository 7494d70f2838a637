//! An address to listen on, as users write it.

use std::io;
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

/// Why a text is not an address to listen on.
#[derive(Debug, thiserror::Error)]
pub enum ParseListenAddressError {
    /// The text has another form, or the host has no address.
    #[error("{0}; expected HOST:PORT, such as 127.0.0.1:8080")]
    Resolve(io::Error),
    /// The system returned no address of the host.
    #[error("expected HOST:PORT, such as 127.0.0.1:8080")]
    NoAddress,
}

impl FromStr for ListenAddress {
    type Err = ParseListenAddressError;

    /// Parses `HOST:PORT`.
    fn from_str(text: &str) -> Result<ListenAddress, ParseListenAddressError> {
        let mut addresses = text.to_socket_addrs().map_err(ParseListenAddressError::Resolve)?;
        let address = addresses.next().ok_or(ParseListenAddressError::NoAddress)?;
        let host = text.rsplit_once(':').map_or(text, |(host, _)| host).to_owned();
        Ok(ListenAddress { address, host })
    }
}
