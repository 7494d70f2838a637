//! `weft serve --watch`: loads archive files and packages that appear or grow below directories.
//!
//! A watch of the file catalogue reports them. Invariants:
//! - A file is loaded once it has been unchanged for a moment. If it grows later, the rest is read
//!   then.
//! - After a restart an input with the size in the ledger is not read again. An input that changes
//!   while the server runs is.
//! - The inputs of a load that failed as a whole are retried.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ::catalogue::{Format, ObservedFile, Progress, Watch, WatchError, WatchEvent, WatchSettings};
use anyhow::Context as _;
use archive::Archive;
use archive::question::{InputState, JobBody, JobState, LedgerRow, LoadRequest};
use inputs::LoadInput;
use inputs::path_text;

use crate::commands::files::{CATALOGUE, watch_note_text};
use crate::commands::status::ledger_rows;
use crate::context::Context;
use crate::exit::chain_text;
use crate::stderr::progress_line;
use crate::units::{count, counted};

/// Time without changes before a file is loaded.
const QUIET: Duration = Duration::from_secs(2);
/// The same for a package without an end record: it is still being copied, or damaged, which
/// loading reports.
const QUIET_UNFINISHED: Duration = Duration::from_secs(60);
/// Time between checks for files to load.
const PAUSE: Duration = Duration::from_millis(250);
/// First and longest wait after a load or a watch that failed as a whole.
const RETRY_DELAYS: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(600));

/// Directories from which new files are loaded.
pub(super) struct NewFiles {
    watching: FolderWatch,
    loader: Loader,
    progress: Progress,
}

/// The running watch and loader.
pub(super) struct RunningWatch {
    progress: Progress,
    threads: Vec<JoinHandle<()>>,
}

/// Size and times of a file; a file with the same stamp is assumed unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    size_bytes: u64,
    modified_ns: i64,
    changed_ns: i64,
}

/// Files reported by the watch and not yet taken by the loader.
type KnownFiles = Arc<Mutex<HashMap<PathBuf, FileStamp>>>;

impl NewFiles {
    /// Starts the watch. Errors in the directories are reported here.
    pub(super) fn begin(
        dirs: &[PathBuf],
        collection: Option<&str>,
        archive: &Archive,
        context: &Context,
    ) -> Result<NewFiles, WatchError> {
        let seen = KnownFiles::default();
        let mut watching = FolderWatch {
            catalogue: context.archive.join(CATALOGUE),
            dirs: dirs.to_vec(),
            seen: seen.clone(),
            begun: None,
        };
        watching.begun = Some(watching.begin()?);
        let loader = Loader {
            archive: archive.clone(),
            collection: collection.map(str::to_owned),
            seen,
            waiting: HashMap::new(),
            known: HashMap::new(),
        };
        Ok(NewFiles {
            watching,
            loader,
            progress: Progress::default(),
        })
    }

    /// Continues on separate threads.
    pub(super) fn start(self) -> anyhow::Result<RunningWatch> {
        let NewFiles {
            mut watching,
            mut loader,
            progress,
        } = self;
        let spawn = |name: &str, run: Box<dyn FnOnce(&Progress) + Send>| {
            let progress = progress.clone();
            let thread = std::thread::Builder::new().name(name.into());
            thread.spawn(move || run(&progress)).context("start a thread")
        };
        let threads = vec![
            spawn("watch", Box::new(move |progress| watching.run(progress)))?,
            spawn("load-new", Box::new(move |progress| loader.run(progress)))?,
        ];
        Ok(RunningWatch { progress, threads })
    }
}

impl RunningWatch {
    /// Stops the watch, and a load at its next epoch.
    pub(super) fn end(self) {
        self.progress.stop();
        for thread in self.threads {
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
    }
}

/// The watch; it restarts after a failure.
struct FolderWatch {
    catalogue: PathBuf,
    dirs: Vec<PathBuf>,
    seen: KnownFiles,
    begun: Option<Watch>,
}

impl FolderWatch {
    fn begin(&self) -> Result<Watch, WatchError> {
        let watch = Watch::begin(&self.catalogue, &self.dirs, WatchSettings::default())?;
        let seen = self.seen.clone();
        watch.observe_files(is_input, move |ObservedFile { path, attributes }| {
            let stamp = FileStamp {
                size_bytes: attributes.size_bytes,
                modified_ns: attributes.modified_ns,
                changed_ns: attributes.changed_ns,
            };
            seen.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(path, stamp);
        });
        Ok(watch)
    }

