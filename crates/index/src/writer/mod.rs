//! The writer: registers inputs, applies epochs, hands out snapshots.
//!
//! Invariants:
//! - One epoch at a time (the writer's lock), in one engine batch.
//! - The state that readers see (`published`) is replaced only after the batch is durable.
//! - After a failed commit or sync nothing more is written until the index is opened again
//!   ([`Index::recover`]), because memory and disk may differ. The same applies after a broken
//!   invariant ([`invariant::holds`]).

mod forget;
mod purge;
mod recover;
mod removal;
mod remove_lines;
mod state;
mod take_back;
mod take_down;

pub use removal::Reread;
pub use remove_lines::RemovedLines;
use state::Writer;
pub use take_back::RollBack;
pub use take_down::{NoteTakenDown, TakedownOutcome, TakedownPreview, TakedownRequest};

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::diagnosis::ErrorMessage;
use extract::{Capture, LinkScope};
use fjall::PersistMode;
use parking_lot::{Mutex, RwLock};

use crate::chain::{Chain, PreparedEpoch, Removal, StepClock};
use crate::cut::Cut;
use crate::dump::View;
use crate::epoch::{Batch, EpochReport};
use crate::error::is_caused_by_full_disk;
use crate::error::{ApplyError, OpenError};
use crate::external::{self, NoteRenamed, WriteExternal};
use crate::ids::InputId;
use crate::last_epoch::LastEpoch;
use crate::ledger;
use crate::ledger::{InputState, LedgerRow};
use crate::rebuild::{self, RebuildError, RebuildReport};
use crate::settings::Settings;
use crate::snapshot::Snapshot;
use crate::tables::{Table, Tables};
use crate::views::ties;
use crate::views::totals::TotalsRow;
use crate::write::Write;
use crate::{crash, directory};

/// The index of one archive. Cheap to clone; one writer at a time, any number of snapshots.
#[derive(Clone)]
pub struct Index {
    inner: Arc<Inner>,
}

struct Inner {
    dir: PathBuf,
    last_epoch: LastEpoch,
    link_scope: LinkScope,
    settings: Settings,
    published: RwLock<Snapshot>,
    writer: Mutex<Writer>,
    /// Why the index refuses writes. Changed only while the writer's lock is held.
    poisoned: RwLock<Option<String>>,
}

impl Index {
    /// Opens or creates the index in `dir`. `links` is fixed when it is created (`None`: all links,
    /// or the scope that it was created with).
    ///
    /// # Errors
    /// [`OpenError`]: not an index of Weft, newer, open elsewhere, other link scope, full disk.
    pub fn open(dir: &Path, links: Option<LinkScope>, settings: Settings) -> Result<Index, OpenError> {
        let (tables, link_scope) = directory::open(dir, links, &settings)?;
        let (writer, snapshot) = Writer::read(dir, tables)?;
        let last_epoch = LastEpoch::next_to(dir);
        if let Some(lost) = last_epoch.lost(writer.totals.epoch) {
            tracing::warn!(
                dir = %dir.display(),
                "the index lost {}: the end of its journal is damaged; load the inputs again",
                lost_epochs_text(&lost)
            );
        }
        Ok(Index {
            inner: Arc::new(Inner {
                dir: dir.to_owned(),
                last_epoch,
                link_scope,
                settings,
                published: RwLock::new(snapshot),
                writer: Mutex::new(writer),
                poisoned: RwLock::default(),
            }),
        })
    }

    /// Returns committed epochs that were lost: the engine drops everything after a damaged byte of
    /// its journal.
    pub fn lost_epochs(&self) -> Option<RangeInclusive<u64>> {
        let newest = self.inner.published.read().epoch();
        self.inner.last_epoch.lost(newest)
    }

    /// Link scope that this archive was created with.
    pub fn link_scope(&self) -> LinkScope {
        self.inner.link_scope
    }

    /// Finds the input by digest, or lets `entry` continue the unfinished input `continues` (whose
    /// bytes are a prefix of the new ones: the caller has compared digests), or registers it as
    /// given; durable when it returns.
    ///
    /// An input found by digest takes the new location, and the lesser of its two names. A
    /// continued input, including one that was only renamed, takes name, location, digest and size
    /// of `entry` and keeps its position and sums. An entry that is not digested
    /// ([`LedgerRow::is_digested`]) is not found by digest. An input of which nothing is indexed
    /// also takes the label, unless it is empty.
    ///
    /// # Errors
    /// [`ApplyError`], as [`Index::apply`].
    pub fn register_input(
        &self,
        entry: LedgerRow,
        continues: Option<InputId>,
    ) -> Result<(InputId, LedgerRow), ApplyError> {
        self.register_input_with(entry, continues, None)
    }

