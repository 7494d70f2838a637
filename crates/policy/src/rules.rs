//! The file of rules.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use toml::Spanned;

use crate::condition::{Condition, Known, Unit, quantity};

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
    Command(Vec<String>),
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
            Action::Command(_) => "command",
            Action::Report => "report",
            Action::Growth { .. } => "growth",
        }
    }

    /// Whether a file is not in its place afterwards. What a command does nobody knows.
    pub fn removes(&self) -> bool {
        matches!(
            self,
            Action::Release { .. } | Action::Move { .. } | Action::Delete | Action::Command(_)
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

/// Most files of one run: they are held in memory. The next run goes on.
const COUNT_MAX: u64 = 1_000_000;

/// How old the last whole scan may be unless a policy says otherwise: 2 days, because scans mostly run daily.
const STALE_MAX_MS: i64 = 2 * 86_400_000;

/// Why a file of rules cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}:{line}:{column}: {message}", path.display())]
pub struct RulesError {
    /// The file.
    pub path: PathBuf,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong, and what was expected.
    pub message: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileOfRules {
    #[serde(default)]
    class: BTreeMap<String, Spanned<ClassTable>>,
    #[serde(default)]
    policy: BTreeMap<String, Spanned<PolicyTable>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClassTable {
    condition: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyTable {
    #[serde(default)]
    scope: Vec<Spanned<PathBuf>>,
    condition: Option<Spanned<String>>,
    action: Spanned<String>,
    to: Option<Spanned<String>>,
    replicas: Option<Spanned<u32>>,
    older_than: Option<Spanned<String>>,
    command: Option<Spanned<Vec<String>>>,
    more_than: Option<Spanned<String>>,
    within: Option<Spanned<String>>,
    #[serde(default)]
    order: Order,
    stale_max: Option<Spanned<String>>,
    #[serde(default)]
    trigger: TriggerTable,
    #[serde(default)]
    limits: LimitsTable,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct TriggerTable {
    every: Option<Spanned<String>>,
    usage_of: Option<Spanned<UsageOf>>,
    high: Option<Spanned<String>>,
    low: Option<Spanned<String>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct LimitsTable {
    count: Option<u64>,
    size: Option<Spanned<String>>,
    rate: Option<Spanned<String>>,
    window: Option<Spanned<String>>,
    errors: Option<Spanned<String>>,
}

/// A place in the text, and what is wrong there.
struct At(usize, String);

type Read<T> = Result<T, At>;

impl Rules {
    /// Reads a file of rules. `user` and `group` give the numbers of names.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line and column.
    pub fn read(
        path: &std::path::Path,
        text: &str,
        user: &dyn Fn(&str) -> Option<u32>,
        group: &dyn Fn(&str) -> Option<u32>,
    ) -> Result<Rules, RulesError> {
        rules(text, user, group).map_err(|At(offset, message)| {
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

fn rules(text: &str, user: &dyn Fn(&str) -> Option<u32>, group: &dyn Fn(&str) -> Option<u32>) -> Read<Rules> {
    let file: FileOfRules = toml::from_str(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        At(offset, error.message().to_owned())
    })?;
    // In order of the file: a class knows those before it, so that none can mean itself.
    let mut tables: Vec<_> = file.class.into_iter().collect();
    tables.sort_by_key(|(_, table)| table.span().start);
    let mut classes: BTreeMap<String, Arc<Condition>> = BTreeMap::new();
    for (name, table) in tables {
        let condition = condition(text, &table.get_ref().condition, user, group, &classes)?;
        classes.insert(name, Arc::new(condition));
    }
    let mut tables: Vec<_> = file.policy.into_iter().collect();
    tables.sort_by_key(|(_, table)| table.span().start);
    let policies = tables.into_iter().map(|(name, table)| {
        let begin = table.span().start;
        let table = table.into_inner();
        let condition = match &table.condition {
            Some(found) => Some(condition(text, found, user, group, &classes)?),
            None => None,
        };
        policy(name, begin, table, condition)
    });
    Ok(Rules {
        policies: policies.collect::<Read<_>>()?,
    })
}

fn condition(
    text: &str,
    found: &Spanned<String>,
    user: &dyn Fn(&str) -> Option<u32>,
    group: &dyn Fn(&str) -> Option<u32>,
    classes: &BTreeMap<String, Arc<Condition>>,
) -> Read<Condition> {
    let known = Known {
        user,
        group,
        class: &|name| classes.get(name).cloned(),
    };
    Condition::parse(found.get_ref(), &known).map_err(|wrong| {
        let span = found.span();
        let raw = text.get(span.clone()).unwrap_or_default();
        // Where nothing is escaped the text is in the file as it is.
        let inside = raw
            .find(found.get_ref().as_str())
            .filter(|_| !found.get_ref().is_empty());
        let offset = inside.map_or(span.start, |begin| span.start + begin + wrong.offset);
        At(offset, wrong.message)
    })
}

fn measure(found: &Spanned<String>, unit: Unit) -> Read<i64> {
    quantity(found.get_ref(), unit).map_err(|message| At(found.span().start, message))
}

fn bytes(found: &Spanned<String>) -> Read<u64> {
    measure(found, Unit::Bytes).map(i64::unsigned_abs)
}

fn percent(found: &Spanned<String>) -> Read<f64> {
    let wrong = || {
        let text = found.get_ref();
        At(
            found.span().start,
            format!("{text:?}: expected a share such as 5%"),
        )
    };
    let text = found.get_ref().trim().strip_suffix('%').ok_or_else(wrong)?;
    let number: f64 = text.trim().parse().map_err(|_| wrong())?;
    (number.is_finite() && number >= 0.0)
        .then_some(number)
        .ok_or_else(wrong)
}

fn policy(name: String, begin: usize, table: PolicyTable, condition: Option<Condition>) -> Read<Policy> {
    let action = action(begin, &table)?;
    if condition.is_none() && action.removes() {
        let action = action.name();
        let message = format!("policy {name:?}: {action} needs a condition that says which files");
        return Err(At(begin, message));
    }
    if let (Some(found), Action::EmptyTrash { .. } | Action::Growth { .. }) = (&table.condition, &action) {
        let message = format!("{} takes no condition", action.name());
        return Err(At(found.span().start, message));
    }
    if let Some(path) = table.scope.iter().find(|path| !path.get_ref().is_absolute()) {
        let shown = path.get_ref().display();
        let message = match files::is_address(path.get_ref().as_os_str().as_encoded_bytes()) {
            true => format!("{shown}: policies act on file systems, not on objects of a store"),
            false => format!("{shown}: expected an absolute path"),
        };
        return Err(At(path.span().start, message));
    }
    let stale_max = table.stale_max.as_ref().map(|age| measure(age, Unit::Time));
    Ok(Policy {
        name,
        scope: table.scope.into_iter().map(Spanned::into_inner).collect(),
        condition: condition.unwrap_or_else(Condition::all),
        action,
        trigger: trigger(begin, &table.trigger)?,
        limits: limits(&table.limits)?,
        order: table.order,
        stale_max_ms: stale_max.transpose()?.unwrap_or(STALE_MAX_MS),
    })
}

fn action(begin: usize, table: &PolicyTable) -> Read<Action> {
    let needs = |key: &str| At(begin, format!("{} needs `{key}`", table.action.get_ref()));
    let replicas = || -> Read<u32> {
        let found = table.replicas.as_ref().ok_or_else(|| needs("replicas"))?;
        match *found.get_ref() {
            0 => Err(At(found.span().start, "expected at least 1 replica".to_owned())),
            replicas => Ok(replicas),
        }
    };
    let to = || table.to.as_ref().ok_or_else(|| needs("to"));
    // Keys of another action are mistakes that would go unnoticed.
    let keys: [(&str, Option<usize>, &[&str]); 6] = [
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
                    "{:?}: expected store://bucket/ and perhaps a prefix",
                    to.get_ref()
                );
                return Err(At(to.span().start, message));
            }
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
            Action::Command(command.get_ref().clone())
        }
        "report" => Action::Report,
        "growth" => Action::Growth {
            more_than_percent: percent(table.more_than.as_ref().ok_or_else(|| needs("more_than"))?)?,
            within_ms: measure(table.within.as_ref().ok_or_else(|| needs("within"))?, Unit::Time)?,
        },
        other => {
            let message = format!(
                "there is no action {other:?}; there are verify, copy, release, move, delete, empty-trash, command, report \
                 and growth"
            );
            return Err(At(table.action.span().start, message));
        }
    };
    for (key, at, of) in keys {
        if let Some(at) = at.filter(|_| !of.contains(&name)) {
            return Err(At(at, format!("{name} takes no `{key}`")));
        }
    }
    Ok(action)
}

fn trigger(begin: usize, table: &TriggerTable) -> Read<Trigger> {
    let every_ms = table.every.as_ref().map(|age| measure(age, Unit::Time));
    let usage = match (&table.usage_of, &table.high, &table.low) {
        (None, None, None) => None,
        (Some(of), Some(high), Some(low)) => {
            let usage = Usage {
                of: *of.get_ref(),
                high: level(*of.get_ref(), high)?,
                low: level(*of.get_ref(), low)?,
            };
            let is_ordered = match (usage.high, usage.low) {
                (Level::Percent(high), Level::Percent(low)) => low <= high,
                (Level::Number(high), Level::Number(low)) => low <= high,
                _ => false,
            };
            if !is_ordered {
                let message = "expected `low` to be of the kind of `high`, and not more".to_owned();
                return Err(At(low.span().start, message));
            }
            Some(usage)
        }
        _ => {
            return Err(At(
                begin,
                "a trigger by usage needs `usage_of`, `high` and `low`".to_owned(),
            ));
        }
    };
    Ok(Trigger {
        every_ms: every_ms.transpose()?,
        usage,
    })
}

fn level(of: UsageOf, found: &Spanned<String>) -> Read<Level> {
    match of {
        UsageOf::Volume if found.get_ref().trim().ends_with('%') => percent(found).map(Level::Percent),
        UsageOf::Volume | UsageOf::Owner => measure(found, Unit::Bytes).map(Level::Number),
        UsageOf::Count => measure(found, Unit::Count).map(Level::Number),
    }
}

fn limits(table: &LimitsTable) -> Read<Limits> {
    let window = table.window.as_ref().map(|found| {
        let wrong = || {
            let text = found.get_ref();
            At(
                found.span().start,
                format!("{text:?}: expected times of the day (UTC) such as 22:00-06:00"),
            )
        };
        let minute = |text: &str| -> Option<u32> {
            let (hour, minute) = text.trim().split_once(':')?;
            let (hour, minute): (u32, u32) = (hour.parse().ok()?, minute.parse().ok()?);
            (hour < 24 && minute < 60).then_some(hour * 60 + minute)
        };
        let (from, to) = found.get_ref().split_once('-').ok_or_else(wrong)?;
        Ok((minute(from).ok_or_else(wrong)?, minute(to).ok_or_else(wrong)?))
    });
    Ok(Limits {
        count: table.count.unwrap_or(COUNT_MAX).min(COUNT_MAX),
        size_bytes: table.size.as_ref().map(bytes).transpose()?,
        rate_bytes: table.rate.as_ref().map(bytes).transpose()?,
        window: window.transpose()?,
        errors_percent: table.errors.as_ref().map(percent).transpose()?.unwrap_or(100.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Rules, RulesError> {
        Rules::read(std::path::Path::new("rules.toml"), text, &|_| None, &|_| None)
    }

    #[test]
    fn the_ready_made_rules_can_be_read() {
        let rules = read(include_str!("../../../docs/policies.toml")).unwrap();
        assert!(rules.policies.len() >= 5);
    }

    #[test]
    fn errors_name_line_and_column() {
        let check = |text: &str, place: &str, part: &str| {
            let error = read(text).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("rules.toml:{place}: ")),
                "{text}: {error}"
            );
            assert!(error.contains(part), "{text}: {error}");
        };
        let policy = "[policy.a]\naction = 'delete'\n";
        check(
            &format!("{policy}condition = 'size > 1 X'\n"),
            "3:21",
            "a size such as",
        );
        check(
            &format!("{policy}condition = \"\"\"\nsize > 1 X\"\"\"\n"),
            "4:8",
            "a size such as",
        );
        check(policy, "1:1", "needs a condition");
        check("[policy.a]\naction = 'eat'", "2:10", "there is no action");
        check("[policy.a]\naction = 'copy'\nto = '/x'", "3:6", "store://");
        check(
            "[policy.a]\naction = 'copy'\nto = 'store://x'",
            "1:1",
            "needs `replicas`",
        );
        check(
            "[policy.a]\naction = 'verify'\nreplicas = 2",
            "3:12",
            "takes no `replicas`",
        );
        check("[policy.a]\naction = 'verify'\ncolour = 2", "3:1", "colour");
        check(
            "[policy.a]\naction = 'verify'\nlimits.window = '25:00-1'",
            "3:17",
            "22:00-06:00",
        );
        check(
            "[policy.a]\naction = 'verify'\ntrigger.high = '9%'",
            "1:1",
            "usage_of",
        );
        check("[policy.a]\naction = 'verify'\nscope = ['x']", "3:10", "absolute");
        check(
            "[policy.a]\naction = 'verify'\nscope = ['s3://b/x']",
            "3:10",
            "not on objects",
        );
        check("[class.a]\ncondition = 'class == \"a\"'", "2:23", "no class");
        check("policy = [", "1:11", "");
    }
}
