//! Policies over the file catalogue: which files, what is done with them, when, and how much at a time.
//!
//! [`Rules::read`] reads a file of rules and names the line and column of what is wrong. [`plan`] lists what a policy would do,
//! and changes nothing. [`run`] does it: each file is looked at again right before, what is done is written down before and
//! after, and what was moved, deleted or released can be taken back ([`undo`]). `docs/policies.md` describes all of it.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod condition;
mod plan;
mod rules;
mod run;
mod shelf;
mod taken;
mod trash;

pub use condition::{Condition, Known, Subject, Unit, Wrong, name_of, quantity};
pub use plan::{Grown, Plan, PlanError, Planned, is_due, plan};
pub use rules::{
    Action, CommandLimits, Level, Limits, Names, Order, Policy, Rules, RulesError, Trigger, Usage, UsageOf,
};
pub use run::{CRASH_POINTS, Ran, RunError, RunSettings, UNDO_CRASH_POINTS, Undone, run, settle, undo};
pub use shelf::{Shelf, Shelved};
pub use trash::TRASH;
