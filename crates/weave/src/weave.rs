//! The writer: registering inputs, applying epochs, handing out snapshots.
//!
//! Invariants:
//! - one epoch at a time (the writer's lock), in one engine batch;
//! - what readers see (`published`) is replaced only after the batch is durable;
//! - after a failed commit or sync nothing more is written by this process: memory and disk may differ.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use extract::{Capture, LinkScope};
use fjall::PersistMode;
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;

use crate::chain::{Chain, StepClock, Woven};
use crate::cut::Cut;
use crate::domain_of::DomainOf;
use crate::error::{is_disk_full, probe_disk_full};
use crate::ledger;
use crate::tables::{Table, Tables};
use crate::views::totals::TotalsRow;
use crate::views::{ties, totals};
use crate::write::Write;
use crate::{
    ApplyError, Batch, EpochReport, InputId, InputState, LedgerEntry, OpenError, Settings, Snapshot,
    SnapshotError, crash, place,
};

/// The index of one archive. Cheap to clone; one writer at a time, any number of snapshots.
#[derive(Clone)]
pub struct Weave {
    inner: Arc<Inner>,
}

struct Inner {
    dir: PathBuf,
    link_scope: LinkScope,
    settings: Settings,
    tables: Arc<Tables>,
    published: RwLock<Snapshot>,
    writer: Mutex<Writer>,
}

/// What only the writer knows, all of it also on disk.
struct Writer {
    /// Entry of input `i + 1`.
    ledger: Vec<LedgerEntry>,
    by_digest: FxHashMap<String, InputId>,
    totals: TotalsRow,
    domain_of: DomainOf,
    /// Why nothing is written any more.
    poisoned: Option<String>,
}

impl Weave {
    /// Opens or creates the index in `dir`. `links` is fixed when it is created (`None`: all links, or
    /// whatever it was created with).
    ///
    /// # Errors
    /// [`OpenError`]: not ours, newer, open elsewhere, other link scope, full disk.
    pub fn open(dir: &Path, links: Option<LinkScope>, settings: Settings) -> Result<Weave, OpenError> {
        let (tables, link_scope) = place::open(dir, links, &settings)?;
        let cut = Cut::take(&tables);
        let ledger: Vec<LedgerEntry> = ledger::read_all(&cut)?
            .into_iter()
            .map(|(_, entry)| entry)
            .collect();
        let by_digest = ledger
            .iter()
            .zip(1..)
            .map(|(e, id)| (e.digest.clone(), InputId(id)))
            .collect();
        let totals = totals::read(&cut)?;
        let writer = Writer {
            ledger,
            by_digest,
            totals: totals.clone(),
            domain_of: DomainOf::default(),
            poisoned: None,
        };
        Ok(Weave {
            inner: Arc::new(Inner {
                dir: dir.to_owned(),
                link_scope,
                settings,
                published: RwLock::new(Snapshot::new(dir, cut, totals)),
                tables,
                writer: Mutex::new(writer),
            }),
        })
    }

    /// Link scope this archive was created with.
    pub fn link_scope(&self) -> LinkScope {
        self.inner.link_scope
    }

    /// Finds the input by digest, or lets `entry` continue the unfinished input `continues` (whose bytes are a
    /// prefix of the new ones: the caller has compared digests), or registers it as given; durable when it
    /// returns.
    ///
    /// An input found by digest keeps its name, but takes the new location. One that is continued, also one
    /// that was only renamed since, takes name, location, digest and size of `entry` and keeps its position
    /// and sums.
    ///
    /// # Errors
    /// [`ApplyError`], as [`Weave::apply`].
    pub fn register_input(
        &self,
        entry: LedgerEntry,
        continues: Option<InputId>,
    ) -> Result<(InputId, LedgerEntry), ApplyError> {
        let inner = &*self.inner;
        let mut writer = inner.writer.lock();
        inner.check_usable(&writer)?;
        let known = writer.by_digest.get(&entry.digest).copied();
        let (id, now) = match known.or(continues) {
            Some(id) => {
                let old = writer.entry(id)?;
                let mut now = old.clone();
                now.location = entry.location;
                now.missing = String::new();
                if known.is_none() || known == continues {
                    now.input = entry.input;
                    now.digest = entry.digest;
                    now.size = entry.size;
                }
                if now == *old {
                    return Ok((id, now));
                }
                (id, now)
            }
            None => (InputId(writer.ledger.len() as u32 + 1), entry),
        };
        inner.register(&mut writer, id, now.clone())?;
        Ok((id, now))
    }

