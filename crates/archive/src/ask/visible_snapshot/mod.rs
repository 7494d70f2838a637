//! A snapshot as a client may see it.
//!
//! Invariants:
//! - a hidden capture appears in no row, count, order or cursor;
//! - a version is visible only if its capture is, and also the capture of its text or the original
//!   of a revisit if that is another one. A hidden version has no page, text or links, so only
//!   links of visible versions are counted;
//! - for a client that sees everything, the answers of the snapshot are returned at no further
//!   cost.
//!
//! If the version that counts now is hidden, its key has no page. Older visible captures appear
//! only in lists of captures.

mod domains;
mod links;
mod links_at;
mod top;

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use access::{AccessFilter, CaptureAttributes};
use extract::Image;
use index::{CaptureRow, KeyRange, PageRow, PastVersion, SnapshotError, UriRow};
use rustc_hash::FxHashMap;
use search::Version;

use crate::inlink_counts::InlinkCounts;
use crate::rendered_text;
use crate::views::Views;

/// Limit of versions whose visibility is cached during a question.
const REMEMBERED_MAX: usize = 1 << 20;

/// A snapshot, and the parts of it that are visible.
pub(super) struct VisibleSnapshot<'a> {
    snapshot: &'a dyn Views,
    filter: &'a AccessFilter,
    sees_everything: bool,
    counts: &'a InlinkCounts,
    /// Cached visibility of versions whose key alone does not decide it.
    remembered: RefCell<FxHashMap<Box<str>, bool>>,
    /// Whether the archive has revisits of other URLs. If so, a visible key does not imply a
    /// visible version.
    has_references: OnceCell<bool>,
}

/// Returns the properties of a capture that rules test.
pub(super) fn subject(capture: &CaptureRow) -> CaptureAttributes<'_> {
    CaptureAttributes {
        url_key: &capture.url_key,
        collection: &capture.collection,
        mime: &capture.mime,
        digest: &capture.digest,
        fetch_time_ms: capture.fetch_time_ms,
    }
}

