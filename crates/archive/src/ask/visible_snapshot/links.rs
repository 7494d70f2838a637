//! Links between visible versions.

use index::{CaptureRow, LinkRow, LinkingVersions, PageRow, SnapshotError, VersionLink, When};

use super::VisibleSnapshot;
use crate::ask::limit::LINKS_LOOKED_AT_MAX;
use urlkey::KeyRange;

/// Number of sources read at a time.
const SOURCES: usize = 1000;

impl VisibleSnapshot<'_> {
    /// Returns the links of a key's current version, sorted by target: those after `after`, at most
    /// `limit`.
    pub(in crate::ask) fn outlinks(
        &self,
        url_key: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<LinkRow>, SnapshotError> {
        if self.sees_everything || self.sees_version(url_key)? {
            self.snapshot.outlinks(url_key, after, limit)
        } else {
            Ok(Vec::new())
        }
    }

    /// Returns the next visible version that has links.
    pub(in crate::ask) fn next_linking(
        &self,
        walk: &mut LinkingVersions,
    ) -> Result<Option<PageRow>, SnapshotError> {
        loop {
            match walk.next_version()? {
                Some(page) if !self.sees_everything && !self.sees_page(&page) => {}
                next => return Ok(next),
            }
        }
    }

    /// Returns the links to a key, sorted by source: those after `after`, at most `limit`.
    pub(in crate::ask) fn inlinks(
        &self,
        url_key: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<LinkRow>, SnapshotError> {
        if self.sees_everything {
            return self.snapshot.inlinks(url_key, after, limit);
        }
        let mut rows = Vec::new();
        let mut after = after.map(str::to_owned);
        // The first batch is as large as the limit. Later ones are larger, for sources that are
        // mostly hidden.
        let mut portion = limit;
        while rows.len() < limit {
            let links = self.snapshot.inlinks(url_key, after.as_deref(), portion)?;
            let is_last = links.len() < portion;
            after = links.last().map(|link| link.source_key.clone());
            for link in links {
                if rows.len() < limit && self.sees_version(&link.source_key)? {
                    rows.push(link);
                }
            }
            if is_last {
                break;
            }
            portion = SOURCES.max(limit);
        }
        Ok(rows)
    }

    /// Returns the keys of the pages that link to a key, sorted, at most `limit`.
    pub(in crate::ask) fn sources(&self, url_key: &str, limit: usize) -> Result<Vec<String>, SnapshotError> {
        if self.sees_everything {
            return self.snapshot.sources(url_key, None, limit);
        }
        let mut seen = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let sources = self.snapshot.sources(url_key, after.as_deref(), SOURCES)?;
            let is_last = sources.len() < SOURCES;
            after = sources.last().cloned();
            for source in sources {
                if seen.len() < limit && self.sees_version(&source)? {
                    seen.push(source);
                }
            }
            if is_last || seen.len() >= limit {
                return Ok(seen);
            }
        }
    }

    /// Returns the links to a key from any versions of their sources, sorted by source: those after
    /// `after` that `accepts` wants, at most `limit`. Also returns the source after which there may
    /// be more.
    ///
    /// If some captures of a source are hidden, its versions are determined by the visible ones.
    pub(in crate::ask) fn inlinks_when(
        &self,
        url_key: &str,
        when: When<'_>,
        accepts: &dyn Fn(&VersionLink) -> bool,
        (after, limit): (Option<&str>, usize),
    ) -> Result<(Vec<VersionLink>, Option<String>), SnapshotError> {
        let mut rows: Vec<VersionLink> = Vec::new();
        let (mut after, mut looked_at) = (after.map(str::to_owned), 0);
        loop {
            let sources = self.snapshot.sources_ever(url_key, after.as_deref(), SOURCES)?;
            for source in &sources {
                let link = self.link_when(source, url_key, when)?;
                let Some(link) = link.filter(accepts) else {
                    continue;
                };
                // One more than the limit shows that the list continues.
                if rows.len() == limit {
                    let next = rows.last().map(|last| last.link.source_key.clone());
                    return Ok((rows, next));
                }
                rows.push(link);
            }
            looked_at += sources.len();
            if sources.len() < SOURCES {
                return Ok((rows, None));
            }
            after = sources.into_iter().next_back();
            // A client that does not see everything must not learn how many sources there are.
            if self.sees_everything && looked_at >= LINKS_LOOKED_AT_MAX {
                return Ok((rows, after));
            }
        }
    }

    /// Returns the keys from `range` that pages link to, sorted.
    pub(in crate::ask) fn linked_keys<'s>(
        &'s self,
        range: &KeyRange,
    ) -> impl Iterator<Item = Result<String, SnapshotError>> + use<'s> {
        let uris = self.snapshot.uris_between(&range.start, &range.end);
        uris.filter_map(|uri| match uri {
            Ok(uri) if uri.inlinks == 0 => None,
            uri => Some(uri.map(|uri| uri.url_key)),
        })
    }

    fn link_when(
        &self,
        source_key: &str,
        url_key: &str,
        when: When<'_>,
    ) -> Result<Option<VersionLink>, SnapshotError> {
        if self.sees_whole(source_key) {
            return self.snapshot.link_when(source_key, url_key, when, None);
        }
        if self.filter.is_key_visible(source_key) == Some(false) {
            return Ok(None);
        }
        let mut sees = |capture: &CaptureRow| self.sees(capture);
        self.snapshot
            .link_when(source_key, url_key, when, Some(&mut sees))
    }

    /// Counts the in-links and external in-links from visible versions, for a URI with `all` of
    /// them in total.
    pub(super) fn inlinks_counted(
        &self,
        url_key: &str,
        all: (u64, u64),
    ) -> Result<(u64, u64), SnapshotError> {
        if all.0 == 0 {
            return Ok(all);
        }
        let epoch = self.snapshot.epoch().0;
        let count = || self.count_inlinks(url_key);
        self.counts.get_or_count(self.filter.id(), epoch, url_key, count)
    }

    fn count_inlinks(&self, url_key: &str) -> Result<(u64, u64), SnapshotError> {
        let (mut inlinks, mut external) = (0, 0);
        let mut after: Option<String> = None;
        loop {
            let sources = self.snapshot.sources(url_key, after.as_deref(), SOURCES)?;
            for source in &sources {
                if self.sees_version(source)? {
                    inlinks += 1;
                    external += u64::from(!urlkey::same_domain(source, url_key));
                }
            }
            if sources.len() < SOURCES {
                return Ok((inlinks, external));
            } else {
                after = sources.into_iter().next_back()
            }
        }
    }
}
