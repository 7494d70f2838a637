//! The handle of an archive that its users hold.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use access::Groups;
use extract::{DocumentReader, DocumentScope, LinkScope};
use index::TakedownRules;
use inputs::Sources;
use parking_lot::RwLock;

use crate::cut::{Cut, CutHolder};
use crate::cut_epochs::CutEpochs;
use crate::facts_writer::FactsSettings;
use crate::files::Files;
use crate::from_facts::{FactsImport, ImportLine, ImportLineError};
use crate::lock::Lock;
use crate::memory::Memory;
use crate::own_inputs::own_inputs;
use crate::owner::{NewArchive, Opening, Owner};
use crate::question::{
    AccessScope, Answer, Ask, Cancel, Dump, DumpFormat, DumpRange, DumpRequest, FactsPlace, Job, JobBody,
    JobState, LoadRequest,
};
use crate::socket::client::{Client, ClientError};
use crate::{AskError, ErrorCode, OpenError, ask};

/// How long to wait while another process holds the lock without answering, because it is opening
/// or closing the archive.
const HELD_TIME_MAX: Duration = Duration::from_secs(15);

/// The same for a process that must become the owner. A command that asks a single question has
/// ended by then.
const OWNED_TIME_MAX: Duration = Duration::from_secs(2);

/// Time between two attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// Time between two questions about the progress of a load.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// The first of these times in a client, which is not woken by the end of a load. The time doubles
/// each time, so that a load of a small file is not waited for longer than it takes.
const FIRST_LOOK_INTERVAL: Duration = Duration::from_millis(1);

/// How to open an archive.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct OpenSettings {
    /// Create the archive if it does not exist.
    pub create: bool,
    /// Become the owner or fail; never use another owner's socket.
    pub own: bool,
    /// Change nothing in the archive's directory, and refuse loads. An archive in a directory
    /// without write permission is always opened like this.
    pub read_only: bool,
    /// The caller will only ask questions. If other processes have the archive open read-only, so
    /// that no process can own it, it is then opened read-only here as well.
    pub asks_only: bool,
    /// Recount loaded captures instead of keeping them. The archive then has only a ledger and a
    /// quarantine, and answers a [`Check`](crate::question::Check) with the fingerprints of all
    /// views. Use it for an archive that is deleted afterwards.
    pub recount: bool,
    /// Leave out the captures that another archive keeps out
    /// ([`TakedownRules`](crate::TakedownRules)), to compare the two.
    pub kept_out: Option<TakedownRules>,
    /// Which links a new archive keeps; all if absent. An existing archive keeps its setting.
    pub links: Option<LinkScope>,
    /// Which captures other than pages are searchable in a new archive; none if absent. An existing
    /// archive keeps its setting.
    pub documents: Option<DocumentScope>,
    /// Reads PDF, EPUB and office files, if this process becomes the owner. Without a reader they
    /// are found only by their URL.
    pub document_reader: Option<Arc<dyn DocumentReader>>,
    /// Where a new archive keeps facts; in its own directory if absent. An existing archive keeps
    /// its setting.
    pub facts: Option<FactsPlace>,
    /// Whether a new archive keeps texts among its facts.
    pub facts_text: bool,
    /// Memory that the process may use, in bytes, if it becomes the owner:
    /// [`MEMORY_SIZE_BYTES`](crate::MEMORY_SIZE_BYTES) if absent, and at least
    /// [`MEMORY_SIZE_BYTES_MIN`](crate::MEMORY_SIZE_BYTES_MIN).
    pub memory_size_bytes: Option<u64>,
    /// A table of word vectors that search orders the best matches by, if this process becomes the
    /// owner. Its memory comes on top of `memory_size_bytes`.
    pub vectors: Option<PathBuf>,
}

/// An archive. Either this process owns it (it holds the lock file), or it reaches the owner over
/// its socket.
///
/// Both kinds behave the same. If the owner ends, the next call finds the new owner or becomes the
/// owner. When the owner drops its last clone, running loads end at their next epoch; another load
/// of the same inputs continues them.
#[derive(Clone)]
pub struct Archive {
    shared: Arc<Shared>,
    /// Groups of the client; absent for the owner of the archive, who sees everything.
    groups: Option<Arc<Groups>>,
}

