//! An archive as its users hold it.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use extract::LinkScope;
use parking_lot::RwLock;

use crate::inputs::Sources;
use crate::layout::Layout;
use crate::lock::Lock;
use crate::owner::Owner;
use crate::question::{Answer, Ask, Cancel, Dump, DumpFormat, Job, JobBody, JobState, LoadRequest};
use crate::socket::client::{Client, ClientError};
use crate::{AskError, ErrorCode, OpenError};

/// How long an archive may be held by somebody who does not answer: an owner that opens or closes.
const HELD_TIME_MAX: Duration = Duration::from_secs(15);

/// The same for somebody who must be the owner: a command that asks one question is gone by then.
const OWNED_TIME_MAX: Duration = Duration::from_secs(2);

/// Time between two tries.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// Time between two looks at a load.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// How to open.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct OpenSettings {
    /// Create the archive where there is none.
    pub create: bool,
    /// Become the owner or fail; never go through a socket.
    pub own: bool,
    /// Change nothing in the archive's directory: for one that must stay as it is. Loads are refused then. Where the
    /// directory cannot be written to, an archive is opened so in any case.
    pub read_only: bool,
    /// Nothing but questions will be asked: where others have the archive open for reading only, so that nobody can own
    /// it, it is opened read-only as well.
    pub asks_only: bool,
    /// Which links an archive keeps that is created now; all if not given. An existing archive keeps its own.
    pub links: Option<LinkScope>,
}

/// An archive opened by this process, which owns it (lock file), or the owner reached over its socket.
///
/// Both kinds answer every call alike. Where the owner goes away, the next call finds the new owner or
/// becomes it. When the owner's last clone is dropped, running loads end at their next epoch; another load
/// of the same inputs continues them.
#[derive(Clone)]
pub struct Archive {
    shared: Arc<Shared>,
}

struct Shared {
    layout: Layout,
    /// Settings to find another owner with.
    settings: OpenSettings,
    sources: Sources,
    role: RwLock<Role>,
}

enum Role {
    Owner(Owner),
    Client(Client),
}

impl Archive {
    /// Opens `dir`: as owner if nobody is, else through the owner's socket.
    ///
    /// # Errors
    /// [`OpenError`]; [`OpenError::Owned`] only if the owner does not answer, or with `settings.own`.
    pub fn open(dir: &Path, settings: OpenSettings) -> Result<Archive, OpenError> {
        Archive::open_with(dir, settings, Sources::default())
    }

    /// Like [`Archive::open`], with inputs from more places than the files of this machine. The owner reads what is
    /// loaded, with its own sources; records are read by who asks for them.
    ///
    /// # Errors
    /// As [`Archive::open`].
    pub fn open_with(dir: &Path, settings: OpenSettings, sources: Sources) -> Result<Archive, OpenError> {
        let layout = Layout::new(dir)?;
        let role = RwLock::new(find_role(&layout, &settings, &sources)?);
        Ok(Archive {
            shared: Arc::new(Shared {
                layout,
                settings: OpenSettings {
                    create: false,
                    own: false,
                    ..settings
                },
                sources,
                role,
            }),
        })
    }

    /// Where inputs are read from.
    pub fn sources(&self) -> &Sources {
        &self.shared.sources
    }

    /// Whether this process owns the archive now.
    pub fn is_owner(&self) -> bool {
        matches!(*self.shared.role.read(), Role::Owner(_))
    }

    /// The archive's directory, absolute.
    pub fn dir(&self) -> &Path {
        self.shared.layout.dir()
    }

    /// Answers a question.
    ///
    /// # Errors
    /// [`AskError`], with a code that says what to do about it.
    pub fn ask<Q: Ask>(&self, question: Q) -> Result<Answer<Q::Answer>, AskError> {
        let question = question.into();
        let answer = self.with_retry(|role| match role {
            Role::Owner(owner) => owner.ask(&question).map_err(ClientError::Answered),
            Role::Client(client) => client.ask(&question),
        })?;
        answer.to::<Q>()
    }

    /// Writes all rows of a view (docs/views.md has its columns), as of one epoch; gives the number of rows.
    ///
    /// # Errors
    /// [`AskError`]; part of the rows may have been written then.
    pub fn dump(
        &self,
        rows: impl Into<Dump>,
        format: DumpFormat,
        out: &mut dyn Write,
    ) -> Result<u64, AskError> {
        let rows = rows.into();
        let mut out = Noting { out, written: false };
        self.with_retry(|role| match role {
            Role::Owner(owner) => owner.dump(rows, format, &mut out).map_err(ClientError::Answered),
            // Rows that are out cannot be taken back: no second try then.
            Role::Client(client) => client.dump(rows, format, &mut out).map_err(|error| match error {
                ClientError::Lost(error) if out.written => ClientError::Answered(lost(&error)),
                other => other,
            }),
        })
    }

