//! Which clients may use a port, with the same rules for all our servers.
//!
//! - [`Door`] accepts connections. It limits their number in all and for each address, and keeps a reserve
//!   for clients that have proved who they are.
//! - [`Pass`] is held as long as the connection. The service calls [`Pass::heard`] when a request has arrived and
//!   [`Pass::trust`] when its signature is good; [`Pass::outstayed`] says by [`Patience`] when to close it.
//! - [`Places`] shares a scarce resource among addresses, so that one address cannot take all of it.
//!
//! This module knows nothing of protocols, of signatures, or of TLS.

mod book;
mod connections;
mod patience;
mod places;

pub use book::Limits;
pub use connections::{Door, Pass, UnderWay};
pub use patience::Patience;
pub use places::{Place, Places};