struct Shared {
    files: Files,
    /// Settings for finding another owner when this one has ended.
    settings: OpenSettings,
    sources: Sources,
    role: RwLock<Role>,
}

enum Role {
    Owner(Owner),
    Client(Client),
}

impl Archive {
    /// Opens `dir`, as its owner if it has none, otherwise through the owner's socket.
    ///
    /// ```
    /// use archive::question::{LoadRequest, SearchQuestion};
    /// use archive::{Archive, OpenSettings};
    ///
    /// let dir = tempfile::tempdir()?;
    /// # let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";
    /// # let html = format!("{head}<title>Otters</title>They swim.");
    /// let path = dir.path().join("x.warc.gz");
    /// let mut file = warc::Writer::create(&path, warc::Compression::GZIP)?;
    /// let response = warc::Draft::response("http://a.example/", 1_400_000_000_000, html.into());
    /// file.write(&response)?;
    /// file.finish()?;
    ///
    /// let mut settings = OpenSettings::default();
    /// settings.create = true;
    /// let archive = Archive::open(&dir.path().join("archive"), settings)?;
    /// let request = LoadRequest {
    ///     inputs: vec![inputs::LoadInput {
    ///         name: "x.warc.gz".into(),
    ///         path: inputs::path_text(&path),
    ///     }],
    ///     ..LoadRequest::default()
    /// };
    /// let (_, job) = archive.load(&request, &mut |_, _| true)?;
    /// assert_eq!(job.captures, 1);
    ///
    /// let question = SearchQuestion {
    ///     query: "otters".into(),
    ///     limit: 10,
    ///     ..SearchQuestion::default()
    /// };
    /// let found = archive.ask(question)?.body;
    /// assert_eq!(found.hits[0].title, "Otters");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`OpenError`]. [`OpenError::Owned`] means that the owner does not answer, or that
    /// `settings.own` was set.
    pub fn open(dir: &Path, settings: OpenSettings) -> Result<Archive, OpenError> {
        Archive::open_with(dir, settings, Sources::default())
    }

    /// Like [`Archive::open`], with inputs from `sources` in addition to local files. The owner
    /// reads the inputs of a load with its own `sources`. A client process reads records with
    /// these.
    ///
    /// # Errors
    /// The errors of [`Archive::open`].
    pub fn open_with(dir: &Path, settings: OpenSettings, sources: Sources) -> Result<Archive, OpenError> {
        let files = Files::new(dir)?;
        let sources = sources.with_own(own_inputs(dir));
        let role = RwLock::new(find_role(&files, &settings, &sources)?);
        Ok(Archive {
            shared: Arc::new(Shared {
                files,
                settings: OpenSettings {
                    create: false,
                    own: false,
                    ..settings
                },
                sources,
                role,
            }),
            groups: None,
        })
    }

    /// Returns the same archive restricted to clients in `groups`. Every question is answered from
    /// their visible part, and refused with [`ErrorCode::Forbidden`] if they are not permitted to
    /// ask it. The rules in force when a question begins apply to all of it.
    #[must_use]
    pub fn seen_by(&self, groups: Groups) -> Archive {
        Archive {
            shared: Arc::clone(&self.shared),
            groups: Some(Arc::new(groups)),
        }
    }

    /// Returns whether the file of access rules is missing, so that everything is visible to
    /// everybody. Only checks the directory, which takes microseconds. Returns `false` if that
    /// fails; a question then reports the reason.
    pub fn has_no_rules(&self) -> bool {
        let found = std::fs::metadata(self.rights_path());
        found.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
    }

    /// Returns the path of the access rules.
    pub fn rights_path(&self) -> PathBuf {
        self.shared.files.rights()
    }

    /// Returns the absolute path of the folder for uploaded files, which may be missing.
    pub fn uploads_path(&self) -> PathBuf {
        self.shared.files.uploads()
    }

    /// Returns the sources from which inputs are read.
    pub fn sources(&self) -> &Sources {
        &self.shared.sources
    }

