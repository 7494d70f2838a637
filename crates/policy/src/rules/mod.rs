//! Rules: what policies say. [`Rules::read`] makes them of a file of text.

use std::path::PathBuf;

use serde::Deserialize;

use crate::condition::Condition;

mod action;
mod quantities;
mod read;
mod tables;
#[cfg(test)]
mod tests;
mod trigger;

pub use read::{Names, RulesError};

/// All that a file of rules says.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Policies, in order of the file.
    pub policies: Vec<Policy>,
}

/// Which files, what is done with them, when, and how much at a time.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Its name.
    pub name: String,
    /// Directories that it is about; none for all trees.
    pub scope: Vec<PathBuf>,
    /// Which files.
    pub condition: Condition,
    /// What is done.
    pub action: Action,
    /// When it is due.
    pub trigger: Trigger,
    /// How much at a time.
    pub limits: Limits,
    /// Which files come first.
    pub order: Order,
    /// How long ago the last whole scan may have ended, for an action that removes.
    pub stale_max_ms: i64,
}

/// What is done with a file.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Its content is read and its digest compared.
    Verify,
    /// It is copied into a store, and the copy verified.
    Copy {
        /// Where to: `store://bucket/` or with a prefix.
        to: String,
        /// Replicas that must be right.
        replicas: u32,
    },
    /// The file is removed after its replicas were read and are right.
    Release {
        /// So many of them.
        replicas: u32,
    },
    /// It gets another place on the same file system.
    Move {
        /// A directory.
        to: PathBuf,
    },
    /// It goes into the trash.
    Delete,
    /// What has been in the trash that long is removed for good.
    EmptyTrash {
        /// In milliseconds.
        older_than_ms: i64,
    },
    /// A command is run for it.
    Command {
        /// The program and its arguments.
        words: Vec<String>,
        /// What it may take.
        limits: CommandLimits,
    },
    /// It is listed.
    Report,
    /// Trees that grew by more than a share within a time are named.
    Growth {
        /// In hundredths.
        more_than_percent: f64,
        /// In milliseconds.
        within_ms: i64,
    },
}

/// What a command may take for one file, before it is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandLimits {
    /// Milliseconds from its start until it and all that it started have ended.
    pub time_ms: u64,
    /// Bytes that it prints, on both outputs together.
    pub output_bytes: u64,
}

impl Default for CommandLimits {
    /// An hour, and 16 MiB.
    fn default() -> Self {
        CommandLimits {
            time_ms: 3_600_000,
            output_bytes: 16 << 20,
        }
    }
}

impl Action {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Action::Verify => "verify",
            Action::Copy { .. } => "copy",
            Action::Release { .. } => "release",
            Action::Move { .. } => "move",
            Action::Delete => "delete",
            Action::EmptyTrash { .. } => "empty-trash",
            Action::Command { .. } => "command",
            Action::Report => "report",
            Action::Growth { .. } => "growth",
        }
    }

    /// Whether a file is not in its place afterwards. What a command does nobody knows.
    pub fn removes(&self) -> bool {
        matches!(
            self,
            Action::Release { .. } | Action::Move { .. } | Action::Delete | Action::Command { .. }
        )
    }

    /// Whether it needs a store.
    pub fn needs_store(&self) -> bool {
        matches!(self, Action::Copy { .. } | Action::Release { .. })
    }
}

/// When a policy is due. Without either it runs only when it is named.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trigger {
    /// That long after its last run has ended, in milliseconds.
    pub every_ms: Option<i64>,
    /// When something is used up; it then acts until enough is free.
    pub usage: Option<Usage>,
}

/// Something that is used up.
#[derive(Debug, Clone, PartialEq)]
pub struct Usage {
    /// Of what.
    pub of: UsageOf,
    /// From here on it acts.
    pub high: Level,
    /// Down to here.
    pub low: Level,
}

/// What is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UsageOf {
    /// A file system.
    Volume,
    /// What a user may have.
    Owner,
    /// How many entries there may be in the scope.
    Count,
}

/// A share in hundredths, or a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Level {
    /// Of the whole.
    Percent(f64),
    /// Bytes, or entries.
    Number(i64),
}

/// How much is done at a time.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Files of a run.
    pub count: u64,
    /// Bytes of a run.
    pub size_bytes: Option<u64>,
    /// Bytes of a second.
    pub rate_bytes: Option<u64>,
    /// Minutes of the day (UTC) from and to which it works; the second may be less than the first.
    pub window: Option<(u32, u32)>,
    /// The run ends where more than this share of files failed, in hundredths.
    pub errors_percent: f64,
}

/// Which files come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// In order of their paths.
    #[default]
    Path,
    /// The largest.
    Largest,
    /// Those whose content has not changed for the longest time.
    OldestModified,
    /// Those that nobody has read for the longest time.
    OldestAccessed,
}
