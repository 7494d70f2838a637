//! Imports access rules of pywb: `.aclj` files, as described in its documentation of access
//! control.
//!
//! A line is `SURT - {"access": "allow|block|exclude|allow_ignore_embargo", "user": "name"}`. `###`
//! after the SURT means only that key. In pywb, the rule with the longest key that is a prefix of
//! the URL counts, and for one key a rule for the user comes before a rule for everybody. Here deny
//! wins, whatever its length. So each denying rule excludes the longer keys with other rules, once
//! for each user named in any rule and once for all other users.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::rule::{Access, AccessRule, Condition, EXACT};

/// The result of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedRules {
    /// The rules.
    pub rules: Vec<AccessRule>,
    /// Number of lines with `exclude`. pywb distinguishes it from `block`; here both are hidden.
    pub excluded: usize,
}

/// An invalid line.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct AcljError {
    /// Number of the line, counted from 1.
    pub line: usize,
    /// The reason.
    pub why: EntryError,
}

/// Why a line is not a rule.
#[derive(Debug, thiserror::Error)]
pub enum EntryError {
    /// A part is missing.
    #[error("{FORM}")]
    Form,
    /// The last part cannot be read.
    #[error("{FORM}: {0}")]
    Json(#[from] serde_json::Error),
    /// The access has no such value.
    #[error("access {0:?} is unknown: expected allow, block, exclude or allow_ignore_embargo")]
    Access(String),
}

/// The form of a line, for errors.
const FORM: &str = "expected a SURT, a time or -, and {\"access\": ...}";

#[derive(Deserialize)]
struct Entry {
    access: String,
    #[serde(default)]
    user: Option<String>,
}

/// Access by key (with [`EXACT`] appended if it is meant exactly), for everybody or one user.
type AccessByUser = BTreeMap<Option<String>, BTreeMap<String, Access>>;

/// Converts the text of a file to rules, for an archive with this default.
///
/// ```
/// use access::{Access, import};
///
/// let text = r#"com,example)/secret - {"access": "block"}"#;
/// let imported = import(text, Access::Allow)?;
/// let [rule] = &imported.rules[..] else { panic!("{imported:?}") };
/// assert_eq!(rule.access, Access::Deny);
/// assert_eq!(rule.condition.prefix.as_deref(), Some("com,example)/secret"));
/// # Ok::<(), access::AcljError>(())
/// ```
///
/// # Errors
/// [`AcljError`]. Then no rule is imported.
pub fn import(text: &str, default: Access) -> Result<ImportedRules, AcljError> {
    let mut by_user = AccessByUser::new();
    let mut excluded = 0;
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.trim();
        if content.is_empty() || content.starts_with(['#', '!']) {
            continue;
        }
        let (key, user, access, is_excluded) = entry(content).map_err(|why| AcljError { line, why })?;
        excluded += usize::from(is_excluded);
        // If two rules have the same key and user, pywb finds the first.
        by_user.entry(user).or_default().entry(key).or_insert(access);
    }
    let users: BTreeSet<&String> = by_user.keys().flatten().collect();
    let everybody = by_user.get(&None).cloned().unwrap_or_default();
    let mut rules = rules_for(
        &everybody,
        default,
        &[],
        &users.iter().map(|user| (*user).clone()).collect::<Vec<_>>(),
    );
    for user in users {
        let mut effective = everybody.clone();
        effective.extend(by_user.get(&Some(user.clone())).cloned().unwrap_or_default());
        rules.extend(rules_for(&effective, default, std::slice::from_ref(user), &[]));
    }
    Ok(ImportedRules { rules, excluded })
}

fn entry(content: &str) -> Result<(String, Option<String>, Access, bool), EntryError> {
    let (key, rest) = content.split_once(' ').ok_or(EntryError::Form)?;
    let (_, json) = rest.trim_start().split_once(' ').ok_or(EntryError::Form)?;
    let entry: Entry = serde_json::from_str(json)?;
    let access = match entry.access.as_str() {
        "allow" | "allow_ignore_embargo" => Access::Allow,
        "block" | "exclude" => Access::Deny,
        other => return Err(EntryError::Access(other.to_owned())),
    };
    let user = entry.user.filter(|user| !user.is_empty());
    Ok((key.to_owned(), user, access, entry.access == "exclude"))
}

/// Returns rules for the keys whose access differs from the default, excluding longer keys with
/// other rules.
fn rules_for(
    effective: &BTreeMap<String, Access>,
    default: Access,
    groups: &[String],
    except: &[String],
) -> Vec<AccessRule> {
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
        AccessRule {
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

/// Returns the longer keys with this prefix, except those that another of them covers.
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