    /// Returns whether this process owns the archive now.
    pub fn is_owner(&self) -> bool {
        matches!(*self.shared.role.read(), Role::Owner(_))
    }

    /// Returns the absolute path of the archive's directory.
    pub fn dir(&self) -> &Path {
        self.shared.files.dir()
    }

    /// Returns the folder of the tables of facts, or the address of their folder in a store
    /// (`s3://bucket/name`); `None` if the archive keeps no facts.
    ///
    /// # Errors
    /// [`OpenError`]: the settings cannot be read.
    pub fn facts_dir(&self) -> Result<Option<PathBuf>, OpenError> {
        let files = &self.shared.files;
        let settings = files.read_settings()?;
        Ok(settings.and_then(|settings| settings.facts).map(|facts| {
            let elsewhere = facts.place.as_deref().map(inputs::path_of);
            elsewhere.unwrap_or_else(|| files.facts())
        }))
    }

    /// Answers a question.
    ///
    /// # Errors
    /// [`AskError`], with a code that says what to do about it.
    pub fn ask<Q: Ask>(&self, question: Q) -> Result<Answer<Q::Answer>, AskError> {
        let question = question.into();
        let groups = self.groups.as_deref();
        let answer = self.with_retry(|role| match role {
            Role::Owner(owner) => owner.ask(&question, groups).map_err(ClientError::Answered),
            Role::Client(client) => client.ask(&question, groups),
        })?;
        answer.to::<Q>()
    }

    /// Writes all rows of a view (docs/views.md lists its columns) as of one epoch. Returns the
    /// number of rows.
    ///
    /// # Errors
    /// [`AskError`]; some rows may have been written already.
    pub fn dump(
        &self,
        rows: impl Into<Dump>,
        format: DumpFormat,
        out: &mut dyn Write,
    ) -> Result<u64, AskError> {
        let request = DumpRequest {
            view: rows.into(),
            format,
            range: DumpRange::default(),
            cut: None,
        };
        self.dump_requested(&request, out)
    }

    /// Holds the newest epoch, so that several dumps show the same state.
    ///
    /// # Errors
    /// [`AskError`].
    pub fn hold(&self) -> Result<Cut, AskError> {
        self.check_everything("the rows of the views")?;
        let (of, held) = self.with_retry(|role| match role {
            Role::Owner(owner) => {
                let snapshot = owner.snapshot().map_err(ClientError::Answered)?;
                let of = CutEpochs::of(&snapshot).map_err(ClientError::Answered)?;
                Ok((of, CutHolder::Here(snapshot)))
            }
            Role::Client(client) => {
                let cut = client.hold()?;
                Ok((cut.of, CutHolder::ByOwner(cut)))
            }
        })?;
        Ok(Cut {
            archive: self.clone(),
            of,
            held,
        })
    }

    /// Refuses a request that cannot be filtered by access rules, unless the client sees
    /// everything.
    fn check_everything(&self, what: &str) -> Result<(), AskError> {
        let Some(groups) = &self.groups else {
            return Ok(());
        };
        if self.ask(AccessScope {})?.body.everything {
            Ok(())
        } else {
            Err(AskError::forbidden(ask::refusal_text(what, groups)))
        }
    }

    pub(crate) fn dump_requested(&self, request: &DumpRequest, out: &mut dyn Write) -> Result<u64, AskError> {
        self.check_everything("the rows of the views")?;
        let mut out = Noting { out, written: false };
        self.with_retry(|role| match role {
            Role::Owner(owner) => owner.dump(request, &mut out).map_err(ClientError::Answered),
            // Written rows cannot be taken back, so there is no second attempt after the first row.
            Role::Client(client) => client.dump(request, &mut out).map_err(|error| match error {
                ClientError::Lost(error) if out.written => ClientError::Answered(lost(&error)),
                other => other,
            }),
        })
    }

