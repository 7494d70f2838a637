//! Policies over the file catalogue: which files, which action, when, and how much at a time.
//!
//! [`Rules::read`] reads a rules file and reports the line and column of errors. [`plan`] lists the
//! files that a policy would act on, without changing anything. [`run`] acts on them: it checks
//! each file again immediately before acting, logs the action before and after, and [`undo`] can
//! restore moved, deleted and released files. `docs/policies.md` describes all of this.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod condition;
mod crash;
mod path;
mod plan;
mod removed_files;
mod rules;
mod run;
mod shelf;
mod trash;

pub use condition::{
    Condition, ConditionError, ConditionNames, QuantityError, Subject, Unit, name_of, quantity,
};
pub use crash::{CRASH_POINTS, UNDO_CRASH_POINTS};
pub use plan::{GrownTree, Plan, PlanError, PlannedFile, is_due, plan};
pub use rules::{
    Action, CommandLimits, Level, Limits, NameResolver, Order, Policy, Rules, RulesError, Trigger, Usage,
    UsageOf,
};
pub use run::{FinishedRun, RunError, RunSettings, Undone, run, settle, undo};
pub use shelf::{CopyStore, CopyStoreError, ObjectState};
pub use trash::TRASH;