    fn run(&mut self, progress: &Progress) {
        let mut delay = Duration::ZERO;
        while !progress.is_stopped() {
            let watch = self.begun.take().map_or_else(|| self.begin(), Ok);
            let ended = watch.and_then(|watch| {
                watch.run(progress, |note| {
                    // Loads are reported by the loader.
                    if let Some(line) = watch_note_text(&note) {
                        progress_line(&line);
                    }
                    if let WatchEvent::Current { .. } = note {
                        delay = Duration::ZERO;
                    }
                })
            });
            if let Err(error) = ended {
                delay = next_delay(delay);
                let error = chain_text(&error.into());
                progress_line(&format!(
                    "the watch for new files failed: {error}; restarting it in {} s",
                    delay.as_secs()
                ));
                pause(delay, progress);
            }
        }
    }
}

/// Returns whether files with this name are inputs. The ledger lists the members of a package, not
/// the package, so after a restart each package is inspected again; members already loaded are not
/// read.
fn is_input(name: &[u8]) -> bool {
    matches!(
        Format::of_name(name).name(),
        "warc" | "arc" | "wat" | "wet" | "wacz"
    )
}

fn next_delay(delay: Duration) -> Duration {
    (delay * 2).clamp(RETRY_DELAYS.0, RETRY_DELAYS.1)
}

/// Waits, or returns early on a stop.
fn pause(time: Duration, progress: &Progress) {
    let begun = system::now();
    while system::since(begun) < time && !progress.is_stopped() {
        system::pause(PAUSE.min(time));
    }
}

/// Loads the files that the watch reports.
struct Loader {
    archive: Archive,
    collection: Option<String>,
    seen: KnownFiles,
    /// Files to load, with their stamp at the last check and when it was first seen.
    waiting: HashMap<PathBuf, (FileStamp, Instant)>,
    /// Files that were loaded or are in the ledger, with their stamp at that time.
    known: HashMap<PathBuf, FileStamp>,
}

impl Loader {
    fn run(&mut self, progress: &Progress) {
        let mut delay = Duration::ZERO;
        while !progress.is_stopped() {
            match self.round(progress) {
                Ok(()) => delay = Duration::ZERO,
                Err(error) => {
                    delay = next_delay(delay);
                    progress_line(&format!(
                        "new files cannot be loaded: {}; retrying in {} s",
                        chain_text(&error),
                        delay.as_secs()
                    ));
                    pause(delay, progress);
                }
            }
            system::pause(PAUSE);
        }
    }

