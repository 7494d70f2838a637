//! Links between versions that are seen.

use weave::{LinkRow, SnapshotError};

use super::Seen;

/// Sources that are read at a time.
const SOURCES: usize = 1000;

impl Seen<'_> {
    /// Links of a key's current version, by target: those after `after`, at most `limit`.
    pub(in crate::ask) fn outlinks(
        &self,
        url_key: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<LinkRow>, SnapshotError> {
        match self.sees_everything || self.sees_version(url_key)? {
            true => self.snapshot.outlinks(url_key, after, limit),
            false => Ok(Vec::new()),
        }
    }

    /// Links to a key, by source: those after `after`, at most `limit`.
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
        // In portions as large as what is asked for, and larger where little of one is seen.
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

    /// In-links and external in-links from versions that are seen, of a URI that has `all` of them.
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
        self.counts.get_or_count(self.sight.id(), epoch, url_key, count)
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
            match sources.len() < SOURCES {
                true => return Ok((inlinks, external)),
                false => after = sources.into_iter().next_back(),
            }
        }
    }
}
