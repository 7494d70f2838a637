//! Changes since a time, and growth.

use std::collections::BTreeMap;

use crate::attributes::Kind;
use crate::catalogue::{Catalogue, join, number_of_key};
use crate::changes::{ChangeKind, ChangesRow, FileIdentity};
use crate::error::CatalogueError;
use crate::rows::{Group, ScanRow};
use crate::tables::Table;
use crate::usage::Usage;

/// A name whose state on disk differed from the catalogue when a scan read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedChange {
    /// When it was found, in milliseconds since 1970.
    pub at_ms: i64,
    /// How the name changed.
    pub what: ChangeKind,
    /// Its path, as bytes.
    pub path: Vec<u8>,
    /// Type of the file, or of the former file.
    pub kind: Kind,
    /// Inode of the current file, or of the last one.
    pub inode: u64,
    /// Size before and after; 0 where the name did not exist.
    pub size_bytes: (u64, u64),
    /// The former path of a renamed file or directory.
    pub from: Option<Vec<u8>>,
    /// Size of the file that a rename replaced, if it is gone.
    pub replaced_size_bytes: Option<u64>,
    /// Identity of the file; `None` in rows of the old format.
    pub(crate) file: Option<FileIdentity>,
    /// The scan that found the change, or 0.
    pub(crate) scan: u64,
}

impl ChangesRow {
    pub(crate) fn each(self, each: &mut dyn FnMut(ReportedChange)) {
        for change in self.names {
            let mut path = self.dir.clone();
            join(&mut path, &change.name);
            each(ReportedChange {
                at_ms: self.at_ms,
                what: change.what,
                path,
                kind: change.kind,
                inode: change.inode,
                size_bytes: change.size_bytes,
                from: None,
                replaced_size_bytes: None,
                file: change.file,
                scan: self.scan,
            });
        }
    }
}

impl Catalogue {
    /// Calls `each` with the changes that scans have found since a time, in the order they were
    /// found. Names found by the first scan of a tree are excluded. A caller that holds all changes
    /// can join renames with [`crate::join_renames`].
    pub fn changes_since(
        &self,
        since_ms: i64,
        mut each: impl FnMut(ReportedChange),
    ) -> Result<(), CatalogueError> {
        for row in self.tables.space(Table::Changes).iter() {
            let changes = ChangesRow::of_bytes(&row.value()?)?;
            if changes.at_ms >= since_ms {
                changes.each(&mut each);
            }
        }
        Ok(())
    }

    /// Returns the sums by group at the end of each day on which a scan ended. Days count from
    /// 1970.
    pub fn days(&self) -> Result<BTreeMap<u32, Vec<(Group, Usage)>>, CatalogueError> {
        let mut days: BTreeMap<u32, Vec<(Group, Usage)>> = BTreeMap::new();
        for row in self.tables.space(Table::Days).iter() {
            let (key, value) = row.into_inner()?;
            let Some((day, group)) = key.split_first_chunk::<4>() else {
                return Err(crate::Corrupt {
                    what: "the key of a day",
                }
                .into());
            };
            let row = (Group::of_bytes(group)?, Usage::of_bytes(&value)?);
            days.entry(u32::from_be_bytes(*day)).or_default().push(row);
        }
        Ok(days)
    }

    /// Returns the total sums at the end of each day on which a scan ended, starting at `since_day`
    /// (days since 1970). They omit the age profile, so that a year of them takes little memory.
    pub fn growth(&self, since_day: u32) -> Result<BTreeMap<u32, Usage>, CatalogueError> {
        let mut growth: BTreeMap<u32, Usage> = BTreeMap::new();
        for row in self.tables.space(Table::Days).range(since_day.to_be_bytes()..) {
            let (key, value) = row.into_inner()?;
            let Some((day, _)) = key.split_first_chunk::<4>() else {
                return Err(crate::Corrupt {
                    what: "the key of a day",
                }
                .into());
            };
            let (usage, _) = Usage::head_of_bytes(&value)?;
            growth.entry(u32::from_be_bytes(*day)).or_default().merge(&usage);
        }
        Ok(growth)
    }

    /// Returns the last `count` scans with their numbers, newest first.
    pub fn last_scans(&self, count: usize) -> Result<Vec<(u64, ScanRow)>, CatalogueError> {
        let rows = self.tables.space(Table::Scans).iter().rev().take(count);
        rows.map(|row| {
            let (key, value) = row.into_inner()?;
            Ok((number_of_key(&key)?, ScanRow::of_bytes(&value)?))
        })
        .collect()
    }
}
