//! Returns a part of the text of one version of a page or document.

use super::basis::Basis;
use super::{key, page_version};
use crate::AskError;
use crate::question::{PageText, PageTextBody};

/// Characters of an answer if the question asks for 0.
const LIMIT_DEFAULT: usize = 10_000;

/// Maximum number of characters in an answer.
const LIMIT_MAX: usize = 100_000;

pub(super) fn page_text(basis: &Basis<'_>, question: &PageText) -> Result<PageTextBody, AskError> {
    let visible = basis.visible();
    let url_key = key::url_key(&question.url)?;
    let versions = page_version::versions(&visible, &url_key, &question.url)?;
    let found = match &question.at {
        Some(at) => page_version::find(&versions, at, &question.url)?,
        None => versions.len() - 1,
    };
    let version = &versions[found];
    let part = TextPart::of(&version.text(&visible, &url_key)?, question.start, question.limit);
    Ok(PageTextBody {
        url: version.url.clone(),
        since: format::date::iso(version.since_ms),
        fetch_time: format::date::iso(version.fetch_time_ms),
        until: version.until_ms.map(format::date::iso),
        title: version.title.clone(),
        mime: version.mime.clone(),
        language: version.language.clone(),
        digest: version.digest.clone(),
        text: part.text,
        start: part.start,
        chars: part.chars,
        next: part.next,
        url_key,
    })
}

/// A part of a text, counted in characters.
#[derive(Debug, PartialEq, Eq)]
struct TextPart {
    text: String,
    start: u64,
    chars: u64,
    next: Option<u64>,
}

impl TextPart {
    fn of(text: &str, start: u64, limit: usize) -> TextPart {
        let limit = match limit {
            0 => LIMIT_DEFAULT,
            limit => limit.min(LIMIT_MAX),
        };
        let chars = text.chars().count() as u64;
        let start = start.min(chars);
        let end = start + limit as u64;
        TextPart {
            // A text in memory has fewer characters than `usize` counts.
            text: text.chars().skip(start as usize).take(limit).collect(),
            start,
            chars,
            next: (end < chars).then_some(end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(start: u64, limit: usize, text: &str, next: Option<u64>) {
        let found = TextPart::of("grüße an alle", start, limit);
        assert_eq!((found.text.as_str(), found.next, found.chars), (text, next, 13));
    }

    #[test]
    fn parts_are_counted_in_characters_and_follow_each_other() {
        check(0, 5, "grüße", Some(5));
        check(5, 5, " an a", Some(10));
        check(10, 5, "lle", None);
        check(8, 5, " alle", None);
        check(0, 0, "grüße an alle", None);
        check(13, 5, "", None);
        check(u64::MAX, usize::MAX, "", None);
    }
}
