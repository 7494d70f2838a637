//! Decides which clients may use a port, with the same rules for all our servers.
//!
//! - [`ConnectionLimiter`] accepts connections. It limits their total and their number per address, and keeps a
//!   reserve for clients that have proved their identity.
//! - [`ConnectionPermit`] is held for the lifetime of the connection. The service calls
//!   [`ConnectionPermit::note_request`] when a request has arrived and
//!   [`ConnectionPermit::trust`] when its signature is valid. [`ConnectionPermit::wait_until_idle`]
//!   returns when the connection should be closed, by its [`IdleLimit`].
//! - [`Permits`] shares a scarce resource among addresses, so that no address can take all of it.
//!
//! This module does not know protocols beyond the request's header, signatures, or TLS.

mod admission;
mod connection_table;
mod idle_limit;
mod permits;

pub use admission::{ConnectionLimiter, ConnectionPermit, RequestInProgress};
pub use connection_table::Limits;
pub use idle_limit::IdleLimit;
pub use permits::{Permit, Permits};
