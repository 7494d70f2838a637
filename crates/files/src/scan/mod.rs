//! Scans: a walk of a tree, compared with the catalogue, in stages.
//!
//! READ_DIR lists names, STAT looks at each, LOOKUP gathers a directory and finds what the catalogue has of it, DIFF
//! compares, APPLY commits, and REMOVE_OLD, at the end, takes away what is below directories that are nowhere any more.
//!
//! Invariants:
//!  - between LOOKUP and the commit of its changes no second visit of the same directory is compared;
//!  - a name is taken away only where its directory was read whole;
//!  - a scan that was stopped goes on: directories that it has read whole, and that have the same times, are not read again.

mod apply;
mod content;
mod follow;
mod forget;
mod gather;
mod items;
mod look;
mod objects;
mod place;
mod remove;
mod roots;
mod visits;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use flow::{Batch, Feeder, Flow, StageReport, StageSettings};
use parking_lot::{Condvar, Mutex};
use rustc_hash::{FxHashMap, FxHashSet};
use rustix::io::Errno;

use crate::answer::{self, ANSWER_WITHIN};
use crate::ask::Changed;
use crate::attributes::FileId;
use crate::catalogue::Catalogue;
use crate::error::{CatalogueError, ScanError};
use crate::rows::{ScanCounts, ScanRow, ScanState};
use crate::walk::{Dir, Handle, Handles, Mounts, Walk, WalkSettings, look_at};
pub use follow::FileSeen;
pub(crate) use follow::{FileReader, Observer, Plan, Which};
pub use forget::Forgotten;
use items::{LookedAt, Work};
use remove::Orphans;
use roots::RootError;
pub(crate) use roots::volume_name;
use visits::Visits;

/// How to scan.
#[derive(Debug, Clone)]
pub struct ScanSettings {
    /// Threads that list directories.
    pub read_threads: usize,
    /// Threads that look at names.
    pub stat_threads: usize,
    /// Names between the stages at a time, about.
    pub pending_max: usize,
    /// Also what is mounted below the tree.
    pub cross_devices: bool,
    /// Begin anew even if the last scan of the directory was stopped.
    pub anew: bool,
    /// Which files are looked into, to know their formats.
    pub magic: Magic,
    /// How long the first look at the directory may take: where it lies on a mount that does not answer, the scan ends with
    /// [`CatalogueError::NoAnswer`].
    pub answer_within: Duration,
    /// Where the pipeline ends, to find its slowest stage. Anything but [`Until::Apply`] writes nothing.
    pub until: Until,
}

/// Which files are looked into: their first bytes say what they are. Files that were looked into are not again while they have
/// the same length and time, nor do they lose what was found, whichever of these is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Magic {
    /// None: names alone tell formats.
    #[default]
    Off,
    /// Those whose names say nothing.
    Unnamed,
    /// All, so that wrong endings of names are found.
    All,
}

/// The last stage that works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Names are listed.
    ReadDir,
    /// Names are looked at.
    Stat,
    /// Names are looked up.
    Lookup,
    /// Differences are found.
    Diff,
    /// All.
    Apply,
}

impl Default for ScanSettings {
    fn default() -> ScanSettings {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        ScanSettings {
            read_threads: cores.min(8),
            stat_threads: cores.min(16),
            pending_max: 100_000,
            cross_devices: false,
            anew: false,
            magic: Magic::Off,
            answer_within: ANSWER_WITHIN,
            until: Until::Apply,
        }
    }
}

/// A scan that runs: for those who show how far it is, and may stop it. Cheap to clone.
#[derive(Clone, Default)]
pub struct Progress {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    vanished: AtomicU64,
    entries: AtomicU64,
    /// Directories whose changes are not committed.
    in_flight: Mutex<FxHashSet<FileId>>,
    landed: Condvar,
}

impl Progress {
    /// Ends the scan soon. What it has read is kept.
    pub fn stop(&self) {
        self.shared.stop.store(true, Relaxed);
    }

    /// Whether it was told to end.
    pub fn is_stopped(&self) -> bool {
        self.shared.stop.load(Relaxed)
    }