    /// The input last registered with content from `location`, if any was.
    pub fn input_at(&self, location: &str) -> Option<(InputId, LedgerEntry)> {
        let writer = self.inner.writer.lock();
        let is_there = |entry: &LedgerEntry| entry.location == location && entry.has_content();
        let index = writer.ledger.iter().rposition(is_there)?;
        Some((InputId(index as u32 + 1), writer.ledger[index].clone()))
    }

    /// Notes in the row of an input that there was nothing to read when it was asked for again, and why; what was
    /// loaded stays. Durable when it returns; registering the input's content again takes the note away.
    ///
    /// # Errors
    /// [`ApplyError`], as [`Weave::apply`].
    pub fn note_missing(&self, id: InputId, why: &str) -> Result<(), ApplyError> {
        let inner = &*self.inner;
        let mut writer = inner.writer.lock();
        inner.check_usable(&writer)?;
        let mut now = writer.entry(id)?.clone();
        if now.missing == why {
            return Ok(());
        }
        now.missing = why.to_owned();
        inner.register(&mut writer, id, now)
    }

    /// Inputs in state `loading` or `failed`, to be compared by prefix digest with a grown or renamed file.
    ///
    /// # Errors
    /// None at present; the ledger is held in memory.
    pub fn unfinished_inputs(&self) -> Result<Vec<(InputId, LedgerEntry)>, SnapshotError> {
        let writer = self.inner.writer.lock();
        let entries = writer
            .ledger
            .iter()
            .zip(1..)
            .map(|(entry, id)| (InputId(id), entry.clone()));
        Ok(entries
            .filter(|(_, e)| matches!(e.state, InputState::Loading | InputState::Failed { .. }))
            .collect())
    }

    /// One epoch: atomic, durable when it returns. A batch that changes nothing is no epoch.
    ///
    /// # Errors
    /// [`ApplyError`]: after any but [`ApplyError::UnknownInput`] and [`ApplyError::Snapshot`], which change
    /// nothing, the index must be opened again; it then holds the epoch whole or not at all.
    pub fn apply(&self, batch: Batch) -> Result<EpochReport, ApplyError> {
        let inner = &*self.inner;
        let mut writer = inner.writer.lock();
        inner.check_usable(&writer)?;
        let mut clock = StepClock::start();
        let room = inner.tables.wait_for_room();
        inner.poison_on_error(&mut writer, room)?;
        clock.end("room");
        let cut = inner.published.read().cut().clone();
        let mut woven = inner.weave(&mut writer, &cut, batch, Vec::new(), &mut clock)?;
        let Some(write) = woven.write.take() else {
            return Ok(woven.report);
        };
        crash::point("apply.before_commit");
        let committed = inner.commit(write, "apply.before_sync");
        inner.poison_on_error(&mut writer, committed)?;
        crash::point("apply.before_publish");
        writer.totals = woven.totals;
        for (id, entry) in woven.ledger {
            writer.ledger[id.0 as usize - 1] = entry;
        }
        inner.publish(&writer);
        clock.end("commit");
        woven.report.step_times = clock.times;
        Ok(woven.report)
    }

    /// Writes what is in memory to its tables, so that the next opening has little journal to read; for the end of
    /// a load. Closing (dropping the last handle) does the same. Nothing depends on it.
    ///
    /// # Errors
    /// [`ApplyError`], as [`Weave::apply`].
    pub fn settle(&self) -> Result<(), ApplyError> {
        let inner = &*self.inner;
        let mut writer = inner.writer.lock();
        inner.check_usable(&writer)?;
        let settled = inner.tables.settle();
        inner.poison_on_error(&mut writer, settled)
    }

