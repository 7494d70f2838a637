//! Past versions: the versions of a page before its current one.
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
//!
//! Invariant: `past_texts` has every different text of a key's eligible pages and documents once,
//! except that of the current version, which is in `texts`.

use std::collections::{BTreeMap, BTreeSet};

use extract::{Capture, CaptureKind, Link};
use urlkey::Spelling;

use crate::cut::Cut;
use crate::error::SnapshotError;
use crate::ids::InputId;
use crate::ledger::Names;
use crate::rows::{OriginalCapture, PastVersion, TextCapture};
use crate::tables::Table;
use crate::views::captures::{self, CapturePosition, Stored, TextHash};
use crate::views::order::{is_eligible_row, source_rank};
use crate::views::past_links::{self, LazyPacker};
use crate::views::texts;
use crate::views::version_row::VersionRow;
use crate::write::Write;

/// End of a version that is the last of its spelling.
pub(crate) const OPEN: i64 = i64::MAX;

/// A past version, read from captures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Past {
    pub(crate) since_ms: i64,
    pub(crate) until_ms: i64,
    /// Its last capture.
    pub(crate) capture: Stored,
    pub(crate) title: String,
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
    /// Converts it to the form that answers show.
    pub(crate) fn shown(self, names: &dyn Collections) -> PastVersion {
        let own = &self.capture;
        let own_mime = own.shown_mime().to_owned();
        let is_other =
            |text: &&PastText| (text.input, &text.digest, &text.mime) != (own.input, &own.digest, &own_mime);
        PastVersion {
            text_capture: self.text.as_ref().filter(is_other).map(|text| TextCapture {
                digest: text.digest.clone(),
                collection: names.collection_of(text.input).to_owned(),
                mime: text.mime.clone(),
            }),
            original: self.capture.original.as_ref().map(|original| {
                let collection = names.collection_of(InputId(original.input));
                OriginalCapture::of(original, collection.to_owned())
            }),
            since_ms: self.since_ms,
            until_ms: self.until_ms,
            fetch_time_ms: self.capture.fetch_time_ms,
            collection: names.collection_of(self.capture.input).to_owned(),
            url: self.capture.url,
            title: self.title,
            mime: own_mime,
            language: self.language,
            digest: self.capture.digest,
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
    fn count(&self) -> u32 {
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

/// Returns the captures of a key in order of time.
pub(crate) fn rows(cut: &Cut, url_key: &str) -> Result<Vec<Stored>, SnapshotError> {
    let mut rows = Vec::new();
    for row in cut.prefix(Table::Captures, &captures::key_prefix(url_key)) {
        let (key, value) = row?;
        if captures::is_of_key(&key, url_key) {
            let stored = cut.decode(Table::Captures, &key, captures::decode(&key, &value))?;
            if stored.url_key == url_key {
                rows.push(stored);
            }
        }
    }
    Ok(rows)
}

/// Returns the history of a key. `current_ms` is the time of its current version; later captures
/// are ignored, because they could not be read when it was decided.
pub(crate) fn history(rows: &[&Stored], current_ms: Option<i64>, names: &dyn Collections) -> History {
    let Some(current_ms) = current_ms else {
        return History::default();
    };
    let eligible: Vec<&Stored> = rows
        .iter()
        .copied()
        .filter(|row| is_eligible_row(row) && row.fetch_time_ms <= current_ms)
        .collect();
    let Some(pages) = different_pages(&eligible) else {
        let (past, last) = versions_of(&eligible, names);
        return History {
            since_ms: last.map_or(0, |last| last.since_ms),
            past,
        };
    };
    let newest = eligible
        .chunk_by(|a, b| a.fetch_time_ms == b.fetch_time_ms)
        .next_back();
    let current = newest.and_then(|moment| version_of(moment, names));
    let mut history = History::default();
    for (spelling, captures) in pages {
        let (mut past, last) = versions_of(&captures, names);
        let is_current = |capture: &Stored| captures.iter().any(|row| row.place() == capture.place());
        if current
            .as_ref()
            .is_some_and(|current| is_current(&current.capture))
        {
            history.since_ms = last.map_or(0, |last| last.since_ms);
        } else {
            past.extend(last.filter(|last| last.capture.content.is_some()));
            for past in &mut past {
                past.page = Some(spelling.clone());
            }
        }
        history.past.append(&mut past);
    }
    history
        .past
        .sort_by(|a, b| (a.since_ms, &a.capture.url).cmp(&(b.since_ms, &b.capture.url)));
    for at in 1..history.past.len() {
        let after = history.past[at - 1].since_ms + 1;
        let past = &mut history.past[at];
        past.since_ms = past.since_ms.max(after);
    }
    history
}

/// Groups the captures by different pages, keyed by the least spelling of each; `None` if all are
/// of one page.
fn different_pages<'r>(eligible: &[&'r Stored]) -> Option<BTreeMap<String, Vec<&'r Stored>>> {
    let first = eligible.first()?.url.as_str();
    if eligible.iter().all(|row| row.url == first)
        || !eligible.iter().any(|row| Spelling::may_differ(&row.url))
    {
        return None;
    }
    let mut spelling_of: BTreeMap<&str, String> = BTreeMap::new();
    for row in eligible {
        spelling_of.entry(&row.url).or_insert_with(|| {
            Spelling::new(&row.url).map_or_else(|_| row.url.clone(), |spelling| spelling.as_str().to_owned())
        });
    }
    // The least spelling of the page of each spelling.
    let mut page_of: BTreeMap<&str, &str> = spelling_of.values().map(|s| (s.as_str(), s.as_str())).collect();
    let mut first_with: BTreeMap<&str, &str> = BTreeMap::new();
    for row in eligible.iter().filter(|row| row.content.is_some()) {
        let own = spelling_of[row.url.as_str()].as_str();
        let other = *first_with.entry(&row.digest).or_insert(own);
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
    let mut pages: BTreeMap<String, Vec<&Stored>> = BTreeMap::new();
    for row in eligible {
        let page = page_of[spelling_of[row.url.as_str()].as_str()];
        pages.entry(page.to_owned()).or_default().push(row);
    }
    (pages.len() > 1).then_some(pages)
}

/// Returns the past versions of one page, oldest first, and the last version, page or not.
fn versions_of(eligible: &[&Stored], names: &dyn Collections) -> (Vec<Past>, Option<Past>) {
    let mut ended = Vec::new();
    let mut run: Option<Past> = None;
    for moment in eligible.chunk_by(|a, b| a.fetch_time_ms == b.fetch_time_ms) {
        let Some(now) = version_of(moment, names) else {
            continue;
        };
        let begins = now.capture.fetch_time_ms;
        match &mut run {
            Some(run) if is_same(run, &now) => {
                let since_ms = run.since_ms;
                *run = Past { since_ms, ..now };
            }
            _ => {
                if let Some(mut past) = run.replace(now).filter(|run| run.capture.content.is_some()) {
                    past.until_ms = begins;
                    ended.push(past);
                }
            }
        }
    }
    (ended, run)
}

fn is_same(a: &Past, b: &Past) -> bool {
    let sort = |past: &Past| past.capture.content.as_ref().map(|content| content.is_document);
    a.capture.digest == b.capture.digest && sort(a) == sort(b)
}

/// Rank of a capture among those of its moment.
pub(crate) fn content_order<'r>(row: &'r Stored, names: &'r dyn Collections) -> impl Ord + use<'r> {
    let collection = names.collection_of(row.input);
    let content = (
        collection,
        row.url.as_str(),
        row.shown_mime(),
        row.content.as_ref(),
        row.links,
    );
    (source_rank(row.kind), row.digest.as_str(), content)
}

/// Returns the version at a moment.
fn version_of(moment: &[&Stored], names: &dyn Collections) -> Option<Past> {
    let greatest = |a: &&Stored, b: &&Stored| content_order(a, names).cmp(&content_order(b, names));
    let capture = moment.iter().copied().max_by(greatest)?;
    let with_text = moment
        .iter()
        .copied()
        .filter(|row| row.content.as_ref().is_some_and(|content| content.text.is_some()));
    let text_row = with_text.max_by(greatest);
    let content = capture.content.clone().unwrap_or_default();
    let text = text_row.and_then(|row| {
        Some(PastText {
            hash: row.content.as_ref()?.text?,
            input: row.input,
            digest: row.digest.clone(),
            mime: row.shown_mime().to_owned(),
        })
    });
    let other_language =
        text_row.and_then(|row| row.content.as_ref().map(|content| content.language.clone()));
    Some(Past {
        since_ms: capture.fetch_time_ms,
        until_ms: OPEN,
        page: None,
        capture: Stored::clone(capture),
        title: content.title,
        language: if content.language.is_empty() {
            other_language.unwrap_or_default()
        } else {
            content.language
        },
        text,
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

/// A key whose captures changed.
pub(crate) struct PastUpdate<'a> {
    pub(crate) url_key: &'a str,
    /// Its version before and now.
    pub(crate) before: Option<&'a VersionRow>,
    pub(crate) now: Option<&'a VersionRow>,
    /// Captures that were added or read again. The text of the new version is missing in them,
    /// because it has been moved out.
    pub(crate) group: &'a [(InputId, Capture)],
    /// The same captures in stored form.
    pub(crate) added: Vec<Stored>,
    /// The links of the new version, if they may have changed.
    pub(crate) links: Option<&'a [Link]>,
    /// Captures being removed.
    pub(crate) removed: &'a [CapturePosition],
}

impl PastUpdate<'_> {
    /// Stores the texts and links of versions that became past, and returns the changes.
    pub(crate) fn apply(
        &self,
        cut: &Cut,
        write: &mut Write<'_>,
        names: Names<'_>,
        (compressor, packer): (&mut texts::Compressor, &mut LazyPacker),
    ) -> Result<PastChange, SnapshotError> {
        let before = rows(cut, self.url_key)?;
        let before: Vec<&Stored> = before.iter().collect();
        let after = self.rows_after(&before);
        let (had, has) = (texts_of(&before, self.before), texts_of(&after, self.now));
        for hash in has.difference(&had) {
            match self.text(cut, &before, *hash)? {
                Some(text) => put_text(write, compressor, self.url_key, *hash, &text),
                None => tracing::debug!(
                    url_key = self.url_key,
                    "the text of a past version is not available"
                ),
            }
        }
        for hash in had.difference(&has) {
            write.remove(Table::PastTexts, text_key(self.url_key, *hash));
        }
        let links = past_links::PastLinksUpdate {
            url_key: self.url_key,
            before: (&before, self.before),
            now: (&after, self.now),
            links: self.links,
            group: self.group,
        };
        links.apply(cut, write, packer)?;
        let time = |row: Option<&VersionRow>| row.map(|row| row.fetch_time_ms);
        let was = history(&before, time(self.before), &names);
        let is = history(&after, time(self.now), &names);
        let gone = was
            .past
            .iter()
            .filter(|past| !is.past.iter().any(|now| now.since_ms == past.since_ms));
        let put = is.past.iter().filter(|past| !was.past.contains(past));
        Ok(PastChange {
            since_ms: is.since_ms,
            count: is.count(),
            is_other: (is.since_ms, is.count()) != (was.since_ms, was.count()),
            gone: gone.map(|past| past.since_ms).collect(),
            put: put.cloned().collect(),
        })
    }

    fn rows_after<'r>(&'r self, before: &[&'r Stored]) -> Vec<&'r Stored> {
        let mut rows = before.to_vec();
        // A revisit may have arrived with the content of another capture, which its stored row did
        // not have.
        let turned = |row: &&Stored| {
            let is_it = |added: &Stored| added.kind == CaptureKind::Revisit && added.place() == row.place();
            self.added.iter().any(is_it)
        };
        rows.retain(|row| row.kind != CaptureKind::Revisit || !turned(row));
        rows.extend(&self.added);
        rows.sort_by_key(|row| (row.fetch_time_ms, row.input, row.offset));
        // Captures that were read again are present already, with all their data.
        rows.dedup_by_key(|row| (row.fetch_time_ms, row.input, row.offset));
        rows.retain(|row| !self.removed.contains(&row.place()));
        rows
    }

    /// Returns the text with this hash: a new one, or that of the previous version.
    fn text(&self, cut: &Cut, before: &[&Stored], hash: TextHash) -> Result<Option<String>, SnapshotError> {
        let contents = self.group.iter().filter_map(|(_, capture)| capture.content());
        for content in contents.filter(|content| !content.text.is_empty()) {
            if captures::text_hash(&content.text) == hash {
                return Ok(Some(content.text.clone()));
            }
        }
        match current_text(before, self.before) {
            Some(current) if current == hash => texts::read(cut, self.url_key),
            _ => Ok(None),
        }
    }
}

/// Returns the texts that `past_texts` has of a key with these captures and this version.
pub(crate) fn texts_of(rows: &[&Stored], version: Option<&VersionRow>) -> BTreeSet<TextHash> {
    let eligible = rows.iter().filter(|row| is_eligible_row(row));
    let mut texts: BTreeSet<TextHash> = eligible.filter_map(|row| row.content.as_ref()?.text).collect();
    if let Some(current) = current_text(rows, version) {
        texts.remove(&current);
    }
    texts
}

/// Returns the text of a version, by the capture that it comes from.
fn current_text(rows: &[&Stored], version: Option<&VersionRow>) -> Option<TextHash> {
    let version = version?;
    let text = version.text.as_ref()?;
    let is_origin = |row: &&&Stored| {
        (row.fetch_time_ms, row.input, row.offset) == (version.fetch_time_ms, text.input, text.offset)
    };
    rows.iter().find(is_origin)?.content.as_ref()?.text
}

pub(crate) fn text_key(url_key: &str, hash: TextHash) -> Vec<u8> {
    [url_key.as_bytes(), &[0], &hash].concat()
}

fn put_text(
    write: &mut Write<'_>,
    compressor: &mut texts::Compressor,
    url_key: &str,
    hash: TextHash,
    text: &str,
) {
    write.put(
        Table::PastTexts,
        text_key(url_key, hash),
        compressor.compress(text),
    );
}

/// Returns a text of a past version of a key.
pub(crate) fn read_text(cut: &Cut, url_key: &str, hash: TextHash) -> Result<Option<String>, SnapshotError> {
    let key = text_key(url_key, hash);
    let Some(value) = cut.get(Table::PastTexts, &key)? else {
        return Ok(None);
    };
    cut.decode(Table::PastTexts, &key, texts::decode(&value))
        .map(Some)
}
