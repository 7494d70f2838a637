//! Retention of the log of policies, and of digests.
//!
//! Invariants:
//!  - The last run of each policy keeps its row: it determines when the policy is due, and it
//!    prevents a run number from being reused.
//!  - A run keeps its actions while one of them is begun or has a file in the trash.
//!  - A digest is kept while its file is in a tree, or while an action on it can still be settled
//!    or undone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use fjall::{PersistMode, UserKey};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::attributes::FileId;
use crate::catalogue::Catalogue;
use crate::error::CatalogueError;
use crate::log::{ActRow, ActState, RunRow};
use crate::pack;
use crate::tables::Table;

/// How long the log of policies and the changes found by scans are kept.
pub(crate) const KEPT_MS: i64 = 400 * DAY_MS;

/// Interval between searches for unused digests; a search reads the whole catalogue.
const DIGESTS_EVERY_MS: i64 = DAY_MS;

const DAY_MS: i64 = 86_400_000;

/// Number of rows removed per sync.
const BATCH: usize = 4096;

/// Number of digests searched at a time: some 20 MiB.
const SLICE: usize = 1 << 19;

/// Key of the row with the time of the last search for unused digests.
const DIGESTS_ROW: &str = "digests looked through";

impl ActRow {
    /// Returns whether the action removed the file from its path.
    pub fn has_removed_file(&self) -> bool {
        matches!(self.state, ActState::Done | ActState::Emptied) && self.action.removes_file()
    }

    /// Returns whether the file is in the trash, according to the log.
    pub fn is_in_trash(&self) -> bool {
        self.state == ActState::Done && self.action.trashes_file()
    }

    /// Returns whether the digest of the file may still be needed, to settle the action or to undo
    /// it.
    fn needs_digest(&self) -> bool {
        self.state == ActState::Begun || (self.has_removed_file() && self.state != ActState::Emptied)
    }
}

impl Catalogue {
    /// Removes expired and unused rows at the end of a scan of a whole tree.
    pub(crate) fn forget_old(self: &Arc<Self>, now_ms: i64, stop: &AtomicBool) -> Result<(), CatalogueError> {
        self.forget_old_runs(now_ms)?;
        let looked_ms = self.time_in_meta(DIGESTS_ROW)?;
        // If the clock was set back, search now instead of waiting for it to catch up.
        if (0..DIGESTS_EVERY_MS).contains(&now_ms.saturating_sub(looked_ms)) {
            return Ok(());
        }
        self.forget_digests(stop)?;
        if !stop.load(Relaxed) {
            self.set_time_in_meta(DIGESTS_ROW, now_ms)?;
        }
        Ok(())
    }

    /// Removes runs that ended more than 400 days ago, with their actions, and returns the number
    /// of actions removed. Keeps runs that have files in the trash, and the row of each policy's
    /// last run.
    ///
    /// # Errors
    /// Fails if a row cannot be read or written.
    pub fn forget_old_runs(self: &Arc<Self>, now_ms: i64) -> Result<u64, CatalogueError> {
        let runs = self.runs()?;
        let last: FxHashMap<&str, u64> = runs.iter().map(|(number, run)| (&*run.policy, *number)).collect();
        let mut removed = 0;
        for (number, run) in &runs {
            if now_ms.saturating_sub(run.ended_ms) <= KEPT_MS || self.has_work_left(*number, run)? {
                continue;
            }
            let keys = self.tables.space(Table::Acts).prefix(number.to_be_bytes());
            removed += self.remove_rows(Table::Acts, keys.map(|row| Ok(row.key()?)))?;
            if last.get(&*run.policy) != Some(number) {
                // Removed after its actions: after a crash in between, the next call removes the
                // run.
                let key = number.to_be_bytes();
                self.remove_rows(Table::Runs, [Ok(key.into())].into_iter())?;
            }
        }
        Ok(removed)
    }

    /// Returns whether a run has an unsettled action or a file in the trash.
    fn has_work_left(&self, number: u64, run: &RunRow) -> Result<bool, CatalogueError> {
        let mut is_any = false;
        if run.state != ActState::Emptied {
            self.each_act(Some(number), |_, _, act| {
                is_any |= act.state == ActState::Begun || act.is_in_trash();
                Ok::<(), CatalogueError>(())
            })?;
        }
        Ok(is_any)
    }

    /// Removes the digests of files that are in no tree, unless the log has an action on them that
    /// can still be settled or undone. Returns the number of digests removed. `stop` ends the
    /// search early.
    ///
    /// # Errors
    /// Fails if a row cannot be read or written.
    pub fn forget_digests(self: &Arc<Self>, stop: &AtomicBool) -> Result<u64, CatalogueError> {
        let (mut removed, mut from) = (0, Vec::new());
        loop {
            let rows = self.tables.space(Table::Digests).range(from..).take(SLICE);
            let slice: Vec<FileId> = rows
                .map(|row| Ok(FileId::of_bytes(&row.key()?)?))
                .collect::<Result<_, CatalogueError>>()?;
            let Some(last) = slice.last() else {
                return Ok(removed);
            };
            // The smallest key greater than the last one.
            from = last.to_bytes().to_vec();
            from.push(0);
            let mut gone: FxHashSet<FileId> = slice.into_iter().collect();
            self.remove_catalogued(&mut gone, stop)?;
            self.each_act(None, |_, _, act| {
                if act.needs_digest() {
                    gone.remove(&act.version.id);
                }
                Ok::<(), CatalogueError>(())
            })?;
            if stop.load(Relaxed) {
                return Ok(removed);
            }
            let mut gone: Vec<FileId> = gone.into_iter().collect();
            gone.sort_unstable();
            let keys = gone.into_iter().map(|id| Ok(id.to_bytes().into()));
            removed += self.remove_rows(Table::Digests, keys)?;
        }
    }

    /// Removes files that are in a tree from the set.
    fn remove_catalogued(
        &self,
        ids: &mut FxHashSet<FileId>,
        stop: &AtomicBool,
    ) -> Result<(), CatalogueError> {
        for row in self.tables.space(Table::Packs).iter() {
            if ids.is_empty() || stop.load(Relaxed) {
                return Ok(());
            }
            let value = row.value()?;
            let mut entries = pack::entries(&value)?;
            while let Some((_, file)) = entries.next()? {
                ids.remove(&file.id);
            }
        }
        Ok(())
    }

    fn remove_rows(
        &self,
        table: Table,
        keys: impl Iterator<Item = Result<UserKey, CatalogueError>>,
    ) -> Result<u64, CatalogueError> {
        self.check_writable()?;
        let (mut removed, mut keys) = (0, keys.peekable());
        while keys.peek().is_some() {
            self.tables.wait_for_room()?;
            let mut batch = self.tables.db().batch().durability(Some(PersistMode::Buffer));
            for key in keys.by_ref().take(BATCH) {
                batch.remove(self.tables.space(table), key?);
                removed += 1;
            }
            batch.commit()?;
            self.tables.db().persist(PersistMode::SyncData)?;
        }
        Ok(removed)
    }
}
