//! Parses the action of a policy and accepts only the keys that belong to it.

use std::path::PathBuf;

use catalogue::{ActionKind, UnknownAction};

use super::quantities::{bytes, measure, percent};
use super::syntax_error::{ParseResult, SyntaxError};
use super::tables::PolicyTable;
use super::{Action, CommandLimits};
use crate::condition::Unit;
use crate::shelf::CopyStoreError;

pub(super) fn action(
    begin: usize,
    table: &PolicyTable,
    bucket: &dyn Fn(&str) -> Result<(), CopyStoreError>,
) -> ParseResult<Action> {
    let needs = |key: &str| SyntaxError::new(begin, format!("{} requires `{key}`", table.action.get_ref()));
    let replicas = || -> ParseResult<u32> {
        let found = table.replicas.as_ref().ok_or_else(|| needs("replicas"))?;
        match *found.get_ref() {
            0 => Err(SyntaxError::new(
                found.span().start,
                "expected at least 1 replica".to_owned(),
            )),
            replicas => Ok(replicas),
        }
    };
    let to = || table.to.as_ref().ok_or_else(|| needs("to"));
    // Keys of another action are mistakes that would otherwise go unnoticed.
    let keys: [(&str, Option<usize>, &[ActionKind]); 8] = [
        (
            "to",
            table.to.as_ref().map(|key| key.span().start),
            &[ActionKind::Copy, ActionKind::Move],
        ),
        (
            "replicas",
            table.replicas.as_ref().map(|key| key.span().start),
            &[ActionKind::Copy, ActionKind::Release],
        ),
        (
            "older_than",
            table.older_than.as_ref().map(|key| key.span().start),
            &[ActionKind::EmptyTrash],
        ),
        (
            "command",
            table.command.as_ref().map(|key| key.span().start),
            &[ActionKind::Command],
        ),
        (
            "time_max",
            table.time_max.as_ref().map(|key| key.span().start),
            &[ActionKind::Command],
        ),
        (
            "output_max",
            table.output_max.as_ref().map(|key| key.span().start),
            &[ActionKind::Command],
        ),
        (
            "more_than",
            table.more_than.as_ref().map(|key| key.span().start),
            &[ActionKind::Growth],
        ),
        (
            "within",
            table.within.as_ref().map(|key| key.span().start),
            &[ActionKind::Growth],
        ),
    ];
    let kind: ActionKind =
        table.action.get_ref().parse().map_err(|unknown: UnknownAction| {
            SyntaxError::new(table.action.span().start, unknown.to_string())
        })?;
    let action = match &kind {
        ActionKind::Verify => Action::Verify,
        ActionKind::Copy => {
            let to = to()?;
            if !to.get_ref().starts_with("store://") {
                let message = format!(
                    "{:?}: expected store://bucket/ and an optional prefix",
                    to.get_ref()
                );
                return Err(SyntaxError::new(to.span().start, message));
            }
            let named = to.get_ref().trim_start_matches("store://");
            let named = named.split('/').next().unwrap_or_default();
            bucket(named)
                .map_err(|error| SyntaxError::new(to.span().start, format!("{:?}: {error}", to.get_ref())))?;
            Action::Copy {
                to: to.get_ref().clone(),
                replicas: replicas()?,
            }
        }
        ActionKind::Release => Action::Release {
            replicas: replicas()?,
        },
        ActionKind::Move => {
            let to = to()?;
            let path = PathBuf::from(to.get_ref());
            if !path.is_absolute() {
                let message = format!("{}: expected an absolute path", path.display());
                return Err(SyntaxError::new(to.span().start, message));
            }
            Action::Move { to: path }
        }
        ActionKind::Delete => Action::Delete,
        ActionKind::EmptyTrash => {
            let age = table.older_than.as_ref().ok_or_else(|| needs("older_than"))?;
            Action::EmptyTrash {
                older_than_ms: measure(age, Unit::Time)?,
            }
        }
        ActionKind::Command => {
            let command = table.command.as_ref().ok_or_else(|| needs("command"))?;
            if command.get_ref().first().is_none_or(String::is_empty) {
                return Err(SyntaxError::new(
                    command.span().start,
                    "expected a program and its arguments".to_owned(),
                ));
            }
            Action::Command {
                words: command.get_ref().clone(),
                limits: command_limits(table)?,
            }
        }
        ActionKind::Report => Action::Report,
        ActionKind::Growth => Action::Growth {
            more_than_percent: percent(table.more_than.as_ref().ok_or_else(|| needs("more_than"))?)?,
            within_ms: measure(table.within.as_ref().ok_or_else(|| needs("within"))?, Unit::Time)?,
        },
        // Names are parsed above: it is in rows only.
        ActionKind::Other(name) => {
            return Err(SyntaxError::new(
                table.action.span().start,
                format!("unknown action {name:?}"),
            ));
        }
    };
    for (key, at, of) in keys {
        if let Some(at) = at.filter(|_| !of.contains(&kind)) {
            return Err(SyntaxError::new(at, format!("{kind} does not accept `{key}`")));
        }
    }
    Ok(action)
}

fn command_limits(table: &PolicyTable) -> ParseResult<CommandLimits> {
    let default = CommandLimits::default();
    let positive = |key: &toml::Spanned<String>, number: u64| match number {
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
