//! The watch: keeps catalogued trees up to date by directory events.
//!
//! Events report which directories changed. After a short quiet period these are read again, and
//! compared and committed by the stages of a scan. Events miss changes while no watch runs, beyond
//! the system's queue, and in unwatched directories. These make a tree stale: its names are
//! compared at once, and the whole tree is scanned later.
//!
//! Invariants:
//!  - The catalogue is open only during a write, so that other processes can query it in between.
//!  - A tree is called current only after all of it was read with its watches set, and while no
//!    event since was lost.
//!  - A tree is not read if another directory is at its path: an unmounted tree is not a removed
//!    one.

mod events;
mod round;
mod tree;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::attributes::FileId;
use crate::catalogue::{Catalogue, CatalogueSettings, retry_while_in_use, wait_max};
use crate::error::{CatalogueError, ScanError};
use crate::objects::is_address;
use crate::path::rest_below;
use crate::rows::ScanCounts;
use crate::scan::{FileReader, ObservedFile, Progress, ScanSettings};
use crate::watch_heartbeat::WatchHeartbeat;
use crate::watch_row::StaleReason;
use events::{EventCounts, Watches};
use tree::Tree;

/// Settings of a watch.
#[derive(Debug, Clone)]
pub struct WatchSettings {
    /// How directories are read.
    pub scan: ScanSettings,
    /// How the catalogue is opened.
    pub catalogue: CatalogueSettings,
    /// Quiet period before changed directories are read.
    pub quiet: Duration,
    /// Maximum delay before changed directories are read.
    pub wait_max: Duration,
    /// Maximum number of pending directories; with more, all trees are swept.
    pub dirty_max: usize,
    /// Maximum number of watched directories; the system has its own limit.
    pub watches_max: usize,
    /// Delay before a stale tree is scanned. It doubles for each next scan ...
    pub scan_after: Duration,
    /// ... up to this limit.
    pub scan_after_max: Duration,
    /// Interval between scans of a current tree.
    pub scan_every: Duration,
}

impl Default for WatchSettings {
    fn default() -> WatchSettings {
        WatchSettings {
            scan: ScanSettings::default(),
            catalogue: CatalogueSettings::default(),
            quiet: Duration::from_millis(200),
            wait_max: Duration::from_secs(1),
            dirty_max: 100_000,
            watches_max: usize::MAX,
            scan_after: Duration::from_secs(60),
            scan_after_max: Duration::from_secs(3600),
            scan_every: Duration::from_secs(86_400),
        }
    }
}

/// Events reported by a running watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchEvent {
    /// A whole tree is being read.
    Scanning {
        /// Its path.
        path: PathBuf,
    },
    /// Changes were committed.
    Committed {
        /// Counts of the changes.
        counts: ScanCounts,
    },
    /// A tree may differ from the catalogue.
    Stale {
        /// Its path.
        path: PathBuf,
        /// Why.
        reason: StaleReason,
    },
    /// A tree equals the catalogue, and its changes are tracked from now on.
    Current {
        /// Its path.
        path: PathBuf,
        /// Number of watched directories in all trees.
        watched: usize,
    },
    /// The system refuses to watch more directories.
    Limit {
        /// Number of watched directories in all trees.
        watched: usize,
        /// The error of the system; `None` if it is the limit on watches.
        error: Option<String>,
    },
    /// Another process has the catalogue open, so changes wait.
    Waiting,
}

