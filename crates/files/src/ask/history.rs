//! What changed since, and growth.

use std::collections::BTreeMap;

use crate::attributes::Kind;
use crate::catalogue::{Catalogue, join, number_of_key};
use crate::changes::{ChangesRow, What, WhichFile};
use crate::error::CatalogueError;
use crate::rows::{Group, ScanRow};
use crate::tables::Table;
use crate::usage::Usage;

/// A name that a scan found otherwise than the catalogue had it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// When it was found, in milliseconds since 1970.
    pub at_ms: i64,
    /// What became of it.
    pub what: What,
    /// Its path, as bytes.
    pub path: Vec<u8>,
    /// What sort of thing it is, or was.
    pub kind: Kind,
    /// Its inode now, or the last one.
    pub inode: u64,
    /// Size before and after; 0 where it was not or is no more.
    pub size_bytes: (u64, u64),
    /// Of a renamed file or directory, the path that it had.
    pub from: Option<Vec<u8>>,
    /// Size of the file that had the name of a renamed one before, and is gone.
    pub replaced_size_bytes: Option<u64>,
    /// Which file; not known in rows of old.
    pub(crate) file: Option<WhichFile>,
    /// The scan that found it, or 0.
    pub(crate) scan: u64,
}

impl ChangesRow {
    pub(crate) fn each(self, each: &mut dyn FnMut(Changed)) {
        for change in self.names {
            let mut path = self.dir.clone();
            join(&mut path, &change.name);
            each(Changed {
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
    /// Calls `each` with what scans found changed from a time on, in the order of finding. Names that the first scan of a
    /// tree found are not among them. Who holds them all can join renamed ones: [`crate::with_renames`].
    pub fn changes_since(&self, since_ms: i64, mut each: impl FnMut(Changed)) -> Result<(), CatalogueError> {
        for row in self.tables.space(Table::Changes).iter() {
            let changes = ChangesRow::of_bytes(&row.value()?)?;
            if changes.at_ms >= since_ms {
                changes.each(&mut each);
            }
        }
        Ok(())
    }

    /// Sums by group at the end of each day on which a scan ended: days since 1970.
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

    /// Sums over everything at the end of each day on which a scan ended, from a day on: days since 1970. They are without the
    /// days on which files changed, so that a year of them takes little memory.
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

    /// The last scans, with their numbers, the last one first.
    pub fn last_scans(&self, count: usize) -> Result<Vec<(u64, ScanRow)>, CatalogueError> {
        let rows = self.tables.space(Table::Scans).iter().rev().take(count);
        rows.map(|row| {
            let (key, value) = row.into_inner()?;
            Ok((number_of_key(&key)?, ScanRow::of_bytes(&value)?))
        })
        .collect()
    }
}
