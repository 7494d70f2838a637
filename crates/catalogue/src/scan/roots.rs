//! The start and the end of a scan: its row, and the row of its tree.

use rustix::io::Errno;

use super::{Scan, Target};
use crate::attributes::Attributes;
use crate::catalogue::Catalogue;
use crate::change::Change;
use crate::changes::ChangesRow;
use crate::error::CatalogueError;
use crate::path::rest_below;
use crate::retention::KEPT_MS;
use crate::rows::{OrphanRow, RootRow, ScanState};
use crate::tables::Table;
use crate::walk::{Handle, stat_at};

pub(super) enum RootError {
    Read(Errno),
    Catalogue(CatalogueError),
}

impl From<CatalogueError> for RootError {
    fn from(error: CatalogueError) -> RootError {
        RootError::Catalogue(error)
    }
}

impl Scan {
    /// Records the scan and the root of its tree.
    pub(super) fn note_root(&self, target: &Target, root: &Handle) -> Result<(), RootError> {
        let looked = stat_at(root, b"").map_err(RootError::Read)?;
        let before = self.catalogue.root(&target.root)?;
        let name = volume_name(looked.device, root).map_err(RootError::Read)?;
        let volume = match &before {
            // The same directory on a file system with another name: the file system was renamed.
            Some(before) if looked.id(before.attributes.id.volume) == before.attributes.id => {
                let volume = before.attributes.id.volume;
                self.catalogue.rename_volume(&name, volume)?;
                volume
            }
            _ => self.catalogue.volume(&name)?,
        };
        Ok(self.note_root_as(target, looked.attributes(volume, b"", None))?)
    }

    /// As [`Scan::note_root`], for a root with known attributes.
    pub(super) fn note_root_as(&self, target: &Target, attributes: Attributes) -> Result<(), CatalogueError> {
        let before = self.catalogue.root(&target.root)?;
        if !self.is_scan
            && before
                .as_ref()
                .is_some_and(|before| before.attributes == attributes)
        {
            return Ok(());
        }
        let mut change = Change::new(&self.catalogue)?;
        for (path, other) in self.catalogue.roots()? {
            // The directory was catalogued under another path.
            if path != target.root && other.attributes.id == attributes.id {
                change.count_file(&other.attributes, -1);
                change.root(&path, None);
            }
        }
        let mut row = before.clone().unwrap_or(RootRow {
            attributes: attributes.clone(),
            whole_scan: 0,
            whole_ended_ms: 0,
        });
        if let Some(before) = &before {
            change.count_file(&before.attributes, -1);
            if before.attributes.id != attributes.id {
                // Another directory is at this path, so the former contents are no longer below it.
                change.mark_missing(
                    before.attributes.id,
                    before.attributes.id,
                    &target.root,
                    &OrphanRow::lost(target.root.clone()),
                )?;
                row.whole_scan = 0;
            }
        }
        change.count_file(&attributes, 1);
        row.attributes = attributes.clone();
        change.root(&target.root, Some(&row));
        change.attach(attributes.id, attributes.id, &target.root)?;
        if self.is_scan {
            change.scan(self.number, &self.row.lock());
        }
        change.commit()
    }

    /// Returns whether an open directory is the catalogued root of a tree, or the tree is not
    /// catalogued.
    pub(super) fn is_root(&self, target: &Target, root: &Handle) -> Result<bool, RootError> {
        let Some(before) = self.catalogue.root(&target.root)? else {
            return Ok(true);
        };
        let looked = stat_at(root, b"").map_err(RootError::Read)?;
        Ok(looked.id(before.attributes.id.volume) == before.attributes.id)
    }

    /// Records the result.
    pub(super) fn end(&self, target: &Target) -> Result<(), CatalogueError> {
        let mut change = Change::new(&self.catalogue)?;
        let root = self.catalogue.root(&target.root)?;
        let mut row = self.row.lock();
        row.state = ScanState::Done;
        row.ended_ms = system::time_ms();
        row.spent_ms = self.spent_ms();
        row.counts.faults = self.catalogue.faults_below(&target.root, &target.below())?.len() as u64;
        if let Some(mut root) = root {
            row.total = self.catalogue.tree(root.attributes.id)?;
            row.total.count(&root.attributes, 1);
            if target.only.is_empty() {
                root.whole_scan = self.number;
                root.whole_ended_ms = row.ended_ms;
                change.root(&target.root, Some(&root));
            }
        }
        change.scan(self.number, &row);
        self.keep_day(&mut change, row.ended_ms)?;
        self.forget_old_changes(&mut change, row.ended_ms)?;
        change.commit()?;
        let now_ms = row.ended_ms;
        drop(row);
        self.absorb_roots(target)?;
        if target.is_whole() {
            self.catalogue.forget_old(now_ms, &self.shared.stop)
        } else {
            Ok(())
        }
    }

    /// Removes roots below the scanned one: they are parts of it now.
    fn absorb_roots(&self, target: &Target) -> Result<(), CatalogueError> {
        let mut change = Change::new(&self.catalogue)?;
        let mut is_changed = false;
        for (path, root) in self.catalogue.roots()? {
            if path == target.root || rest_below(&path, &target.root).is_none() {
                continue;
            }
            if self.catalogue.is_part(&root)? {
                change.root(&path, None);
                change.count_file(&root.attributes, -1);
                is_changed = true;
            }
        }
        if is_changed { change.commit() } else { Ok(()) }
    }

    /// Stores today's sums for growth reports.
    fn keep_day(&self, change: &mut Change, now_ms: i64) -> Result<(), CatalogueError> {
        let day = u32::try_from(now_ms.div_euclid(86_400_000)).unwrap_or(0);
        for (group, usage) in self.catalogue.groups()? {
            let mut key = day.to_be_bytes().to_vec();
            key.extend_from_slice(&group.to_bytes());
            change.day(key, &usage);
        }
        Ok(())
    }

    fn forget_old_changes(&self, change: &mut Change, now_ms: i64) -> Result<(), CatalogueError> {
        for row in self.catalogue.tables.space(Table::Changes).iter() {
            let (key, value) = row.into_inner()?;
            if ChangesRow::of_bytes(&value)?.at_ms >= now_ms - KEPT_MS {
                break;
            }
            change.forget_changes(key);
        }
        Ok(())
    }
}

impl Catalogue {
    /// Returns whether the directory of a tree is attached to another one, which absorbs the tree.
    /// A directory on a file system that the walk did not enter is not attached.
    pub(super) fn is_part(&self, root: &RootRow) -> Result<bool, CatalogueError> {
        let id = root.attributes.id;
        Ok(self.dir_row(id)?.is_none_or(|row| row.parent != Some(id)))
    }
}

/// Returns the name of a file system: its stable id if it has one, otherwise its device number.
pub(crate) fn volume_name(device: u64, handle: &Handle) -> Result<String, Errno> {
    let fsid = rustix::fs::fstatvfs(handle)?.f_fsid;
    Ok(match fsid {
        0 => format!("device {device:x}"),
        fsid => format!("fsid {fsid:x}"),
    })
}
