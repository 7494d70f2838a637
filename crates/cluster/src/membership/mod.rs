//! The part of a starting node in the cluster: the names of its volumes, and the layouts that come
//! from them, the other nodes or the settings.
//!
//! [`StartInputs`] holds the inputs. [`decide`] and [`decide_recovery`] are pure functions of it,
//! and their rules cover every case at a start. [`join`] examines, decides and warns. Nothing here
//! writes.

mod decide;
mod join;
mod recovery;
mod roles;
mod start_inputs;

#[cfg(test)]
mod tests;

pub(super) use decide::Membership;
pub(super) use join::join;
pub(super) use recovery::{Recovery, decide_recovery};
pub use roles::wanted_roles;
pub(super) use start_inputs::StartInputs;
