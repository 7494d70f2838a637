//! Versions of a page, computed from the captures of its URL key.
//!
//! A *moment* of a URL key is a time at which it has captures that may be current. They are ranked
//! as for the current version, but content decides ties in source and digest, because names of
//! inputs can change. Successive moments with the same page or document (same digest) are one
//! *version*. It begins with the first of them and has the title, URL and text of the last. Each
//! version with content, except the current one, is past and ends at the next moment.
//!
//! Spellings that differ in case share a key. Without a common digest they are different pages,
//! with separate moments and versions. The last version of a spelling other than the current one's
//! has no end ([`OPEN`]). The start names a version: of two with one start, that of the greater URL
//! is a millisecond later.

use std::collections::BTreeMap;

use extract::Capture;
use urlkey::Spelling;

use crate::ids::InputId;
use crate::ledger::Names;
use crate::rows::{OriginalCapture, PastVersion, TextCapture};
use crate::views::capture_row::{StoredCapture, TextHash};
use crate::views::order::{is_eligible, rank_of};

/// End of a version that is the last of its spelling.
pub(crate) const OPEN: i64 = i64::MAX;

/// A past version, read from captures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Past {
    pub(crate) since_ms: i64,
    pub(crate) until_ms: i64,
    /// Its last capture.
    pub(crate) last: StoredCapture,
    pub(crate) language: String,
    /// Its text, and the capture that the text comes from.
    pub(crate) text: Option<PastText>,
    /// See [`PastVersion::page`].
    pub(crate) page: Option<String>,
}

/// The text of a past version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PastText {
    hash: TextHash,
    input: InputId,
    digest: String,
    mime: String,
}

impl Past {
    fn has_content(&self) -> bool {
        self.last.capture.content().is_some()
    }

    /// Converts it to the form that answers show.
    pub(crate) fn shown(self, names: &dyn Collections) -> PastVersion {
        let (input, own) = (self.last.input, self.last.capture);
        let own_mime = own.shown_mime().to_owned();
        let is_other =
            |text: &&PastText| (text.input, &text.digest, &text.mime) != (input, &own.digest, &own_mime);
        PastVersion {
            text_capture: self.text.as_ref().filter(is_other).map(|text| TextCapture {
                digest: text.digest.clone(),
                collection: names.collection_of(text.input).to_owned(),
                mime: text.mime.clone(),
            }),
            original: own.original.as_ref().map(|original| {
                let collection = names.collection_of(InputId(original.input));
                OriginalCapture::of(original, collection.to_owned())
            }),
            since_ms: self.since_ms,
            until_ms: self.until_ms,
            fetch_time_ms: own.fetch_time_ms,
            collection: names.collection_of(input).to_owned(),
            title: own
                .content()
                .map_or_else(String::new, |content| content.title.clone()),
            url: own.url,
            mime: own_mime,
            language: self.language,
            digest: own.digest,
            text: self.text.map(|text| text.hash),
            page: self.page,
        }
    }
}

/// The history of a key, computed from its captures.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct History {
    /// When the current version began; 0 without one.
    pub(crate) since_ms: i64,
    /// Oldest first.
    pub(crate) past: Vec<Past>,
}

impl History {
    /// Number of versions before the current one.
    pub(crate) fn count(&self) -> u32 {
        let own = self.past.iter().filter(|past| past.page.is_none());
        u32::try_from(own.count()).unwrap_or(u32::MAX)
    }
}

/// Changes of the history of a key in an epoch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PastChange {
    /// When the current version began, and the number of past ones.
    pub(crate) since_ms: i64,
    pub(crate) count: u32,
    /// Whether one of these two changed.
    pub(crate) is_other: bool,
    /// Removed past versions, by their start times.
    pub(crate) gone: Vec<i64>,
    /// New or changed past versions.
    pub(crate) put: Vec<Past>,
}

impl PastChange {
    /// Returns the change for a key whose captures are all of one moment.
    pub(crate) fn of_one_moment(since_ms: i64) -> PastChange {
        PastChange {
            since_ms,
            ..PastChange::default()
        }
    }

    /// Returns whether past versions changed.
    pub(crate) fn is_change(&self) -> bool {
        !self.gone.is_empty() || !self.put.is_empty()
    }
}

/// Returns the history of a key. `current_ms` is the time of its current version; later captures
/// are ignored, because they could not be read when it was decided.
pub(crate) fn history(rows: &[&StoredCapture], current_ms: Option<i64>, names: &dyn Collections) -> History {
    let Some(current_ms) = current_ms else {
        return History::default();
    };
    let eligible: Vec<&StoredCapture> = rows
        .iter()
        .copied()
        .filter(|row| is_eligible(&row.capture) && row.capture.fetch_time_ms <= current_ms)
        .collect();
    let Some(pages) = different_pages(&eligible) else {
        let (past, last) = versions_of(&eligible, names);
        return History {
            since_ms: last.map_or(0, |last| last.since_ms),
            past,
        };
    };
    let newest = eligible.chunk_by(is_of_one_moment).next_back();
    let current = newest.and_then(|moment| version_of(moment, names));
    let mut history = History::default();
    for (spelling, captures) in pages {
        let (mut past, last) = versions_of(&captures, names);
        let is_current = |last: &StoredCapture| captures.iter().any(|row| row.position() == last.position());
        if current.as_ref().is_some_and(|current| is_current(&current.last)) {
            history.since_ms = last.map_or(0, |last| last.since_ms);
        } else {
            past.extend(last.filter(Past::has_content));
            for past in &mut past {
                past.page = Some(spelling.clone());
            }
        }
        history.past.append(&mut past);
    }
    history
        .past
        .sort_by(|a, b| (a.since_ms, &a.last.capture.url).cmp(&(b.since_ms, &b.last.capture.url)));
    for at in 1..history.past.len() {
        let after = history.past[at - 1].since_ms + 1;
        let past = &mut history.past[at];
        past.since_ms = past.since_ms.max(after);
    }
    history
}

