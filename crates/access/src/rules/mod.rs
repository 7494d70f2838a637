//! All access rules of an archive.

use serde::Serialize;

use crate::access_filter::AccessFilter;
use crate::groups::Groups;
use crate::matcher::CaptureAttributes;
use crate::rule::{Access, AccessRule, PUBLIC, RuleError};

/// The rules of an archive. Their order has no meaning.
///
/// ```
/// use access::{Access, Condition, Groups, AccessRule, AccessRules, CaptureAttributes};
///
/// let rules = AccessRules {
///     rules: vec![AccessRule {
///         access: Access::Deny,
///         except: vec!["staff".into()],
///         condition: Condition {
///             prefix: Some("com,example)/secret".into()),
///             ..Condition::default()
///         },
///         ..AccessRule::default()
///     }],
///     ..AccessRules::default()
/// };
/// let capture = CaptureAttributes {
///     url_key: "com,example)/secret/plan",
///     collection: "",
///     mime: "text/html",
///     digest: "",
///     fetch_time_ms: 0,
/// };
/// let now_ms = 1_400_000_000_000;
/// let filter_for = |groups: &str| rules.filter_for(&Groups::listed(groups), now_ms);
/// assert!(!filter_for("").unwrap().is_visible(&capture));
/// assert!(filter_for("staff").unwrap().is_visible(&capture));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct AccessRules {
    /// Access to captures that no rule matches.
    pub default: Access,
    /// Whether scores must not depend on hidden captures either, for example through term
    /// statistics.
    pub strict: bool,
    /// The rules.
    #[serde(rename = "rule")]
    pub rules: Vec<AccessRule>,
}

impl AccessRules {
    /// Returns what a client in `groups` may see at a time.
    ///
    /// # Errors
    /// The number of the first invalid rule, counted from 1, and the reason.
    pub fn filter_for(&self, groups: &Groups, now_ms: i64) -> Result<AccessFilter, (usize, RuleError)> {
        let is_public = !self.names_any(groups);
        let (mut deny, mut allow) = (Vec::new(), Vec::new());
        for (number, rule) in (1..).zip(&self.rules) {
            let clause = rule.clause(now_ms).map_err(|error| (number, error))?;
            // Rules for other clients are checked too, so that an invalid rule is an error for
            // every client.
            if !rule.is_for(groups, is_public) {
                continue;
            }
            match rule.access {
                Access::Deny => deny.extend(clause),
                Access::Allow => allow.extend(clause),
            }
        }
        Ok(AccessFilter::new(self.default, self.strict, deny, allow))
    }

    /// Returns the numbers, counted from 1, of the rules that match a capture and apply to a client
    /// in `groups`.
    pub fn matching(&self, groups: &Groups, subject: &CaptureAttributes<'_>, now_ms: i64) -> Vec<usize> {
        let is_public = !self.names_any(groups);
        let matches = |rule: &AccessRule| {
            let clause = rule.condition.matcher(now_ms).ok().flatten();
            rule.is_for(groups, is_public) && clause.is_some_and(|clause| clause.matches(subject))
        };
        let numbered = (1..).zip(&self.rules);
        numbered
            .filter(|(_, rule)| matches(rule))
            .map(|(number, _)| number)
            .collect()
    }

    /// Returns until when a sight made at `now_ms` is valid if the rules do not change: the end of
    /// an embargo, or midnight if a rule counts days. Returns `i64::MAX` if no rule depends on the
    /// time.
    pub fn valid_until_ms(&self, now_ms: i64) -> i64 {
        let of_rule = |rule: &AccessRule| rule.condition.changes_at_ms(now_ms);
        self.rules.iter().filter_map(of_rule).min().unwrap_or(i64::MAX)
    }

    /// Returns whether a rule names one of `groups`.
    fn names_any(&self, groups: &Groups) -> bool {
        let names = |rule: &AccessRule| {
            let named = rule.groups.iter().chain(&rule.except);
            named
                .filter(|name| *name != PUBLIC)
                .any(|name| groups.has_any(std::slice::from_ref(name)))
        };
        self.rules.iter().any(names)
    }
}

#[cfg(test)]
mod tests;
