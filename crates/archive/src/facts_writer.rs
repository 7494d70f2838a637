//! The facts of an archive: every capture and link as a row of open tables (see [`facts`]) that
//! follow its epochs.
//!
//! Invariant: at most one epoch is committed in the index and not yet in the tables. Its note is in
//! the index. It is published when the archive is opened, or before the next epoch is indexed. If the
//! tables are in a store, opening does not wait for it: a process that opens the archive to write
//! publishes on another thread, and one that only asks does not publish.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use extract::Capture;
use facts::{Fact, Facts, FactsError, FactsTable, FileDamage, Note, Settings, Source, TakenBack};
use index::{
    Batch, Epoch, EpochReport, Index, InputId, LedgerRow, NewCaptures, NoteTakenDown, Reread, RollBack,
    TakeBackError, TakedownOutcome, TakedownRequest,
};
use inputs::is_address;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use system::FileStore;

use crate::question::FactsPlace;

/// How long a question waits for tables in a store. Reading continues afterwards, for the next
/// question.
const SUMS_TIME_MAX: Duration = Duration::from_secs(5);

/// The settings in `weft.json` about the facts of an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FactsSettings {
    /// Identifier of the archive. The tables carry it, so that no other archive writes them.
    pub(crate) id: String,
    /// Directory or address if they are not in the archive's own directory, in the form of
    /// [`crate::path_text`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) place: Option<String>,
    /// Whether texts are kept too.
    #[serde(default)]
    pub(crate) texts: bool,
}

impl FactsSettings {
    /// Makes the settings of a new archive; `None` if it keeps no facts.
    pub(crate) fn new(place: &FactsPlace, texts: bool) -> Option<FactsSettings> {
        let place = match place {
            FactsPlace::None => return None,
            FactsPlace::Archive => None,
            FactsPlace::At(place) => Some(place.clone()),
        };
        Some(FactsSettings {
            id: facts::new_id(),
            place,
            texts,
        })
    }

    /// Returns the choice from which the settings were made.
    pub(crate) fn choice(settings: Option<&FactsSettings>) -> FactsPlace {
        match settings {
            None => FactsPlace::None,
            Some(FactsSettings { place: None, .. }) => FactsPlace::Archive,
            Some(FactsSettings {
                place: Some(place), ..
            }) => FactsPlace::At(place.clone()),
        }
    }
}

/// Why an epoch, or its facts, could not be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EpochError {
    #[error(transparent)]
    Index(#[from] index::ApplyError),
    #[error("facts: {0}")]
    Facts(#[from] FactsError),
    #[error(
        "facts: the note about the last facts in the index has an unknown form; load with the newest weft that loaded \
         into this archive"
    )]
    Note,
}

/// Why the sizes of the tables cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SumsError {
    #[error(transparent)]
    Facts(#[from] FactsError),
    #[error(transparent)]
    Thread(#[from] io::Error),
    #[error(
        "the tables in {address} could not be read within {} s; try again",
        SUMS_TIME_MAX.as_secs()
    )]
    Timeout { address: String },
    #[error("reading the tables in {0} failed")]
    Panic(String),
}

/// The tables of an open archive.
pub(crate) struct FactsWriter {
    tables: Arc<Tables>,
    /// The pending answer of tables in a store for which a question waited too long.
    late_sums: Mutex<Option<LateSums>>,
}

/// Sums read by another thread.
type LateSums = Receiver<Result<Vec<FactsTable>, FactsError>>;

/// The state shared with a separate thread, which may continue after the archive is closed:
/// publishing is idempotent.
struct Tables {
    facts: Facts,
    /// The address of the tables, if they are in a store.
    address: Option<String>,
    last: Mutex<Last>,
}

/// What is known about the last epoch that had facts.
enum Last {
    /// It is in the tables.
    Published,
    /// It is committed, but possibly not in all tables.
    Noted(Box<Note>),
    /// Only the index knows whether it is committed: a commit failed, or the archive was just
    /// opened.
    Unknown,
}

