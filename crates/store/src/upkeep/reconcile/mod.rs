//! One routine for census, repair, rebalance, hand-off return, drain and tombstone collection:
//! gather what all volumes in force hold of a partition ([`gather`]), decide with a pure function
//! ([`decide`]), and carry out the steps ([`execute`]). Once everything is in its place, repeating
//! it changes nothing.

pub mod copy;
pub mod decide;
pub mod execute;
pub mod gather;
pub mod outages;
pub mod walk;

pub use decide::{Copy, Finding, ObjectState, Plan, Replaces, Rules, Step, decide};
pub use execute::{ReconcileResult, Reconciler};
pub use gather::VolumeReports;
pub use outages::Outages;
pub use walk::{Reader, Walk};
