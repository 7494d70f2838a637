//! Links of past versions, read from the captures of their sources.

use extract::Link;
use rustc_hash::FxHashMap;

use super::Snapshot;
use super::history::Labels;
use super::links::link_row;
use crate::domain_of::DomainOf;
use crate::error::SnapshotError;
use crate::rows::{CaptureRow, VersionLink};
use crate::views::capture_row::StoredCapture;
use crate::views::link_set::LinksName;
use crate::views::version_row::VersionRow;
use crate::views::{captures, links, past_links, uris, versions};

/// Which versions of a page are searched for a link.
#[derive(Clone, Copy)]
pub enum When<'a> {
    /// The newest version whose fetch time satisfies the predicate. If the predicate holds for a
    /// time, it must hold for all earlier times.
    At(&'a dyn Fn(i64) -> bool),
    /// All versions.
    Ever,
}

impl Snapshot {
    /// Returns the keys of pages of which any version links to a key, sorted: those after `after`,
    /// at most `limit`.
    pub fn sources_ever(
        &self,
        url_key: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<String>, SnapshotError> {
        let now = uris::read_sources(self.cut(), url_key, after, limit)?;
        let past = past_links::sources(self.cut(), url_key, after).take(limit);
        let mut sources = past.collect::<Result<Vec<_>, _>>()?;
        sources.extend(now);
        // Both lists are sorted bytewise.
        sources.sort_unstable();
        sources.dedup();
        sources.truncate(limit);
        Ok(sources)
    }

    /// Returns the link to a key in versions of a page. With `sees`, only permitted captures count.
    /// Which capture counts for a moment is decided as for [`Snapshot::history`]; for the moment of
    /// the current version, that version counts.
    pub fn link_when(
        &self,
        source_key: &str,
        target_key: &str,
        when: When<'_>,
        sees: Option<&mut dyn FnMut(&CaptureRow) -> bool>,
    ) -> Result<Option<VersionLink>, SnapshotError> {
        let version = versions::read(self.cut(), source_key)?;
        let mut rows = captures::of_key(self.cut(), source_key)?;
        let all: Vec<&StoredCapture> = rows.iter().collect();
        let current = past_links::current_name((&all, version.as_ref()));
        if let Some(sees) = sees {
            let mut seen = Vec::with_capacity(rows.len());
            for row in rows {
                if self.sees_whole(&row, sees)? {
                    seen.push(row);
                }
            }
            rows = seen;
        }
        let labels = Labels::of(self, &rows)?;
        let moments = past_links::moments(&rows, version.as_ref(), &labels);
        let mut reader = Reader {
            snapshot: self,
            source_key,
            target_key,
            version: version.as_ref(),
            current,
            known: FxHashMap::default(),
        };
        reader.find(&moments, when)
    }
}

/// Reads the links of versions of one page to one key, each link set once.
struct Reader<'a> {
    snapshot: &'a Snapshot,
    source_key: &'a str,
    target_key: &'a str,
    version: Option<&'a VersionRow>,
    /// Name of the links of the version.
    current: Option<LinksName>,
    known: FxHashMap<LinksName, Option<Link>>,
}

impl Reader<'_> {
    fn find(
        &mut self,
        moments: &[&StoredCapture],
        when: When<'_>,
    ) -> Result<Option<VersionLink>, SnapshotError> {
        let last = match when {
            When::Ever => self.first_with_link(moments.iter().rev().copied())?,
            When::At(holds) => {
                let was = moments.iter().rposition(|row| holds(row.capture.fetch_time_ms));
                let was = was.map(|index| moments[index]);
                self.first_with_link(was.into_iter())?
            }
        };
        let Some((row, link)) = last else { return Ok(None) };
        let first = self.first_with_link(moments.iter().copied())?;
        let newest = moments.last().copied().filter(|row| self.is_current(row));
        let is_current = match newest {
            Some(newest) => self.link(newest)?.is_some(),
            None => false,
        };
        let capture = &row.capture;
        Ok(Some(VersionLink {
            link: link_row(&mut DomainOf::default(), self.source_key, link),
            source_url: capture.url.clone(),
            source_title: capture
                .content()
                .map(|content| content.title.clone())
                .unwrap_or_default(),
            fetch_time_ms: capture.fetch_time_ms,
            first_ms: first.map_or(capture.fetch_time_ms, |(first, _)| first.capture.fetch_time_ms),
            is_current,
        }))
    }

    fn first_with_link<'r>(
        &mut self,
        rows: impl Iterator<Item = &'r StoredCapture>,
    ) -> Result<Option<(&'r StoredCapture, Link)>, SnapshotError> {
        for row in rows {
            if let Some(link) = self.link(row)? {
                return Ok(Some((row, link)));
            }
        }
        Ok(None)
    }

    fn is_current(&self, row: &StoredCapture) -> bool {
        self.version
            .is_some_and(|version| version.position() == row.position())
    }

    fn link(&mut self, row: &StoredCapture) -> Result<Option<Link>, SnapshotError> {
        let cut = self.snapshot.cut();
        let is_current = self.is_current(row);
        if let Some(name) = row.links
            && let Some(known) = self.known.get(&name)
        {
            return Ok(known.clone());
        }
        let link = match row.links {
            Some(name) if !is_current && self.current != Some(name) => {
                past_links::read(cut, self.source_key, name, self.target_key)?
            }
            None => None,
            Some(_) => links::read(cut, self.source_key, |target| {
                target == self.target_key.as_bytes()
            })?
            .pop(),
        };
        if let Some(name) = row.links {
            self.known.insert(name, link.clone());
        }
        Ok(link)
    }
}