    /// As [`Index::register_input`]. If an input with captures is renamed, the note returned by
    /// `note_renamed` is committed with it ([`Snapshot::external_note`]).
    ///
    /// # Errors
    /// As [`Index::apply_with_external`].
    pub fn register_input_with(
        &self,
        entry: LedgerRow,
        continues: Option<InputId>,
        note_renamed: Option<&mut NoteRenamed<'_>>,
    ) -> Result<(InputId, LedgerRow), ApplyError> {
        let inner = &*self.inner;
        let mut writer = inner.writer.lock();
        let tables = inner.usable(&writer)?;
        let known = writer.by_digest.get(&entry.digest).copied();
        let (id, now) = match known.or(continues) {
            Some(id) => {
                let old = writer.entry(id)?;
                let mut now = old.clone();
                now.location = entry.location;
                now.missing = String::new();
                // No row of a view depends on the label yet.
                if old.bytes_done == 0 && !entry.collection.is_empty() {
                    now.collection = entry.collection;
                }
                if known.is_none() || known == continues {
                    now.input = entry.input;
                    now.digest = entry.digest;
                    now.size = entry.size;
                    now.digesting = entry.digesting;
                } else if entry.input < now.input {
                    // An input with two names keeps the lesser of them, in whichever order they
                    // come.
                    now.input = entry.input;
                }
                if now == *old {
                    return Ok((id, now));
                }
                (id, now)
            }
            None => (InputId(writer.ledger.len() as u32 + 1), entry),
        };
        inner.register(&tables, &mut writer, (id, now.clone()), note_renamed)?;
        Ok((id, now))
    }

    /// Returns the input whose content has this digest.
    pub fn input_of(&self, digest: &str) -> Option<InputId> {
        self.inner.writer.lock().by_digest.get(digest).copied()
    }

    /// Returns the input last registered with content from `location`, if any.
    pub fn input_at(&self, location: &str) -> Option<(InputId, LedgerRow)> {
        let writer = self.inner.writer.lock();
        let is_there = |entry: &LedgerRow| {
            entry.location == location && entry.has_content() && entry.state != InputState::Forgotten
        };
        let index = writer.ledger.iter().rposition(is_there)?;
        Some((InputId(index as u32 + 1), writer.ledger[index].clone()))
    }

    /// Records in the row of an input that there was nothing to read at the last attempt, and why.
    /// What was loaded stays. Durable when it returns. Registering the input's content again
    /// removes the record.
    ///
    /// # Errors
    /// [`ApplyError`], as [`Index::apply`].
    pub fn note_missing(&self, id: InputId, why: &str) -> Result<(), ApplyError> {
        let inner = &*self.inner;
        let mut writer = inner.writer.lock();
        let tables = inner.usable(&writer)?;
        let mut now = writer.entry(id)?.clone();
        if now.missing == why {
            return Ok(());
        }
        now.missing = why.to_owned();
        inner.register(&tables, &mut writer, (id, now), None)
    }

    /// Returns the inputs in the ledger that satisfy `wanted`.
    pub fn inputs(&self, wanted: impl Fn(&LedgerRow) -> bool) -> Vec<(InputId, LedgerRow)> {
        let writer = self.inner.writer.lock();
        let entries = writer.ledger.iter().zip(1..);
        entries
            .filter(|(entry, _)| entry.state != InputState::Forgotten && wanted(entry))
            .map(|(entry, id)| (InputId(id), entry.clone()))
            .collect()
    }

    /// Commits one epoch; atomic, and durable when it returns. A batch that changes nothing makes
    /// no epoch.
    ///
    /// # Errors
    /// [`ApplyError`]. [`ApplyError::UnknownInput`], [`ApplyError::External`] and
    /// [`ApplyError::Snapshot`] change nothing. After any other error, and after a broken invariant
    /// (`SnapshotError::Broken`), the index must be opened again; it then holds the epoch
    /// completely or not at all.
    pub fn apply(&self, batch: Batch) -> Result<EpochReport, ApplyError> {
        self.apply_with_external(batch, None)
    }

