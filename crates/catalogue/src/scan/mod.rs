//! Scans: walk a tree and compare it with the catalogue, in stages.
//!
//! READ_DIR lists names, STAT examines each, LOOKUP collects a directory and looks it up in the
//! catalogue, DIFF compares, APPLY commits, and REMOVE_OLD finally removes everything below
//! directories that no longer exist.
//!
//! Invariants:
//!  - Between LOOKUP of a directory and the commit of its changes, no second visit of the same
//!    directory is compared.
//!  - A name is removed only if its directory was read in full.
//!  - A stopped scan is resumed: directories that it has read in full are not read again if their
//!    times are unchanged.

mod apply;
mod attach;
mod content;
mod follow;
mod forget;
mod gather;
mod items;
mod objects;

mod remove;
mod roots;
mod stat;
mod visits;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use pipeline::{Batch, Feeder, Flow, StageRow, StageSettings};
use rustc_hash::{FxHashMap, FxHashSet};
use rustix::io::Errno;

use crate::attributes::FileId;
use crate::catalogue::Catalogue;
use crate::error::{CatalogueError, ScanError};
use crate::path::{names_of, path_buf, rest_below};
use crate::query::ReportedChange;
use crate::rows::{ScanCounts, ScanRow, ScanState};
use crate::timed_call::{ANSWER_WITHIN, call_within};
use crate::walk::{Dir, Handle, Handles, Mounts, Walk, WalkSettings, stat_at};
pub use follow::ObservedFile;
pub(crate) use follow::{FileReader, Observer, Plan, Which};
pub use forget::ForgetReport;
use items::{ExaminedPiece, Work};
use remove::Orphans;
use roots::RootError;
pub(crate) use roots::volume_name;
use visits::Visits;

/// Settings of a scan.
#[derive(Debug, Clone)]
pub struct ScanSettings {
    /// Number of threads that list directories.
    pub read_threads: usize,
    /// Number of threads that examine names.
    pub stat_threads: usize,
    /// Approximate maximum number of names between the stages.
    pub pending_max: usize,
    /// Whether to enter file systems mounted below the tree.
    pub cross_devices: bool,
    /// Whether to start over even if the last scan of the directory was stopped.
    pub restart: bool,
    /// Which files to read for their format.
    pub magic: Magic,
    /// Time limit for the first look at the directory. On a mount that hangs, the scan fails with
    /// [`CatalogueError::NoAnswer`].
    pub answer_within: Duration,
    /// The last active stage, to find the slowest one. Any value but [`LastStage::Apply`] writes
    /// nothing.
    pub last_stage: LastStage,
}

/// Which files to read for their format, by their first bytes. A file is read once per version
/// (length and time), and the result is kept under any of these settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Magic {
    /// Reads no files: only names determine formats.
    #[default]
    Off,
    /// Files whose names do not determine a format.
    Unnamed,
    /// All files, so that wrong extensions are found.
    All,
}

/// The last active stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastStage {
    /// Names are listed.
    ReadDir,
    /// Names are examined.
    Stat,
    /// Names are looked up.
    Lookup,
    /// Differences are found.
    Diff,
    /// All stages run.
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
            restart: false,
            magic: Magic::Off,
            answer_within: ANSWER_WITHIN,
            last_stage: LastStage::Apply,
        }
    }
}

/// Handle of a running scan, to show its progress and to stop it. Cheap to clone.
#[derive(Clone, Default)]
pub struct Progress {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    vanished: AtomicU64,
    entries: AtomicU64,
    /// Directories with uncommitted changes.
    in_flight: Mutex<FxHashSet<FileId>>,
    unlocked: Condvar,
}

impl Progress {
    /// Requests an early end of the scan. Its progress is kept.
    pub fn stop(&self) {
        self.shared.stop.store(true, Relaxed);
    }

    /// Returns whether the scan was asked to stop.
    pub fn is_stopped(&self) -> bool {
        self.shared.stop.load(Relaxed)
    }

    /// Returns the number of names examined so far in this run.
    pub fn entries(&self) -> u64 {
        self.shared.entries.load(Relaxed)
    }
}

impl Shared {
    /// Waits until no change of the directory is in flight, and marks it as in flight.
    fn lock_dir(&self, dir: FileId) {
        let mut in_flight = self.in_flight.lock();
        while !in_flight.insert(dir) {
            if self.stop.load(Relaxed) {
                return;
            }
            self.unlocked.wait_for(&mut in_flight, Duration::from_millis(50));
        }
    }

