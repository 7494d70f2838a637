//! Reads a rules file. The first error is reported with its place.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use toml::Spanned;

use super::quantities::measure;
use super::syntax_error::{ParseResult, SyntaxError};
use super::tables::{FileOfRules, PolicyTable};
use super::trigger::{limits, trigger};
use super::{Action, Policy, Rules, Usage, UsageOf};
use crate::condition::{Condition, ConditionNames, Unit};
use crate::shelf::CopyStoreError;

/// Why a rules file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}:{line}:{column}: {message}", path.display())]
pub struct RulesError {
    /// The file.
    pub path: PathBuf,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Describes the error and the expected input.
    pub message: String,
}

/// Looks up the names in rules that are defined elsewhere.
pub struct NameResolver<'a> {
    /// Returns the number of a user.
    pub user: &'a dyn Fn(&str) -> Option<u32>,
    /// Returns the number of a group.
    pub group: &'a dyn Fn(&str) -> Option<u32>,
    /// Checks that a name is valid for a bucket. The error says why not.
    pub bucket: &'a dyn Fn(&str) -> Result<(), CopyStoreError>,
}

impl Rules {
    /// Parses a rules file.
    ///
    /// # Errors
    /// The first error, with its line and column.
    pub fn read(path: &std::path::Path, text: &str, names: &NameResolver<'_>) -> Result<Rules, RulesError> {
        rules(text, names).map_err(|SyntaxError { offset, message }| {
            let before = text.get(..offset).unwrap_or(text);
            let line_begin = before.rfind('\n').map_or(0, |end| end + 1);
            RulesError {
                path: path.to_owned(),
                line: before.matches('\n').count() + 1,
                column: before[line_begin..].chars().count() + 1,
                message,
            }
        })
    }
}

fn rules(text: &str, names: &NameResolver<'_>) -> ParseResult<Rules> {
    let file: FileOfRules = toml::from_str(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        SyntaxError::new(offset, error.message().to_owned())
    })?;
    // In the order of the file: a class can use only those before it, so that no class contains
    // itself.
    let mut tables: Vec<_> = file.class.into_iter().collect();
    tables.sort_by_key(|(_, table)| table.span().start);
    let mut classes: BTreeMap<String, Arc<Condition>> = BTreeMap::new();
    for (name, table) in tables {
        let condition = condition(text, &table.get_ref().condition, names, &classes)?;
        classes.insert(name, Arc::new(condition));
    }
    let mut tables: Vec<_> = file.policy.into_iter().collect();
    tables.sort_by_key(|(_, table)| table.span().start);
    let policies = tables.into_iter().map(|(name, table)| {
        let begin = table.span().start;
        let table = table.into_inner();
        let condition = match &table.condition {
            Some(found) => Some(condition(text, found, names, &classes)?),
            None => None,
        };
        policy(name, begin, table, condition, names)
    });
    Ok(Rules {
        policies: policies.collect::<ParseResult<_>>()?,
    })
}

fn condition(
    text: &str,
    found: &Spanned<String>,
    names: &NameResolver<'_>,
    classes: &BTreeMap<String, Arc<Condition>>,
) -> ParseResult<Condition> {
    let known = ConditionNames {
        user: names.user,
        group: names.group,
        class: &|name| classes.get(name).cloned(),
    };
    Condition::parse(found.get_ref(), &known).map_err(|wrong| {
        let span = found.span();
        let raw = text.get(span.clone()).unwrap_or_default();
        // Without escapes, the file contains the text literally.
        let inside = raw
            .find(found.get_ref().as_str())
            .filter(|_| !found.get_ref().is_empty());
        let offset = inside.map_or(span.start, |begin| span.start + begin + wrong.offset);
        SyntaxError::new(offset, wrong.message)
    })
}

/// Default maximum age of the last full scan: 2 days, because most scans run daily.
const STALE_MAX_MS: i64 = 2 * 86_400_000;

fn policy(
    name: String,
    begin: usize,
    table: PolicyTable,
    condition: Option<Condition>,
    names: &NameResolver<'_>,
) -> ParseResult<Policy> {
    let action = Action::read(begin, &table, names.bucket)?;
    if condition.is_none() && action.kind().may_remove_file() {
        let action = action.kind();
        let message = format!("policy {name:?}: {action} requires a condition that selects files");
        return Err(SyntaxError::new(begin, message));
    }
    if let Some(found) = table.condition.as_ref().filter(|_| !action.accepts_condition()) {
        let message = format!("{} does not accept a condition", action.kind());
        return Err(SyntaxError::new(found.span().start, message));
    }
    if let Some(path) = table.scope.iter().find(|path| !path.get_ref().is_absolute()) {
        let shown = path.get_ref().display();
        let message = if catalogue::is_address(path.get_ref().as_os_str().as_encoded_bytes()) {
            format!("{shown}: policies act on file systems, not on objects of a store")
        } else {
            format!("{shown}: expected an absolute path")
        };
        return Err(SyntaxError::new(path.span().start, message));
    }
    let trigger = trigger(begin, &table.trigger)?;
    if let (
        Action::Move { .. },
        Some(Usage {
            of: UsageOf::Volume | UsageOf::Owner,
            ..
        }),
    ) = (&action, &trigger.usage)
    {
        let message =
            "move frees no space of a volume or an owner, so it would never stop with such a trigger"
                .to_owned();
        return Err(SyntaxError::new(begin, message));
    }
    let stale_max = table.stale_max.as_ref().map(|age| measure(age, Unit::Time));
    Ok(Policy {
        name,
        scope: table.scope.into_iter().map(Spanned::into_inner).collect(),
        condition: condition.unwrap_or_else(Condition::all),
        action,
        trigger,
        limits: limits(&table.limits)?,
        order: table.order,
        stale_max_ms: stale_max.transpose()?.unwrap_or(STALE_MAX_MS),
    })
}