    /// Names looked at so far in this run.
    pub fn entries(&self) -> u64 {
        self.shared.entries.load(Relaxed)
    }
}

impl Shared {
    /// Waits until no change of a directory is on its way, and marks that one is.
    fn take_off(&self, dir: FileId) {
        let mut in_flight = self.in_flight.lock();
        while !in_flight.insert(dir) {
            if self.stop.load(Relaxed) {
                return;
            }
            self.landed.wait_for(&mut in_flight, Duration::from_millis(50));
        }
    }

    fn land(&self, dirs: impl Iterator<Item = FileId>) {
        let mut in_flight = self.in_flight.lock();
        for dir in dirs {
            in_flight.remove(&dir);
        }
        self.landed.notify_all();
    }
}

/// What a scan did.
#[derive(Debug, Clone)]
pub struct Scanned {
    /// Its number.
    pub number: u64,
    /// Its row.
    pub row: ScanRow,
    /// What each stage did, in this run.
    pub stages: Vec<StageReport>,
}

/// Takes what differs, from several threads.
type Listener = Arc<dyn Fn(Changed) + Send + Sync>;

/// Longest time that differences wait for others to be committed with.
const COMMIT_AGE: Duration = Duration::from_millis(300);
/// Bytes of packs that are committed at a time; fewer where fewer names may be on their way.
const COMMIT_BYTES: u64 = 8 << 20;

/// Where a scan goes.
#[derive(Debug)]
pub(crate) struct Target {
    /// Path of the catalogued tree.
    pub(crate) root: Vec<u8>,
    /// Names that lead from there to the directory that alone is walked.
    only: Vec<Box<[u8]>>,
}

impl Target {
    /// Whether it is all of the tree.
    pub(crate) fn is_whole(&self) -> bool {
        self.only.is_empty()
    }

    fn below(&self) -> Box<[u8]> {
        self.only.join(&b'/').into()
    }
}

/// Everything that the stages share.
struct Scan {
    catalogue: Arc<Catalogue>,
    number: u64,
    /// Whether directories may have been read in this scan before.
    is_resumed: bool,
    /// Whether it has a row of its own: what a watch reads between scans has none.
    is_scan: bool,
    observer: Option<Arc<dyn Observer>>,
    keeps_changes: bool,
    root_path: Vec<u8>,
    row: Mutex<ScanRow>,
    /// Differences go here instead of into the catalogue.
    listener: Option<Listener>,
    handles: Handles,
    /// The directory that is walked, for those who look into files.
    root: Mutex<Option<Handle>>,
    magic: Magic,
    /// Directories without a place, by the directory that was listed with them.
    unplaced: Mutex<FxHashMap<FileId, Vec<Arc<Dir>>>>,
    since_ms: i64,
    spent_before_ms: u64,
    shared: Arc<Shared>,
}

impl Catalogue {
    /// Scans a directory: all of a tree that becomes catalogued, or a part of one that is.
    ///
    /// # Errors
    /// [`ScanError::Stopped`] if `progress` was told to stop; errors about the directory, and those of the catalogue.
    /// What could not be read below the directory is no error but noted ([`Catalogue::faults`]).
    pub fn scan(
        self: &Arc<Self>,
        dir: &Path,
        settings: &ScanSettings,
        progress: &Progress,
    ) -> Result<Scanned, ScanError> {
        self.scan_observed(dir, settings, progress, None)
    }

    /// The same, told to an observer on the way.
    pub(crate) fn scan_observed(
        self: &Arc<Self>,
        dir: &Path,
        settings: &ScanSettings,
        progress: &Progress,
        observer: Option<Arc<dyn Observer>>,
    ) -> Result<Scanned, ScanError> {
        let target = self.target(dir, settings.answer_within)?;
        let mut scan = self.begin(&target, settings, progress, None)?;
        scan.observer = observer;
        let scan = Arc::new(scan);
        let which = match scan.is_resumed {
            true => Which::NotRead,
            false => Which::All,
        };
        let stages = scan.pass(&target, settings, &which)?;
        // A directory may have moved to one that had been read before: those that changed since are read again.
        if settings.until == Until::Apply && self.has_orphans()? {
            scan.pass(&target, settings, &Which::NotRead)?;
        }
        scan.finish(&target, settings, stages)
    }

