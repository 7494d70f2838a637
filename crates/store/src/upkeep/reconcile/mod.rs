//! One routine for census, repair, rebalance, hand-off return, drain and tombstone collection: what is found of a
//! partition on all volumes in force is gathered ([`gather`]), a pure function decides what to do ([`decide`]), and the
//! steps are carried out ([`execute`]). Repeating it changes nothing once everything is in its place.

pub mod copy;
pub mod decide;
pub mod execute;
pub mod gather;
pub mod outages;
pub mod walk;

pub use decide::{Copy, Fate, Finding, Instead, Plan, Rules, Step, decide};
pub use execute::{Done, Reconciler};
pub use gather::Gathered;
pub use outages::Outages;
pub use walk::Walk;