/// Groups the captures by different pages, keyed by the least spelling of each; `None` if all are
/// of one page.
fn different_pages<'r>(eligible: &[&'r StoredCapture]) -> Option<BTreeMap<String, Vec<&'r StoredCapture>>> {
    let first = eligible.first()?.capture.url.as_str();
    if eligible.iter().all(|row| row.capture.url == first)
        || !eligible.iter().any(|row| Spelling::may_differ(&row.capture.url))
    {
        return None;
    }
    let mut spelling_of: BTreeMap<&str, String> = BTreeMap::new();
    for row in eligible {
        spelling_of.entry(&row.capture.url).or_insert_with(|| {
            Spelling::new(&row.capture.url).map_or_else(
                |_| row.capture.url.clone(),
                |spelling| spelling.as_str().to_owned(),
            )
        });
    }
    // The least spelling of the page of each spelling.
    let mut page_of: BTreeMap<&str, &str> = spelling_of.values().map(|s| (s.as_str(), s.as_str())).collect();
    let mut first_with: BTreeMap<&str, &str> = BTreeMap::new();
    for row in eligible.iter().filter(|row| row.capture.content().is_some()) {
        let own = spelling_of[row.capture.url.as_str()].as_str();
        let other = *first_with.entry(&row.capture.digest).or_insert(own);
        let (own, other) = (page_of[own], page_of[other]);
        if own != other {
            let least = own.min(other);
            for page in page_of
                .values_mut()
                .filter(|page| **page == own || **page == other)
            {
                *page = least;
            }
        }
    }
    let mut pages: BTreeMap<String, Vec<&StoredCapture>> = BTreeMap::new();
    for row in eligible {
        let page = page_of[spelling_of[row.capture.url.as_str()].as_str()];
        pages.entry(page.to_owned()).or_default().push(row);
    }
    (pages.len() > 1).then_some(pages)
}

/// Returns the past versions of one page, oldest first, and the last version, page or not.
fn versions_of(eligible: &[&StoredCapture], names: &dyn Collections) -> (Vec<Past>, Option<Past>) {
    let mut ended = Vec::new();
    let mut run: Option<Past> = None;
    for moment in eligible.chunk_by(is_of_one_moment) {
        let Some(now) = version_of(moment, names) else {
            continue;
        };
        let begins = now.last.capture.fetch_time_ms;
        match &mut run {
            Some(run) if is_same(run, &now) => {
                let since_ms = run.since_ms;
                *run = Past { since_ms, ..now };
            }
            _ => {
                if let Some(mut past) = run.replace(now).filter(Past::has_content) {
                    past.until_ms = begins;
                    ended.push(past);
                }
            }
        }
    }
    (ended, run)
}

pub(crate) fn is_of_one_moment(a: &&StoredCapture, b: &&StoredCapture) -> bool {
    a.capture.fetch_time_ms == b.capture.fetch_time_ms
}

/// Returns whether two versions have the same page or document.
fn is_same(a: &Past, b: &Past) -> bool {
    let (a, b) = (&a.last.capture, &b.last.capture);
    let sort = |capture: &Capture| (capture.page.is_some(), capture.document.is_some());
    a.digest == b.digest && sort(a) == sort(b)
}

/// Rank of a capture among those of its moment.
pub(crate) fn content_order<'r>(row: &'r StoredCapture, names: &'r dyn Collections) -> impl Ord + use<'r> {
    let capture = &row.capture;
    let content = capture.content().map(|content| {
        let is_document = capture.document.is_some();
        (&content.title, &content.language, row.text, is_document)
    });
    let collection = names.collection_of(row.input);
    (
        (rank_of(capture), &capture.digest, collection),
        (&capture.url, capture.shown_mime(), content, row.links),
    )
}

/// Returns the version at a moment.
fn version_of(moment: &[&StoredCapture], names: &dyn Collections) -> Option<Past> {
    let greatest =
        |a: &&StoredCapture, b: &&StoredCapture| content_order(a, names).cmp(&content_order(b, names));
    let rows = || moment.iter().copied();
    let last = rows().max_by(greatest)?;
    let text_row = rows().filter(|row| row.text.is_some()).max_by(greatest);
    let language = |row: &StoredCapture| Some(row.capture.content()?.language.clone());
    let own_language = language(last).filter(|language| !language.is_empty());
    let text = text_row.and_then(|row| {
        Some(PastText {
            hash: row.text?,
            input: row.input,
            digest: row.capture.digest.clone(),
            mime: row.capture.shown_mime().to_owned(),
        })
    });
    Some(Past {
        since_ms: last.capture.fetch_time_ms,
        until_ms: OPEN,
        last: last.clone(),
        language: own_language.or_else(|| language(text_row?)).unwrap_or_default(),
        text,
        page: None,
    })
}

/// Collection labels of inputs.
pub(crate) trait Collections {
    fn collection_of(&self, input: InputId) -> &str;
}

impl Collections for Names<'_> {
    fn collection_of(&self, input: InputId) -> &str {
        self.collection(input)
    }
}