    /// Walks a catalogued directory, and calls `each` with what it holds otherwise than the catalogue has it; changes nothing.
    /// Of what is below a directory that is gone, the directory alone is told.
    ///
    /// # Errors
    /// As [`Catalogue::scan`], and [`ScanError::Unknown`] if the directory is in no tree that is catalogued.
    pub fn compare(
        self: &Arc<Self>,
        dir: &Path,
        settings: &ScanSettings,
        progress: &Progress,
        each: impl Fn(Changed) + Send + Sync + 'static,
    ) -> Result<ScanCounts, ScanError> {
        let target = self.target(dir, settings.answer_within)?;
        if self.root(&target.root)?.is_none() {
            return Err(ScanError::Unknown { path: dir.to_owned() });
        }
        let scan = Arc::new(self.begin(&target, settings, progress, Some(Arc::new(each)))?);
        scan.pass(&target, settings, &Which::All)?;
        let counts = scan.row.lock().counts;
        Ok(counts)
    }

    /// The tree that a directory is in, and the way from there.
    pub(crate) fn target(&self, dir: &Path, answer_within: Duration) -> Result<Target, ScanError> {
        use std::os::unix::ffi::OsStrExt;
        let given = dir.to_owned();
        let found = answer::within(answer_within, move || {
            let path = given.canonicalize()?;
            let is_dir = path.is_dir();
            Ok::<_, std::io::Error>((path, is_dir))
        });
        let found = found.ok_or_else(|| CatalogueError::no_answer(dir, answer_within))?;
        let (path, is_dir) = found.map_err(|source| ScanError::Root {
            path: dir.to_owned(),
            source,
        })?;
        if !is_dir {
            return Err(ScanError::NotADirectory { path });
        }
        Ok(self.target_at(path.as_os_str().as_bytes(), names_of)?)
    }

    /// The tree that a path is in, and the names that lead from there: `names` takes the rest of the path apart.
    fn target_at(&self, path: &[u8], names: fn(&[u8]) -> Vec<&[u8]>) -> Result<Target, CatalogueError> {
        let roots = self.roots()?;
        let containing = roots
            .iter()
            .filter_map(|(root, _)| Some((root, rest_below(path, root)?)));
        // While a scan takes catalogued trees into one above them, their roots are still there: the outermost counts.
        Ok(match containing.min_by_key(|(root, _)| root.len()) {
            Some((root, rest)) => Target {
                root: root.clone(),
                only: names(rest).into_iter().map(Into::into).collect(),
            },
            None => Target {
                root: path.to_vec(),
                only: Vec::new(),
            },
        })
    }

    fn begin(
        self: &Arc<Self>,
        target: &Target,
        settings: &ScanSettings,
        progress: &Progress,
        listener: Option<Listener>,
    ) -> Result<Scan, ScanError> {
        let now_ms = wall_ms();
        let scans = self.scans()?;
        let last = scans.last().map_or(0, |(number, _)| *number);
        let same = |row: &ScanRow| *row.root == *target.root && row.below == target.below();
        let begun = scans.into_iter().rev().find(|(_, row)| same(row));
        let (number, row, is_resumed) = match begun {
            Some((number, mut row))
                if row.state == ScanState::Begun && !settings.anew && listener.is_none() =>
            {
                row.resumed += 1;
                (number, row, true)
            }
            _ => {
                let row = ScanRow {
                    state: ScanState::Begun,
                    root: target.root.clone().into(),
                    below: target.below(),
                    begun_ms: now_ms,
                    ended_ms: now_ms,
                    spent_ms: 0,
                    resumed: 0,
                    counts: ScanCounts::default(),
                    total: Default::default(),
                };
                (last + 1, row, false)
            }
        };
        Ok(Scan {
            catalogue: self.clone(),
            number,
            is_resumed,
            is_scan: true,
            observer: None,
            // In a first scan everything is new.
            keeps_changes: listener.is_some()
                || self.root(&target.root)?.is_some_and(|root| root.whole_scan > 0),
            magic: match listener {
                // Beside the disk what is in files is no difference.
                Some(_) => Magic::Off,
                None => settings.magic,
            },
            listener,
            handles: Handles::new(),
            root: Mutex::new(None),
            unplaced: Mutex::default(),
            root_path: target.root.clone(),
            since_ms: now_ms,
            spent_before_ms: row.spent_ms,
            row: Mutex::new(row),
            shared: progress.shared.clone(),
        })
    }
}

