//! Rules of a pywb: files `.aclj`, as its documentation of access control describes them.
//!
//! A line is `SURT - {"access": "allow|block|exclude|allow_ignore_embargo", "user": "name"}`; `###` behind the SURT means that one key
//! alone. There, of the rules whose key a URL begins with the longest counts, and of those of one key the one for who
//! asks before the one for everybody. Here deny wins, whatever is longer. So each rule that denies becomes one with what longer
//! rules say otherwise left out of it, once for each user that any rule names and once for all others.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::rule::{Access, Condition, Rule};

/// What stands behind a key that is meant alone.
pub(crate) const EXACT: &str = "###";

/// Rules as they were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The rules.
    pub rules: Vec<Rule>,
    /// Lines that say `exclude`, which a pywb tells apart from `block` and this does not: both are hidden.
    pub excluded: usize,
}

/// A line that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct AcljError {
    /// Which, from 1.
    pub line: usize,
    /// Why not.
    pub why: String,
}

#[derive(Deserialize)]
struct Entry {
    access: String,
    #[serde(default)]
    user: Option<String>,
}

/// Access by key (with [`EXACT`] behind it where it is meant alone), for everybody or one user.
type Written = BTreeMap<Option<String>, BTreeMap<String, Access>>;

/// Makes rules of the text of a file, for an archive with this default.
///
/// # Errors
/// [`AcljError`]: nothing is imported then.
pub fn import(text: &str, default: Access) -> Result<Imported, AcljError> {
    let mut written = Written::new();
    let mut excluded = 0;
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.trim();
        if content.is_empty() || content.starts_with(['#', '!']) {
            continue;
        }
        let (key, user, access, is_excluded) = entry(content).map_err(|why| AcljError { line, why })?;
        excluded += usize::from(is_excluded);
        // Of two rules of one key and user a pywb finds the first.
        written.entry(user).or_default().entry(key).or_insert(access);
    }
    let users: BTreeSet<&String> = written.keys().flatten().collect();
    let everybody = written.get(&None).cloned().unwrap_or_default();
    let mut rules = rules_for(
        &everybody,
        default,
        &[],
        &users.iter().map(|user| (*user).clone()).collect::<Vec<_>>(),
    );
    for user in users {
        let mut effective = everybody.clone();
        effective.extend(written.get(&Some(user.clone())).cloned().unwrap_or_default());
        rules.extend(rules_for(&effective, default, std::slice::from_ref(user), &[]));
    }
    Ok(Imported { rules, excluded })
}

fn entry(content: &str) -> Result<(String, Option<String>, Access, bool), String> {
    let expected = "a SURT, a time or -, and {\"access\": ...} are expected";
    let (key, rest) = content.split_once(' ').ok_or(expected)?;
    let (_, json) = rest.trim_start().split_once(' ').ok_or(expected)?;
    let entry: Entry = serde_json::from_str(json).map_err(|error| format!("{expected}: {error}"))?;
    let access = match entry.access.as_str() {
        "allow" | "allow_ignore_embargo" => Access::Allow,
        "block" | "exclude" => Access::Deny,
        other => {
            return Err(format!(
                "{other:?} is none of allow, block, exclude, allow_ignore_embargo"
            ));
        }
    };
    let user = entry.user.filter(|user| !user.is_empty());
    Ok((key.to_owned(), user, access, entry.access == "exclude"))
}

/// Rules for what differs from the default: keys that say so, without longer ones.
fn rules_for(
    effective: &BTreeMap<String, Access>,
    default: Access,
    groups: &[String],
    except: &[String],
) -> Vec<Rule> {
    let rule = |(key, access): (&String, &Access)| {
        let condition = match key.strip_suffix(EXACT) {
            Some(url) => Condition {
                url: Some(url.to_owned()),
                ..Condition::default()
            },
            None => Condition {
                prefix: Some(key.clone()),
                but_not: longer(effective, key),
                ..Condition::default()
            },
        };
        Rule {
            access: *access,
            groups: groups.to_vec(),
            except: except.to_vec(),
            condition,
            note: "imported".to_owned(),
        }
    };
    effective
        .iter()
        .filter(|(_, access)| **access != default)
        .map(rule)
        .collect()
}

/// Keys that begin with a key and are longer, but for those that begin with another of them.
fn longer(effective: &BTreeMap<String, Access>, key: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (other, _) in effective.range(key.to_owned()..) {
        if !other.starts_with(key) {
            break;
        }
        let is_within = found
            .last()
            .is_some_and(|last| !last.ends_with(EXACT) && other.starts_with(last.as_str()));
        if other != key && !is_within {
            found.push(other.clone());
        }
    }
    found
}

#[cfg(test)]
mod tests;
