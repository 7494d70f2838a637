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
    /// Current versions that have links, sorted by URL key: those after `after`. Two tables are read side by side, so that no version
    /// is looked up by itself.
    pub fn linking(&self, after: Option<&str>) -> Linking {
        let mut from = after.map(|after| after.as_bytes().to_vec()).unwrap_or_default();
        if after.is_some() {
            from.push(0);
        }
        Linking {
            snapshot: self.clone(),
            links: self.cut().from(Table::Links, &from),
            versions: self.cut().from(Table::Versions, &from),
            at: None,
        }
    }
}

/// Current versions that have links; see [`Snapshot::linking`].
pub struct Linking {
    snapshot: Snapshot,
    links: Rows,
    versions: Rows,
    /// The row of links of the version that was given last.
    at: Option<Row>,
}

impl Linking {
    /// The next version. Its `last_seen_ms` is its fetch time: what confirms it is not looked for.
    ///
    /// # Errors
    /// [`SnapshotError`]: a row could not be read.
    pub fn next_version(&mut self) -> Result<Option<PageRow>, SnapshotError> {
        self.at = self.links.next().transpose()?;
        let Some((key, _)) = &self.at else {
            return Ok(None);
        };
        let cut = self.snapshot.cut();
        let url_key = cut.decode(Table::Links, key, codec::to_text(key))?;
        // Both tables are sorted by URL key, and whatever has links is a version.
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

    /// Links of the version that was given last, sorted by target key; none before the first.
    ///
    /// # Errors
    /// [`SnapshotError`]: the row could not be read.
    pub fn links(&self) -> Result<Vec<Link>, SnapshotError> {
        match &self.at {
            Some((key, value)) => links::read_row(self.snapshot.cut(), key, value, |_| true),
            None => Ok(Vec::new()),
        }
    }
}