fn wall_ms() -> i64 {
    i64::try_from(system::wall_ms()).unwrap_or(i64::MAX)
}

/// Asks of a directory what a scan asks first.
fn first_look(path: &Path) -> Result<(), Errno> {
    let root = Handles::new().open_root(path)?;
    look_at(&root, b"")?;
    volume_name(0, &root)?;
    Ok(())
}

/// The names of a path in a file system.
pub(crate) fn names_of(path: &[u8]) -> Vec<&[u8]> {
    let names = path.split(|&byte| byte == b'/');
    names.filter(|name| !name.is_empty()).collect()
}

fn path_buf(path: &[u8]) -> PathBuf {
    PathBuf::from(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(
        path,
    ))
}

/// The rest of a path below another one; empty if they are the same.
pub(crate) fn rest_below<'a>(path: &'a [u8], root: &[u8]) -> Option<&'a [u8]> {
    let rest = path.strip_prefix(root)?;
    match rest.first() {
        None | Some(b'/') => Some(rest.strip_prefix(b"/").unwrap_or(rest)),
        // The root of all ends in a slash itself.
        Some(_) if root == b"/" => Some(rest),
        Some(_) => None,
    }
}

impl Scan {
    /// Ends a scan whose tree was read: takes away what is nowhere any more, unless stages are switched off.
    fn finish(
        self: &Arc<Self>,
        target: &Target,
        settings: &ScanSettings,
        mut stages: Vec<StageReport>,
    ) -> Result<Scanned, ScanError> {
        if settings.until == Until::Apply {
            stages.push(self.remove_old(Orphans::All)?);
            self.end(target)?;
            self.catalogue.tables.settle().map_err(CatalogueError::from)?;
        }
        let row = self.row.lock().clone();
        Ok(Scanned {
            number: self.number,
            row,
            stages,
        })
    }

    /// One walk of the tree through all stages.
    fn pass(
        self: &Arc<Self>,
        target: &Target,
        settings: &ScanSettings,
        which: &Which,
    ) -> Result<Vec<StageReport>, ScanError> {
        let path = path_buf(&target.root);
        let cannot_read = |errno: Errno| ScanError::Root {
            path: path.clone(),
            source: errno.into(),
        };
        let settings_of_walk = WalkSettings {
            threads: settings.read_threads.max(1),
            cross_devices: settings.cross_devices,
            only: target.only.clone(),
        };
        let (feeder, pipeline) = self.stages(settings).map_err(ScanError::Flow)?;
        let monitor = pipeline.monitor();
        let visitor = Visits {
            scan: self,
            feeder,
            until: settings.until,
            which,
        };
        // Without these everything that is mounted is entered, whatever it is.
        let mounts = match settings.cross_devices {
            true => Mounts::default(),
            false => Mounts::below(&target.root),
        };
        let (looked, limit) = (path.clone(), settings.answer_within);
        answer::within(limit, move || first_look(&looked))
            .ok_or_else(|| CatalogueError::no_answer(&path, limit))?
            .map_err(cannot_read)?;
        let mut walk = Walk::new(settings_of_walk, mounts, &visitor, &self.shared.stop);
        let root = walk.open_root(&path).map_err(cannot_read)?;
        let of_root = |error| match error {
            RootError::Read(errno) => cannot_read(errno),
            RootError::Catalogue(error) => error.into(),
        };
        if self.observer.is_some() && !self.is_root(target, &root).map_err(of_root)? {
            return Err(ScanError::Away { path: path.clone() });
        }
        if settings.until == Until::Apply && self.listener.is_none() {
            self.note_root(target, &root).map_err(of_root)?;
        }
        *self.root.lock() = Some(root.clone());
        let walked = walk.run(root);
        let read = walk.report();
        drop(walk);
        // The input of the pipeline ends; what is in it is still committed, also after a stop.
        drop(visitor);
        let joined = pipeline.join();
        *self.root.lock() = None;
        joined.map_err(ScanError::Flow)?;
        self.place_rest()?;
        if self.shared.stop.load(Relaxed) {
            return Err(ScanError::Stopped);
        }
        walked.map_err(cannot_read)?;
        self.row.lock().counts.vanished += self.shared.vanished.swap(0, Relaxed);
        Ok([vec![read], monitor.stages()].concat())
    }

