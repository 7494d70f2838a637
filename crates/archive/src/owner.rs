//! This process as the owner of an archive.
//!
//! Invariant: index and search index are open only while the lock is held. Dropping the owner stops
//! the jobs, ends the socket's threads, closes index and search index, and releases the lock, in
//! this order.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use access::Groups;
use extract::{DocumentReader, DocumentScope, LinkScope};
use index::Snapshot;
use index::TakedownRules;
use inputs::Sources;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::cut_epochs::CutEpochs;
use crate::facts_writer::{FactsSettings, OpenMode};
use crate::files::{ArchiveSettings, FORMAT, Files};
use crate::from_facts::{self, FactsImport, ImportLine, ImportLineError};
use crate::jobs::Job;
use crate::lock::Lock;
use crate::memory::Memory;
use crate::open_archive::OpenArchive;
use crate::question::{Answer, DumpRequest, Question};
use crate::recounting::Recounting;
use crate::socket::server::{Answerer, Server};
use crate::{AskError, OpenError, ask, facts_place, load, posts};

/// Settings of a new archive.
#[derive(Debug, Clone)]
pub(crate) struct NewArchive {
    pub(crate) links: LinkScope,
    pub(crate) documents: DocumentScope,
    pub(crate) facts: Option<FactsSettings>,
}

/// How an owner opens its archive.
#[derive(Debug, Clone)]
pub(crate) struct Opening {
    /// If there is no archive, create one with these settings.
    pub(crate) create: Option<NewArchive>,
    /// See [`crate::OpenSettings::asks_only`].
    pub(crate) asks_only: bool,
    /// See [`crate::OpenSettings::recount`].
    pub(crate) recount: bool,
    /// See [`crate::OpenSettings::kept_out`].
    pub(crate) kept_out: Option<TakedownRules>,
    /// See [`crate::OpenSettings::document_reader`].
    pub(crate) document_reader: Option<Arc<dyn DocumentReader>>,
    pub(crate) memory: Memory,
    /// See [`crate::OpenSettings::vectors`].
    pub(crate) vectors: Option<PathBuf>,
}

pub(crate) struct Owner {
    /// `None` only while the owner is being dropped.
    open: Option<Arc<OpenArchive>>,
    server: Option<Server>,
    runner: Option<JoinHandle<()>>,
    /// Keeps an overlay until the archive is closed. Fields are dropped in order, so it comes after
    /// `open`.
    files: Files,
    // Last, so that the lock is released after everything else is closed.
    _lock: Lock,
}

impl Owner {
    /// Opens the archive under its lock. If it does not exist, creates it, or fails if that was not
    /// requested.
    pub(crate) fn open(
        files: &Files,
        lock: Lock,
        how: Opening,
        sources: &Sources,
    ) -> Result<Owner, OpenError> {
        let settings = match (files.read_settings()?, how.create) {
            (Some(settings), _) => settings,
            (None, Some(new)) => create_archive(files, new, sources)?,
            (None, None) => {
                return Err(files.missing());
            }
        };
        let opened_for = if how.asks_only {
            OpenMode::Asking
        } else {
            OpenMode::Writing
        };
        let vectors = how.vectors.as_deref();
        let mut open = OpenArchive::open(
            files.clone(),
            settings,
            how.memory,
            vectors,
            sources.clone(),
            opened_for,
        )?;
        let referred = how.kept_out.as_ref().and_then(|rules| rules.referred());
        open.recounting = how.recount.then(|| Recounting::new(&files.index(), referred));
        open.kept_out = how.kept_out;
        open.document_reader = how.document_reader;
        if opened_for == OpenMode::Writing
            && !how.recount
            && let Err(error) = posts::settle(&open)
        {
            // The next post retries. The lines in the index can still be queried.
            tracing::error!(%error, "cannot add all posted lines to the index");
        }
        let open = Arc::new(open);
        let in_runner = open.clone();
        let runner = open
            .jobs
            .start(move |job| load::run(&in_runner, job))
            .map_err(|source| OpenError::io("start the jobs of", files.dir(), source))?;
        let mut owner = Owner {
            open: Some(open.clone()),
            server: None,
            runner: Some(runner),
            files: files.clone(),
            _lock: lock,
        };
        let answerer = OwnerAnswerer {
            open,
            cuts: Mutex::default(),
        };
        let server = Server::start(&files.socket(), Arc::new(answerer))
            .map_err(|source| OpenError::io("listen on", &files.socket(), source))?;
        owner.server = Some(server);
        Ok(owner)
    }

