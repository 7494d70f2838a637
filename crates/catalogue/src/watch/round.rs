//! One round of a watch: reads and commits the pending changes.

use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;

use super::{Watch, WatchError, WatchEvent, system};
use crate::attributes::FileId;
use crate::catalogue::Catalogue;
use crate::change::Change;
use crate::error::{CatalogueError, ScanError};
use crate::pack;
use crate::rows::{ScanCounts, dir_of_key};
use crate::scan::{Observer, Plan, Progress, ScanSettings, Which};
use crate::tables::Table;
use crate::watch_row::StaleReason;

/// Maximum number of tries to find a directory: the event that tells its new place may come later.
const TRIES: u32 = 5;

/// Number of rounds in which the directories of a file with unknown names are read again: one
/// together with the directory of the other name, and one after it.
const SUSPECT_ROUNDS: u32 = 2;

/// The search for other names reads the whole catalogue. It may take about 1/20 of the time.
const SEARCH_SHARE: u32 = 20;

impl Watch {
    /// Does the work that is due, if any.
    pub(super) fn round(
        &mut self,
        looks_for_trees: bool,
        progress: &Progress,
        tell: &mut dyn FnMut(WatchEvent),
    ) -> Result<(), WatchError> {
        let now = system::now();
        // Gives other processes a turn.
        if now < self.closed_until {
            return Ok(());
        }
        let is_ready = self.watches.dirty_since().is_some_and(|since| {
            let quiet = self.watches.event_counts().last_event.map(system::since);
            quiet.is_none_or(|quiet| quiet >= self.settings.quiet)
                || system::since(since) >= self.settings.wait_max
        });
        let sweep = self.trees.iter().position(|tree| {
            !tree.is_away && (now >= tree.whole_due || tree.names_due.is_some_and(|due| now >= due))
        });
        let is_search_due = !self.sought.is_empty() && now >= self.search_due;
        let has_away = looks_for_trees && self.trees.iter_mut().any(may_be_away);
        if !is_ready && sweep.is_none() && !is_search_due && !has_away {
            return Ok(());
        }
        let Some(catalogue) = self.open(tell)? else {
            return Ok(());
        };
        if has_away {
            self.look_for_trees(&catalogue, tell)?;
        }
        let mut counts = ScanCounts::default();
        if let Some(at) = sweep {
            counts.add(self.sweep(&catalogue, at, progress, tell)?);
        }
        if is_ready {
            counts.add(self.follow_events(&catalogue, progress, tell)?);
        }
        if is_search_due {
            self.search_names(&catalogue, progress)?;
        }
        self.note_suspects(&catalogue)?;
        self.write_rows(&catalogue, true)?;
        catalogue.tables.settle().map_err(CatalogueError::from)?;
        drop(catalogue);
        self.closed_until = system::now() + self.settings.quiet;
        if counts.added + counts.removed + counts.changed > 0 {
            tell(WatchEvent::Committed { counts });
        }
        Ok(())
    }

    fn look_for_trees(
        &mut self,
        catalogue: &Catalogue,
        tell: &mut dyn FnMut(WatchEvent),
    ) -> Result<(), WatchError> {
        for tree in &mut self.trees {
            // A manual scan may have accepted another directory.
            if let Some(root) = catalogue.root(&tree.path)?.filter(|root| root.whole_scan > 0) {
                tree.root = Some(root.attributes.id);
            }
            let Some(root) = tree.root else { continue };
            let is_away = !tree.is_there(root);
            let was_away = std::mem::replace(&mut tree.is_away, is_away);
            if tree.is_away != was_away {
                tree.mark_stale(StaleReason::Away, Duration::ZERO);
                tell(WatchEvent::Stale {
                    path: tree.path_buf(),
                    reason: StaleReason::Away,
                });
            }
        }
        Ok(())
    }

