//! All rules of an archive.

use serde::Serialize;

use crate::groups::Groups;
use crate::rule::{Access, PUBLIC, Rule, RuleError};
use crate::sight::{Sight, Subject};

/// The rules of an archive. Their order means nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Rules {
    /// What holds for captures that no rule matches.
    pub default: Access,
    /// Whether term statistics and other signs of hidden captures are kept from scores too.
    pub strict: bool,
    /// The rules.
    #[serde(rename = "rule")]
    pub rules: Vec<Rule>,
}

impl Rules {
    /// What somebody in `groups` sees at a time.
    ///
    /// # Errors
    /// The number of the first rule that means nothing, from 1, and why.
    pub fn sight(&self, groups: &Groups, now_ms: i64) -> Result<Sight, (usize, RuleError)> {
        let is_public = !self.names_any(groups);
        let (mut deny, mut allow) = (Vec::new(), Vec::new());
        for (number, rule) in (1..).zip(&self.rules) {
            let clause = rule.clause(now_ms).map_err(|error| (number, error))?;
            // Rules for others are looked at too: a rule that means nothing is told of whoever asks.
            if !rule.is_for(groups, is_public) {
                continue;
            }
            match rule.access {
                Access::Deny => deny.extend(clause),
                Access::Allow => allow.extend(clause),
            }
        }
        Ok(Sight::new(self.default, self.strict, deny, allow))
    }

    /// Numbers, from 1, of the rules that match a capture and are for somebody in `groups`.
    pub fn matching(&self, groups: &Groups, subject: &Subject<'_>, now_ms: i64) -> Vec<usize> {
        let is_public = !self.names_any(groups);
        let matches = |rule: &Rule| {
            let clause = rule.condition.clause(now_ms).ok().flatten();
            rule.is_for(groups, is_public) && clause.is_some_and(|clause| clause.matches(subject))
        };
        let numbered = (1..).zip(&self.rules);
        numbered
            .filter(|(_, rule)| matches(rule))
            .map(|(number, _)| number)
            .collect()
    }

    /// Until when a sight of `now_ms` holds if the rules stay: to the end of an embargo, or to midnight where a rule counts days.
    /// `i64::MAX` where no rule knows the time.
    pub fn holds_until_ms(&self, now_ms: i64) -> i64 {
        let of_rule = |rule: &Rule| rule.condition.changes_at_ms(now_ms);
        self.rules.iter().filter_map(of_rule).min().unwrap_or(i64::MAX)
    }

    /// Whether a rule names one of `groups`.
    fn names_any(&self, groups: &Groups) -> bool {
        let names = |rule: &Rule| {
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
