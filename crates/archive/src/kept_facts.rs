//! The facts of an archive: every capture and link as a row of open tables (see [`facts`]), which move with its epochs.
//!
//! Invariant: at most one epoch is committed in the index and not yet in the tables. Its note is in the index; it is published when
//! the archive is opened, or before anything more is woven.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use extract::Capture;
use facts::{Fact, Facts, FactsError, LocalPlace, Note, Settings, Source, TableSum, TakenBack};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use weave::{
    Arriving, Batch, CaptureRow, Epoch, EpochReport, InputId, LedgerEntry, TakeBack, TakeBackError, Weave,
};

use crate::question::FactsPlace;

/// What `weft.json` says about the facts of an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FactsSettings {
    /// Identifier of the archive, which the tables carry: no other archive writes them.
    pub(crate) id: String,
    /// Directory, if they are not in the archive's own; in the form of [`crate::path_text`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) place: Option<String>,
    /// Whether texts are kept too.
    #[serde(default)]
    pub(crate) texts: bool,
}

impl FactsSettings {
    /// Of a new archive; `None` where it keeps none.
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

    /// The choice that was made.
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

/// Why an epoch, or its facts, were not written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WeaveError {
    #[error(transparent)]
    Index(#[from] weave::ApplyError),
    #[error("facts: {0}")]
    Facts(#[from] FactsError),
    #[error(
        "facts: what the index notes about the last ones is not understood; load with the newest program that loaded into this archive"
    )]
    Note,
}

fn in_facts(error: FactsError) -> String {
    format!("facts: {error}")
}

/// The tables of an open archive.
pub(crate) struct KeptFacts {
    facts: Facts,
    last: Mutex<Last>,
}

/// What is known of the last epoch that had facts.
enum Last {
    /// It is in the tables.
    Published,
    /// It is committed, and perhaps not yet in all tables.
    Noted(Note),
    /// Whether it is committed, only the index knows: committing failed, or the archive was just opened.
    Unknown,
}

impl KeptFacts {
    /// Opens the tables in their place, `dir` unless the settings name another. If the archive may be written, what an epoch noted last is
    /// published; if that fails, it is tried again before anything more is woven.
    pub(crate) fn open(settings: &FactsSettings, dir: &Path, weave: &Weave, is_read_only: bool) -> KeptFacts {
        let elsewhere: Option<PathBuf> = settings.place.as_deref().map(crate::path_of);
        let place = LocalPlace::new(elsewhere.as_deref().unwrap_or(dir));
        let mut of_tables = Settings::default();
        of_tables.texts = settings.texts;
        let kept = KeptFacts {
            facts: Facts::new(Arc::new(place), settings.id.clone(), &of_tables),
            last: Mutex::new(Last::Unknown),
        };
        if !is_read_only && let Err(error) = kept.publish(weave, &mut kept.last.lock()) {
            tracing::warn!(%error, "facts of the last epoch are not in their tables; the next load tries again");
        }
        kept
    }

    /// Publishes what is committed and not yet published.
    fn publish(&self, weave: &Weave, last: &mut Last) -> Result<(), WeaveError> {
        if let Last::Unknown = *last {
            let note = weave
                .snapshot()
                .note_beside()
                .map_err(weave::ApplyError::Snapshot)?;
            *last = match note.as_deref().map(Note::of_bytes) {
                None => Last::Published,
                Some(Some(note)) => Last::Noted(note),
                Some(None) => return Err(WeaveError::Note),
            };
        }
        if let Last::Noted(note) = last
            && !self.facts.has(note)?
        {
            self.facts.publish(note)?;
        }
        *last = Last::Published;
        Ok(())
    }

    /// Does what commits a note in the index, and publishes it. Nothing else does so meanwhile: the index keeps the last note alone,
    /// and loads weave on one thread and register inputs on another.
    fn in_turn<T, E: From<WeaveError>>(
        &self,
        weave: &Weave,
        commit: impl FnOnce(&mut Option<Note>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut last = self.last.lock();
        self.publish(weave, &mut last)?;
        let mut note = None;
        let done = commit(&mut note);
        *last = match (&done, note) {
            (Err(_), _) => Last::Unknown,
            (Ok(_), Some(note)) => Last::Noted(note),
            (Ok(_), None) => Last::Published,
        };
        let done = done?;
        self.publish(weave, &mut last)?;
        Ok(done)
    }

    /// Weaves a batch together with its facts.
    pub(crate) fn apply(&self, weave: &Weave, batch: Batch) -> Result<EpochReport, WeaveError> {
        self.in_turn(weave, |noted| {
            let mut stage = |arriving: Arriving<'_>| {
                let note = self.stage(arriving).map_err(in_facts)?;
                Ok(noted.insert(note).to_bytes())
            };
            Ok(weave.apply_with(batch, Some(&mut stage))?)
        })
    }

    /// Takes an input back ([`Weave::take_back`]), its facts too.
    pub(crate) fn take_back<E: From<WeaveError> + From<TakeBackError>>(
        &self,
        weave: &Weave,
        (id, to): (InputId, &TakeBack),
        reread: &mut dyn FnMut(&CaptureRow) -> Result<Capture, String>,
    ) -> Result<(), E> {
        let taken_back = TakenBack {
            input_id: id.0,
            from_offset: to.bytes_done,
        };
        let note = |epoch: Epoch| Note::of_taken_back(epoch.0, taken_back);
        self.in_turn(weave, |noted| {
            let report = weave.take_back(id, to, reread, Some(&|epoch| note(epoch).to_bytes()))?;
            *noted = Some(note(report.epoch));
            Ok(())
        })
    }

    /// Registers an input ([`Weave::register_input`]); where it gets another name, its facts get it too.
    pub(crate) fn register(
        &self,
        weave: &Weave,
        entry: LedgerEntry,
        continues: Option<InputId>,
    ) -> Result<(InputId, LedgerEntry), WeaveError> {
        self.in_turn(weave, |noted| {
            let mut rename = |id: InputId, name: &str| {
                let epoch = weave.snapshot().epoch().0;
                let note = self.facts.note_of_renamed(epoch, id.0, name).map_err(in_facts)?;
                Ok(noted.insert(note).to_bytes())
            };
            Ok(weave.register_input_with(entry, continues, Some(&mut rename))?)
        })
    }

    fn stage<'a>(&self, arriving: Arriving<'a>) -> Result<Note, FactsError> {
        let fact = |(id, entry, capture): (InputId, &'a LedgerEntry, &'a Capture)| Fact {
            source: Source {
                id: id.0.into(),
                name: &entry.input,
                digest: &entry.digest,
                collection: &entry.collection,
            },
            capture,
        };
        let facts: Vec<Fact<'_>> = arriving.captures().map(fact).collect();
        self.facts.stage(arriving.epoch.0, &facts)
    }

    /// How large the tables are.
    pub(crate) fn sums(&self) -> Result<Vec<TableSum>, FactsError> {
        self.facts.sums()
    }
}