    /// Reads a whole tree, or only the directories whose times have changed.
    fn sweep(
        &mut self,
        catalogue: &Arc<Catalogue>,
        at: usize,
        progress: &Progress,
        tell: &mut dyn FnMut(WatchEvent),
    ) -> Result<ScanCounts, WatchError> {
        let observer: Arc<dyn Observer> = self.watches.clone();
        self.watches.begin_round();
        let (overflows, refused) = (self.watches.event_counts().overflows, self.refused);
        let since_ms = system::time_ms();
        let path = self.trees[at].path_buf();
        let is_whole = system::now() >= self.trees[at].whole_due;
        let mut is_all_read = is_whole;
        let result = if is_whole {
            tell(WatchEvent::Scanning { path: path.clone() });
            // A stopped scan is not resumed, because its directories may have changed since; a
            // first scan is.
            let settings = ScanSettings {
                restart: self.trees[at].root.is_some(),
                ..self.settings.scan.clone()
            };
            let scanned = catalogue.scan_observed(&path, &settings, progress, Some(observer));
            scanned.map(|scanned| {
                is_all_read = scanned.row.resumed == 0;
                scanned.row.counts
            })
        } else {
            let (root, which) = (self.trees[at].path.clone(), Which::Changed);
            let read = catalogue.follow(&root, &which, &self.settings.scan, progress, &observer);
            read.and_then(|mut counts| {
                counts.add(self.settle_orphans(catalogue, progress)?);
                Ok(counts)
            })
        };
        let mut counts = match self.or_away(at, result, tell)? {
            None => return Ok(ScanCounts::default()),
            Some(counts) => counts,
        };
        self.note_refusals(at, tell);
        let tree = &mut self.trees[at];
        tree.root = catalogue.root(&tree.path)?.map(|root| root.attributes.id);
        if let Some(root) = tree.root {
            self.watches.add_root(root);
        }
        if is_all_read {
            // The events report the new place of a directory that moved past the scan. It is read
            // before the tree is called current.
            counts.add(self.read_dirty(catalogue, progress, tell)?);
        }
        let tree = &mut self.trees[at];
        if overflows == self.watches.event_counts().overflows && !tree.is_away {
            let is_limited = self.watches.event_counts().refused > refused;
            if is_all_read && !is_limited {
                tree.is_current(since_ms);
                tell(WatchEvent::Current {
                    path,
                    watched: self.watches.len(),
                });
            } else {
                tree.names_compared();
            }
        }
        self.refused = self.watches.event_counts().refused;
        if is_whole {
            tree.put_off(self.settings.scan_every);
        }
        Ok(counts)
    }

    /// Marks a tree as stale if some of its directories cannot be watched.
    fn note_refusals(&mut self, at: usize, tell: &mut dyn FnMut(WatchEvent)) {
        let heard = self.watches.event_counts();
        if heard.refused == self.refused {
            return;
        }
        let tree = &mut self.trees[at];
        let is_news = tree.stale.is_none_or(|stale| stale.reason != StaleReason::Limit);
        tree.mark_stale(StaleReason::Limit, self.settings.scan_after);
        if is_news {
            let error = heard.refusal.filter(|errno| *errno != Errno::NOSPC);
            tell(WatchEvent::Limit {
                watched: self.watches.len(),
                error: error.map(|errno| std::io::Error::from(errno).to_string()),
            });
        }
    }

