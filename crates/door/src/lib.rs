//! Which clients may use a port, with the same rules for all our servers.
//!
//! - [`Door`] accepts connections. It limits their number in all and for each address, and keeps a reserve
//!   for clients that have proved who they are.
//! - [`Pass`] is held as long as the connection. The service calls [`Pass::heard`] when a request has arrived and
//!   [`Pass::trust`] when its signature is good; [`Pass::outstayed`] says by [`Patience`] when to close it.
//! - [`Places`] shares a scarce resource among addresses, so that one address cannot take all of it.
//! - [`Hosts`] knows the names that a server accepts requests for, against DNS rebinding.
//!
//! This crate knows nothing of protocols beyond the request's head, of signatures, or of TLS.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod book;
mod connections;
mod hosts;
mod machine;
mod patience;
mod places;

pub use book::Limits;
pub use connections::{Door, Pass, UnderWay};
pub use hosts::{Hosts, Misaddressed};
pub use patience::Patience;
pub use places::{Place, Places};