/// The purpose for which an archive is opened, as far as facts are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenMode {
    /// Only reading; writes are forbidden.
    Reading,
    /// Questions. The last note is published only if the tables are local.
    Asking,
    /// Loads. The last note is published.
    Writing,
}

impl FactsWriter {
    /// Opens the tables at their place. Publishes the last note, as far as `opened_for` allows. If
    /// that fails, it is retried before the next epoch is indexed.
    pub(crate) fn open(
        settings: &FactsSettings,
        place: Arc<dyn FileStore>,
        index: &Index,
        opened_for: OpenMode,
    ) -> FactsWriter {
        let mut of_tables = Settings::default();
        of_tables.texts = settings.texts;
        let tables = Arc::new(Tables {
            facts: Facts::new(place, settings.id.clone(), &of_tables),
            address: settings.place.clone().filter(|place| is_address(place)),
            last: Mutex::new(Last::Unknown),
        });
        let in_store = tables.address.is_some();
        match opened_for {
            OpenMode::Reading => {}
            OpenMode::Asking if in_store => {}
            OpenMode::Writing if in_store => tables.clone().publish_in_thread(index),
            OpenMode::Asking | OpenMode::Writing => {
                unpublished(tables.publish(index, &mut tables.last.lock()).err())
            }
        }
        FactsWriter {
            tables,
            late_sums: Mutex::default(),
        }
    }

    /// Removes the facts of epochs that the index has lost, so that they can be loaded again. If
    /// that is impossible, the next epoch fails with the reason.
    pub(crate) fn roll_back(&self, to: Epoch) {
        if let Err(error) = self.tables.facts.roll_back(to.0) {
            tracing::warn!(%error, "cannot remove the facts of epochs that the index lost from their tables");
        }
    }

    /// Returns the files that contradict the logs of the tables. With `has_rows`, there must be
    /// tables.
    pub(crate) fn damages(&self, has_rows: bool) -> Result<Vec<FileDamage>, FactsError> {
        self.tables.facts.damages(has_rows)
    }

    /// Publishes the last note, if that was not done.
    pub(crate) fn publish_noted(&self, index: &Index) -> Result<(), EpochError> {
        self.tables.publish(index, &mut self.tables.last.lock())
    }

    /// Runs `commit`, which commits a note in the index, and publishes the note. Only one such
    /// operation runs at a time: the index keeps only the last note, and loads write to it on one thread
    /// and register inputs on another.
    fn in_turn<T, E: From<EpochError>>(
        &self,
        index: &Index,
        commit: impl FnOnce(&mut Option<Note>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut last = self.tables.last.lock();
        self.tables.publish(index, &mut last)?;
        let mut note = None;
        let done = commit(&mut note);
        *last = match (&done, note) {
            (Err(_), _) => Last::Unknown,
            (Ok(_), Some(note)) => Last::Noted(Box::new(note)),
            (Ok(_), None) => Last::Published,
        };
        let done = done?;
        self.tables.publish(index, &mut last)?;
        Ok(done)
    }

    /// Applies a batch together with its facts.
    pub(crate) fn apply(&self, index: &Index, batch: Batch) -> Result<EpochReport, EpochError> {
        self.in_turn(index, |noted| {
            let mut stage = |arriving: NewCaptures<'_>| {
                let note = self.stage(arriving).map_err(EpochError::Facts)?;
                Ok(noted.insert(note).to_bytes())
            };
            Ok(index.apply_with_external(batch, Some(&mut stage))?)
        })
    }

