//! A port of this process that serves HTTP/1.1. All our servers use this accept loop.
//!
//! [`Port::serve`] accepts the connections that [`crate::ConnectionLimiter`] admits, does the TLS handshake,
//! calls a function for every request, and ends all connections in order. Differences between
//! servers are fields of [`PortSettings`], and each server explains its values.
//!
//! Invariants:
//! - A connection holds its permit of the limiter exactly from its acceptance to its end.
//! - Every wait has a limit: the handshake, the request's header, the pause between requests, a
//!   client that does not read its response, and the shutdown.
//! - When [`Port::serve`] returns, the port no longer listens and all its connections are closed.
//!
//! This crate does not know the meaning of requests, who may send them, or how they are counted.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod connection;
mod hosts;
mod limits;
mod lingering;
mod listen_address;
mod machine;
mod peer_user;
mod port;
mod tls;
mod write_timeout;

pub use connection::Connection;
pub use hosts::{Hosts, Misaddressed};
pub use limits::{
    ConnectionLimiter, ConnectionPermit, IdleLimit, Limits, Permit, Permits, RequestInProgress,
};
pub use listen_address::{ListenAddress, ParseListenAddressError};
pub use port::{Port, PortSettings};
pub use tls::{Security, TLS_READ_BYTES, TlsError, TlsFiles, TlsSession};
