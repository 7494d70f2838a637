//! DIFF and APPLY: compares directories and commits the differences.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::Arc;

use pipeline::{Out, StageError, StageResult};

use super::Scan;
use super::content::Content;
use super::follow::{ObservedFile, Observer};
use super::items::{DirDifference, End, Gathered, GatheredDir, Sorted};
use crate::attributes::{Entry, Kind};
use crate::change::Change;
use crate::changes::ChangesRow;
use crate::diff::{Compare, Difference, NewEntries};
use crate::error::CatalogueError;
use crate::query::ReportedChange;
use crate::rows::{DirRow, FaultRow, OrphanRow};
use crate::tables::Table;
use crate::walk::Dir;

impl Scan {
    pub(super) fn differ(&self, up: GatheredDir, out: &mut Out<'_, DirDifference>) -> StageResult {
        let GatheredDir { dir, is_known, found } = up;
        let (entries, read) = match found {
            Gathered::Known => {
                let end = Some(End::Known);
                return out.send(DirDifference {
                    dir,
                    difference: Difference::default(),
                    end,
                });
            }
            Gathered::Entries {
                entries,
                faults,
                stamp,
            } => (entries, Some((faults, stamp))),
            Gathered::Some(entries) => (Sorted::InMemory(entries), None),
        };
        let is_whole = read.as_ref().is_some_and(|(faults, _)| faults.is_empty());
        let compare = Compare {
            dir: dir.id,
            is_whole,
            keeps_changes: self.keeps_changes,
        };
        let mut in_memory;
        let mut on_disk;
        let new: NewEntries<'_> = match entries {
            Sorted::InMemory(entries) => {
                in_memory = entries.into_iter().map(Ok);
                &mut in_memory
            }
            Sorted::OnDisk(runs, _) => {
                on_disk = runs.merge()?;
                &mut on_disk
            }
        };
        // A directory without a row has no packs.
        let packs = is_known.then(|| {
            self.catalogue
                .tables
                .space(Table::Packs)
                .prefix(dir.id.to_bytes())
        });
        let mut old = packs.into_iter().flatten().map(|row| {
            let (key, pack) = row.into_inner().map_err(CatalogueError::from)?;
            Ok((key.to_vec(), pack.to_vec()))
        });
        // The last part is held back until the number of entries is known.
        let mut last: Option<Difference> = None;
        let mut new = new.inspect(|entry| {
            if let Ok(entry) = entry {
                self.tell_reader(&dir, entry);
            }
        });
        let content = &mut Content::new(self, &dir);
        let entries = compare.run::<StageError>(content, &mut old, &mut new, &mut |part| {
            if let Some(difference) = last.replace(part) {
                out.send(DirDifference {
                    dir: dir.clone(),
                    difference,
                    end: None,
                })?;
            }
            Ok(())
        })?;
        let end = Some(match read {
            Some((faults, stamp)) => End::Read {
                is_whole,
                stamp,
                entries,
                faults,
            },
            None => End::Some { entries },
        });
        out.send(DirDifference {
            dir,
            difference: last.unwrap_or_default(),
            end,
        })
    }

    /// Reports each regular file in a directory that is read, if the observer asks for it.
    fn tell_reader(&self, dir: &Dir, entry: &Entry) {
        let reader = self.observer.as_deref().and_then(Observer::reader);
        if entry.attributes.kind == Kind::File
            && let Some(reader) = reader.filter(|reader| (reader.wants)(&entry.name))
        {
            let mut path = self.path_of(dir);
            crate::catalogue::join(&mut path, &entry.name);
            (reader.tell)(ObservedFile {
                path: PathBuf::from(OsString::from_vec(path)),
                attributes: entry.attributes.clone(),
            });
        }
    }

    pub(super) fn apply(&self, all: Vec<DirDifference>) -> StageResult {
        match &self.listener {
            Some(listener) => self.tell(all, listener.as_ref()),
            None => self.commit(all)?,
        }
        Ok(())
    }

    /// Reports the differences without writing anything.
    fn tell(&self, all: Vec<DirDifference>, listener: &(dyn Fn(ReportedChange) + Send + Sync)) {
        for differs in all {
            let mut counts = differs.difference.counts;
            if let Some(End::Read { faults, .. }) = &differs.end {
                counts.faults += faults.len() as u64;
            }
            self.row.lock().counts.add(counts);
            let (dir, names) = (self.path_of(&differs.dir), differs.difference.changes);
            ChangesRow {
                at_ms: system::time_ms(),
                dir,
                names,
                scan: self.number_of_changes(),
            }
            .each(&mut |changed| listener(changed));
            if differs.end.is_some() {
                self.shared.unlock_dirs([differs.dir.id].into_iter());
            }
        }
    }

    /// Returns the scan number recorded with changes; 0 for a watch.
    pub(super) fn number_of_changes(&self) -> u64 {
        if self.is_scan { self.number } else { 0 }
    }

    pub(super) fn path_of(&self, dir: &Dir) -> Vec<u8> {
        let mut path = self.root_path.clone();
        crate::catalogue::join(&mut path, &dir.path());
        path
    }

    fn commit(&self, all: Vec<DirDifference>) -> Result<(), CatalogueError> {
        let mut change = Change::new(&self.catalogue)?;
        let (mut landed, mut placed) = (Vec::new(), Vec::new());
        let mut row = self.row.lock();
        for differs in all {
            row.counts.add(differs.difference.counts);
            if differs.end.is_some() {
                landed.push(differs.dir.id);
                placed.extend(self.unattached.lock().remove(&differs.dir.id).unwrap_or_default());
                row.counts.directories += u64::from(matches!(differs.end, Some(End::Read { .. })));
            }
            self.apply_one(&mut change, differs, &mut placed)?;
        }
        // After all others: the parent of a directory may be in the same commit.
        self.attach_dirs(&mut change, placed)?;
        row.ended_ms = system::time_ms();
        row.spent_ms = self.spent_ms();
        if self.is_scan {
            change.scan(self.number, &row);
        }
        drop(row);
        change.commit()?;
        self.shared.unlock_dirs(landed.into_iter());
        Ok(())
    }

    fn apply_one(
        &self,
        change: &mut Change,
        differs: DirDifference,
        placed: &mut Vec<Arc<Dir>>,
    ) -> Result<(), CatalogueError> {
        let DirDifference { dir, difference, end } = differs;
        let counts = difference.counts;
        self.apply_difference(change, &dir, difference)?;
        let is_attached = match &dir.parent {
            Some(parent) => change.is_attached(dir.id, parent.id, &dir.name)?,
            None => true,
        };
        let Some(end) = end else {
            // Creates the row, so that a scan resumed after a kill finds the existing entries.
            self.mark_unattached(change, &dir)?;
            let row = change.dir(dir.id)?.get_or_insert_default();
            row.entries = (row.entries + counts.added).saturating_sub(counts.removed);
            return Ok(());
        };
        if !is_attached {
            placed.push(dir.clone());
        }
        let (is_whole, stamp, entries, faults) = match end {
            End::Known => return Ok(()),
            End::Some { entries } => {
                change.dir(dir.id)?.get_or_insert_default().entries = entries;
                return Ok(());
            }
            End::Read {
                is_whole,
                stamp,
                entries,
                faults,
            } => (is_whole, stamp, entries, faults),
        };
        if change.dir(dir.id)?.as_ref().is_some_and(|row| row.faults > 0) {
            change.clear_faults(dir.id)?;
        }
        for (name, errno) in faults {
            change.fault(
                dir.id,
                &name,
                &FaultRow {
                    errno: errno.raw_os_error(),
                    scan: self.number,
                },
            )?;
        }
        let row = change.dir(dir.id)?.get_or_insert_default();
        *row = DirRow {
            whole_scan: if is_whole { self.number } else { row.whole_scan },
            stamp: if is_whole { stamp } else { row.stamp },
            entries,
            ..std::mem::take(row)
        };
        Ok(())
    }

    fn apply_difference(
        &self,
        change: &mut Change,
        dir: &Dir,
        difference: Difference,
    ) -> Result<(), CatalogueError> {
        for (key, pack) in difference.packs {
            change.pack(key, pack);
        }
        for (group, usage) in &difference.groups {
            change.count_group(*group, usage, 1);
            change.count_in(dir.id, usage, 1)?;
        }
        for (id, name, attributes) in difference.linked {
            change.linked_name(id, dir.id, &name, attributes.as_ref())?;
            if let Some(observer) = &self.observer {
                let names = change.names_of_linked(id)?;
                observer.linked(id, dir.id, attributes.as_ref(), names);
            }
        }
        if !difference.lost.is_empty() || !difference.changes.is_empty() {
            let path = self.path_of(dir);
            for (id, name) in difference.lost {
                let mut path = path.clone();
                crate::catalogue::join(&mut path, &name);
                change.mark_missing(id, dir.id, &name, &OrphanRow::lost(path))?;
            }
            if !difference.changes.is_empty() {
                change.changes(&ChangesRow {
                    at_ms: system::time_ms(),
                    dir: path,
                    names: difference.changes,
                    scan: self.number_of_changes(),
                });
            }
        }
        Ok(())
    }
}