    /// Takes an input back ([`Index::take_back`]), including its facts.
    pub(crate) fn take_back<E: From<EpochError> + From<TakeBackError>>(
        &self,
        index: &Index,
        (id, to): (InputId, &RollBack),
        reread: &mut Reread<'_>,
    ) -> Result<(), E> {
        let taken_back = TakenBack {
            input_id: id.0,
            from_offset: to.bytes_done,
        };
        let note = |epoch: Epoch| Note::of_taken_back(epoch.0, taken_back);
        self.in_turn(index, |noted| {
            let report = index.take_back(id, to, reread, Some(&|epoch| note(epoch).to_bytes()))?;
            *noted = Some(note(report.epoch));
            Ok(())
        })
    }

    /// Takes captures down ([`Index::take_down`]), including their facts.
    pub(crate) fn take_down<E: From<EpochError> + From<TakeBackError>>(
        &self,
        index: &Index,
        asked: &TakedownRequest,
        reread: &mut Reread<'_>,
    ) -> Result<TakedownOutcome, E> {
        let note = |epoch: Epoch, captures: &[(InputId, u64)]| {
            let captures = captures.iter().map(|(input, offset)| (input.0, *offset));
            Note::of_taken_down(epoch.0, captures)
        };
        self.remove_with(index, note, |note| index.take_down(asked, reread, Some(note)))
    }

    /// Forgets inputs ([`Index::forget`]), including their facts.
    pub(crate) fn forget<E: From<EpochError> + From<TakeBackError>>(
        &self,
        index: &Index,
        ids: &[InputId],
        reread: &mut Reread<'_>,
    ) -> Result<(), E> {
        let note = |epoch: Epoch, captures: &[(InputId, u64)]| {
            Note::of_forgotten(epoch.0, captures.iter().map(|(input, _)| input.0))
        };
        self.remove_with(index, note, |note| {
            index.forget(ids, reread, Some(note)).map(drop)
        })
    }

    /// Runs `remove`, which removes captures from the index, and removes their facts, with the note
    /// that `note_of` returns for these captures.
    fn remove_with<T, E: From<EpochError> + From<TakeBackError>>(
        &self,
        index: &Index,
        note_of: impl Fn(Epoch, &[(InputId, u64)]) -> Note,
        remove: impl FnOnce(&NoteTakenDown<'_>) -> Result<T, TakeBackError>,
    ) -> Result<T, E> {
        self.in_turn(index, |noted| {
            let written = Mutex::new(None);
            let note = |epoch: Epoch, captures: &[(InputId, u64)]| {
                written.lock().insert(note_of(epoch, captures)).to_bytes()
            };
            let removed = remove(&note)?;
            *noted = written.into_inner();
            Ok(removed)
        })
    }

    /// Removes files and commits that the tables no longer need. Returns descriptions of those that
    /// remain.
    pub(crate) fn purge(&self, index: &Index) -> Result<Vec<String>, EpochError> {
        let mut last = self.tables.last.lock();
        self.tables.publish(index, &mut last)?;
        if let Some(address) = &self.tables.address {
            return Ok(vec![format!(
                "the tables in {address} keep old files until they are vacuumed (weft sql maintain)"
            )]);
        }
        let purged = self.tables.facts.purge()?;
        let stays = |log: String| {
            format!("{log} has a checkpoint of another program, which may hold column bounds of removed rows")
        };
        Ok(purged.checkpoints.into_iter().map(stays).collect())
    }

    /// Registers an input ([`Index::register_input`]). If it gets another name, so do its facts.
    pub(crate) fn register(
        &self,
        index: &Index,
        entry: LedgerRow,
        continues: Option<InputId>,
    ) -> Result<(InputId, LedgerRow), EpochError> {
        self.in_turn(index, |noted| {
            let mut rename = |id: InputId, name: &str| {
                let epoch = index.snapshot().epoch().0;
                let note = self
                    .tables
                    .facts
                    .note_of_renamed(epoch, id.0, name)
                    .map_err(EpochError::Facts)?;
                Ok(noted.insert(note).to_bytes())
            };
            Ok(index.register_input_with(entry, continues, Some(&mut rename))?)
        })
    }

    fn stage<'a>(&self, arriving: NewCaptures<'a>) -> Result<Note, FactsError> {
        let fact = |(id, entry, capture): (InputId, &'a LedgerRow, &'a Capture)| Fact {
            source: Source {
                id: id.0.into(),
                name: &entry.input,
                digest: &entry.digest,
                collection: &entry.collection,
            },
            capture,
        };
        let facts: Vec<Fact<'_>> = arriving.captures().map(fact).collect();
        self.tables.facts.stage(arriving.epoch.0, &facts)
    }