    /// As [`Index::apply`]. Before the epoch commits, its new captures are passed to
    /// `write_external`, whose note is committed with them ([`Snapshot::external_note`]). A batch
    /// without new captures has no note.
    ///
    /// # Errors
    /// As [`Index::apply`], and [`ApplyError::External`], which changes nothing.
    pub fn apply_with_external(
        &self,
        batch: Batch,
        write_external: Option<&mut WriteExternal<'_>>,
    ) -> Result<EpochReport, ApplyError> {
        let inner = &*self.inner;
        let mut writer = inner.writer.lock();
        let tables = inner.usable(&writer)?;
        let mut clock = StepClock::start();
        // Waits before anything is read: the engine must never hold the commit back itself (see
        // `wait_for_room`).
        inner.poison_on_error(tables.wait_for_room())?;
        clock.end("room");
        // The previous epoch. The writer's lock keeps another from being published in the meantime.
        let cut = inner.published.read().cut().clone();
        let retied = Vec::new();
        let mut prepared = inner.prepare(
            &tables,
            &mut writer,
            &cut,
            (batch, retied, write_external),
            &mut clock,
        )?;
        let Some(write) = prepared.write.take() else {
            return Ok(prepared.report);
        };
        inner.poison_on_broken(writer.check_next(&prepared.totals))?;
        crash::point("apply.before_commit");
        inner.poison_on_error(commit(&tables, write, "apply.before_sync"))?;
        crash::point("apply.before_publish");
        // The epoch is durable from here. The writer's state changes only now, so that a failure
        // above changes nothing.
        writer.totals = prepared.totals;
        for (id, entry) in prepared.ledger {
            writer.replace(id, entry);
        }
        writer.check_sums();
        inner.publish(&tables, &writer);
        clock.end("commit");
        prepared.report.step_times = clock.times;
        Ok(prepared.report)
    }

    /// Rebuilds views from the tables that they are derived from; durable when it returns. Readers
    /// see the old state meanwhile, and no other writes happen. Only rows that differ are written,
    /// in one epoch if there are any. `progress` receives tables and how many of their rows were
    /// compared.
    ///
    /// # Errors
    /// [`RebuildError`]; nothing has changed for readers. If writing had begun, the index must be
    /// opened again, which finishes the rebuild.
    pub fn rebuild(
        &self,
        views: &[View],
        progress: &mut dyn FnMut(&'static str, u64),
    ) -> Result<RebuildReport, RebuildError> {
        let plan = rebuild::Plan::of(views)?;
        let inner = &*self.inner;
        let mut writer = inner.writer.lock();
        let tables = inner.usable(&writer)?;
        let place = rebuild::Target {
            tables: &tables,
            dir: &inner.dir,
            ranking_rows_max: inner.settings.ranking_rows_max,
        };
        let mut is_begun = false;
        let (rebuilt, totals) = match rebuild::run(place, plan, &mut is_begun, progress) {
            Ok(done) => done,
            Err(rebuild::Failure::Engine(error)) => return Err(inner.failed_to_write(&error).into()),
            Err(rebuild::Failure::Rebuild(error)) => {
                if is_begun {
                    *inner.poisoned.write() = Some(error.to_string());
                }
                return Err(error);
            }
        };
        crash::rebuilding_point("rebuild.before_publish");
        writer.totals = totals;
        inner.publish(&tables, &writer);
        Ok(rebuilt)
    }

    /// Writes all rows from memory to their tables at the end of a load, so that the next opening
    /// has little journal to replay. Closing (dropping the last handle) does the same. Nothing
    /// depends on it.
    ///
    /// # Errors
    /// [`ApplyError`], as [`Index::apply`].
    pub fn settle(&self) -> Result<(), ApplyError> {
        let inner = &*self.inner;
        let writer = inner.writer.lock();
        let tables = inner.usable(&writer)?;
        inner.poison_on_error(tables.settle())
    }

    /// Returns a consistent snapshot of the newest epoch.
    pub fn snapshot(&self) -> Snapshot {
        self.inner.published.read().clone()
    }

    /// Removes the row in the middle of a table, to test that checks find the loss. Takes effect
    /// when the index is opened again.
    ///
    /// # Errors
    /// [`ApplyError`].
    ///
    /// # Panics
    /// If there is no such table, or it has no rows.
    #[cfg(any(test, feature = "model"))]
    #[expect(clippy::expect_used, reason = "only used in tests")]
    pub fn lose_row(&self, table: &str) -> Result<(), ApplyError> {
        let tables = self.inner.usable(&self.inner.writer.lock())?;
        let named = Table::ALL.into_iter().find(|known| known.name() == table);
        let table = named.expect("a table of this name");
        let rows: Result<Vec<_>, _> = self.inner.published.read().cut().iter(table).collect();
        let rows = rows?;
        let (key, _) = rows.get(rows.len() / 2).expect("a row");
        let mut write = Write::new(&tables);
        write.remove(table, key.clone());
        self.inner.poison_on_error(write.commit())?;
        Ok(())
    }

    /// Returns the bytes on disk, per table and for the journal.
    pub fn disk_bytes(&self) -> Vec<(&'static str, u64)> {
        let published = self.snapshot();
        published
            .cut()
            .tables()
            .map_or_else(Vec::new, |tables| tables.disk_bytes())
    }
}

impl Inner {
    fn prepare<'t>(
        &self,
        tables: &'t Tables,
        writer: &mut Writer,
        cut: &Cut,
        (batch, retied, write_external): (Batch, Vec<(InputId, Capture)>, Option<&mut WriteExternal<'_>>),
        clock: &mut StepClock,
    ) -> Result<PreparedEpoch<'t>, ApplyError> {
        let chain = self.chain(tables, writer, cut);
        self.poison_on_broken(chain.prepare(batch, retied, write_external, clock))
    }