    /// Loads, and waits for the end. `progress` is called several times a second with the epoch and the job;
    /// when it returns `false` the load is cancelled. If the owner goes away meanwhile, the load is asked for
    /// again and so continued.
    ///
    /// # Errors
    /// [`AskError`]; a load that ran and failed is no error here but says so in its state.
    pub fn load(
        &self,
        request: &LoadRequest,
        progress: &mut dyn FnMut(u64, &JobBody) -> bool,
    ) -> Result<(u64, JobBody), AskError> {
        let mut cancelled = false;
        loop {
            let (mut epoch, mut job) = self.submit(request)?;
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
                std::thread::sleep(LOOK_INTERVAL);
                (epoch, job) = match self.ask(Job { id: job.id }) {
                    // Another owner: it knows nothing of this job.
                    Err(error) if error.code == ErrorCode::NotFound && !cancelled => break,
                    answer => answer.map(|answer| (answer.epoch, answer.body))?,
                };
            }
        }
    }

    /// Asks for a load; an owner that is just ending is waited for.
    fn submit(&self, request: &LoadRequest) -> Result<(u64, JobBody), AskError> {
        let deadline = Instant::now() + HELD_TIME_MAX;
        loop {
            match self.ask(request.clone()) {
                Err(error) if error.code == ErrorCode::Unavailable && Instant::now() < deadline => {
                    std::thread::sleep(RETRY_INTERVAL);
                }
                answer => return answer.map(|answer| (answer.epoch, answer.body)),
            }
        }
    }

    fn with_retry<T>(&self, mut call: impl FnMut(&Role) -> Result<T, ClientError>) -> Result<T, AskError> {
        // Where owners come and go, each for one question, the next one may be gone as well.
        let deadline = Instant::now() + HELD_TIME_MAX;
        let outcome = loop {
            let outcome = call(&self.shared.role.read());
            match outcome {
                Err(ClientError::Lost(_)) if Instant::now() < deadline => {
                    std::thread::sleep(RETRY_INTERVAL);
                    self.reopen()?;
                }
                other => break other,
            }
        };
        outcome.map_err(|error| match error {
            ClientError::Answered(error) => error,
            ClientError::Lost(error) => lost(&error),
            ClientError::Version { found } => AskError::unavailable(self.shared.layout.version_error(found)),
            ClientError::Output(error) => AskError::internal(format!("write the dump: {error}")),
        })
    }

    /// The owner went away: finds the new one, or becomes it.
    fn reopen(&self) -> Result<(), AskError> {
        let mut role = self.shared.role.write();
        if let Role::Owner(_) = *role {
            return Ok(());
        }
        let found = find_role(&self.shared.layout, &self.shared.settings, &self.shared.sources);
        *role = found.map_err(AskError::unavailable)?;
        Ok(())
    }
}

fn lost(error: &io::Error) -> AskError {
    AskError::unavailable(format!("the owner of the archive went away: {error}"))
}

fn find_role(layout: &Layout, settings: &OpenSettings, sources: &Sources) -> Result<Role, OpenError> {
    if layout.read_settings()?.is_none() {
        if !settings.create {
            return Err(OpenError::Missing {
                dir: layout.dir().display().to_string(),
            });
        }
        layout.prepare()?;
    }
    let create = settings.create.then(|| settings.links.unwrap_or_default());
    let patience = if settings.own {
        OWNED_TIME_MAX
    } else {
        HELD_TIME_MAX
    };
    let begun = Instant::now();
    loop {
        if let Some(owner) = try_own(layout, create, settings.read_only, sources)? {
            return Ok(Role::Owner(owner));
        }
        let mut hint = String::new();
        if !settings.own {
            match Client::connect(&layout.socket()) {
                Ok(client) => return Ok(Role::Client(client)),
                Err(ClientError::Version { found }) => return Err(layout.version_error(found)),
                Err(ClientError::Lost(error)) => {
                    hint = format!(", which does not answer on its socket: {error}")
                }
                Err(ClientError::Answered(_) | ClientError::Output(_)) => {}
            }
        }
        let readers = Lock::readers(&layout.lock());
        if readers.is_some()
            && settings.asks_only
            && let Some(owner) = try_read(layout, sources)?
        {
            return Ok(Role::Owner(owner));
        }
        if let Some(readers) = readers
            && begun.elapsed() >= OWNED_TIME_MAX
        {
            return Err(OpenError::Read {
                dir: layout.dir().display().to_string(),
                readers,
            });
        }
        if begun.elapsed() >= patience {
            let owner = Lock::owner(&layout.lock());
            return Err(OpenError::Owned {
                dir: layout.dir().display().to_string(),
                owner,
                hint,
            });
        }
        std::thread::sleep(RETRY_INTERVAL);
    }
}

/// Becomes the owner, or one of those who only read; `None` while somebody else is the owner.
fn try_own(
    layout: &Layout,
    create: Option<LinkScope>,
    read_only: bool,
    sources: &Sources,
) -> Result<Option<Owner>, OpenError> {
    if !read_only {
        match Lock::try_acquire(&layout.lock()) {
            Ok(Some(lock)) => return Ok(Some(Owner::open(layout, lock, create, sources)?)),
            Ok(None) => return Ok(None),
            Err(error) if error.forbids_writing() => {
                tracing::info!(dir = %layout.dir().display(), "cannot be written to: opened read-only");
            }
            Err(error) => return Err(error),
        }
    }
    try_read(layout, sources)
}

/// Becomes one of those who only read; `None` while somebody is the owner.
fn try_read(layout: &Layout, sources: &Sources) -> Result<Option<Owner>, OpenError> {
    match Lock::try_share(&layout.lock())? {
        Some(lock) => Ok(Some(Owner::open_read_only(layout, lock, sources)?)),
        None => Ok(None),
    }
}

/// Notes whether anything was written.
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
