//! Actions of policies: their parameters, which files they apply to, and how a rules file states
//! them. An action accepts only its own keys.

use std::fmt::Display;
use std::path::PathBuf;

use catalogue::{ActionKind, Kind, UnknownAction};

use toml::Spanned;

use super::quantities::{bytes, measure, percent};
use super::syntax_error::{ParseResult, SyntaxError};
use super::tables::PolicyTable;
use crate::condition::Unit;
use crate::shelf::CopyStoreError;

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

    /// Returns whether it applies to files of this kind.
    pub(crate) fn applies_to(&self, kind: Kind) -> bool {
        match self {
            Action::Report => true,
            Action::Delete | Action::Move { .. } => matches!(kind, Kind::File | Kind::Symlink),
            Action::Verify
            | Action::Copy { .. }
            | Action::Release { .. }
            | Action::EmptyTrash { .. }
            | Action::Command { .. }
            | Action::Growth { .. } => kind == Kind::File,
        }
    }

    /// Returns whether a condition can select its files.
    pub(super) fn accepts_condition(&self) -> bool {
        match self {
            Action::EmptyTrash { .. } | Action::Growth { .. } => false,
            Action::Verify
            | Action::Copy { .. }
            | Action::Release { .. }
            | Action::Move { .. }
            | Action::Delete
            | Action::Command { .. }
            | Action::Report => true,
        }
    }

    /// Reads the action of a policy, whose table begins at this offset. `bucket` checks the name of
    /// a bucket.
    pub(super) fn read(
        begin: usize,
        table: &PolicyTable,
        bucket: &dyn Fn(&str) -> Result<(), CopyStoreError>,
    ) -> ParseResult<Action> {
        let name = &table.action;
        let wrong_name = |unknown: UnknownAction| SyntaxError::new(name.span().start, unknown.to_string());
        let kind: ActionKind = name.get_ref().parse().map_err(wrong_name)?;
        let needs = |key: &str| SyntaxError::new(begin, format!("{kind} requires `{key}`"));
        let to = || table.to.as_ref().ok_or_else(|| needs("to"));
        let replicas = || replicas(table.replicas.as_ref().ok_or_else(|| needs("replicas"))?);
        let action = match &kind {
            ActionKind::Verify => Action::Verify,
            ActionKind::Copy => Action::Copy {
                to: address(to()?, bucket)?,
                replicas: replicas()?,
            },
            ActionKind::Release => Action::Release {
                replicas: replicas()?,
            },
            ActionKind::Move => Action::Move {
                to: directory(to()?)?,
            },
            ActionKind::Delete => Action::Delete,
            ActionKind::EmptyTrash => {
                let age = table.older_than.as_ref().ok_or_else(|| needs("older_than"))?;
                Action::EmptyTrash {
                    older_than_ms: measure(age, Unit::Time)?,
                }
            }
            ActionKind::Command => Action::Command {
                words: words(table.command.as_ref().ok_or_else(|| needs("command"))?)?,
                limits: command_limits(table)?,
            },
            ActionKind::Report => Action::Report,
            ActionKind::Growth => Action::Growth {
                more_than_percent: percent(table.more_than.as_ref().ok_or_else(|| needs("more_than"))?)?,
                within_ms: measure(table.within.as_ref().ok_or_else(|| needs("within"))?, Unit::Time)?,
            },
            // Only rows of the log contain it.
            ActionKind::Other(name) => {
                let message = format!("unknown action {name:?}");
                return Err(SyntaxError::new(table.action.span().start, message));
            }
        };
        // Keys of another action are mistakes that would otherwise go unnoticed.
        for (key, at, of) in keys(table) {
            if let Some(at) = at.filter(|_| !of.contains(&kind)) {
                return Err(SyntaxError::new(at, format!("{kind} does not accept `{key}`")));
            }
        }
        Ok(action)
    }
}

/// Returns the keys of actions: the name of each, its offset if the table has it, and the actions
/// that accept it.
fn keys(table: &PolicyTable) -> [(&'static str, Option<usize>, &'static [ActionKind]); 8] {
    fn begin<T>(value: &Option<Spanned<T>>) -> Option<usize> {
        value.as_ref().map(|value| value.span().start)
    }
    [
        ("to", begin(&table.to), &[ActionKind::Copy, ActionKind::Move]),
        (
            "replicas",
            begin(&table.replicas),
            &[ActionKind::Copy, ActionKind::Release],
        ),
        ("older_than", begin(&table.older_than), &[ActionKind::EmptyTrash]),
        ("command", begin(&table.command), &[ActionKind::Command]),
        ("time_max", begin(&table.time_max), &[ActionKind::Command]),
        ("output_max", begin(&table.output_max), &[ActionKind::Command]),
        ("more_than", begin(&table.more_than), &[ActionKind::Growth]),
        ("within", begin(&table.within), &[ActionKind::Growth]),
    ]
}

fn replicas(found: &Spanned<u32>) -> ParseResult<u32> {
    match *found.get_ref() {
        0 => Err(SyntaxError::new(
            found.span().start,
            "expected at least 1 replica",
        )),
        replicas => Ok(replicas),
    }
}

fn address(to: &Spanned<String>, bucket: &dyn Fn(&str) -> Result<(), CopyStoreError>) -> ParseResult<String> {
    let address = to.get_ref();
    let wrong = |error: &dyn Display| SyntaxError::new(to.span().start, format!("{address:?}: {error}"));
    if !address.starts_with("store://") {
        return Err(wrong(&"expected store://bucket/ and an optional prefix"));
    }
    let path = address.trim_start_matches("store://");
    bucket(path.split('/').next().unwrap_or_default()).map_err(|error| wrong(&error))?;
    Ok(address.clone())
}

fn directory(to: &Spanned<String>) -> ParseResult<PathBuf> {
    let path = PathBuf::from(to.get_ref());
    if path.is_absolute() {
        return Ok(path);
    }
    let message = format!("{}: expected an absolute path", path.display());
    Err(SyntaxError::new(to.span().start, message))
}

fn words(command: &Spanned<Vec<String>>) -> ParseResult<Vec<String>> {
    if command.get_ref().first().is_none_or(String::is_empty) {
        let message = "expected a program and its arguments";
        return Err(SyntaxError::new(command.span().start, message));
    }
    Ok(command.get_ref().clone())
}

fn command_limits(table: &PolicyTable) -> ParseResult<CommandLimits> {
    let default = CommandLimits::default();
    let positive = |key: &Spanned<String>, number: u64| match number {
        0 => Err(SyntaxError::new(
            key.span().start,
            format!("{:?}: expected more than 0", key.get_ref()),
        )),
        number => Ok(number),
    };
    Ok(CommandLimits {
        time_ms: match &table.time_max {
            Some(key) => positive(key, measure(key, Unit::Time)?.unsigned_abs())?,
            None => default.time_ms,
        },
        output_bytes: match &table.output_max {
            Some(key) => positive(key, bytes(key)?)?,
            None => default.output_bytes,
        },
    })
}
