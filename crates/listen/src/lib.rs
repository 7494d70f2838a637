//! A port of this process that serves HTTP/1.1. All our servers use this one accept loop.
//!
//! [`Port::serve`] accepts the connections that [`Door`] lets in, does the TLS handshake, calls a
//! function for every request, and ends all connections in order. Where servers differ, [`Terms`] has a
//! field, and each server gives its reason beside its `Terms`.
//!
//! Invariants:
//! - a connection holds its place in the door from its acceptance to its end, and no longer;
//! - every wait has a limit: the handshake, the request's head, the pause between requests, a client that
//!   does not read its answer, and the shutdown;
//! - when [`Port::serve`] returns, the port no longer listens and none of its connections is left.
//!
//! [`Hosts`] knows the names that a server accepts requests for, against DNS rebinding.
//!
//! This crate does not know what requests mean, who may send them, or what is counted.

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
pub use limits::{Door, Limits, Pass, Patience, Place, Places, UnderWay};
pub use listen_address::ListenAddress;
pub use port::{Port, Terms};
pub use tls::{Agreed, Security, TlsError, TlsFiles};
