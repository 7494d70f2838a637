//! REMOVE_OLD: takes away what is below directories that are nowhere any more.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use flow::{Flow, Item, StageReport, StageSettings};

use super::Scan;
use crate::attributes::FileId;
use crate::catalogue::join;
use crate::change::Change;
use crate::diff::Difference;
use crate::error::{CatalogueError, ScanError};
use crate::pack;
use crate::rows::ChangesRow;
use crate::tables::Table;

/// A directory without a place, and the path that it had.
struct Orphan {
    id: FileId,
    path: Vec<u8>,
}

impl Item for Orphan {
    fn bytes(&self) -> u64 {
        self.path.len() as u64 + 40
    }
}

/// Orphans that are taken at a time.
const ORPHANS: usize = 256;

impl Scan {
    /// Takes away every directory that has no place, and what is in it: those in it lose theirs, and follow.
    pub(super) fn remove_old(self: &Arc<Self>) -> Result<StageReport, ScanError> {
        let scan = self.clone();
        let (feeder, pipeline) = Flow::<Orphan, Orphan>::new()
            .stage(StageSettings::new("REMOVE_OLD"), move |_| {
                let scan = scan.clone();
                move |orphan, _| Ok(scan.remove(&orphan)?)
            })
            .start()
            .map_err(ScanError::Flow)?;
        let monitor = pipeline.monitor();
        loop {
            let orphans = self.orphans()?;
            if orphans.is_empty() || monitor.is_stopped() || self.shared.stop.load(Relaxed) {
                break;
            }
            for orphan in orphans {
                // The pipeline says why it has stopped.
                if feeder.send(orphan).is_err() {
                    break;
                }
            }
            // Those that they held are orphans once they are gone.
            while monitor
                .stages()
                .iter()
                .any(|stage| stage.waiting + stage.running > 0)
                && !monitor.is_stopped()
            {
                ambient::pause(std::time::Duration::from_millis(1));
            }
        }
        drop(feeder);
        pipeline.join().map_err(ScanError::Flow)?;
        if self.shared.stop.load(Relaxed) {
            return Err(ScanError::Stopped);
        }
        monitor.stages().pop().ok_or(ScanError::Stopped)
    }

    fn orphans(&self) -> Result<Vec<Orphan>, CatalogueError> {
        let rows = self
            .catalogue
            .tables
            .space(Table::Orphans)
            .iter()
            .take(ORPHANS)
            .map(|row| {
                let (key, path) = row.into_inner()?;
                Ok(Orphan {
                    id: FileId::of_bytes(&key)?,
                    path: path.to_vec(),
                })
            });
        rows.collect()
    }

    /// Takes away the entries of an orphan, pack by pack, and itself with the last ones.
    fn remove(&self, orphan: &Orphan) -> Result<(), CatalogueError> {
        let mut packs = self
            .catalogue
            .tables
            .space(Table::Packs)
            .prefix(orphan.id.to_bytes())
            .peekable();
        loop {
            let mut change = Change::new(&self.catalogue)?;
            let mut difference = Difference::default();
            while difference.bytes() < 1 << 20
                && let Some(row) = packs.next()
            {
                let (key, pack) = row.into_inner().map_err(CatalogueError::from)?;
                for entry in pack::decode(&pack)? {
                    difference.name(Some(&entry), None, self.keeps_changes);
                }
                change.pack(key.to_vec(), None);
            }
            for (group, usage) in &difference.groups {
                change.count_group(*group, usage, 1);
                change.count_in(orphan.id, usage, 1)?;
            }
            for (id, name, _) in &difference.linked {
                change.linked_name(*id, orphan.id, name, None)?;
                if let Some(observer) = &self.observer {
                    observer.linked(*id, orphan.id, None, change.names_of_linked(*id)?);
                }
            }
            for (id, name) in &difference.lost {
                let mut path = orphan.path.clone();
                join(&mut path, name);
                change.lost(*id, orphan.id, name, &path)?;
            }
            if !difference.changes.is_empty() {
                let (dir, names) = (orphan.path.clone(), difference.changes);
                change.changes(&ChangesRow {
                    at_ms: super::wall_ms(),
                    dir,
                    names,
                });
            }
            self.row.lock().counts.add(difference.counts);
            let is_last = packs.peek().is_none();
            if is_last {
                for (id, row) in change.unnamed_in(orphan.id)? {
                    let mut path = orphan.path.clone();
                    join(&mut path, &row.name);
                    change.lost(id, orphan.id, &row.name, &path)?;
                }
                change.forget_dir(orphan.id)?;
            }
            change.commit()?;
            if is_last {
                if let Some(observer) = &self.observer {
                    observer.forgotten(orphan.id);
                }
                return Ok(());
            }
        }
    }
}