    fn unlock_dirs(&self, dirs: impl Iterator<Item = FileId>) {
        let mut in_flight = self.in_flight.lock();
        for dir in dirs {
            in_flight.remove(&dir);
        }
        self.unlocked.notify_all();
    }
}

/// The result of a scan.
#[derive(Debug, Clone)]
pub struct ScanReport {
    /// Its number.
    pub number: u64,
    /// Its row.
    pub row: ScanRow,
    /// Reports of the stages, for this run.
    pub stages: Vec<StageRow>,
}

/// Receives differences, from several threads.
type Listener = Arc<dyn Fn(ReportedChange) + Send + Sync>;

/// Maximum time that differences wait to be committed with others.
const COMMIT_AGE: Duration = Duration::from_millis(300);
/// Maximum bytes of packs per commit; less if `pending_max` is small.
const COMMIT_BYTES: u64 = 8 << 20;

/// The part of a tree to scan.
#[derive(Debug)]
pub(crate) struct Target {
    /// Path of the catalogued tree.
    pub(crate) root: Vec<u8>,
    /// Names that lead from there to the directory to walk; empty for the whole tree.
    only: Vec<Box<[u8]>>,
}

impl Target {
    /// Returns whether it is the whole tree.
    pub(crate) fn is_whole(&self) -> bool {
        self.only.is_empty()
    }

    fn below(&self) -> Box<[u8]> {
        self.only.join(&b'/').into()
    }
}

/// State shared by the stages.
struct Scan {
    catalogue: Arc<Catalogue>,
    number: u64,
    /// Whether an earlier run of this scan may have read some directories.
    is_resumed: bool,
    /// Whether it has a scan row. Incremental reads of a watch have none.
    is_scan: bool,
    observer: Option<Arc<dyn Observer>>,
    keeps_changes: bool,
    root_path: Vec<u8>,
    row: Mutex<ScanRow>,
    /// Receives the differences instead of the catalogue.
    listener: Option<Listener>,
    handles: Handles,
    /// The directory being walked, for reading files.
    root: Mutex<Option<Handle>>,
    magic: Magic,
    /// Directories that are not attached yet, by their parent at the time of listing.
    unattached: Mutex<FxHashMap<FileId, Vec<Arc<Dir>>>>,
    since_ms: i64,
    spent_before_ms: u64,
    shared: Arc<Shared>,
}

impl Catalogue {
    /// Scans a directory: a whole tree, which becomes catalogued, or a part of a catalogued one.
    ///
    /// # Errors
    /// [`ScanError::Stopped`] if `progress` was stopped; errors about the directory, and those of
    /// the catalogue. Read errors below the directory do not fail the scan; they are recorded
    /// ([`Catalogue::faults`]).
    pub fn scan(
        self: &Arc<Self>,
        dir: &Path,
        settings: &ScanSettings,
        progress: &Progress,
    ) -> Result<ScanReport, ScanError> {
        self.scan_observed(dir, settings, progress, None)
    }

    /// As [`Catalogue::scan`], and reports to an observer.
    pub(crate) fn scan_observed(
        self: &Arc<Self>,
        dir: &Path,
        settings: &ScanSettings,
        progress: &Progress,
        observer: Option<Arc<dyn Observer>>,
    ) -> Result<ScanReport, ScanError> {
        let target = self.target(dir, settings.answer_within)?;
        let mut scan = self.begin(&target, settings, progress, None)?;
        scan.observer = observer;
        let scan = Arc::new(scan);
        let which = if scan.is_resumed {
            Which::NotRead
        } else {
            Which::All
        };
        let stages = scan.pass(&target, settings, &which)?;
        // A directory may have moved to a parent that had already been read. Directories that
        // changed since are read again.
        if settings.last_stage == LastStage::Apply && self.has_orphans()? {
            scan.pass(&target, settings, &Which::NotRead)?;
        }
        scan.finish(&target, settings, stages)
    }