    /// Marks a tree as away if its directory cannot be opened or is another one.
    fn or_away<T>(
        &mut self,
        at: usize,
        result: Result<T, ScanError>,
        tell: &mut dyn FnMut(WatchEvent),
    ) -> Result<Option<T>, WatchError> {
        let tree = &mut self.trees[at];
        match result {
            Ok(read) => Ok(Some(read)),
            Err(
                ScanError::Root { .. }
                | ScanError::Away { .. }
                | ScanError::NotADirectory { .. }
                | ScanError::Catalogue(CatalogueError::NoAnswer { .. }),
            ) if tree.root.is_some() => {
                tree.is_away = true;
                tree.mark_stale(StaleReason::Away, Duration::ZERO);
                tell(WatchEvent::Stale {
                    path: tree.path_buf(),
                    reason: StaleReason::Away,
                });
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Reads the changed directories.
    fn follow_events(
        &mut self,
        catalogue: &Arc<Catalogue>,
        progress: &Progress,
        tell: &mut dyn FnMut(WatchEvent),
    ) -> Result<ScanCounts, WatchError> {
        // Every earlier change has an event by now.
        let since_ms = system::time_ms();
        let mut counts = self.read_dirty(catalogue, progress, tell)?;
        if catalogue.has_orphans()? {
            // The next events may report where a missing directory is now.
            system::pause(2 * super::PAUSE);
            counts.add(self.read_dirty(catalogue, progress, tell)?);
        }
        counts.add(self.settle_orphans(catalogue, progress)?);
        if self.tries.is_empty()
            && self.sought.is_empty()
            && self.watches.event_counts().overflows == self.handled.overflows
        {
            self.is_current_at(since_ms);
        }
        Ok(counts)
    }

    fn read_dirty(
        &mut self,
        catalogue: &Arc<Catalogue>,
        progress: &Progress,
        tell: &mut dyn FnMut(WatchEvent),
    ) -> Result<ScanCounts, WatchError> {
        let observer: Arc<dyn Observer> = self.watches.clone();
        self.watches.catch_up().map_err(system)?;
        self.watches.begin_round();
        let plan = Arc::new(Plan::new(catalogue, self.watches.take_dirty().into_iter())?);
        self.watches.drop_watches(&plan.unknown);
        let mut counts = ScanCounts::default();
        for at in 0..self.trees.len() {
            let tree = &self.trees[at];
            if tree.is_away || !tree.root.is_some_and(|root| plan.concerns(root)) {
                continue;
            }
            let (path, which) = (tree.path.clone(), Which::Planned(plan.clone()));
            let read = catalogue.follow(&path, &which, &self.settings.scan, progress, &observer);
            if let Some(read) = self.or_away(at, read, tell)? {
                counts.add(read);
            }
            self.note_refusals(at, tell);
            self.refused = self.watches.event_counts().refused;
        }
        self.try_again(plan.not_reached());
        Ok(counts)
    }

    /// Queues directories that were not found again, up to a limit.
    fn try_again(&mut self, dirs: Vec<FileId>) {
        let mut tries = std::mem::take(&mut self.tries);
        for dir in dirs {
            let tried = tries.remove(&dir).unwrap_or(0) + 1;
            if tried < TRIES {
                self.watches.mark(dir);
                self.tries.insert(dir, tried);
            }
        }
    }

    fn settle_orphans(
        &self,
        catalogue: &Arc<Catalogue>,
        progress: &Progress,
    ) -> Result<ScanCounts, ScanError> {
        let observer: Arc<dyn Observer> = self.watches.clone();
        if catalogue.has_orphans()? {
            catalogue.remove_orphans(progress, &observer)
        } else {
            Ok(ScanCounts::default())
        }
    }

    /// Handles files with more names than the catalogue knows: a name was added in a directory that
    /// is still to be read, or was removed again before that. In the second case no event reaches
    /// the directories of the other names.
    fn note_suspects(&mut self, catalogue: &Catalogue) -> Result<(), WatchError> {
        for file in self.watches.take_incomplete() {
            self.sought.insert(file);
            self.suspects.insert(file, SUSPECT_ROUNDS);
        }
        self.suspects.retain(|_, left| *left > 0);
        for (file, left) in &mut self.suspects {
            *left -= 1;
            for name in catalogue.linked(*file)?.unwrap_or_default().names {
                self.watches.mark(name.dir);
            }
        }
        Ok(())
    }

    /// Marks the directories of files that had a single name and now have several.
    fn search_names(&mut self, catalogue: &Catalogue, progress: &Progress) -> Result<(), WatchError> {
        let begun = system::now();
        let files = std::mem::take(&mut self.sought);
        for row in catalogue.tables.space(Table::Packs).iter() {
            if progress.is_stopped() {
                return Err(ScanError::Stopped.into());
            }
            let (key, value) = row.into_inner().map_err(CatalogueError::from)?;
            let mut entries = pack::entries(&value).map_err(CatalogueError::from)?;
            while let Some((_, file)) = entries.next().map_err(CatalogueError::from)? {
                if !file.is_linked() && files.contains(&file.id) {
                    self.watches.mark(dir_of_key(&key).map_err(CatalogueError::from)?);
                    break;
                }
            }
        }
        self.search_due = system::now() + SEARCH_SHARE * system::since(begun);
        Ok(())
    }

    /// Writes the freshness of the trees.
    pub(super) fn write_rows(&mut self, catalogue: &Arc<Catalogue>, is_live: bool) -> Result<(), WatchError> {
        let mut change = Change::new(catalogue)?;
        let last_event_ms = self.watches.event_counts().last_event_ms;
        for tree in &self.trees {
            change.watched(&tree.path, &tree.row(self.watch_ms, is_live, last_event_ms));
        }
        change.commit()?;
        for tree in &mut self.trees {
            tree.is_stale_recorded = tree.stale.is_some();
        }
        Ok(())
    }
}

/// Returns whether another directory may be at the path of a tree, without asking the catalogue.
fn may_be_away(tree: &mut super::Tree) -> bool {
    tree.is_away || tree.root.is_some_and(|root| !tree.is_there(root))
}
