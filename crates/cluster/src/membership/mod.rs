//! What a starting node takes part in: the names of its volumes, and the layouts that they, the other nodes or
//! the settings give.
//!
//! [`Found`] is what was looked at; [`decide`] and [`decide_recovery`] are pure functions of it, and everything
//! that may happen at a start is in their rules; [`join`] looks, decides and warns. Nothing here writes.

mod decide;
mod found;
mod join;
mod recovery;
mod roles;

#[cfg(test)]
mod tests;

pub(super) use decide::Membership;
pub(super) use found::Found;
pub(super) use join::join;
pub(super) use recovery::{Recovery, decide_recovery};
pub use roles::wanted_roles;
