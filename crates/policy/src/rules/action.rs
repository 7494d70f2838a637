//! Parses the action of a policy and accepts only the keys that belong to it.

use std::path::PathBuf;

use super::quantities::{bytes, measure, percent};
use super::read::{At, Read};
use super::tables::PolicyTable;
use super::{Action, CommandLimits};
use crate::condition::Unit;

pub(super) fn action(
    begin: usize,
    table: &PolicyTable,
    bucket: &dyn Fn(&str) -> Result<(), String>,
) -> Read<Action> {
    let needs = |key: &str| At(begin, format!("{} requires `{key}`", table.action.get_ref()));
    let replicas = || -> Read<u32> {
        let found = table.replicas.as_ref().ok_or_else(|| needs("replicas"))?;
        match *found.get_ref() {
            0 => Err(At(found.span().start, "expected at least 1 replica".to_owned())),
            replicas => Ok(replicas),
        }
    };
    let to = || table.to.as_ref().ok_or_else(|| needs("to"));
    // Keys of another action are mistakes that would otherwise go unnoticed.
    let keys: [(&str, Option<usize>, &[&str]); 8] = [
        (
            "to",
            table.to.as_ref().map(|key| key.span().start),
            &["copy", "move"],
        ),
        (
            "replicas",
            table.replicas.as_ref().map(|key| key.span().start),
            &["copy", "release"],
        ),
        (
            "older_than",
            table.older_than.as_ref().map(|key| key.span().start),
            &["empty-trash"],
        ),
        (
            "command",
            table.command.as_ref().map(|key| key.span().start),
            &["command"],
        ),
        (
            "time_max",
            table.time_max.as_ref().map(|key| key.span().start),
            &["command"],
        ),
        (
            "output_max",
            table.output_max.as_ref().map(|key| key.span().start),
            &["command"],
        ),
        (
            "more_than",
            table.more_than.as_ref().map(|key| key.span().start),
            &["growth"],
        ),
        (
            "within",
            table.within.as_ref().map(|key| key.span().start),
            &["growth"],
        ),
    ];
    let name = table.action.get_ref().as_str();
    let action = match name {
        "verify" => Action::Verify,
        "copy" => {
            let to = to()?;
            if !to.get_ref().starts_with("store://") {
                let message = format!(
                    "{:?}: expected store://bucket/ and an optional prefix",
                    to.get_ref()
                );
                return Err(At(to.span().start, message));
            }
            let named = to.get_ref().trim_start_matches("store://");
            let named = named.split('/').next().unwrap_or_default();
            bucket(named).map_err(|message| At(to.span().start, format!("{:?}: {message}", to.get_ref())))?;
            Action::Copy {
                to: to.get_ref().clone(),
                replicas: replicas()?,
            }
        }
        "release" => Action::Release {
            replicas: replicas()?,
        },
        "move" => {
            let to = to()?;
            let path = PathBuf::from(to.get_ref());
            if !path.is_absolute() {
                let message = format!("{}: expected an absolute path", path.display());
                return Err(At(to.span().start, message));
            }
            Action::Move { to: path }
        }
        "delete" => Action::Delete,
        "empty-trash" => {
            let age = table.older_than.as_ref().ok_or_else(|| needs("older_than"))?;
            Action::EmptyTrash {
                older_than_ms: measure(age, Unit::Time)?,
            }
        }
        "command" => {
            let command = table.command.as_ref().ok_or_else(|| needs("command"))?;
            if command.get_ref().first().is_none_or(String::is_empty) {
                return Err(At(
                    command.span().start,
                    "expected a program and its arguments".to_owned(),
                ));
            }
            Action::Command {
                words: command.get_ref().clone(),
                limits: command_limits(table)?,
            }
        }
        "report" => Action::Report,
        "growth" => Action::Growth {
            more_than_percent: percent(table.more_than.as_ref().ok_or_else(|| needs("more_than"))?)?,
            within_ms: measure(table.within.as_ref().ok_or_else(|| needs("within"))?, Unit::Time)?,
        },
        other => {
            let message = format!(
                "unknown action {other:?}; expected verify, copy, release, move, delete, empty-trash, \
                 command, report or growth"
            );
            return Err(At(table.action.span().start, message));
        }
    };
    for (key, at, of) in keys {
        if let Some(at) = at.filter(|_| !of.contains(&name)) {
            return Err(At(at, format!("{name} does not accept `{key}`")));
        }
    }
    Ok(action)
}

fn command_limits(table: &PolicyTable) -> Read<CommandLimits> {
    let default = CommandLimits::default();
    let positive = |key: &toml::Spanned<String>, number: u64| match number {
        0 => Err(At(
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
