//! Edits the text of the file without disturbing the text of users.
//!
//! Rules are appended at the end, and removed as a block from `[[rule]]` to their last key. A file
//! with another layout (rules as inline tables) is rewritten.

use std::ops::Range;

use super::read::Spans;
use crate::rule::{Access, AccessRule};
use crate::rules::AccessRules;

/// Returns the text with `wanted` in place of `known`, if the two differ only by removed rules,
/// appended rules, and settings.
pub(super) fn edited(text: &str, spans: &Spans, known: &AccessRules, wanted: &AccessRules) -> Option<String> {
    let mut text_left = text.to_owned();
    let mut left = wanted.rules.iter().peekable();
    let mut cuts = Vec::new();
    for (rule, span) in known.rules.iter().zip(&spans.rule) {
        match left.next_if(|next| *next == rule) {
            Some(_) => {}
            None => cuts.push(block(text, span.span().start)?),
        }
    }
    // From the end backwards, so that earlier positions remain valid. Settings come before all
    // rules.
    for cut in cuts.into_iter().rev() {
        text_left.replace_range(cut, "");
    }
    for rule in left {
        append(&mut text_left, rule)?;
    }
    let mut settings = Vec::new();
    if wanted.strict != known.strict {
        settings.push((
            spans.strict.as_ref().map(|it| it.span()),
            "strict",
            wanted.strict.to_string(),
        ));
    }
    if wanted.default != known.default {
        let value = match wanted.default {
            Access::Allow => "\"allow\"",
            Access::Deny => "\"deny\"",
        };
        settings.push((
            spans.default.as_ref().map(|it| it.span()),
            "default",
            value.to_owned(),
        ));
    }
    settings.sort_by_key(|(span, ..)| std::cmp::Reverse(span.as_ref().map_or(0, |span| span.start)));
    for (span, key, value) in settings {
        match span {
            Some(span) => text_left.replace_range(span, &value),
            None => text_left.insert_str(head(text).len(), &format!("{key} = {value}\n")),
        }
    }
    Some(text_left)
}

/// Returns the rules as new text. Only the comments at the top are kept.
pub(super) fn rewritten(text: &str, rules: &AccessRules) -> Result<String, toml::ser::Error> {
    Ok(format!("{}{}", head(text), toml::to_string(rules)?))
}

fn head(text: &str) -> &str {
    let lines = text.split_inclusive('\n');
    let size = lines
        .take_while(|line| line.starts_with('#') && line.ends_with('\n'))
        .map(str::len);
    &text[..size.sum()]
}

fn append(text: &mut String, rule: &AccessRule) -> Option<()> {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    if !text.is_empty() && !text.ends_with("\n\n") {
        text.push('\n');
    }
    text.push_str("[[rule]]\n");
    text.push_str(&toml::to_string(rule).ok()?);
    Some(())
}

/// Returns the range of the rule that begins at `begin`, including the empty lines before it.
fn block(text: &str, begin: usize) -> Option<Range<usize>> {
    let begin = text.get(..begin)?.rfind('\n').map_or(0, |end| end + 1);
    let mut end = begin;
    let mut at = begin;
    for (number, line) in text.get(begin..)?.split_inclusive('\n').enumerate() {
        let bare = line.trim();
        match number {
            0 if !bare.starts_with("[[") => return None,
            0 => {}
            _ if bare.starts_with("[[") => break,
            _ => {}
        }
        at += line.len();
        // Comments after the last key belong to the next rule.
        if !bare.is_empty() && !bare.starts_with('#') {
            end = at;
        }
    }
    let before = text.get(..begin)?;
    let blank = before.len() - before.trim_end_matches('\n').len();
    // Keep one line end, which ends the line before.
    let begin = begin - blank.saturating_sub(usize::from(begin > blank));
    Some(begin..end)
}