    /// Walks a catalogued directory and calls `each` with every difference from the catalogue.
    /// Writes nothing. For a removed directory only the directory itself is reported.
    ///
    /// # Errors
    /// As [`Catalogue::scan`]; [`ScanError::Unknown`] if the directory is in no catalogued tree.
    pub fn compare(
        self: &Arc<Self>,
        dir: &Path,
        settings: &ScanSettings,
        progress: &Progress,
        each: impl Fn(ReportedChange) + Send + Sync + 'static,
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

    /// Returns the tree that contains a directory, and the path from there.
    pub(crate) fn target(&self, dir: &Path, answer_within: Duration) -> Result<Target, ScanError> {
        use std::os::unix::ffi::OsStrExt;
        let given = dir.to_owned();
        let found = call_within(answer_within, move || {
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

    /// Returns the tree that contains a path, and the names that lead from there. `names` splits
    /// the rest of the path.
    fn target_at(&self, path: &[u8], names: fn(&[u8]) -> Vec<&[u8]>) -> Result<Target, CatalogueError> {
        let roots = self.roots()?;
        let containing = roots
            .iter()
            .filter_map(|(root, _)| Some((root, rest_below(path, root)?)));
        // While a scan absorbs trees into one above them, their roots still exist: the outermost
        // root wins.
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
        let now_ms = system::time_ms();
        let scans = self.scans()?;
        let last = scans.last().map_or(0, |(number, _)| *number);
        let same = |row: &ScanRow| *row.root == *target.root && row.below == target.below();
        let begun = scans.into_iter().rev().find(|(_, row)| same(row));
        let (number, row, is_resumed) = match begun {
            Some((number, mut row))
                if row.state == ScanState::Begun && !settings.restart && listener.is_none() =>
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
            // A first scan does not record every name as a change.
            keeps_changes: listener.is_some()
                || self.root(&target.root)?.is_some_and(|root| root.whole_scan > 0),
            magic: match listener {
                // A format found by content is not a difference from the disk.
                Some(_) => Magic::Off,
                None => settings.magic,
            },
            listener,
            handles: Handles::new(),
            root: Mutex::new(None),
            unattached: Mutex::default(),
            root_path: target.root.clone(),
            since_ms: now_ms,
            spent_before_ms: row.spent_ms,
            row: Mutex::new(row),
            shared: progress.shared.clone(),
        })
    }
}

/// Makes the calls with which a scan of a directory starts.
fn check_reachable(path: &Path) -> Result<(), Errno> {
    let root = Handles::new().open_root(path)?;
    stat_at(&root, b"")?;
    volume_name(0, &root)?;
    Ok(())
}

impl Scan {
    /// Finishes a scan after its tree was read: removes what no longer exists, unless stages are
    /// disabled.
    fn finish(
        self: &Arc<Self>,
        target: &Target,
        settings: &ScanSettings,
        mut stages: Vec<StageRow>,
    ) -> Result<ScanReport, ScanError> {
        if settings.last_stage == LastStage::Apply {
            stages.push(self.remove_old(Orphans::All)?);
            self.end(target)?;
            self.catalogue.tables.settle().map_err(CatalogueError::from)?;
        }
        let row = self.row.lock().clone();
        Ok(ScanReport {
            number: self.number,
            row,
            stages,
        })
    }

    /// Walks the tree once through all stages.
    fn pass(
        self: &Arc<Self>,
        target: &Target,
        settings: &ScanSettings,
        which: &Which,
    ) -> Result<Vec<StageRow>, ScanError> {
        let path = path_buf(&target.root);
        let cannot_read = |errno: Errno| ScanError::Root {
            path: path.clone(),
            source: errno.into(),
        };
        let (feeder, pipeline) = self.stages(settings).map_err(ScanError::Flow)?;
        let monitor = pipeline.monitor();
        let visitor = Visits {
            scan: self,
            feeder,
            until: settings.last_stage,
            which,
        };
        let (of_walk, mounts) = (walk_settings(target, settings), mounts(target, settings));
        let (looked, limit) = (path.clone(), settings.answer_within);
        call_within(limit, move || check_reachable(&looked))
            .ok_or_else(|| CatalogueError::no_answer(&path, limit))?
            .map_err(cannot_read)?;
        let mut walk = Walk::new(of_walk, mounts, &visitor, &self.shared.stop);
        let root = walk.open_root(&path).map_err(cannot_read)?;
        let of_root = |error| match error {
            RootError::Read(errno) => cannot_read(errno),
            RootError::Catalogue(error) => error.into(),
        };
        if self.observer.is_some() && !self.is_root(target, &root).map_err(of_root)? {
            return Err(ScanError::Away { path: path.clone() });
        }
        if settings.last_stage == LastStage::Apply && self.listener.is_none() {
            self.note_root(target, &root).map_err(of_root)?;
        }
        *self.root.lock() = Some(root.clone());
        let walked = walk.run(root);
        let read = walk.report();
        drop(walk);
        // Closes the input of the pipeline. Items in it are still committed, also after a stop.
        drop(visitor);
        let joined = pipeline.join();
        *self.root.lock() = None;
        joined.map_err(ScanError::Flow)?;
        self.attach_rest()?;
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
    ) -> Result<(Feeder<Work>, pipeline::Pipeline), pipeline::FlowError> {
        let scan = self.clone();
        let stat = stage("STAT", LastStage::Stat, settings).threads(settings.stat_threads);
        let flow = Flow::<Work, Work>::new().stage(stat, move |_| {
            let scan = scan.clone();
            move |work, out| scan.stat_piece(work, out)
        });
        self.stages_behind(flow, settings)
    }

    /// Starts the stages after READ_DIR and STAT.
    fn stages_behind<I: pipeline::Item>(
        self: &Arc<Self>,
        flow: Flow<I, ExaminedPiece>,
        settings: &ScanSettings,
    ) -> Result<(Feeder<I>, pipeline::Pipeline), pipeline::FlowError> {
        let stage = |name, until| stage(name, until, settings);
        let batch = Batch {
            items_max: 1 << 14,
            bytes_max: COMMIT_BYTES.min(pending_bytes(settings)),
            age_max: COMMIT_AGE,
        };
        // Reading files waits for the disk, and one thread compares a directory.
        let threads_of_diff = match self.magic {
            Magic::Off => 1,
            Magic::Unnamed | Magic::All => settings.stat_threads,
        };
        let (b, c, d) = (self.clone(), self.clone(), self.clone());
        flow.by_key(|looked: &ExaminedPiece| looked.dir.visit)
            .stage(stage("LOOKUP", LastStage::Lookup), move |_| {
                let mut gatherer = gather::Gatherer::new(b.clone());
                move |looked, out| gatherer.take(looked, out)
            })
            .stage(
                stage("DIFF", LastStage::Diff).threads(threads_of_diff),
                move |_| {
                    let scan = c.clone();
                    move |up, out| scan.differ(up, out)
                },
            )
            .batched(stage("APPLY", LastStage::Apply), batch, move |_| {
                let scan = d.clone();
                move |all, _| scan.apply(all)
            })
            .start()
    }

    /// Returns the number of the file system of a directory.
    fn volume(&self, device: u64, handle: &Handle) -> Result<u32, Errno> {
        self.volume_named(&volume_name(device, handle)?)
    }

    fn volume_named(&self, name: &str) -> Result<u32, Errno> {
        self.catalogue.volume(name).map_err(|error| {
            tracing::error!(%error, "cannot assign a number to a file system");
            Errno::IO
        })
    }

    fn spent_ms(&self) -> u64 {
        self.spent_before_ms + u64::try_from(system::time_ms() - self.since_ms).unwrap_or(0)
    }
}

/// Returns the mounts below the target. With `cross_devices` it returns none: every mount is then
/// entered, whatever its type.
fn mounts(target: &Target, settings: &ScanSettings) -> Mounts {
    if settings.cross_devices {
        Mounts::default()
    } else {
        Mounts::below(&target.root)
    }
}

fn walk_settings(target: &Target, settings: &ScanSettings) -> WalkSettings {
    WalkSettings {
        threads: settings.read_threads.max(1),
        cross_devices: settings.cross_devices,
        only: target.only.clone(),
    }
}

/// Returns the settings of a stage; disabled if the pipeline ends before it.
fn stage(name: &'static str, until: LastStage, settings: &ScanSettings) -> StageSettings {
    let order = [
        LastStage::ReadDir,
        LastStage::Stat,
        LastStage::Lookup,
        LastStage::Diff,
        LastStage::Apply,
    ];
    let place = |until: LastStage| order.iter().position(|at| *at == until);
    // Most directories are small, so the queues are bounded by bytes.
    StageSettings::new(name)
        .queue(1 << 12, pending_bytes(settings).max(1 << 20))
        .off(place(until) > place(settings.last_stage))
}

/// Approximate bytes of names between the stages.
fn pending_bytes(settings: &ScanSettings) -> u64 {
    settings.pending_max as u64 * 100
}
