//! REMOVE_OLD: removes orphans and everything below them.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use pipeline::{Flow, Item, StageRow, StageSettings};

use super::Scan;
use crate::attributes::FileId;
use crate::catalogue::join;
use crate::change::{Change, DIGEST_MARKS};
use crate::changes::ChangesRow;
use crate::diff::Difference;
use crate::error::{CatalogueError, ScanError};
use crate::pack;
use crate::rows::OrphanRow;
use crate::tables::Table;

/// Which orphans to remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Orphans {
    All,
    /// Only those of forgotten trees: the next scan may find the others elsewhere.
    Forgotten,
}

struct Orphan {
    id: FileId,
    row: OrphanRow,
}

/// Orphans processed together.
struct Lot(Vec<Orphan>);

impl Item for Lot {
    fn count(&self) -> u64 {
        self.0.len() as u64
    }

    fn bytes(&self) -> u64 {
        self.0
            .iter()
            .map(|orphan| orphan.row.path.len() as u64 + 40)
            .sum()
    }
}

/// Number of orphans in a lot.
const ORPHANS: usize = 256;
/// Approximate number of entries removed per commit.
const ENTRIES_OF_COMMIT: u64 = 1 << 14;

impl Scan {
    /// Removes orphans and their entries. Directories in them become orphans and follow. Then
    /// removes the digests of files of forgotten trees.
    pub(super) fn remove_old(self: &Arc<Self>, which: Orphans) -> Result<StageRow, ScanError> {
        let scan = self.clone();
        let (feeder, pipeline) = Flow::<Lot, Lot>::new()
            .stage(StageSettings::new("REMOVE_OLD"), move |_| {
                let scan = scan.clone();
                move |Lot(orphans), _| Ok(scan.remove(&orphans)?)
            })
            .start()
            .map_err(ScanError::Flow)?;
        let monitor = pipeline.monitor();
        loop {
            let orphans = self.orphans(which)?;
            if orphans.is_empty() || monitor.is_stopped() || self.shared.stop.load(Relaxed) {
                break;
            }
            // `join` returns the error that stopped the pipeline.
            if feeder.send(Lot(orphans)).is_err() {
                break;
            }
            // Removing a directory makes its subdirectories orphans.
            while monitor
                .stages()
                .iter()
                .any(|stage| stage.waiting + stage.running > 0)
                && !monitor.is_stopped()
            {
                system::pause(std::time::Duration::from_millis(1));
            }
        }
        drop(feeder);
        pipeline.join().map_err(ScanError::Flow)?;
        if self.shared.stop.load(Relaxed) {
            return Err(ScanError::Stopped);
        }
        self.forget_digests()?;
        monitor.stages().pop().ok_or(ScanError::Stopped)
    }

    fn orphans(&self, which: Orphans) -> Result<Vec<Orphan>, CatalogueError> {
        let space = self.catalogue.tables.space(Table::Orphans);
        let rows = space.range(..DIGEST_MARKS).map(|row| {
            let (key, row) = row.into_inner()?;
            Ok(Orphan {
                id: FileId::of_bytes(&key)?,
                row: OrphanRow::of_bytes(&row),
            })
        });
        let is_wanted = |orphan: &Result<Orphan, CatalogueError>| {
            which == Orphans::All || orphan.as_ref().map_or(true, |orphan| orphan.row.is_forgotten)
        };
        rows.filter(is_wanted).take(ORPHANS).collect()
    }

    /// Removes the entries of orphans, pack by pack, and each orphan with its last entries. One
    /// commit covers several small ones.
    fn remove(&self, orphans: &[Orphan]) -> Result<(), CatalogueError> {
        let mut change = Change::new(&self.catalogue)?;
        let (mut entries, mut gone) = (0, Vec::new());
        for orphan in orphans {
            let packs = self.catalogue.tables.space(Table::Packs);
            let mut packs = packs.prefix(orphan.id.to_bytes()).peekable();
            while packs.peek().is_some() {
                entries += self.remove_some(orphan, &mut packs, &mut change)?;
                if entries >= ENTRIES_OF_COMMIT {
                    change.commit()?;
                    (change, entries) = (Change::new(&self.catalogue)?, 0);
                }
            }
            change.forget_dir(orphan.id)?;
            gone.push(orphan.id);
        }
        change.commit()?;
        if let Some(observer) = &self.observer {
            gone.into_iter().for_each(|id| observer.forgotten(id));
        }
        Ok(())
    }

    /// Removes some packs and returns the number of their entries.
    fn remove_some(
        &self,
        orphan: &Orphan,
        packs: &mut impl Iterator<Item = fjall::Guard>,
        change: &mut Change,
    ) -> Result<u64, CatalogueError> {
        let mut difference = Difference::default();
        let is_forgotten = orphan.row.is_forgotten;
        let keeps_changes = self.keeps_changes && !is_forgotten;
        while difference.counts.removed < ENTRIES_OF_COMMIT
            && let Some(row) = packs.next()
        {
            let (key, pack) = row.into_inner().map_err(CatalogueError::from)?;
            for entry in pack::decode(&pack)? {
                difference.name(Some(&entry), None, keeps_changes);
                if is_forgotten && self.catalogue.digest(entry.attributes.id)?.is_some() {
                    change.mark_digest(entry.attributes.id, &orphan.row.path);
                }
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
            let mut row = orphan.row.clone();
            join(&mut row.path, name);
            change.mark_missing(*id, orphan.id, name, &row)?;
        }
        if !difference.changes.is_empty() {
            change.changes(&ChangesRow {
                at_ms: system::time_ms(),
                dir: orphan.row.path.clone(),
                names: difference.changes,
                scan: self.number_of_changes(),
            });
        }
        if !is_forgotten {
            self.row.lock().counts.add(difference.counts);
        }
        Ok(difference.counts.removed)
    }
}
