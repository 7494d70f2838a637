//! A snapshot as somebody may see it.
//!
//! Invariants:
//! - a capture that is hidden shows in nothing: no row, no count, no order, no cursor;
//! - a version is seen only if its capture is, and the capture of its text or the original of a revisit if that is another one; a hidden version has no
//!   page, no text and no links, so that in-links are counted over versions that are seen;
//! - who sees everything gets what the snapshot says, at no further cost.
//!
//! Where the version that counts now is hidden, its key has no page: older captures that are seen stand in lists of captures alone.

mod domains;
mod links;
mod top;

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use rights::{Sight, Subject};
use rustc_hash::FxHashMap;
use search::Version;
use weave::{CaptureRow, KeyRange, PageRow, PastVersion, Snapshot, SnapshotError, UriRow};

use crate::seen_counts::SeenCounts;

/// Versions whose visibility is remembered within a question.
const REMEMBERED_MAX: usize = 1 << 20;

/// A snapshot, and what of it may show.
pub(super) struct Seen<'a> {
    snapshot: &'a Snapshot,
    sight: &'a Sight,
    sees_everything: bool,
    counts: &'a SeenCounts,
    /// Versions that were looked at, where the key alone does not say whether they are seen.
    remembered: RefCell<FxHashMap<Box<str>, bool>>,
    /// Whether the archive has revisits of other URLs: then no key alone says that its version is seen.
    has_references: OnceCell<bool>,
}

/// What rules ask of a capture.
pub(super) fn subject(capture: &CaptureRow) -> Subject<'_> {
    Subject {
        url_key: &capture.url_key,
        collection: &capture.collection,
        mime: &capture.mime,
        digest: &capture.digest,
        fetch_time_ms: capture.fetch_time_ms,
    }
}

