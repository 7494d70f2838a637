//! The versions of the page at a URL, past and current.
//!
//! URLs that differ only in case have one key, and may be different pages. The views contain only
//! the current version of a key; the other pages are known by their last captures
//! ([`PastVersion::page`]).

use index::{PageRow, PastVersion};

use super::key::UrlSpelling;
use super::visible_snapshot::VisibleSnapshot;
use crate::AskError;

/// The versions of the page asked for.
pub(super) struct PageHistory {
    /// When the present state began, or 0.
    pub(super) since_ms: i64,
    /// The past versions, oldest first.
    pub(super) past: Vec<PastVersion>,
    pub(super) now: PresentVersion,
}

/// The present state of a page.
pub(super) enum PresentVersion {
    /// The current version of the key, if any is visible.
    Current(Option<Box<PageRow>>),
    /// A page other than that of the key's current version.
    Open(Box<PastVersion>),
}

pub(super) fn page_history(
    visible: &VisibleSnapshot<'_>,
    url_key: &str,
    asked: &UrlSpelling,
) -> Result<PageHistory, AskError> {
    let current = visible.version(url_key)?;
    let (since_ms, mut past) = visible.history(url_key)?;
    let is_asked = |url: &str| asked.is(url);
    let page = match &current {
        Some(version) if is_asked(&version.url) => None,
        _ => past
            .iter()
            .rfind(|past| past.is_open() && is_asked(&past.url))
            .and_then(|past| past.page.clone()),
    };
    past.retain(|past| past.page == page);
    let open = match page {
        Some(_) => past.pop(),
        None => None,
    };
    Ok(match open {
        Some(open) => PageHistory {
            since_ms: open.since_ms,
            past,
            now: PresentVersion::Open(Box::new(open)),
        },
        None => PageHistory {
            since_ms,
            past,
            now: PresentVersion::Current(current.map(Box::new)),
        },
    })
}