    /// Opens the archive under a shared lock, to answer questions without changing anything. It
    /// runs no jobs, and has no socket through which others could find it.
    pub(crate) fn open_read_only(
        files: &Files,
        lock: Lock,
        how: &Opening,
        sources: &Sources,
    ) -> Result<Owner, OpenError> {
        let settings = files.read_settings()?.ok_or_else(|| files.missing())?;
        let files = files.read_only()?;
        Ok(Owner {
            open: Some(Arc::new(OpenArchive::open(
                files.clone(),
                settings,
                how.memory,
                how.vectors.as_deref(),
                sources.clone(),
                OpenMode::Reading,
            )?)),
            server: None,
            runner: None,
            files,
            _lock: lock,
        })
    }

    pub(crate) fn ask(&self, question: &Question, groups: Option<&Groups>) -> Result<Answer, AskError> {
        ask::answer(self.opened()?, question, groups)
    }

    pub(crate) fn dump(&self, request: &DumpRequest, out: &mut dyn Write) -> Result<u64, AskError> {
        ask::dump(&self.snapshot()?, request, out)
    }

    pub(crate) fn load_facts(
        &self,
        lines: &mut dyn Iterator<Item = Result<ImportLine, ImportLineError>>,
        should_continue: &mut dyn FnMut(&FactsImport) -> bool,
    ) -> Result<FactsImport, AskError> {
        from_facts::apply_lines(self.opened()?, lines, should_continue)
    }

    /// Returns a job that is kept.
    pub(crate) fn job(&self, id: u64) -> Option<Arc<Job>> {
        self.opened().ok()?.jobs.get(id).ok()
    }

    /// Returns the newest snapshot.
    pub(crate) fn snapshot(&self) -> Result<Snapshot, AskError> {
        Ok(self.opened()?.index.snapshot())
    }

    fn opened(&self) -> Result<&OpenArchive, AskError> {
        self.open
            .as_deref()
            .ok_or_else(|| AskError::unavailable("the archive is being closed"))
    }
}

/// Answers the clients of the socket. It is separate from [`Owner`], which owns the socket's
/// threads and must not be kept alive by them.
struct OwnerAnswerer {
    open: Arc<OpenArchive>,
    /// Cuts that clients hold.
    cuts: Mutex<FxHashMap<u64, Snapshot>>,
}

impl Answerer for OwnerAnswerer {
    fn ask(&self, question: &Question, groups: Option<&Groups>) -> Result<Answer, AskError> {
        ask::answer(&self.open, question, groups)
    }

    fn dump(&self, request: &DumpRequest, out: &mut dyn Write) -> Result<u64, AskError> {
        let snapshot = match request.cut {
            None => self.open.index.snapshot(),
            Some(cut) => self.cuts.lock().get(&cut).cloned().ok_or_else(|| {
                // The owner that held it has ended.
                AskError::unavailable("the owner of the archive changed since the request began; try again")
            })?,
        };
        ask::dump(&snapshot, request, out)
    }

    fn hold(&self) -> Result<(u64, CutEpochs), AskError> {
        let snapshot = self.open.index.snapshot();
        let of = CutEpochs::of(&snapshot)?;
        // Random, so that a cut of an earlier owner is not mistaken for one of its successor.
        let cut = system::random();
        self.cuts.lock().insert(cut, snapshot);
        Ok((cut, of))
    }

    fn release(&self, cut: u64) {
        self.cuts.lock().remove(&cut);
    }
}

fn create_archive(files: &Files, new: NewArchive, sources: &Sources) -> Result<ArchiveSettings, OpenError> {
    if let Some(facts) = &new.facts {
        facts_place::check_new(facts, sources)?;
    }
    let settings = ArchiveSettings {
        format: FORMAT,
        created_by: crate::version::VERSION.to_owned(),
        links: new.links,
        documents: new.documents,
        facts: new.facts,
    };
    files.write_settings(&settings)?;
    Ok(settings)
}

impl Drop for Owner {
    fn drop(&mut self) {
        let Some(open) = self.open.take() else { return };
        // Jobs first: they write to the index, and the socket's clients wait for them.
        open.jobs.close();
        if let Some(runner) = self.runner.take() {
            // A job's panic was reported when it happened.
            let _ = runner.join();
        }
        if let Some(mut server) = self.server.take() {
            server.stop();
        }
        // Closes the engines, which write until the end.
        drop(open);
        self.files.make_readable();
    }
}