/// Why a watch could not start, or ended.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// Another watch is running.
    #[error(
        "the catalogue of files in {} is kept up to date by another watch: stop it, \
         and pass all directories to this one",
        dir.display()
    )]
    Watched {
        /// Directory of the catalogue.
        dir: PathBuf,
    },
    /// The directory is part of a tree.
    #[error("{} is in the catalogued tree {}: watch that tree instead", path.display(), root.display())]
    Within {
        /// The directory.
        path: PathBuf,
        /// The tree.
        root: PathBuf,
    },
    /// The directory is in a store.
    #[error(
        "{} cannot be watched: a store does not report changes; scan it periodically (weft files scan)",
        path.display()
    )]
    Objects {
        /// The address.
        path: PathBuf,
    },
    /// One of the directories is below another one.
    #[error("{} is in {}, which is also watched: omit it", path.display(), root.display())]
    Twice {
        /// The directory.
        path: PathBuf,
        /// The one above it.
        root: PathBuf,
    },
    /// The system does not support events, or ran out of resources.
    #[error("cannot watch directories for changes: {0}")]
    System(std::io::Error),
    /// A scan failed.
    #[error(transparent)]
    Scan(#[from] ScanError),
}

impl From<CatalogueError> for WatchError {
    fn from(error: CatalogueError) -> WatchError {
        WatchError::Scan(error.into())
    }
}

/// A watch of some trees.
pub struct Watch {
    dir: PathBuf,
    settings: WatchSettings,
    trees: Vec<Tree>,
    watches: Arc<Watches>,
    alive: WatchHeartbeat,
    /// When it began; serves as its number.
    watch_ms: i64,
    /// Counters of the events already handled.
    handled: EventCounts,
    refused: u64,
    /// Directories that the walk did not find, with the number of tries.
    tries: FxHashMap<FileId, u32>,
    /// Files whose other names are to be searched for in the catalogue.
    sought: FxHashSet<FileId>,
    search_due: Instant,
    /// Files that had unknown names, and how many more rounds read their directories.
    suspects: FxHashMap<FileId, u32>,
    busy: Backoff,
    /// The catalogue stays closed until then.
    closed_until: Instant,
    /// Whether it was stopped while reading changed directories.
    is_cut_off: bool,
}

/// Backoff while another process has the catalogue open.
#[derive(Debug, Default)]
struct Backoff {
    retry_at: Option<Instant>,
    delay: Duration,
    is_told: bool,
}

/// Interval for recording that all trees are current, and for checking whether missing trees are
/// back.
const BEAT: Duration = Duration::from_secs(2);
/// Interval between polls for events.
const PAUSE: Duration = Duration::from_millis(10);

impl Watch {
    /// Starts watching directories: trees of the catalogue in `dir`, or directories that become
    /// trees.
    ///
    /// # Errors
    /// [`WatchError::Watched`] while another watch of the same catalogue is running; errors about
    /// the directories and the catalogue.
    pub fn begin(dir: &Path, dirs: &[PathBuf], settings: WatchSettings) -> Result<Watch, WatchError> {
        let watch_ms = system::time_ms();
        if Watch::is_running(dir) {
            return Err(WatchError::Watched { dir: dir.to_owned() });
        }
        // Queries hold the catalogue for a moment only.
        let catalogue = retry_while_in_use(wait_max(dir), || Catalogue::create(dir, &settings.catalogue))?;
        let alive = WatchHeartbeat::take(dir, watch_ms)?;
        let mut alive = alive.ok_or_else(|| WatchError::Watched { dir: dir.to_owned() })?;
        // From now on readers know its number. It has not called any tree current.
        alive.beat(watch_ms);
        let mut trees: Vec<Tree> = Vec::new();
        let delays = (settings.scan_after, settings.scan_after_max);
        for given in dirs {
            let path = path_of_tree(&catalogue, given, settings.scan.answer_within)?;
            let tree = Tree::new(&catalogue, path, watch_ms, delays, settings.scan.answer_within)?;
            if let Some(above) = trees
                .iter()
                .find(|above| rest_below(&tree.path, &above.path).is_some())
            {
                return Err(WatchError::Twice {
                    path: given.clone(),
                    root: above.path_buf(),
                });
            }
            // A directory absorbs those below it.
            trees.retain(|below| rest_below(&below.path, &tree.path).is_none());
            trees.push(tree);
        }
        let watches = Watches::new(dir, settings.dirty_max, settings.watches_max).map_err(system)?;
        Ok(Watch {
            dir: dir.to_owned(),
            settings,
            trees,
            watches: Arc::new(watches),
            alive,
            watch_ms,
            handled: EventCounts::default(),
            refused: 0,
            tries: FxHashMap::default(),
            sought: FxHashSet::default(),
            search_due: system::now(),
            suspects: FxHashMap::default(),
            busy: Backoff::default(),
            closed_until: system::now(),
            is_cut_off: false,
        })
    }

