//! All links, source by source.

use extract::Link;

use super::Snapshot;
use crate::codec::{self, Corrupt};
use crate::cut::{Row, Rows};
use crate::error::SnapshotError;
use crate::rows::PageRow;
use crate::tables::Table;
use crate::views::{links, version_row};

impl Snapshot {
    /// Returns the current versions that have links, sorted by URL key: those after `after`. Reads
    /// two tables in parallel instead of looking up each version.
    pub fn linking(&self, after: Option<&str>) -> LinkingVersions {
        let mut from = after.map(|after| after.as_bytes().to_vec()).unwrap_or_default();
        if after.is_some() {
            from.push(0);
        }
        LinkingVersions {
            snapshot: self.clone(),
            links: self.cut().from(Table::Links, &from),
            versions: self.cut().from(Table::Versions, &from),
            at: None,
        }
    }
}

/// A cursor over current versions that have links; see [`Snapshot::linking`].
pub struct LinkingVersions {
    snapshot: Snapshot,
    links: Rows,
    versions: Rows,
    /// The row of links of the last returned version.
    at: Option<Row>,
}

impl LinkingVersions {
    /// Returns the next version. Its `last_seen_ms` is its fetch time: later captures that confirm
    /// it are not read.
    ///
    /// # Errors
    /// [`SnapshotError`] if a row could not be read.
    pub fn next_version(&mut self) -> Result<Option<PageRow>, SnapshotError> {
        self.at = self.links.next().transpose()?;
        let Some((key, _)) = &self.at else {
            return Ok(None);
        };
        let cut = self.snapshot.cut();
        let url_key = cut.decode(Table::Links, key, codec::to_text(key))?;
        // Both tables are sorted by URL key, and every key with links has a version.
        let version = loop {
            match self.versions.next().transpose()? {
                Some((k, value)) if k == *key => break version_row::decode(&url_key, &value),
                Some((k, _)) if k < *key => {}
                _ => break Err(Corrupt("links without a version")),
            }
        };
        let version = cut.decode(Table::Versions, key, version)?;
        let fetch_time_ms = version.fetch_time_ms;
        self.snapshot.page_row(&url_key, version, fetch_time_ms).map(Some)
    }

    /// Returns the links of the last returned version, sorted by target key. Empty before the first
    /// version.
    ///
    /// # Errors
    /// [`SnapshotError`] if the row could not be read.
    pub fn links(&self) -> Result<Vec<Link>, SnapshotError> {
        match &self.at {
            Some((key, value)) => links::read_row(self.snapshot.cut(), key, value, |_| true),
            None => Ok(Vec::new()),
        }
    }
}
