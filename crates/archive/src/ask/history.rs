//! What the page at a URL was, and is.
//!
//! Addresses whose letters differ in case have one key, and may be different pages. The views have the current version of a key
//! alone; the others are told by their last captures ([`PastVersion::page`]).

use weave::{PageRow, PastVersion};

use super::key::AsAsked;
use super::seen::Seen;
use crate::AskError;

/// The versions of the page that was asked for.
pub(super) struct PageHistory {
    /// When what it is now began; 0 if it is nothing now.
    pub(super) since_ms: i64,
    /// What it was before, oldest first.
    pub(super) past: Vec<PastVersion>,
    pub(super) now: Now,
}

/// What a page is now.
pub(super) enum Now {
    /// The current version of its key; `None` if there is none, or it is hidden.
    Current(Option<Box<PageRow>>),
    /// Another page than the current version is of.
    Open(Box<PastVersion>),
}

pub(super) fn of_page(seen: &Seen<'_>, url_key: &str, asked: &AsAsked) -> Result<PageHistory, AskError> {
    let current = seen.version(url_key)?;
    let (since_ms, mut past) = seen.history(url_key)?;
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
            now: Now::Open(Box::new(open)),
        },
        None => PageHistory {
            since_ms,
            past,
            now: Now::Current(current.map(Box::new)),
        },
    })
}
