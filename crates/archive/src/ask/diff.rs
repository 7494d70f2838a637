//! Compares two versions of a page.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use super::basis::Basis;
use super::page_version::PageVersion;
use super::{key, page_version};
use crate::AskError;
use crate::question::{Diff, DiffBody, DiffChange, DiffPart, DiffVersion};

/// Time limit to search for the shortest difference. After it a longer one is returned.
const TIME_MAX: Duration = Duration::from_secs(1);

/// Words shown on each side of a change.
const CONTEXT_WORDS: usize = 20;

pub(super) fn diff(basis: &Basis<'_>, question: &Diff) -> Result<DiffBody, AskError> {
    let visible = basis.visible();
    let url_key = key::url_key(&question.url)?;
    let versions = page_version::versions(&visible, &url_key, &question.url)?;
    let to = match &question.to {
        Some(at) => page_version::find(&versions, at, &question.url)?,
        None => versions.len() - 1,
    };
    let from = match &question.from {
        Some(at) => page_version::find(&versions, at, &question.url)?,
        None => to.checked_sub(1).ok_or_else(|| {
            AskError::not_found(format!(
                "{} has no earlier version to compare it with",
                question.url
            ))
        })?,
    };
    let (from, to) = (&versions[from], &versions[to]);
    let (older, newer) = (from.text(&visible, &url_key)?, to.text(&visible, &url_key)?);
    let mut body = DiffBody {
        from: shown(from),
        to: shown(to),
        url_key,
        ..DiffBody::default()
    };
    add_parts(&older, &newer, &mut body);
    Ok(body)
}

fn shown(version: &PageVersion) -> DiffVersion {
    DiffVersion {
        since: format::date::iso(version.since_ms),
        fetch_time: format::date::iso(version.fetch_time_ms),
        until: version.until_ms.map(format::date::iso),
        title: version.title.clone(),
        digest: version.digest.clone(),
    }
}

fn add_parts(older: &str, newer: &str, body: &mut DiffBody) {
    let found = TextDiff::configure()
        .timeout(TIME_MAX)
        .diff_unicode_words(older, newer);
    for change in found.iter_all_changes() {
        let (kind, words) = match change.tag() {
            ChangeTag::Equal => (DiffChange::Same, None),
            ChangeTag::Delete => (DiffChange::Gone, Some(&mut body.words_gone)),
            ChangeTag::Insert => (DiffChange::New, Some(&mut body.words_new)),
        };
        let word = change.value();
        if let Some(words) = words {
            *words += u64::from(word.chars().any(char::is_alphanumeric));
        }
        match body.parts.last_mut() {
            Some(last) if last.change == kind => last.text.push_str(word),
            _ => body.parts.push(DiffPart {
                change: kind,
                text: word.to_owned(),
            }),
        }
    }
    let count = body.parts.len();
    for (place, part) in body.parts.iter_mut().enumerate() {
        if part.change == DiffChange::Same {
            part.text = around(&part.text, place > 0, place + 1 < count);
        }
    }
}

/// Shortens an unchanged part to its beginning, if a change precedes it, and its end, if a change
/// follows.
fn around(text: &str, is_behind: bool, is_before: bool) -> String {
    let words: Vec<&str> = text.split_inclusive(char::is_whitespace).collect();
    let kept = CONTEXT_WORDS * (usize::from(is_behind) + usize::from(is_before));
    if words.len() <= kept + 1 {
        return text.to_owned();
    }
    let head = if is_behind { CONTEXT_WORDS } else { 0 };
    let tail = if is_before { CONTEXT_WORDS } else { 0 };
    let (head, tail) = (words[..head].concat(), words[words.len() - tail..].concat());
    match (is_behind, is_before) {
        (false, false) => "…".to_owned(),
        (false, true) => format!("… {tail}"),
        (true, false) => format!("{head}…"),
        (true, true) => format!("{head}… {tail}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(older: &str, newer: &str, expected: &str) {
        let mut body = DiffBody::default();
        add_parts(older, newer, &mut body);
        let shown: String = body
            .parts
            .iter()
            .map(|part| match part.change {
                DiffChange::Same => part.text.clone(),
                DiffChange::Gone => format!("[-{}-]", part.text),
                DiffChange::New => format!("[+{}+]", part.text),
            })
            .collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn changes_stand_among_what_stayed() {
        check("a b c", "a x c", "a [-b-][+x+] c");
        check("", "new", "[+new+]");
        check("same", "same", "same");
        let long = "word ".repeat(100);
        let context = "word ".repeat(CONTEXT_WORDS);
        check(&long, &long, "…");
        check(
            &format!("{long}old {long}"),
            &format!("{long}new {long}"),
            &format!("… {context}[-old-][+new+] {}…", "word ".repeat(CONTEXT_WORDS - 1)),
        );
    }
}