impl<'a> Seen<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, sight: &'a Sight, counts: &'a SeenCounts) -> Seen<'a> {
        Seen {
            snapshot,
            sight,
            sees_everything: sight.sees_everything(),
            counts,
            remembered: RefCell::default(),
            has_references: OnceCell::new(),
        }
    }

    pub(super) fn sees_everything(&self) -> bool {
        self.sees_everything
    }

    /// Everything, seen or not: for who passes over what is hidden.
    pub(super) fn snapshot(&self) -> &Snapshot {
        self.snapshot
    }

    /// What hides captures, to pass over them together.
    pub(super) fn sight(&self) -> &Sight {
        self.sight
    }

    /// Whether a capture is seen.
    pub(super) fn sees(&self, capture: &CaptureRow) -> bool {
        self.sees_everything || self.sight.sees(&subject(capture))
    }

    /// The current version of a URL key.
    pub(super) fn version(&self, url_key: &str) -> Result<Option<PageRow>, SnapshotError> {
        if self.sees_everything {
            return self.snapshot.version(url_key);
        }
        let mut sees_version = |page: &PageRow| self.sees_page(page);
        let mut sees_capture = |capture: &CaptureRow| self.sees(capture);
        self.snapshot
            .version_seen(url_key, &mut sees_version, &mut sees_capture)
    }

    fn sees_page(&self, page: &PageRow) -> bool {
        let subject = Subject {
            url_key: &page.url_key,
            collection: &page.collection,
            mime: &page.mime,
            digest: &page.digest,
            fetch_time_ms: page.fetch_time_ms,
        };
        let of_text = page.text_capture.as_ref().map(|text| Subject {
            collection: &text.collection,
            mime: &text.mime,
            digest: &text.digest,
            ..subject
        });
        let of_original = page.original.as_ref().map(|original| Subject {
            url_key: &original.url_key,
            collection: &original.collection,
            mime: &original.mime,
            digest: &original.digest,
            fetch_time_ms: original.fetch_time_ms,
        });
        let all = [Some(subject), of_text, of_original];
        all.into_iter().flatten().all(|subject| self.sight.sees(&subject))
    }

    /// Whether the versions of a URL key are seen, where the key alone says so.
    fn sees_versions_of(&self, url_key: &str) -> Option<bool> {
        let sees = self.sight.sees_key(url_key);
        sees.filter(|sees| !*sees || !self.has_references())
    }

    fn has_references(&self) -> bool {
        // What cannot be read says nothing of a key.
        *self
            .has_references
            .get_or_init(|| self.snapshot.has_references().unwrap_or(true))
    }

    /// Whether the current version of a URL key, which has one, is seen.
    fn sees_version(&self, url_key: &str) -> Result<bool, SnapshotError> {
        if let Some(sees) = self.sees_versions_of(url_key) {
            return Ok(sees);
        }
        if let Some(&sees) = self.remembered.borrow().get(url_key) {
            return Ok(sees);
        }
        let mut no_capture = |_: &CaptureRow| false;
        let version =
            self.snapshot
                .version_seen(url_key, &mut |page| self.sees_page(page), &mut no_capture)?;
        let mut remembered = self.remembered.borrow_mut();
        if remembered.len() < REMEMBERED_MAX {
            remembered.insert(url_key.into(), version.is_some());
        }
        Ok(version.is_some())
    }

    /// Visible text of a page.
    pub(super) fn text(&self, url_key: &str) -> Result<Option<String>, SnapshotError> {
        match self.sees_everything || self.sees_version(url_key)? {
            true => self.snapshot.text(url_key),
            false => Ok(None),
        }
    }

    /// The text that a result of a search is from.
    pub(super) fn text_shown(&self, url_key: &str) -> Result<Option<Arc<str>>, SnapshotError> {
        // Search may be an epoch behind: a version that came since may be one that is hidden.
        match self.sees_everything || self.sees_version(url_key)? {
            true => Ok(self.snapshot.shown(url_key)?.text),
            false => Ok(None),
        }
    }

    /// In-links, and external in-links, that a result of a search shows, for who sees everything. For others they would have to be counted over
    /// what they see: a hundred results of a million pages have half a million in-links, and whatever bound this had would tell of those that
    /// are hidden.
    pub(super) fn inlinks_shown(&self, url_key: &str) -> Result<Option<(u64, u64)>, SnapshotError> {
        if !self.sees_everything {
            return Ok(None);
        }
        let page = self.snapshot.shown(url_key)?;
        Ok(Some((page.inlinks, page.inlinks_external)))
    }

    /// Whether all versions of a URL key are seen, whatever they are.
    fn sees_whole(&self, url_key: &str) -> bool {
        self.sees_everything || self.sees_versions_of(url_key) == Some(true)
    }

    /// When a page was what a result shows, as far as captures that are seen tell it.
    pub(super) fn version_shown(&self, url_key: &str, version: Version) -> Result<Version, SnapshotError> {
        if self.sees_whole(url_key) {
            return Ok(version);
        }
        let (since_ms, past) = self.history(url_key)?;
        Ok(Version {
            since_ms,
            past_versions: weave::past_count(&past),
            ..version
        })
    }

    /// What a URL key was before its current version, oldest first, and when that began.
    pub(super) fn history(&self, url_key: &str) -> Result<(i64, Vec<PastVersion>), SnapshotError> {
        if self.sees_whole(url_key) {
            return self.snapshot.history(url_key);
        }
        self.snapshot
            .history_seen(url_key, &mut |capture| self.sees(capture))
    }

    /// Text of a past version by its name, if a version that is seen has it.
    pub(super) fn past_text(&self, url_key: &str, text: [u8; 16]) -> Result<Option<String>, SnapshotError> {
        let is_seen = self.sees_whole(url_key)
            || self
                .history(url_key)?
                .1
                .iter()
                .any(|past| past.text == Some(text));
        match is_seen {
            true => self.snapshot.past_text(url_key, text),
            false => Ok(None),
        }
    }

    /// Whether a URL key is captured, and how much is linked to it.
    pub(super) fn uri(&self, url_key: &str) -> Result<Option<UriRow>, SnapshotError> {
        match self.snapshot.uri(url_key)? {
            Some(uri) if !self.sees_everything => self.uri_seen(uri),
            uri => Ok(uri),
        }
    }

    /// What is seen of a URI.
    fn uri_seen(&self, mut uri: UriRow) -> Result<Option<UriRow>, SnapshotError> {
        uri.captured = uri.captured && self.sees_any_capture(&uri.url_key)?;
        uri.is_page = uri.is_page && self.sees_version(&uri.url_key)?;
        (uri.inlinks, uri.inlinks_external) =
            self.inlinks_counted(&uri.url_key, (uri.inlinks, uri.inlinks_external))?;
        Ok((uri.captured || uri.inlinks > 0).then_some(uri))
    }

    fn sees_any_capture(&self, url_key: &str) -> Result<bool, SnapshotError> {
        if let Some(sees) = self.sight.sees_key(url_key) {
            return Ok(sees);
        }
        Ok(self.captures(url_key).next().transpose()?.is_some())
    }

    /// Captures of a URL key, oldest first.
    pub(super) fn captures<'s>(
        &'s self,
        url_key: &str,
    ) -> impl Iterator<Item = Result<CaptureRow, SnapshotError>> + use<'s, 'a> {
        self.captures_after(url_key, None)
    }

    /// Captures of a URL key after a cursor, oldest first.
    pub(super) fn captures_after<'s>(
        &'s self,
        url_key: &str,
        after: Option<&[u8]>,
    ) -> impl Iterator<Item = Result<CaptureRow, SnapshotError>> + use<'s, 'a> {
        let captures = self.snapshot.captures(KeyRange::Exact(url_key.to_owned()), after);
        captures.filter(|row| row.as_ref().map_or(true, |capture| self.sees(capture)))
    }

    /// The latest captures of a URL key, newest first, with those that indexes alone tell of.
    pub(super) fn known_newest(&self, url_key: &str, limit: usize) -> Result<Vec<CaptureRow>, SnapshotError> {
        let captures = self.known(url_key, true);
        captures.take(limit).collect()
    }

    /// Captures of a URL key with those that indexes alone tell of, oldest first or newest first.
    pub(super) fn known(
        &self,
        url_key: &str,
        reversed: bool,
    ) -> impl Iterator<Item = Result<CaptureRow, SnapshotError>> {
        let range = KeyRange::Exact(url_key.to_owned());
        let captures = self.snapshot.captures_and_lines(range, reversed, None);
        captures.filter(|row| row.as_ref().map_or(true, |capture| self.sees(capture)))
    }

    /// The latest captures of a URL key, newest first.
    pub(super) fn captures_newest(
        &self,
        url_key: &str,
        limit: usize,
    ) -> Result<Vec<CaptureRow>, SnapshotError> {
        self.captures_reversed(url_key).take(limit).collect()
    }

    /// Captures of a URL key, newest first.
    pub(super) fn captures_reversed<'s>(
        &'s self,
        url_key: &str,
    ) -> impl Iterator<Item = Result<CaptureRow, SnapshotError>> + use<'s, 'a> {
        let range = KeyRange::Exact(url_key.to_owned());
        let captures = self.snapshot.captures_reversed(range, None);
        captures.filter(|row| row.as_ref().map_or(true, |capture| self.sees(capture)))
    }
}
