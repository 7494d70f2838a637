//! Who may come in on a port, for every server of ours alike.
//!
//! - [`Door`] accepts connections: so many in all, so many for each address, and a reserve that strangers cannot
//!   take from those who have shown who they are.
//! - [`Pass`] is held as long as the connection. The service calls [`Pass::heard`] when a request has arrived and
//!   [`Pass::trust`] when its signature is good; [`Pass::outstayed`] says by [`Patience`] when to close it.
//! - [`Places`] are things of which there are few, and of which one address may have only some.
//! - [`Hosts`] knows by which names a server may be addressed, against DNS rebinding.
//!
//! It knows no protocol above the request's head, no signatures and no TLS.

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
