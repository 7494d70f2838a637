//! Rules: the content of a rules file, parsed by [`Rules::read`].

use std::path::PathBuf;

use catalogue::ActionKind;
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

/// What a policy does with a file.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Reads the content and compares its digest.
    Verify,
    /// Copies the file into a store and verifies the copy.
    Copy {
        /// Destination: `store://bucket/`, optionally with a prefix.
        to: String,
        /// Number of replicas that must be intact.
        replicas: u32,
    },
    /// Removes the file after reading its replicas and finding them intact.
    Release {
        /// Number of replicas required.
        replicas: u32,
    },
    /// Moves the file within its file system.
    Move {
        /// The destination directory.
        to: PathBuf,
    },
    /// Moves the file into the trash.
    Delete,
    /// Permanently removes files that have been in the trash for long enough.
    EmptyTrash {
        /// Minimum time in the trash, in milliseconds.
        older_than_ms: i64,
    },
    /// Runs a command for the file.
    Command {
        /// The program and its arguments.
        words: Vec<String>,
        /// Limits of the command.
        limits: CommandLimits,
    },
    /// Lists the file.
    Report,
    /// Reports trees that grew by more than a percentage within a period.
    Growth {
        /// Growth in per cent.
        more_than_percent: f64,
        /// The period, in milliseconds.
        within_ms: i64,
    },
}

/// Limits of a command for one file. A command that exceeds them is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandLimits {
    /// Milliseconds from its start until it and all processes it started have ended.
    pub time_ms: u64,
    /// Bytes that it prints, on both outputs together.
    pub output_bytes: u64,
}

impl Default for CommandLimits {
    /// One hour and 16 MiB.
    fn default() -> Self {
        CommandLimits {
            time_ms: 3_600_000,
            output_bytes: 16 << 20,
        }
    }
}

impl Action {
    /// Returns its kind, without the parameters.
    pub fn kind(&self) -> ActionKind {
        match self {
            Action::Verify => ActionKind::Verify,
            Action::Copy { .. } => ActionKind::Copy,
            Action::Release { .. } => ActionKind::Release,
            Action::Move { .. } => ActionKind::Move,
            Action::Delete => ActionKind::Delete,
            Action::EmptyTrash { .. } => ActionKind::EmptyTrash,
            Action::Command { .. } => ActionKind::Command,
            Action::Report => ActionKind::Report,
            Action::Growth { .. } => ActionKind::Growth,
        }
    }
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
