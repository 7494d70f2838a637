//! The address of a client, as an extension of its requests.

use std::net::SocketAddr;

/// Address of the client. Requests that did not arrive over TCP have none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);
