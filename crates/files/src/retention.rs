//! How long the log of policies, and what is known of contents, are kept.
//!
//! Invariants:
//!  - the last run of each policy keeps its row: it says when the policy is due, and no number is given twice;
//!  - a run keeps its actions while one of them is begun, or has a file in the trash;
//!  - a digest is kept while its file is in a tree, or an action that may be settled or taken back is about it.

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

/// How long the log of policies is kept, and what scans found changed.
pub(crate) const KEPT_MS: i64 = 400 * DAY_MS;

/// How often it is looked for digests that nobody needs: that reads all of the catalogue.
const DIGESTS_EVERY_MS: i64 = DAY_MS;

const DAY_MS: i64 = 86_400_000;

/// Rows that are removed with one wait for the disk.
const BATCH: usize = 4096;

/// Digests that are looked for at a time: some 20 MiB.
const SLICE: usize = 1 << 19;

/// Name of the row that says when it was last looked for digests.
const DIGESTS_ROW: &str = "digests looked through";

impl ActRow {
    /// Whether the file is not where it was any more, by what was done.
    pub fn takes_away(&self) -> bool {
        matches!(self.state, ActState::Done | ActState::Emptied)
            && matches!(&*self.action, "delete" | "release" | "move")
    }

    /// Whether the file lies in the trash, as far as is known.
    pub fn is_in_trash(&self) -> bool {
        self.state == ActState::Done && self.action == "delete"
    }

    /// Whether what is known of the file's content may be asked for again: to settle the action, or to take it back.
    fn needs_digest(&self) -> bool {
        self.state == ActState::Begun || (self.takes_away() && self.state != ActState::Emptied)
    }
}

impl Catalogue {
    /// Removes what the end of a scan of a whole tree finds to be too old, or of no use any more.
    pub(crate) fn forget_old(self: &Arc<Self>, now_ms: i64, stop: &AtomicBool) -> Result<(), CatalogueError> {
        self.forget_old_runs(now_ms)?;
        let looked_ms = self.time_in_meta(DIGESTS_ROW)?;
        // A clock that was set back is no reason to wait for it.
        if (0..DIGESTS_EVERY_MS).contains(&now_ms.saturating_sub(looked_ms)) {
            return Ok(());
        }
        self.forget_digests(stop)?;
        if !stop.load(Relaxed) {
            self.set_time_in_meta(DIGESTS_ROW, now_ms)?;
        }
        Ok(())
    }

    /// Removes runs that ended more than 400 days ago, with their actions, and returns how many actions that were. A run that has
    /// files in the trash stays, and so does the row of each policy's last run.
    ///
    /// # Errors
    /// A row could not be read, or written.
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
                // Behind its actions: a crash in between leaves a run that is removed the next time.
                let key = number.to_be_bytes();
                self.remove_rows(Table::Runs, [Ok(key.into())].into_iter())?;
            }
        }
        Ok(removed)
    }

    /// Whether an action of a run is not settled, or its file lies in the trash.
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

    /// Removes what is known of the content of files that are in no tree any more, unless the log has an action on them that
    /// may be settled or taken back. Returns how many digests that were; with `stop` it ends before it has looked at all.
    ///
    /// # Errors
    /// A row could not be read, or written.
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
            // The next key that there can be.
            from = last.to_bytes().to_vec();
            from.push(0);
            let mut gone: FxHashSet<FileId> = slice.into_iter().collect();
            self.leave_catalogued(&mut gone, stop)?;
            self.each_act(None, |_, _, act| {
                if act.needs_digest() {
                    gone.remove(&act.seen.id);
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

    /// Takes files that are in a tree out of the set.
    fn leave_catalogued(&self, ids: &mut FxHashSet<FileId>, stop: &AtomicBool) -> Result<(), CatalogueError> {
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