    /// Calls `tell`, from several threads, with each regular file whose name `wants` accepts in
    /// every directory that the watch reads: after a change in the directory, and in every scan.
    /// The call precedes the commit of the change and may be repeated for the same file.
    pub fn observe_files(
        &self,
        wants: fn(&[u8]) -> bool,
        tell: impl Fn(ObservedFile) + Send + Sync + 'static,
    ) {
        let tell = Box::new(tell);
        self.watches.read_by(FileReader { wants, tell });
    }

    /// Returns whether a watch of the catalogue in `dir` is running, in this or another process.
    pub fn is_running(dir: &Path) -> bool {
        WatchHeartbeat::is_running(dir)
    }

    /// Keeps the trees current until `progress` is stopped; then records until when they were.
    ///
    /// # Errors
    /// Errors of the catalogue. Read errors of a tree are recorded there.
    pub fn run(mut self, progress: &Progress, mut tell: impl FnMut(WatchEvent)) -> Result<(), WatchError> {
        let watches = self.watches.clone();
        let deaf = std::sync::atomic::AtomicBool::new(false);
        let deaf_for = std::sync::atomic::Ordering::Relaxed;
        let (result, heard) = std::thread::scope(|scope| {
            let listener = std::thread::Builder::new()
                .name("watch".into())
                .spawn_scoped(scope, || {
                    while !deaf.load(deaf_for) {
                        if !watches.listen()? {
                            system::pause(PAUSE);
                        }
                    }
                    Ok(())
                });
            let result = match &listener {
                Ok(listener) => self.rounds(progress, &|| !listener.is_finished(), &mut tell),
                Err(_) => Ok(()),
            };
            deaf.store(true, deaf_for);
            let heard = listener.and_then(|listener| {
                let ended: Result<(), rustix::io::Errno> = listener
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                Ok(ended?)
            });
            (result, heard)
        });
        result?;
        heard.map_err(WatchError::System)?;
        self.end()
    }

    fn rounds(
        &mut self,
        progress: &Progress,
        can_hear: &dyn Fn() -> bool,
        tell: &mut dyn FnMut(WatchEvent),
    ) -> Result<(), WatchError> {
        let mut beat_due = system::now();
        while !progress.is_stopped() && can_hear() {
            let now = system::now();
            let mut looks_for_trees = self.note_losses(tell);
            if now >= beat_due {
                beat_due = now + BEAT;
                looks_for_trees = true;
                self.beat()?;
            }
            match self.round(looks_for_trees, progress, tell) {
                Err(WatchError::Scan(ScanError::Stopped)) => {
                    self.is_cut_off = true;
                    return Ok(());
                }
                result => result?,
            }
            system::pause(PAUSE);
        }
        Ok(())
    }

    /// Records that all trees are current, if they are.
    fn beat(&mut self) -> Result<(), WatchError> {
        // Every earlier change has an event by now.
        let now_ms = system::time_ms();
        self.watches.catch_up().map_err(system)?;
        if self.watches.dirty_since().is_none() && self.sought.is_empty() {
            self.is_current_at(now_ms);
        }
        Ok(())
    }