impl<'a> VisibleSnapshot<'a> {
    pub(super) fn new(
        snapshot: &'a dyn Views,
        filter: &'a AccessFilter,
        counts: &'a InlinkCounts,
    ) -> VisibleSnapshot<'a> {
        VisibleSnapshot {
            snapshot,
            filter,
            sees_everything: filter.sees_everything(),
            counts,
            remembered: RefCell::default(),
            has_references: OnceCell::new(),
        }
    }

    pub(super) fn sees_everything(&self) -> bool {
        self.sees_everything
    }

    /// Returns the unfiltered snapshot, for callers that skip hidden captures themselves.
    pub(super) fn snapshot(&self) -> &dyn Views {
        self.snapshot
    }

    /// Returns the visibility of captures, to skip ranges of hidden ones.
    pub(super) fn filter(&self) -> &AccessFilter {
        self.filter
    }

    /// Returns whether a capture is visible.
    pub(super) fn sees(&self, capture: &CaptureRow) -> bool {
        self.sees_everything || self.filter.is_visible(&subject(capture))
    }

    /// Returns the current version of a URL key.
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
        let subject = CaptureAttributes {
            url_key: &page.url_key,
            collection: &page.collection,
            mime: &page.mime,
            digest: &page.digest,
            fetch_time_ms: page.fetch_time_ms,
        };
        let of_text = page.text_capture.as_ref().map(|text| CaptureAttributes {
            collection: &text.collection,
            mime: &text.mime,
            digest: &text.digest,
            ..subject
        });
        let of_original = page.original.as_ref().map(|original| CaptureAttributes {
            url_key: &original.url_key,
            collection: &original.collection,
            mime: &original.mime,
            digest: &original.digest,
            fetch_time_ms: original.fetch_time_ms,
        });
        let all = [Some(subject), of_text, of_original];
        all.into_iter()
            .flatten()
            .all(|subject| self.filter.is_visible(&subject))
    }

    /// Returns whether the versions of a URL key are visible, if the key alone decides it.
    fn sees_versions_of(&self, url_key: &str) -> Option<bool> {
        let sees = self.filter.is_key_visible(url_key);
        sees.filter(|sees| !*sees || !self.has_references())
    }

    fn has_references(&self) -> bool {
        // If this cannot be read, no key alone decides.
        *self
            .has_references
            .get_or_init(|| self.snapshot.has_references().unwrap_or(true))
    }

    /// Returns whether the current version of a URL key is visible. The key must have one.
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

    /// Returns the visible text of a page.
    pub(super) fn text(&self, url_key: &str) -> Result<Option<String>, SnapshotError> {
        if self.sees_everything || self.sees_version(url_key)? {
            self.snapshot.text(url_key)
        } else {
            Ok(None)
        }
    }

    /// Returns the images that a page shows.
    pub(super) fn images(&self, url_key: &str) -> Result<Vec<Image>, SnapshotError> {
        if self.sees_everything || self.sees_version(url_key)? {
            self.snapshot.images(url_key)
        } else {
            Ok(Vec::new())
        }
    }

    /// Returns the text from which a search result comes.
    pub(super) fn text_shown(&self, url_key: &str) -> Result<Option<Arc<str>>, SnapshotError> {
        // Search may be an epoch behind, and a newer version may be hidden.
        if !self.sees_everything && !self.sees_version(url_key)? {
            return Ok(None);
        }
        let own = self.snapshot.shown(url_key)?.text;
        let own_text = own.as_deref().unwrap_or_default();
        let rendered = rendered_text::with_more_words(self.snapshot, url_key, own_text)?;
        Ok(
            match rendered.filter(|rendered| self.sees(&rendered.attachment)) {
                Some(rendered) => Some(rendered.text.into()),
                None => own,
            },
        )
    }

    /// Returns the in-links and external in-links to show in a search result, for clients that see
    /// everything. For others, only visible links could be counted. A hundred results of a million
    /// pages have half a million in-links, and any limit on the work would reveal hidden ones.
    pub(super) fn inlinks_shown(&self, url_key: &str) -> Result<Option<(u64, u64)>, SnapshotError> {
        if !self.sees_everything {
            return Ok(None);
        }
        let page = self.snapshot.shown(url_key)?;
        Ok(Some((page.inlinks, page.inlinks_external)))
    }

    /// Returns whether all versions of a URL key are visible.
    fn sees_whole(&self, url_key: &str) -> bool {
        self.sees_everything || self.sees_versions_of(url_key) == Some(true)
    }

    /// Returns the period of a version in a search result, as visible captures determine it.
    pub(super) fn version_shown(&self, url_key: &str, version: Version) -> Result<Version, SnapshotError> {
        if self.sees_whole(url_key) {
            return Ok(version);
        }
        let (since_ms, past) = self.history(url_key)?;
        Ok(Version {
            since_ms,
            past_versions: index::past_count(&past),
            ..version
        })
    }

    /// Returns the past versions of a URL key, oldest first, and when the current version began.
    pub(super) fn history(&self, url_key: &str) -> Result<(i64, Vec<PastVersion>), SnapshotError> {
        if self.sees_whole(url_key) {
            return self.snapshot.history(url_key);
        }
        self.snapshot
            .history_seen(url_key, &mut |capture| self.sees(capture))
    }

    /// Returns the text of a past version by its name, if a visible version has it.
    pub(super) fn past_text(&self, url_key: &str, text: [u8; 16]) -> Result<Option<String>, SnapshotError> {
        let is_seen = self.sees_whole(url_key)
            || self
                .history(url_key)?
                .1
                .iter()
                .any(|past| past.text == Some(text));
        if is_seen {
            self.snapshot.past_text(url_key, text)
        } else {
            Ok(None)
        }
    }

    /// Returns whether a URL key is captured, and its numbers of in-links.
    pub(super) fn uri(&self, url_key: &str) -> Result<Option<UriRow>, SnapshotError> {
        match self.snapshot.uri(url_key)? {
            Some(uri) if !self.sees_everything => self.uri_seen(uri),
            uri => Ok(uri),
        }
    }

    /// Returns the visible part of a URI.
    fn uri_seen(&self, mut uri: UriRow) -> Result<Option<UriRow>, SnapshotError> {
        uri.captured = uri.captured && self.sees_any_capture(&uri.url_key)?;
        uri.is_page = uri.is_page && self.sees_version(&uri.url_key)?;
        (uri.inlinks, uri.inlinks_external) =
            self.inlinks_counted(&uri.url_key, (uri.inlinks, uri.inlinks_external))?;
        Ok((uri.captured || uri.inlinks > 0).then_some(uri))
    }

    fn sees_any_capture(&self, url_key: &str) -> Result<bool, SnapshotError> {
        if let Some(sees) = self.filter.is_key_visible(url_key) {
            return Ok(sees);
        }
        Ok(self.captures(url_key).next().transpose()?.is_some())
    }

    /// Returns the captures of a URL key, oldest first.
    pub(super) fn captures<'s>(
        &'s self,
        url_key: &str,
    ) -> impl Iterator<Item = Result<CaptureRow, SnapshotError>> + use<'s, 'a> {
        self.captures_after(url_key, None)
    }

    /// Returns the captures of a URL key after a cursor, oldest first.
    pub(super) fn captures_after<'s>(
        &'s self,
        url_key: &str,
        after: Option<&[u8]>,
    ) -> impl Iterator<Item = Result<CaptureRow, SnapshotError>> + use<'s, 'a> {
        let captures = self.snapshot.captures(KeyRange::Exact(url_key.to_owned()), after);
        captures.filter(|row| row.as_ref().map_or(true, |capture| self.sees(capture)))
    }

    /// Returns the latest captures of a URL key, newest first, including those known only from
    /// indexes.
    pub(super) fn known_newest(&self, url_key: &str, limit: usize) -> Result<Vec<CaptureRow>, SnapshotError> {
        let captures = self.known(url_key, true);
        captures.take(limit).collect()
    }

    /// Returns the captures of a URL key, oldest first or newest first, including those known only
    /// from indexes.
    pub(super) fn known(
        &self,
        url_key: &str,
        reversed: bool,
    ) -> impl Iterator<Item = Result<CaptureRow, SnapshotError>> {
        let range = KeyRange::Exact(url_key.to_owned());
        let captures = self.snapshot.captures_and_lines(range, reversed, None);
        captures.filter(|row| row.as_ref().map_or(true, |capture| self.sees(capture)))
    }

    /// Returns the latest captures of a URL key, newest first.
    pub(super) fn captures_newest(
        &self,
        url_key: &str,
        limit: usize,
    ) -> Result<Vec<CaptureRow>, SnapshotError> {
        self.captures_reversed(url_key).take(limit).collect()
    }

    /// Returns the captures of a URL key, newest first.
    pub(super) fn captures_reversed<'s>(
        &'s self,
        url_key: &str,
    ) -> impl Iterator<Item = Result<CaptureRow, SnapshotError>> + use<'s, 'a> {
        let range = KeyRange::Exact(url_key.to_owned());
        let captures = self.snapshot.captures_reversed(range, None);
        captures.filter(|row| row.as_ref().map_or(true, |capture| self.sees(capture)))
    }
}