    /// A consistent read view of the newest epoch.
    pub fn snapshot(&self) -> Snapshot {
        self.inner.published.read().clone()
    }

    /// Bytes on disk, per table and for the journal.
    pub fn disk_bytes(&self) -> Vec<(&'static str, u64)> {
        self.inner.tables.disk_bytes()
    }
}

impl Inner {
    fn weave(
        &self,
        writer: &mut Writer,
        cut: &Cut,
        batch: Batch,
        retied: Vec<(InputId, Capture)>,
        clock: &mut StepClock,
    ) -> Result<Woven<'_>, ApplyError> {
        let chain = Chain {
            tables: &self.tables,
            ranking_rows_max: self.settings.ranking_rows_max,
            cut,
            totals: &writer.totals,
            ledger: &writer.ledger,
            domain_of: &mut writer.domain_of,
        };
        chain.weave(batch, retied, clock)
    }

    /// Writes a new or changed entry of the ledger. Where an input changes its name, versions that hang on names
    /// are decided again in the same step.
    fn register(&self, writer: &mut Writer, id: InputId, now: LedgerEntry) -> Result<(), ApplyError> {
        let index = id.0 as usize - 1;
        let old = writer.ledger.get(index).cloned();
        let cut = self.published.read().cut().clone();
        let is_renamed = old.as_ref().is_some_and(|old| old.input != now.input);
        let retied = if is_renamed {
            ties::of_input(&cut, id)?
        } else {
            Vec::new()
        };
        match &old {
            Some(_) => writer.ledger[index] = now.clone(),
            None => writer.ledger.push(now.clone()),
        }
        let woven = self.weave(writer, &cut, Batch::default(), retied, &mut StepClock::start());
        let done = woven.and_then(|woven| {
            let mut write = woven.write.unwrap_or_else(|| Write::new(&self.tables));
            write.put(Table::Inputs, ledger::entry_key(id), ledger::encode_entry(&now));
            crash::point("register.before_commit");
            let committed = self.commit(write, "register.before_sync");
            self.poison_on_error(writer, committed)?;
            Ok(woven.totals)
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
        if let Some(old) = old {
            writer.by_digest.remove(&old.digest);
        }
        writer.by_digest.insert(now.digest, id);
        self.publish(writer);
        Ok(())
    }

    fn commit(&self, write: Write<'_>, before_sync: &'static str) -> fjall::Result<()> {
        write.commit()?;
        crash::point(before_sync);
        self.tables.db.persist(PersistMode::SyncData)
    }

    fn publish(&self, writer: &Writer) {
        let snapshot = Snapshot::new(&self.dir, Cut::take(&self.tables), writer.totals.clone());
        *self.published.write() = snapshot;
    }

    fn check_usable(&self, writer: &Writer) -> Result<(), ApplyError> {
        match &writer.poisoned {
            None => Ok(()),
            Some(since) => Err(ApplyError::Poisoned {
                dir: self.dir.display().to_string(),
                since: since.clone(),
            }),
        }
    }

    fn poison_on_error(&self, writer: &mut Writer, result: fjall::Result<()>) -> Result<(), ApplyError> {
        let Err(error) = result else { return Ok(()) };
        let dir = self.dir.display().to_string();
        let is_unexplained = matches!(error, fjall::Error::Poisoned);
        let error = if is_disk_full(&error) || (is_unexplained && probe_disk_full(&self.dir)) {
            ApplyError::DiskFull { dir }
        } else {
            ApplyError::Engine {
                doing: "write",
                dir,
                detail: error.to_string(),
            }
        };
        tracing::error!(%error, "index refuses writes until it is opened again");
        writer.poisoned = Some(error.to_string());
        Err(error)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.writer.get_mut().poisoned.is_none()
            && let Err(error) = self.tables.settle()
        {
            tracing::warn!(%error, dir = %self.dir.display(), "left to the journal");
        }
    }
}

impl Writer {
    fn entry(&self, id: InputId) -> Result<&LedgerEntry, ApplyError> {
        let index = (id.0 as usize).wrapping_sub(1);
        self.ledger.get(index).ok_or(ApplyError::UnknownInput(id))
    }
}