    /// Returns the sizes of the tables.
    pub(crate) fn sums(&self) -> Result<Vec<FactsTable>, SumsError> {
        let Some(address) = &self.tables.address else {
            return Ok(self.tables.facts.sums()?);
        };
        let late = || SumsError::Timeout {
            address: address.clone(),
        };
        // Another question would wait just as long, and then start a second read.
        let mut waiting = self.late_sums.try_lock_for(SUMS_TIME_MAX).ok_or_else(late)?;
        let answer = match waiting.take() {
            Some(answer) => answer,
            None => self.tables.clone().sums_in_thread()?,
        };
        match answer.recv_timeout(SUMS_TIME_MAX) {
            Ok(sums) => Ok(sums?),
            Err(RecvTimeoutError::Timeout) => {
                *waiting = Some(answer);
                Err(late())
            }
            Err(RecvTimeoutError::Disconnected) => Err(SumsError::Panic(address.clone())),
        }
    }
}

impl Tables {
    /// Publishes the committed note, if that was not done.
    fn publish(&self, index: &Index, last: &mut Last) -> Result<(), EpochError> {
        if let Last::Unknown = *last {
            *last = noted(index)?;
        }
        Ok(self.publish_known(last)?)
    }

    fn publish_known(&self, last: &mut Last) -> Result<(), FactsError> {
        if let Last::Noted(note) = last
            && !self.facts.is_published(note)?
        {
            self.facts.publish(note)?;
        }
        *last = Last::Published;
        Ok(())
    }

    /// Publishes on a separate thread, so that opening does not wait for a store.
    fn publish_in_thread(self: Arc<Tables>, index: &Index) {
        // Read the index here, because the thread must not keep it open.
        let found = match noted(index) {
            Ok(found) => found,
            Err(error) => return unpublished(Some(error)),
        };
        let is_published = matches!(found, Last::Published);
        *self.last.lock() = found;
        if is_published {
            return;
        }
        let begun = in_thread(move || {
            let mut last = self.last.lock();
            if !matches!(*last, Last::Unknown) {
                unpublished(self.publish_known(&mut last).err().map(EpochError::Facts));
            }
        });
        if let Err(error) = begun {
            tracing::warn!(%error, "cannot publish the facts of the last epoch; the next load does it");
        }
    }

    /// Reads the sizes of the tables on a separate thread.
    fn sums_in_thread(self: Arc<Tables>) -> io::Result<LateSums> {
        let (sender, receiver) = sync_channel(1);
        in_thread(move || {
            // The receiver is gone if the archive was closed.
            let _ = sender.send(self.facts.sums());
        })?;
        Ok(receiver)
    }
}

fn in_thread(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new()
        .name("facts".into())
        .spawn(work)
        .map(drop)
}

/// Returns what the index notes about the last epoch that had facts.
fn noted(index: &Index) -> Result<Last, EpochError> {
    let note = index
        .snapshot()
        .external_note()
        .map_err(index::ApplyError::Snapshot)?;
    match note.as_deref().map(Note::of_bytes) {
        None => Ok(Last::Published),
        Some(Some(note)) => Ok(Last::Noted(Box::new(note))),
        Some(None) => Err(EpochError::Note),
    }
}

fn unpublished(error: Option<EpochError>) {
    if let Some(error) = error {
        tracing::warn!(%error, "cannot publish the facts of the last epoch; the next load tries again");
    }
}