    /// Records that all changes before `at_ms` are in the catalogue.
    fn is_current_at(&mut self, at_ms: i64) {
        for tree in &mut self.trees {
            if tree.stale.is_none() {
                tree.current_until_ms = tree.current_until_ms.max(at_ms);
            }
        }
        // Readers use this time for each tree that its row calls current, so all rows must be
        // written first.
        if self
            .trees
            .iter()
            .all(|tree| tree.stale.is_none() || tree.is_stale_recorded)
        {
            self.alive.beat(at_ms);
        }
    }

    /// Marks all trees as stale if events were lost. Returns whether a file system was unmounted.
    fn note_losses(&mut self, tell: &mut dyn FnMut(WatchEvent)) -> bool {
        let heard = self.watches.event_counts();
        if heard.overflows > self.handled.overflows {
            for tree in &mut self.trees {
                tree.mark_stale(StaleReason::Overflow, self.settings.quiet);
                tell(WatchEvent::Stale {
                    path: tree.path_buf(),
                    reason: StaleReason::Overflow,
                });
            }
        }
        let is_unmounted = heard.unmounts > self.handled.unmounts;
        self.handled = heard;
        is_unmounted
    }

    /// Opens the catalogue; `None` while another process has it open.
    fn open(&mut self, tell: &mut dyn FnMut(WatchEvent)) -> Result<Option<Arc<Catalogue>>, WatchError> {
        let now = system::now();
        if self.busy.retry_at.is_some_and(|at| now < at) {
            return Ok(None);
        }
        match Catalogue::open(&self.dir, &self.settings.catalogue) {
            Ok(catalogue) => {
                self.busy = Backoff::default();
                Ok(Some(Arc::new(catalogue)))
            }
            Err(CatalogueError::InUse { .. }) => {
                self.busy.delay =
                    (self.busy.delay * 2).clamp(Duration::from_millis(20), Duration::from_secs(1));
                self.busy.retry_at = Some(now + self.busy.delay);
                // Short queries are not reported.
                if self.busy.delay == Duration::from_secs(1) && !self.busy.is_told {
                    self.busy.is_told = true;
                    tell(WatchEvent::Waiting);
                }
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Records until when the trees were current.
    fn end(mut self) -> Result<(), WatchError> {
        if !self.is_cut_off {
            self.beat()?;
        }
        for _ in 0..END_TRIES {
            self.busy.retry_at = None;
            if let Some(catalogue) = self.open(&mut |_| {})? {
                return self.write_rows(&catalogue, false);
            }
            system::pause(Duration::from_millis(50));
        }
        // The released lock shows that the watch has ended; the rows show until when the trees were
        // current.
        Ok(())
    }
}

fn system(errno: rustix::io::Errno) -> WatchError {
    WatchError::System(errno.into())
}

/// Retries to open the catalogue at the end: some five seconds in total.
const END_TRIES: u32 = 100;

/// Returns the path under which a directory is, or becomes, a tree.
fn path_of_tree(catalogue: &Catalogue, given: &Path, answer_within: Duration) -> Result<Vec<u8>, WatchError> {
    use std::os::unix::ffi::OsStrExt;
    if is_address(given.as_os_str().as_bytes()) {
        let path = given.to_owned();
        return Err(WatchError::Objects { path });
    }
    let target = match catalogue.target(given, answer_within) {
        Ok(target) => target,
        // A missing tree is watched once it is back.
        Err(error @ (ScanError::Root { .. } | ScanError::Catalogue(CatalogueError::NoAnswer { .. }))) => {
            let path = std::path::absolute(given).unwrap_or_else(|_| given.to_owned());
            let path = path.as_os_str().as_bytes().to_vec();
            let is_known = catalogue.root(&path)?.is_some_and(|root| root.whole_scan > 0);
            return if is_known { Ok(path) } else { Err(error.into()) };
        }
        Err(error) => return Err(error.into()),
    };
    if target.is_whole() {
        Ok(target.root)
    } else {
        Err(WatchError::Within {
            path: given.to_owned(),
            root: PathBuf::from(std::ffi::OsStr::from_bytes(&target.root)),
        })
    }
}