    /// Loads and waits for the end. `progress` is called several times a second with the epoch and
    /// the job; if it returns `false`, the load is cancelled. If the owner ends meanwhile, the load
    /// is requested again from the next owner, which continues it.
    ///
    /// # Errors
    /// [`AskError`]. A load that ran and failed is not an error here: its state says so.
    pub fn load(
        &self,
        request: &LoadRequest,
        progress: &mut dyn FnMut(u64, &JobBody) -> bool,
    ) -> Result<(u64, JobBody), AskError> {
        let mut cancelled = false;
        loop {
            let (mut epoch, mut job) = self.submit(request)?;
            let mut interval = FIRST_LOOK_INTERVAL;
            loop {
                if !progress(epoch, &job) && !cancelled {
                    cancelled = true;
                    self.ask(Cancel { id: job.id })?;
                }
                match job.state {
                    JobState::Queued | JobState::Running => {}
                    JobState::Interrupted if !cancelled => break,
                    _ => return Ok((epoch, job)),
                }
                self.wait_for_end(job.id, interval);
                interval = LOOK_INTERVAL.min(2 * interval);
                (epoch, job) = match self.ask(Job { id: job.id }) {
                    // A new owner does not know this job, so request the load again.
                    Err(error) if error.code == ErrorCode::NotFound && !cancelled => break,
                    answer => answer.map(|answer| (answer.epoch, answer.body))?,
                };
            }
        }
    }

    /// Waits until a load ends or it is time to look at it again: after `interval` in a client.
    fn wait_for_end(&self, id: u64, interval: Duration) {
        let job = match &*self.shared.role.read() {
            Role::Owner(owner) => owner.job(id),
            Role::Client(_) => None,
        };
        match job {
            Some(job) => job.wait_for_end(LOOK_INTERVAL),
            None => system::pause(interval),
        }
    }

    /// Applies lines read from tables of facts. The line about the tables must already have been
    /// consumed. `should_continue` is called after each epoch, and returns whether to continue.
    /// Only the owner can do this. It may have other clients meanwhile, but no loads.
    ///
    /// # Errors
    /// [`AskError`]: this process is not the owner, a line is wrong or missing, or the archive
    /// cannot be written to. Lines already indexed are kept, and the same load continues after them.
    pub fn load_facts(
        &self,
        lines: &mut dyn Iterator<Item = Result<ImportLine, ImportLineError>>,
        should_continue: &mut dyn FnMut(&FactsImport) -> bool,
    ) -> Result<FactsImport, AskError> {
        self.check_everything("loading")?;
        match &*self.shared.role.read() {
            Role::Owner(owner) => owner.load_facts(lines, should_continue),
            Role::Client(_) => Err(AskError::unavailable(
                "another process has the archive open, and a load from facts needs exclusive access: stop weft serve \
                 first",
            )),
        }
    }

    /// Requests a load. Retries while the owner is ending.
    fn submit(&self, request: &LoadRequest) -> Result<(u64, JobBody), AskError> {
        let deadline = system::now() + HELD_TIME_MAX;
        loop {
            match self.ask(request.clone()) {
                Err(error) if error.code == ErrorCode::Unavailable && system::now() < deadline => {
                    system::pause(RETRY_INTERVAL);
                }
                answer => return answer.map(|answer| (answer.epoch, answer.body)),
            }
        }
    }

    fn with_retry<T>(&self, mut call: impl FnMut(&Role) -> Result<T, ClientError>) -> Result<T, AskError> {
        // If short-lived commands own the archive one after another, the next owner may have ended
        // as well, so retry until the deadline.
        let deadline = system::now() + HELD_TIME_MAX;
        let outcome = loop {
            let outcome = call(&self.shared.role.read());
            match outcome {
                Err(ClientError::Lost(_)) if system::now() < deadline => {
                    system::pause(RETRY_INTERVAL);
                    self.reopen()?;
                }
                other => break other,
            }
        };
        outcome.map_err(|error| match error {
            ClientError::Answered(error) => error,
            ClientError::Lost(error) => lost(&error),
            ClientError::Version { found } => AskError::unavailable(self.shared.files.version_error(found)),
            ClientError::Output(error) => AskError::internal(format!("write the dump: {error}")),
        })
    }