    fn stages(
        self: &Arc<Self>,
        settings: &ScanSettings,
    ) -> Result<(Feeder<Work>, flow::Pipeline), flow::FlowError> {
        let scan = self.clone();
        let stat = stage("STAT", Until::Stat, settings).threads(settings.stat_threads);
        let flow = Flow::<Work, Work>::new().stage(stat, move |_| {
            let scan = scan.clone();
            move |work, out| scan.look(work, out)
        });
        self.stages_behind(flow, settings)
    }

    /// The stages behind those that read and look.
    fn stages_behind<I: flow::Item>(
        self: &Arc<Self>,
        flow: Flow<I, LookedAt>,
        settings: &ScanSettings,
    ) -> Result<(Feeder<I>, flow::Pipeline), flow::FlowError> {
        let stage = |name, until| stage(name, until, settings);
        let batch = Batch {
            items_max: 1 << 14,
            bytes_max: COMMIT_BYTES.min(pending_bytes(settings)),
            age_max: COMMIT_AGE,
        };
        // Looks into files wait for the disk, and each directory is compared by one thread.
        let threads_of_diff = match self.magic {
            Magic::Off => 1,
            Magic::Unnamed | Magic::All => settings.stat_threads,
        };
        let (b, c, d) = (self.clone(), self.clone(), self.clone());
        flow.by_key(|looked: &LookedAt| looked.dir.visit)
            .stage(stage("LOOKUP", Until::Lookup), move |_| {
                let mut gatherer = gather::Gatherer::new(b.clone());
                move |looked, out| gatherer.take(looked, out)
            })
            .stage(stage("DIFF", Until::Diff).threads(threads_of_diff), move |_| {
                let scan = c.clone();
                move |up, out| scan.differ(up, out)
            })
            .batched(stage("APPLY", Until::Apply), batch, move |_| {
                let scan = d.clone();
                move |all, _| scan.apply(all)
            })
            .start()
    }

    /// The number of the file system that a directory is on.
    fn volume(&self, device: u64, handle: &Handle) -> Result<u32, Errno> {
        self.volume_named(&volume_name(device, handle)?)
    }

    fn volume_named(&self, name: &str) -> Result<u32, Errno> {
        self.catalogue.volume(name).map_err(|error| {
            tracing::error!(%error, "a file system could not be numbered");
            Errno::IO
        })
    }

    fn spent_ms(&self) -> u64 {
        self.spent_before_ms + u64::try_from(wall_ms() - self.since_ms).unwrap_or(0)
    }
}

/// The settings of a stage; off if the pipeline ends before it.
fn stage(name: &'static str, until: Until, settings: &ScanSettings) -> StageSettings {
    let order = [
        Until::ReadDir,
        Until::Stat,
        Until::Lookup,
        Until::Diff,
        Until::Apply,
    ];
    let place = |until: Until| order.iter().position(|at| *at == until);
    // Most directories are small: what bounds the queues is their bytes.
    StageSettings::new(name)
        .queue(1 << 12, pending_bytes(settings).max(1 << 20))
        .off(place(until) > place(settings.until))
}

/// Bytes that names between the stages take, about.
fn pending_bytes(settings: &ScanSettings) -> u64 {
    settings.pending_max as u64 * 100
}