    fn chain<'t, 'w>(&self, tables: &'t Tables, writer: &'w mut Writer, cut: &'w Cut) -> Chain<'t, 'w> {
        Chain {
            tables,
            ranking_rows_max: self.settings.ranking_rows_max,
            cut,
            totals: &writer.totals,
            ledger: &writer.ledger,
            by_digest: &writer.by_digest,
            takedowns: &writer.takedowns,
            domain_of: &mut writer.domain_of,
        }
    }

    /// Removes captures; durable when it returns.
    fn remove(
        &self,
        tables: &Arc<Tables>,
        writer: &mut Writer,
        cut: &Cut,
        removal: Removal,
    ) -> Result<EpochReport, ApplyError> {
        let mut clock = StepClock::start();
        let prepared = self.chain(tables, writer, cut).remove(removal, &mut clock);
        let prepared = self.poison_on_broken(prepared)?;
        let mut report = prepared.report;
        let Some(write) = prepared.write else {
            return Ok(report);
        };
        self.poison_on_broken(writer.check_next(&prepared.totals))?;
        crash::point("take_back.before_commit");
        self.poison_on_error(commit(tables, write, "take_back.before_sync"))?;
        crash::point("take_back.before_publish");
        writer.totals = prepared.totals;
        if let Some(takedowns) = prepared.takedowns {
            writer.takedowns = takedowns;
        }
        removal::take_over(writer, prepared.ledger);
        writer.check_sums();
        self.publish(tables, writer);
        report.step_times = clock.times;
        Ok(report)
    }

    /// Writes a new or changed entry of the ledger. If an input is renamed, versions that depend on
    /// names are decided again in the same step.
    fn register(
        &self,
        tables: &Arc<Tables>,
        writer: &mut Writer,
        (id, now): (InputId, LedgerRow),
        note_renamed: Option<&mut NoteRenamed<'_>>,
    ) -> Result<(), ApplyError> {
        self.poison_on_broken(writer.check_identity(id, &now))?;
        let index = id.0 as usize - 1;
        let old = writer.ledger.get(index).cloned();
        let cut = self.published.read().cut().clone();
        let is_renamed = old.as_ref().is_some_and(|old| old.input != now.input);
        let note = match note_renamed {
            Some(note) if is_renamed && now.captures > 0 => {
                Some(note(id, &now.input).map_err(ApplyError::External)?)
            }
            _ => None,
        };
        let retied = if is_renamed {
            ties::of_input(&cut, id)?
        } else {
            Vec::new()
        };
        match &old {
            // The chain orders versions by the names of inputs, so it must see the new name; undone
            // below if it fails.
            Some(_) => writer.ledger[index] = now.clone(),
            None => writer.ledger.push(now.clone()),
        }
        let mut clock = StepClock::start();
        let work = (Batch::default(), retied, None);
        let prepared = self.prepare(tables, writer, &cut, work, &mut clock);
        let done = prepared.and_then(|prepared| {
            let mut write = prepared.write.unwrap_or_else(|| Write::new(tables));
            write.put(Table::Inputs, ledger::entry_key(id), ledger::encode_entry(&now));
            if let Some(note) = note {
                write.put(Table::Meta, external::ROW, note);
            }
            crash::point("register.before_commit");
            self.poison_on_error(commit(tables, write, "register.before_sync"))?;
            Ok(prepared.totals)
        });
        match done {
            Ok(totals) => writer.totals = totals,
            Err(error) => {
                match old {
                    Some(old) => writer.ledger[index] = old,
                    None => writer.ledger.truncate(index),
                }
                return Err(error);
            }
        }
        crash::point("register.after_sync");
        // The old digest is no longer valid: a growing file now has the digest of its present
        // content.
        if let Some(old) = old {
            writer.by_digest.remove(&old.digest);
        }
        writer.find_by_digest(id);
        self.publish(tables, writer);
        Ok(())
    }

