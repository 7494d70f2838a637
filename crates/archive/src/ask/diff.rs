//! Compares two versions of a page.

use std::time::Duration;

use index::PastVersion;
use similar::{ChangeTag, TextDiff};

use super::basis::Basis;
use super::history::{PageHistory, PresentVersion};
use super::visible_snapshot::VisibleSnapshot;
use super::{history, key, time};
use crate::AskError;
use crate::question::{Diff, DiffBody, DiffChange, DiffPart, DiffVersion};

/// Time limit to search for the shortest difference. After it a longer one is returned.
const TIME_MAX: Duration = Duration::from_secs(1);

/// Words shown on each side of a change.
const CONTEXT_WORDS: usize = 20;

pub(super) fn diff(basis: &Basis<'_>, question: &Diff) -> Result<DiffBody, AskError> {
    let visible = basis.visible();
    let url_key = key::url_key(&question.url)?;
    let versions = versions(&visible, &url_key, &key::UrlSpelling::of(&question.url))?;
    if versions.is_empty() {
        return Err(match visible.uri(&url_key)? {
            Some(_) => AskError::not_found(format!(
                "{} has no version that is a page or document",
                question.url
            )),
            None => key::unknown(&question.url, &url_key),
        });
    }
    let to = match &question.to {
        Some(at) => find(&versions, at, &question.url)?,
        None => versions.len() - 1,
    };
    let from = match &question.from {
        Some(at) => find(&versions, at, &question.url)?,
        None => to.checked_sub(1).ok_or_else(|| {
            AskError::not_found(format!(
                "{} has no earlier version to compare it with",
                question.url
            ))
        })?,
    };
    let (from, to) = (&versions[from], &versions[to]);
    let (older, newer) = (text(&visible, &url_key, from)?, text(&visible, &url_key, to)?);
    let mut body = DiffBody {
        from: from.shown.clone(),
        to: to.shown.clone(),
        url_key,
        ..DiffBody::default()
    };
    add_parts(&older, &newer, &mut body);
    Ok(body)
}

/// A version of a page.
struct Version {
    since_ms: i64,
    until_ms: Option<i64>,
    shown: DiffVersion,
    text: Text,
}

enum Text {
    Current,
    Past(Option<[u8; 16]>),
}

/// Returns the versions of a page, oldest first.
fn versions(
    visible: &VisibleSnapshot<'_>,
    url_key: &str,
    asked: &key::UrlSpelling,
) -> Result<Vec<Version>, AskError> {
    let PageHistory { since_ms, past, now } = history::page_history(visible, url_key, asked)?;
    let mut versions: Vec<Version> = past.into_iter().map(past_version).collect();
    match now {
        PresentVersion::Open(open) => versions.push(past_version(*open)),
        PresentVersion::Current(Some(current)) if current.is_page || current.is_document => {
            versions.push(Version {
                since_ms,
                until_ms: None,
                shown: DiffVersion {
                    since: format::date::iso(since_ms),
                    fetch_time: format::date::iso(current.fetch_time_ms),
                    until: None,
                    title: current.title,
                    digest: current.digest,
                },
                text: Text::Current,
            })
        }
        PresentVersion::Current(_) => {}
    }
    Ok(versions)
}

fn past_version(past: PastVersion) -> Version {
    let until_ms = (!past.is_open()).then_some(past.until_ms);
    Version {
        since_ms: past.since_ms,
        until_ms,
        shown: DiffVersion {
            since: format::date::iso(past.since_ms),
            fetch_time: format::date::iso(past.fetch_time_ms),
            until: until_ms.map(format::date::iso),
            title: past.title,
            digest: past.digest,
        },
        text: Text::Past(past.text),
    }
}

/// Returns the index of the version that was current at the end of a time.
fn find(versions: &[Version], at: &str, url: &str) -> Result<usize, AskError> {
    let (_, last) = format::date::range_of_digits(time::check(at)?);
    let began = versions
        .iter()
        .rposition(|version| format::date::digits(version.since_ms) <= last);
    let Some(began) = began else {
        let first = &versions[0].shown.since;
        return Err(AskError::not_found(format!(
            "{url} has no version at {at}: its first version is from {first}"
        )));
    };
    // What followed the version need not be a page.
    match versions[began].until_ms {
        Some(until_ms) if format::date::digits(until_ms) <= last => Err(AskError::not_found(format!(
            "{url} was no page or document at {at}: its version of then ended {}",
            format::date::iso(until_ms)
        ))),
        _ => Ok(began),
    }
}

fn text(visible: &VisibleSnapshot<'_>, url_key: &str, version: &Version) -> Result<String, AskError> {
    let text = match version.text {
        Text::Current => visible.text(url_key)?,
        Text::Past(None) => None,
        Text::Past(Some(name)) => visible.past_text(url_key, name)?,
    };
    Ok(text.unwrap_or_default())
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
