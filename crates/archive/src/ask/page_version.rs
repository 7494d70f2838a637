//! The versions of a page or document with their texts, and which of them held at a time.

use index::{PageRow, PastVersion};

use super::history::{PageHistory, PresentVersion};
use super::visible_snapshot::VisibleSnapshot;
use super::{history, key, time};
use crate::AskError;

/// A version of a page or document.
pub(super) struct PageVersion {
    pub(super) since_ms: i64,
    /// When the following version began; `None` for the newest version.
    pub(super) until_ms: Option<i64>,
    pub(super) fetch_time_ms: i64,
    pub(super) url: String,
    pub(super) title: String,
    pub(super) mime: String,
    pub(super) language: String,
    pub(super) digest: String,
    text: TextName,
}

enum TextName {
    Current,
    Past(Option<[u8; 16]>),
}

impl PageVersion {
    fn current(since_ms: i64, current: PageRow) -> PageVersion {
        PageVersion {
            since_ms,
            until_ms: None,
            fetch_time_ms: current.fetch_time_ms,
            url: current.url,
            title: current.title,
            mime: current.mime,
            language: current.language,
            digest: current.digest,
            text: TextName::Current,
        }
    }

    fn past(past: PastVersion) -> PageVersion {
        PageVersion {
            since_ms: past.since_ms,
            until_ms: (!past.is_open()).then_some(past.until_ms),
            fetch_time_ms: past.fetch_time_ms,
            url: past.url,
            title: past.title,
            mime: past.mime,
            language: past.language,
            digest: past.digest,
            text: TextName::Past(past.text),
        }
    }

    /// Returns the text of the version; empty if it has none.
    pub(super) fn text(&self, visible: &VisibleSnapshot<'_>, url_key: &str) -> Result<String, AskError> {
        let text = match self.text {
            TextName::Current => visible.text(url_key)?,
            TextName::Past(None) => None,
            TextName::Past(Some(name)) => visible.past_text(url_key, name)?,
        };
        Ok(text.unwrap_or_default())
    }
}

/// Returns the versions of the page at a URL, oldest first, at least one.
pub(super) fn versions(
    visible: &VisibleSnapshot<'_>,
    url_key: &str,
    url: &str,
) -> Result<Vec<PageVersion>, AskError> {
    let asked = key::UrlSpelling::of(url);
    let PageHistory { since_ms, past, now } = history::page_history(visible, url_key, &asked)?;
    let mut versions: Vec<PageVersion> = past.into_iter().map(PageVersion::past).collect();
    match now {
        PresentVersion::Open(open) => versions.push(PageVersion::past(*open)),
        PresentVersion::Current(Some(current)) if current.is_page || current.is_document => {
            versions.push(PageVersion::current(since_ms, *current));
        }
        PresentVersion::Current(_) => {}
    }
    if versions.is_empty() {
        return Err(match visible.uri(url_key)? {
            Some(_) => AskError::not_found(format!("{url} has no version that is a page or document")),
            None => key::unknown(url, url_key),
        });
    }
    Ok(versions)
}

/// Returns the index of the version that was current at the end of a time.
pub(super) fn find(versions: &[PageVersion], at: &str, url: &str) -> Result<usize, AskError> {
    let (_, last) = format::date::range_of_digits(time::check_date(at)?);
    let began = versions
        .iter()
        .rposition(|version| format::date::digits(version.since_ms) <= last);
    let Some(began) = began else {
        let first = versions.first().map(|first| format::date::iso(first.since_ms));
        return Err(AskError::not_found(format!(
            "{url} has no version at {at}: its first version is from {}",
            first.unwrap_or_default()
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