    fn publish(&self, tables: &Arc<Tables>, writer: &Writer) {
        let snapshot = Snapshot::new(&self.dir, Cut::take(tables), writer.totals.clone());
        *self.published.write() = snapshot;
        self.last_epoch.committed(writer.totals.epoch);
    }

    /// Returns the tables, if they may be written to.
    fn usable(&self, writer: &Writer) -> Result<Arc<Tables>, ApplyError> {
        let poisoned = self.poisoned.read();
        match (&writer.tables, &*poisoned) {
            (Some(tables), None) => Ok(tables.clone()),
            (_, since) => Err(ApplyError::Poisoned {
                dir: self.dir.display().to_string(),
                since: since.clone().unwrap_or_default(),
            }),
        }
    }

    /// Refuses further writes after a broken invariant, because memory is no longer trusted until
    /// the index is opened again. Nothing of the step was committed.
    fn poison_on_broken<T>(&self, result: Result<T, ApplyError>) -> Result<T, ApplyError> {
        result.inspect_err(|error| self.poison_if_broken(error))
    }

    fn poison_if_broken(&self, error: &ApplyError) {
        if error.is_broken() {
            tracing::error!(%error, "the index refuses writes until it is reopened");
            *self.poisoned.write() = Some(error.to_string());
        }
    }

    fn poison_on_error(&self, result: fjall::Result<()>) -> Result<(), ApplyError> {
        result.map_err(|error| self.failed_to_write(&error))
    }

    /// Refuses further writes until the index is opened again, because memory and disk may differ.
    fn failed_to_write(&self, error: &fjall::Error) -> ApplyError {
        let dir = self.dir.display().to_string();
        let error = if is_caused_by_full_disk(error, &self.dir) {
            ApplyError::DiskFull { dir }
        } else {
            ApplyError::Engine {
                doing: "write",
                dir,
                detail: ErrorMessage(error).to_string(),
            }
        };
        tracing::error!(%error, "the index refuses writes until it is reopened");
        *self.poisoned.write() = Some(error.to_string());
        error
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let Some(tables) = self.writer.get_mut().tables.take() else {
            return;
        };
        // The rows in memory may differ from the committed ones, so only the journal counts.
        if self.poisoned.get_mut().is_some() {
            return;
        }
        // Releases the published handle, so that closing finds the last one.
        *self.published.get_mut() =
            Snapshot::new(&self.dir, Cut::closed("it was closed"), TotalsRow::default());
        let closed = tables
            .settle_to_close()
            .and_then(|()| match Arc::into_inner(tables) {
                Some(tables) => Ok(tables.close()?),
                // A reader is still open: the journal stays and is replayed at the next opening.
                None => Ok(()),
            });
        let Err(error) = closed else { return };
        if is_caused_by_full_disk(&error, &self.dir) {
            tracing::warn!(
                dir = %self.dir.display(),
                "the disk is full: committed data is safe in the journal, but nothing can be loaded until \
                 space is freed"
            );
        } else {
            tracing::warn!(
                %error,
                dir = %self.dir.display(),
                "cannot close the index cleanly; its journal is replayed when it is opened"
            );
        }
    }
}

/// Formats epochs as text: `epoch 4`, `epochs 4 to 6`.
pub fn lost_epochs_text(epochs: &RangeInclusive<u64>) -> String {
    if epochs.start() == epochs.end() {
        format!("epoch {}", epochs.start())
    } else {
        format!("epochs {} to {}", epochs.start(), epochs.end())
    }
}

/// Writes and syncs.
fn commit(tables: &Tables, write: Write<'_>, before_sync: &'static str) -> fjall::Result<()> {
    commit_with(tables, write, || crash::point(before_sync))
}

fn commit_with(tables: &Tables, write: Write<'_>, before_sync: impl FnOnce()) -> fjall::Result<()> {
    // Now the batch is in the journal, but perhaps only in the system's memory.
    write.commit()?;
    before_sync();
    // One sync for the whole epoch: the journal holds all tables, in order.
    tables.db.persist(PersistMode::SyncData)?;
    tables.written();
    Ok(())
}
