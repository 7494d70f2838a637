//! A rule in a file or an answer: one flat table.
//!
//! An unknown key is an error: a misspelt condition would match everything, and a misspelt group
//! would let everybody in.

use serde::{Deserialize, Serialize};

use super::{Access, AccessRule, Condition};

/// [`AccessRule`] as a flat table.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleFields {
    /// Whether it allows or denies.
    access: Access,
    /// The groups to which it applies; absent for everybody. `public` means clients in no group
    /// that any rule names.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "some_groups"
    )]
    groups: Vec<String>,
    /// Groups to which it does not apply, even if they are in one of `groups`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    except: Vec<String>,
    /// One complete URL key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// Prefix of the URL key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prefix: Option<String>,
    /// Prefixes of URL keys excluded from `prefix`; with `###` appended, exactly that key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    but_not: Vec<String>,
    /// A host name without the hosts below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    /// A host name, and every host below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    domain: Option<String>,
    /// Label of the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    collection: Option<String>,
    /// Media type, or all types of a kind (`image/*`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mime: Option<String>,
    /// Payload digest as in CDX.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    /// Captured at this date or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    /// Captured at this date or earlier, including the whole period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    /// Captured at most this many days ago.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    younger_than_days: Option<u32>,
    /// The rule is in force only before this date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<String>,
    /// The reason for the rule, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    note: String,
}

/// Parses a list of at least one group. An empty list would mean nobody, but an absent one means
/// everybody.
fn some_groups<'de, D: serde::Deserializer<'de>>(list: D) -> Result<Vec<String>, D::Error> {
    let groups = Vec::deserialize(list)?;
    if groups.is_empty() {
        Err(serde::de::Error::custom(
            "groups = [] applies to nobody; leave groups out to apply the rule to everybody, or remove the rule",
        ))
    } else {
        Ok(groups)
    }
}

impl From<RuleFields> for AccessRule {
    fn from(fields: RuleFields) -> AccessRule {
        AccessRule {
            access: fields.access,
            groups: fields.groups,
            except: fields.except,
            condition: Condition {
                url: fields.url,
                prefix: fields.prefix,
                but_not: fields.but_not,
                host: fields.host,
                domain: fields.domain,
                collection: fields.collection,
                mime: fields.mime,
                digest: fields.digest,
                from: fields.from,
                to: fields.to,
                younger_than_days: fields.younger_than_days,
                until: fields.until,
            },
            note: fields.note,
        }
    }
}

impl From<AccessRule> for RuleFields {
    fn from(rule: AccessRule) -> RuleFields {
        let condition = rule.condition;
        RuleFields {
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
