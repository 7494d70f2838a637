//! Rules: the content of a rules file, parsed by [`Rules::read`].

use std::path::PathBuf;

use serde::Deserialize;

use crate::condition::Condition;

mod action;
mod quantities;
mod read;
mod syntax_error;
mod tables;
#[cfg(test)]
mod tests;
mod trigger;

pub use action::{Action, CommandLimits};
pub use read::{NameResolver, RulesError};

/// The content of a rules file.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Policies, in the order of the file.
    pub policies: Vec<Policy>,
}

/// A policy: which files, which action, when, and how much at a time.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Its name.
    pub name: String,
    /// Directories that it applies to; empty for all trees.
    pub scope: Vec<PathBuf>,
    /// Which files.
    pub condition: Condition,
    /// The action on each file.
    pub action: Action,
    /// When it is due.
    pub trigger: Trigger,
    /// How much at a time.
    pub limits: Limits,
    /// Which files come first.
    pub order: Order,
    /// Maximum age of the last full scan, for an action that removes files.
    pub stale_max_ms: i64,
}

/// When a policy is due. Without either trigger it runs only if it is named.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trigger {
    /// Time after the end of its last run, in milliseconds.
    pub every_ms: Option<i64>,
    /// Runs when usage is too high, and acts until enough is free.
    pub usage: Option<Usage>,
}

/// A trigger by usage.
#[derive(Debug, Clone, PartialEq)]
pub struct Usage {
    /// The measured resource.
    pub of: UsageOf,
    /// The policy acts once usage reaches this level.
    pub high: Level,
    /// It acts until usage has fallen to this level.
    pub low: Level,
}

/// A resource whose usage is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UsageOf {
    /// The space of a file system.
    Volume,
    /// The bytes of an owner's files.
    Owner,
    /// The number of entries in the scope.
    Count,
}

/// A percentage or a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Level {
    /// Per cent of the capacity.
    Percent(f64),
    /// Bytes, or entries.
    Number(i64),
}

/// How much a policy does at a time.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Files per run.
    pub count: u64,
    /// Bytes per run.
    pub size_bytes: Option<u64>,
    /// Bytes per second.
    pub rate_bytes: Option<u64>,
    /// Minutes of the day (UTC) between which it works. The end may be less than the start.
    pub window: Option<(u32, u32)>,
    /// The run ends if more than this percentage of the files failed.
    pub errors_percent: f64,
}

/// Which files come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// By path.
    #[default]
    Path,
    /// Largest files first.
    Largest,
    /// Files with the oldest change of content first.
    OldestModified,
    /// Files with the oldest read first.
    OldestAccessed,
}
