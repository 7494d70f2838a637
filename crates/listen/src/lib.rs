//! A port of this process, served over HTTP/1.1: the one accept loop of all our servers.
//!
//! [`Port::serve`] accepts what [`door::Door`] lets in, does the TLS handshake, gives every request to a function, and ends
//! all connections in order. What a server wants otherwise than the others is a field of [`Terms`], and each server says
//! beside its `Terms` why.
//!
//! Invariants:
//! - a connection holds its place in the door from its acceptance to its end, and no longer;
//! - every wait has a limit: handshake, head, the pause between requests, an answer that nobody takes, the end;
//! - when [`Port::serve`] returns, nothing listens any more and no connection of the port is left.
//!
//! It does not know what is asked, who may ask it, or what is counted.

mod connection;
mod lingering;
mod port;
mod tls;
mod write_timeout;

pub use connection::Connection;
pub use port::{Port, Terms};
pub use tls::{Agreed, Security, TlsError, TlsFiles};
