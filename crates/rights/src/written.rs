//! A rule as a file or an answer has it: one flat table.
//!
//! A key that is not one of these is an error: a misspelt condition would match everything, and a misspelt group let everybody
//! in.

use serde::{Deserialize, Serialize};

use crate::rule::{Access, Condition, Rule};

/// [`Rule`], flat.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Written {
    /// Whether it allows or denies.
    access: Access,
    /// The groups it is for; absent where it is for everybody. `public` are those in no group that any rule names.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "some_groups"
    )]
    groups: Vec<String>,
    /// Groups it is not for, even if they are in one of `groups`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    except: Vec<String>,
    /// One URL key, whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// What the URL key begins with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prefix: Option<String>,
    /// Beginnings of URL keys that are left out of `prefix`; with `###` behind it, that one key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    but_not: Vec<String>,
    /// A host name alone, without the hosts below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    /// A host name, and every host below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    domain: Option<String>,
    /// Label of the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    collection: Option<String>,
    /// Media type, or all of a kind (`image/*`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mime: Option<String>,
    /// Digest of the payload as in CDX.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    /// Captured at this date or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    /// Captured at this date or earlier, the whole of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    /// Captured so many days ago or less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    younger_than_days: Option<u32>,
    /// The rule is in force before this date alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<String>,
    /// Why there is this rule, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    note: String,
}

/// Groups, at least one: who empties the list means nobody, and without it the rule is for everybody.
fn some_groups<'de, D: serde::Deserializer<'de>>(list: D) -> Result<Vec<String>, D::Error> {
    let groups = Vec::deserialize(list)?;
    match groups.is_empty() {
        true => Err(serde::de::Error::custom(
            "groups = [] names nobody; leave groups out for a rule that is for everybody, or remove the rule",
        )),
        false => Ok(groups),
    }
}

impl From<Written> for Rule {
    fn from(written: Written) -> Rule {
        Rule {
            access: written.access,
            groups: written.groups,
            except: written.except,
            condition: Condition {
                url: written.url,
                prefix: written.prefix,
                but_not: written.but_not,
                host: written.host,
                domain: written.domain,
                collection: written.collection,
                mime: written.mime,
                digest: written.digest,
                from: written.from,
                to: written.to,
                younger_than_days: written.younger_than_days,
                until: written.until,
            },
            note: written.note,
        }
    }
}

impl From<Rule> for Written {
    fn from(rule: Rule) -> Written {
        let condition = rule.condition;
        Written {
            access: rule.access,
            groups: rule.groups,
            except: rule.except,
            url: condition.url,
            prefix: condition.prefix,
            but_not: condition.but_not,
            host: condition.host,
            domain: condition.domain,
            collection: condition.collection,
            mime: condition.mime,
            digest: condition.digest,
            from: condition.from,
            to: condition.to,
            younger_than_days: condition.younger_than_days,
            until: condition.until,
            note: rule.note,
        }
    }
}