    /// Finds the new owner after the last one ended, or becomes the owner.
    fn reopen(&self) -> Result<(), AskError> {
        let mut role = self.shared.role.write();
        // Another thread did this while this one waited for the lock.
        if let Role::Owner(_) = *role {
            return Ok(());
        }
        let found = find_role(&self.shared.files, &self.shared.settings, &self.shared.sources);
        *role = found.map_err(AskError::unavailable)?;
        Ok(())
    }
}

fn lost(error: &io::Error) -> AskError {
    AskError::unavailable(format!(
        "lost the connection to the process that owns the archive: {error}"
    ))
}

fn find_role(files: &Files, settings: &OpenSettings, sources: &Sources) -> Result<Role, OpenError> {
    if files.read_settings()?.is_none() {
        if !settings.create {
            return Err(files.missing());
        }
        files.prepare()?;
    }
    let new = || NewArchive {
        links: settings.links.unwrap_or_default(),
        documents: settings.documents.unwrap_or_default(),
        facts: if settings.recount {
            None
        } else {
            FactsSettings::new(&settings.facts.clone().unwrap_or_default(), settings.facts_text)
        },
    };
    let how = Opening {
        create: settings.create.then(new),
        asks_only: settings.asks_only,
        recount: settings.recount,
        kept_out: settings.kept_out.clone(),
        document_reader: settings.document_reader.clone(),
        memory: Memory::new(settings.memory_size_bytes),
        vectors: settings.vectors.clone(),
    };
    let patience = if settings.own {
        OWNED_TIME_MAX
    } else {
        HELD_TIME_MAX
    };
    let begun = system::now();
    loop {
        if let Some(owner) = try_own(files, &how, settings.read_only, sources)? {
            return Ok(Role::Owner(owner));
        }
        let mut hint = String::new();
        if !settings.own {
            match Client::connect(&files.socket()) {
                Ok(client) => return Ok(Role::Client(client)),
                Err(ClientError::Version { found }) => return Err(files.version_error(found)),
                Err(ClientError::Lost(error)) => {
                    hint = format!(", which does not answer on its socket: {error}")
                }
                Err(ClientError::Answered(_) | ClientError::Output(_)) => {}
            }
        }
        let readers = Lock::readers(&files.lock());
        if readers.is_some()
            && settings.asks_only
            && let Some(owner) = try_read(files, &how, sources)?
        {
            return Ok(Role::Owner(owner));
        }
        if let Some(readers) = readers
            && system::since(begun) >= OWNED_TIME_MAX
        {
            return Err(OpenError::Read {
                dir: files.dir().display().to_string(),
                readers,
            });
        }
        if system::since(begun) >= patience {
            let owner = Lock::owner(&files.lock());
            return Err(OpenError::Owned {
                dir: files.dir().display().to_string(),
                owner,
                hint,
            });
        }
        system::pause(RETRY_INTERVAL);
    }
}

/// Becomes the owner, or a reader if the archive is read-only. Returns `None` while another process
/// owns it.
fn try_own(
    files: &Files,
    how: &Opening,
    read_only: bool,
    sources: &Sources,
) -> Result<Option<Owner>, OpenError> {
    if !read_only {
        match Lock::try_acquire(&files.lock()) {
            Ok(Some(lock)) => return Ok(Some(Owner::open(files, lock, how.clone(), sources)?)),
            Ok(None) => return Ok(None),
            Err(error) if error.forbids_writing() => {
                tracing::info!(dir = %files.dir().display(), "the archive is not writable, opened read-only");
            }
            Err(error) => return Err(error),
        }
    }
    try_read(files, how, sources)
}

/// Becomes a reader. Returns `None` while another process owns the archive.
fn try_read(files: &Files, how: &Opening, sources: &Sources) -> Result<Option<Owner>, OpenError> {
    match Lock::try_share(&files.lock())? {
        Some(lock) => Ok(Some(Owner::open_read_only(files, lock, how, sources)?)),
        None => Ok(None),
    }
}

/// Passes output on and notes whether there was any.
struct Noting<'a> {
    out: &'a mut dyn Write,
    written: bool,
}

impl Write for Noting<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.written = true;
        self.out.write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
