//! Incremental reads of a watch: some directories of a tree are read, compared and committed as in
//! a scan.
//!
//! Invariants:
//!  - A planned directory counts as read only when the walk has reached it, wherever it found it.
//!  - A directory that is not catalogued, or was not watched before, is read with everything below
//!    it.
//!  - The entry of every planned directory in its parent is examined too, because it holds the
//!    directory's own times.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};

use super::remove::Orphans;
use super::{Magic, Progress, Scan, ScanSettings, Target};
use crate::attributes::{Attributes, FileId};
use crate::catalogue::Catalogue;
use crate::error::{CatalogueError, ScanError};
use crate::rows::{LinkedName, ScanCounts, ScanRow, ScanState};
use crate::walk::{Handle, Handles, KnownDir};

/// The directories that a walk reads.
#[derive(Debug, Clone)]
pub(crate) enum Which {
    /// All.
    All,
    /// Directories that this scan has not read in full, or whose times have changed since.
    NotRead,
    /// Directories whose times differ from the catalogue.
    Changed,
    /// Directories of a plan, and those that are not catalogued.
    Planned(Arc<Plan>),
}

/// Receives events of a running scan, from several threads.
pub(crate) trait Observer: Send + Sync {
    /// A directory was opened and nothing in it was read yet. Returns whether its changes are
    /// reported from now on; the caller then reads its times again.
    fn opened(&self, parent: Option<FileId>, id: FileId, handle: &Handle) -> bool;

    /// Returns whether changes of a directory are reported only since it was opened in this round.
    fn is_fresh(&self, id: FileId) -> bool;

    /// A name in `dir` of a file with several names has new attributes or is gone. `names` are all
    /// known names.
    fn linked(&self, file: FileId, dir: FileId, now: Option<&Attributes>, names: &[LinkedName]);

    /// A directory was removed from the catalogue.
    fn forgotten(&self, id: FileId);

    /// Returns the receiver of files in directories that are read.
    fn reader(&self) -> Option<&FileReader>;
}

/// Receives the files in directories that are read.
pub(crate) struct FileReader {
    /// Selects files by name.
    pub(crate) wants: fn(&[u8]) -> bool,
    pub(crate) tell: Box<dyn Fn(ObservedFile) + Send + Sync>,
}

/// A regular file in a directory that a watch has read, whether or not it changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedFile {
    /// Its path.
    pub path: PathBuf,
    /// Its attributes.
    pub attributes: Attributes,
}

/// Directories to read, and the paths to them.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Directories not reached yet.
    read: Mutex<FxHashSet<FileId>>,
    ways: FxHashMap<FileId, Way>,
    /// Directories that are not catalogued.
    pub(crate) unknown: Vec<FileId>,
}

/// What to do in a directory on the path to others.
#[derive(Debug, Default)]
struct Way {
    enter: FxHashSet<Box<[u8]>>,
    look: FxHashSet<Box<[u8]>>,
}

impl Plan {
    /// Finds the paths to directories in the catalogue.
    pub(crate) fn new(
        catalogue: &Catalogue,
        dirs: impl Iterator<Item = FileId>,
    ) -> Result<Plan, CatalogueError> {
        let mut plan = Plan::default();
        let mut read = FxHashSet::default();
        for dir in dirs {
            let Some(mut row) = catalogue.dir_row(dir)? else {
                plan.unknown.push(dir);
                continue;
            };
            read.insert(dir);
            let mut at = dir;
            while let Some(parent) = row.parent.filter(|parent| *parent != at) {
                let way = plan.ways.entry(parent).or_default();
                if at == dir {
                    way.look.insert(row.name.clone());
                }
                // The rest of the path is already planned.
                if !way.enter.insert(row.name) {
                    break;
                }
                match catalogue.dir_row(parent)? {
                    Some(above) => (row, at) = (above, parent),
                    None => break,
                }
            }
        }
        plan.read = Mutex::new(read);
        Ok(plan)
    }

    /// Returns whether the plan has work in a tree.
    pub(crate) fn concerns(&self, root: FileId) -> bool {
        self.ways.contains_key(&root) || self.read.lock().contains(&root)
    }

    /// Returns the directories that no walk has reached.
    pub(crate) fn not_reached(&self) -> Vec<FileId> {
        self.read.lock().iter().copied().collect()
    }

    pub(super) fn known(&self, catalogue: &Catalogue, id: FileId) -> Option<KnownDir> {
        if self.read.lock().remove(&id) {
            return None;
        }
        let row = catalogue.dir_row(id).ok()??;
        if !row.is_whole() {
            return None;
        }
        Some(self.ways.get(&id).map_or_else(KnownDir::default, |way| KnownDir {
            enter: way.enter.iter().cloned().collect(),
            look: way.look.iter().cloned().collect(),
        }))
    }
}

impl Catalogue {
    /// Reads some directories of a tree that was scanned in full. Directories that are missing
    /// afterwards stay until [`Catalogue::remove_orphans`].
    ///
    /// # Errors
    /// As [`Catalogue::scan`]; [`ScanError::Away`] if another directory is at the path of the tree.
    pub(crate) fn follow(
        self: &Arc<Self>,
        root: &[u8],
        which: &Which,
        settings: &ScanSettings,
        progress: &Progress,
        observer: &Arc<dyn Observer>,
    ) -> Result<ScanCounts, ScanError> {
        let target = Target {
            root: root.to_vec(),
            only: Vec::new(),
        };
        let mut scan = self.between_scans(&target, progress, Some(observer))?;
        scan.magic = settings.magic;
        let scan = Arc::new(scan);
        scan.pass(&target, settings, which)?;
        let counts = scan.row.lock().counts;
        Ok(counts)
    }

    /// Returns whether there are orphans.
    pub(crate) fn has_orphans(&self) -> Result<bool, CatalogueError> {
        Ok(!self.tables.space(crate::tables::Table::Orphans).is_empty()?)
    }

    /// Removes all orphans and everything below them.
    pub(crate) fn remove_orphans(
        self: &Arc<Self>,
        progress: &Progress,
        observer: &Arc<dyn Observer>,
    ) -> Result<ScanCounts, ScanError> {
        let target = Target {
            root: Vec::new(),
            only: Vec::new(),
        };
        let scan = Arc::new(self.between_scans(&target, progress, Some(observer))?);
        scan.remove_old(Orphans::All)?;
        let counts = scan.row.lock().counts;
        Ok(counts)
    }

    pub(super) fn between_scans(
        self: &Arc<Self>,
        target: &Target,
        progress: &Progress,
        observer: Option<&Arc<dyn Observer>>,
    ) -> Result<Scan, CatalogueError> {
        let now_ms = system::time_ms();
        Ok(Scan {
            catalogue: self.clone(),
            // Directories count as read by the scan that this follows.
            number: self.root(&target.root)?.map_or(0, |root| root.whole_scan),
            is_resumed: false,
            is_scan: false,
            observer: observer.cloned(),
            keeps_changes: true,
            listener: None,
            handles: Handles::new(),
            root: Mutex::new(None),
            unattached: Mutex::default(),
            magic: Magic::Off,
            root_path: target.root.clone(),
            since_ms: now_ms,
            spent_before_ms: 0,
            row: Mutex::new(ScanRow {
                state: ScanState::Begun,
                root: target.root.clone().into(),
                below: Box::default(),
                begun_ms: now_ms,
                ended_ms: now_ms,
                spent_ms: 0,
                resumed: 0,
                counts: ScanCounts::default(),
                total: Default::default(),
            }),
            shared: progress.shared.clone(),
        })
    }
}
