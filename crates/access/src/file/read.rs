//! Parses the file with the position of every part, for errors and edits.

use serde::Deserialize;
use toml::Spanned;

use crate::rule::{Access, AccessRule};
use crate::rules::AccessRules;

/// The parsed file, with positions in bytes.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Spans {
    pub(super) default: Option<Spanned<Access>>,
    pub(super) strict: Option<Spanned<bool>>,
    pub(super) rule: Vec<Spanned<AccessRule>>,
}

impl Spans {
    pub(super) fn rules(&self) -> AccessRules {
        AccessRules {
            default: self.default.as_ref().map(|it| *it.get_ref()).unwrap_or_default(),
            strict: self.strict.as_ref().is_some_and(|it| *it.get_ref()),
            rules: self.rule.iter().map(|rule| rule.get_ref().clone()).collect(),
        }
    }

    /// Returns where the rule with this number, counted from 1, begins.
    pub(super) fn begin_of(&self, number: usize) -> usize {
        let rule = number.checked_sub(1).and_then(|index| self.rule.get(index));
        rule.map_or(0, |rule| rule.span().start)
    }
}

pub(super) fn spans(text: &str) -> Result<Spans, toml::de::Error> {
    toml::from_str(text)
}

/// Returns the line number of an offset, counted from 1.
pub(super) fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|&byte| byte == b'\n').count() + 1
}
