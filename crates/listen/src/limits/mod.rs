//! Decides which clients may use a port, with the same rules for all our servers.
//!
//! - [`Door`] accepts connections. It limits their total and their number per address, and keeps a
//!   reserve for clients that have proved their identity.
//! - [`Pass`] is held for the lifetime of the connection. The service calls [`Pass::heard`] when a
//!   request has arrived and [`Pass::trust`] when its signature is valid. [`Pass::outstayed`]
//!   returns when the connection should be closed, by its [`Patience`].
//! - [`Places`] shares a scarce resource among addresses, so that no address can take all of it.
//!
//! This module does not know protocols beyond the request's header, signatures, or TLS.

mod book;
mod connections;
mod patience;
mod places;

pub use book::Limits;
pub use connections::{Door, Pass, UnderWay};
pub use patience::Patience;
pub use places::{Place, Places};