    fn round(&mut self, progress: &Progress) -> anyhow::Result<()> {
        let seen = std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner));
        for (path, stamp) in seen {
            if self.known.get(&path) != Some(&stamp) {
                self.waiting.entry(path).or_insert_with(|| (stamp, system::now()));
            }
        }
        let quiet = self.unchanged_files();
        if quiet.is_empty() {
            return Ok(());
        }
        let new = self.without_loaded(quiet)?;
        if new.is_empty() {
            return Ok(());
        }
        let job = self.load(&new, progress)?;
        match job.state {
            JobState::Done => {
                progress_line(&summary(&new, &job));
                new.into_iter().for_each(|file| self.is_known(file));
                Ok(())
            }
            // The next server continues the load.
            _ if progress.is_stopped() => Ok(()),
            state => anyhow::bail!(
                "the load is {}: {}",
                state.name(),
                job.error.as_deref().unwrap_or("no reason was given")
            ),
        }
    }

    /// Returns the files that have been unchanged long enough. Missing or empty files are dropped.
    fn unchanged_files(&mut self) -> Vec<(PathBuf, FileStamp)> {
        let mut quiet = Vec::new();
        self.waiting.retain(|path, (stamp, since)| {
            let Some(now) = FileStamp::of(path).filter(|now| now.size_bytes > 0) else {
                return false;
            };
            if *stamp != now {
                (*stamp, *since) = (now, system::now());
            }
            let wanted = if inputs::is_unfinished_package(path) {
                QUIET_UNFINISHED
            } else {
                QUIET
            };
            if system::since(*since) >= wanted || now.age() >= wanted {
                quiet.push((path.clone(), now));
            }
            true
        });
        // In the order in which a load of the directory would take them.
        quiet.sort_by(|a, b| a.0.cmp(&b.0));
        quiet
    }

    /// Returns the files that the archive does not have with this size, or that were replaced since
    /// this server saw them loaded.
    fn without_loaded(
        &mut self,
        files: Vec<(PathBuf, FileStamp)>,
    ) -> anyhow::Result<Vec<(PathBuf, FileStamp)>> {
        let rows = ledger_rows(&self.archive, None)?;
        let mut at: HashMap<&str, Vec<&LedgerRow>> = HashMap::new();
        for row in &rows {
            at.entry(row.location.as_str()).or_default().push(row);
        }
        let (known, new) = files.into_iter().partition::<Vec<_>, _>(|(path, stamp)| {
            // A file that changed must be read, even if its size is the same.
            let is_changed = self.known.contains_key(path);
            // A file that replaced another has a row, too.
            at.get(path_text(path).as_str()).is_some_and(|rows| {
                rows.iter().any(|row| {
                    row.state == InputState::Forgotten || !is_changed && is_read(row, stamp.size_bytes)
                })
            })
        });
        known.into_iter().for_each(|file| self.is_known(file));
        Ok(new)
    }

    fn is_known(&mut self, (path, stamp): (PathBuf, FileStamp)) {
        self.waiting.remove(&path);
        self.known.insert(path, stamp);
    }

    fn load(&self, files: &[(PathBuf, FileStamp)], progress: &Progress) -> anyhow::Result<JobBody> {
        let input = |(path, _): &(PathBuf, FileStamp)| LoadInput {
            name: path_text(path),
            path: path_text(path),
        };
        let request = LoadRequest {
            inputs: files.iter().map(input).collect(),
            collection: self.collection.clone(),
            ..LoadRequest::default()
        };
        let goes_on = &mut |_, _: &JobBody| !progress.is_stopped();
        Ok(self.archive.load(&request, goes_on)?.1)
    }
}

/// Returns whether an input was read as far as possible.
fn is_read(row: &LedgerRow, size_bytes: u64) -> bool {
    match row.state {
        InputState::Done | InputState::Failed { .. } => row.size == size_bytes && row.missing.is_empty(),
        // Whether read or not, it yields nothing more.
        InputState::TakenDown => row.size == size_bytes,
        InputState::Pending | InputState::Loading | InputState::Forgotten => false,
    }
}

impl FileStamp {
    /// Returns the stamp of a regular file, or `None` if it does not exist.
    fn of(path: &Path) -> Option<FileStamp> {
        let now = path.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
        let ns = |seconds: i64, ns: i64| seconds.saturating_mul(1_000_000_000).saturating_add(ns);
        Some(FileStamp {
            size_bytes: now.len(),
            modified_ns: ns(now.mtime(), now.mtime_nsec()),
            changed_ns: ns(now.ctime(), now.ctime_nsec()),
        })
    }

    /// Returns the time since the last change of the file; zero if that is in the future.
    fn age(&self) -> Duration {
        let now_ms = system::time_ms();
        let changed_ms = self.changed_ns.max(self.modified_ns) / 1_000_000;
        Duration::from_millis(u64::try_from(now_ms.saturating_sub(changed_ms)).unwrap_or(0))
    }
}

fn summary(files: &[(PathBuf, FileStamp)], job: &JobBody) -> String {
    let what = match files {
        [(path, _)] => crate::style::clean(&path_text(path)),
        _ => counted(files.len() as u64, "file", "files"),
    };
    let is_replaced = |row: &&LedgerRow| row.state == InputState::Done && !row.missing.is_empty();
    let replaced = job.problems.iter().filter(is_replaced);
    let unreadable: u64 = replaced.map(|row| row.captures).sum();
    let mut line = format!("loaded {what}: {}", counted(job.captures, "capture", "captures"));
    for (number, what) in [
        (job.captures_known, "already known"),
        (job.inputs_failed, "of the files failed"),
        (job.inputs_cut, "cut off or still being written"),
        (job.quarantined, "in quarantine"),
        (
            unreadable,
            "of replaced files, which can no longer be read (weft status --ledger --state missing)",
        ),
        (
            job.inputs_of_other_collection,
            "of the files loaded before, with another label",
        ),
    ] {
        if number > 0 {
            line += &format!(", {} {what}", count(number));
        }
    }
    if job.inputs_failed + job.inputs_cut + job.quarantined > 0 {
        line += " (weft status --ledger, --quarantine)";
    }
    line
}
