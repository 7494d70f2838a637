//! Stores the layouts that this process has accepted and those in force, durably on every volume of
//! a node.
//!
//! Invariants:
//!  - a layout is on disk before its acceptance is answered;
//!  - at most one layout of a number is accepted, and none with a lower number than one accepted or
//!    in force;
//!  - the number in force never decreases.
//!
//! Each volume's `node/layouts.json` is replaced as a whole. The newest file of a node's volumes
//! counts, so one writable volume is enough. [`LayoutLog::write_node_files`] writes it to a wiped volume
//! before that counts as a volume again. A directory that does not identify itself as the volume is
//! not written to. A client keeps the layouts in memory only.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::RwLock;
use placement::{Layout, Layouts};
use serde::{Deserialize, Serialize};
use store::{Cluster, LayoutTag, merge};
use store_protocol::{NEWS, VolumeId};
use system::{Broken, holds};
use tokio::sync::Mutex;

use super::durable_file::{self, NodeFileError};

/// Name of the file.
const FILE: &str = "layouts.json";

/// Version of the file's format.
const FORMAT: u32 = 1;

/// The content of `layouts.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LayoutsFile {
    /// Version of the format.
    format: u32,
    /// The volume that stores the file.
    pub(super) volume: VolumeId,
    /// The layouts in force.
    pub(super) layouts: Layouts,
    /// Accepted layouts newer than those in force, in order of number.
    pub(super) accepted: Vec<Layout>,
}

/// The layouts of this process, in memory and durably on its volumes.
pub(crate) struct LayoutLog {
    /// The volumes that store them.
    places: Vec<(VolumeId, PathBuf)>,
    /// Notified of layouts that come into force.
    cluster: OnceLock<Weak<Cluster>>,
    state: Mutex<State>,
    /// Tag of the current layout. It is kept outside `state` because every request reads it.
    tag: RwLock<LayoutTag>,
}

/// Why layouts cannot be read, accepted or written.
#[derive(Debug, thiserror::Error)]
pub enum LayoutLogError {
    /// The file of a volume cannot be read.
    #[error("read {0}: {1}")]
    Read(PathBuf, io::Error),
    /// The file of a volume has this format, of another version of the program.
    #[error("{0} has format {1}, expected {FORMAT}")]
    Format(PathBuf, u32),
    /// The proposed layout is not newer than the one of this number.
    #[error("layout {0} is already in force")]
    InForce(u64),
    /// The proposed layout is not newer than the other one of this number.
    #[error("another layout, number {0}, has already been accepted")]
    Accepted(u64),
    /// The layouts of a volume contradict those in force.
    #[error("it belongs to another store than the volumes in service")]
    OtherStore,
    /// An invariant of the log would not hold.
    #[error(transparent)]
    Broken(#[from] Broken),
    /// No volume could be written.
    #[error(transparent)]
    Write(#[from] NodeFileError),
}

#[derive(Debug, Clone)]
struct State {
    layouts: Layouts,
    accepted: Vec<Layout>,
}

impl LayoutsFile {
    /// Returns the file of a volume.
    pub(super) fn new(volume: VolumeId, layouts: Layouts, accepted: Vec<Layout>) -> Self {
        Self {
            format: FORMAT,
            volume,
            layouts,
            accepted,
        }
    }

    /// Reads the layout file of the volume in this directory. Returns `None` if the file does not
    /// exist yet.
    pub(super) fn read(volume_dir: &Path) -> Result<Option<Self>, LayoutLogError> {
        let path = durable_file::path_of(volume_dir, FILE);
        match durable_file::read::<Self>(&path) {
            Ok(Some(file)) if file.format != FORMAT => Err(LayoutLogError::Format(path, file.format)),
            read => read.map_err(|error| LayoutLogError::Read(path, error)),
        }
    }
}

impl LayoutLog {
    /// Makes a log that stores `layouts` on the volumes in `places`. A client has no volumes and
    /// passes an empty list. Nothing is written yet.
    pub(crate) fn new(
        layouts: Layouts,
        accepted: Vec<Layout>,
        places: Vec<(VolumeId, PathBuf)>,
    ) -> Arc<Self> {
        Arc::new(Self {
            places,
            cluster: OnceLock::new(),
            tag: RwLock::new(LayoutTag::of(&layouts.current)),
            state: Mutex::new(State { layouts, accepted }),
        })
    }

    /// Sets the cluster that is notified of layouts that come into force.
    pub(crate) fn tell(&self, cluster: &Arc<Cluster>) {
        // A second call would be ignored; each log gets one cluster.
        let _ = self.cluster.set(Arc::downgrade(cluster));
    }

    /// Writes the layouts to every volume that lacks them or has older ones.
    ///
    /// # Errors
    /// Fails if no volume could be written.
    pub(crate) async fn fill(&self) -> Result<(), NodeFileError> {
        let state = self.state.lock().await;
        self.save(&state).await
    }

    /// Writes the layouts into the directory of a volume that is new or may have lost them. Blocks.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub(crate) fn write_node_files(&self, volume: &VolumeId, dir: &Path) -> io::Result<()> {
        // The lock is held while writing, so a layout accepted meanwhile is written after this one.
        let state = self.state.blocking_lock();
        write_one(volume, dir, &state)
    }

    /// Returns the layouts in force.
    pub(crate) async fn layouts(&self) -> Layouts {
        self.state.lock().await.layouts.clone()
    }

    /// Returns the tag of the current layout. Does not wait for writes.
    pub(crate) fn tag(&self) -> LayoutTag {
        *self.tag.read()
    }

    /// Returns the accepted layouts that are newer than those in force.
    pub(crate) async fn accepted(&self) -> Vec<Layout> {
        self.state.lock().await.accepted.clone()
    }

    /// Accepts a layout durably.
    ///
    /// # Errors
    /// The reason for a refusal: its number is taken or too low, or no volume could be written.
    pub(crate) async fn propose(&self, layout: &Layout) -> Result<(), LayoutLogError> {
        let mut state = self.state.lock().await;
        if layout.number <= state.layouts.current.number {
            return Err(LayoutLogError::InForce(state.layouts.current.number));
        }
        if let Some(newest) = state.accepted.last()
            && newest.number >= layout.number
        {
            return if newest == layout {
                Ok(())
            } else {
                Err(LayoutLogError::Accepted(newest.number))
            };
        }
        let mut next = state.clone();
        next.accepted.push(layout.clone());
        check_follows(&state, &next)?;
        self.save(&next).await?;
        // Only after the save: a layout must be durable before its acceptance is answered.
        *state = next;
        Ok(())
    }

    /// Puts layouts into force if they are newer. If they cannot be written they are used anyway: a
    /// majority has them on disk and sends them again.
    pub(crate) async fn adopt(&self, layouts: Layouts) {
        let mut state = self.state.lock().await;
        let Some(merged) = merge(&state.layouts, layouts) else {
            return;
        };
        let number = merged.current.number;
        let mut next = State {
            layouts: merged.clone(),
            accepted: state.accepted.clone(),
        };
        next.accepted.retain(|accepted| accepted.number > number);
        if let Err(broken) = check_follows(&state, &next) {
            // The layouts in force stay, so requests under others are refused.
            tracing::error!(%broken, "layouts that contradict those in force are not adopted");
            return;
        }
        *state = next;
        if let Err(error) = self.save(&state).await {
            tracing::error!(
                layout = number,
                error = error.to_string(),
                "layouts are in force but could not be written to disk"
            );
        }
        *self.tag.write() = LayoutTag::of(&merged.current);
        if !self.places.is_empty() {
            let older = match merged.older.len() {
                0 => "no data is placed by older layouts".to_owned(),
                older => format!("data still moves from older layouts ({older})"),
            };
            tracing::info!(target: NEWS, "layout {number} is in force: {older}");
        }
        if let Some(cluster) = self.cluster.get().and_then(Weak::upgrade) {
            cluster.adopt(merged);
        }
    }

    /// Adopts the layouts of a volume that could not be read when the node started.
    ///
    /// # Errors
    /// Fails if its layouts contradict those in force: the volume must not be used.
    pub(crate) async fn merge_file(&self, file: LayoutsFile) -> Result<(), LayoutLogError> {
        let LayoutsFile {
            layouts, accepted, ..
        } = file;
        let ours = self.layouts().await.current;
        let theirs = &layouts.current;
        if ours.seed != theirs.seed || (ours.number == theirs.number && ours != *theirs) {
            return Err(LayoutLogError::OtherStore);
        }
        self.adopt(layouts).await;
        for layout in accepted {
            // A refusal is right: the layout is already in force, or a newer one has been accepted.
            let _ = self.propose(&layout).await;
        }
        Ok(())
    }

    /// Writes to all volumes. One success is enough.
    async fn save(&self, state: &State) -> Result<(), NodeFileError> {
        if self.places.is_empty() {
            return Ok(());
        }
        let (places, state) = (self.places.clone(), state.clone());
        let write = move |volume: &VolumeId, dir: &Path| write_one(volume, dir, &state);
        let written = system::blocking(move || durable_file::write_to_any(&places, FILE, write)).await;
        written.map_err(|error| NodeFileError::Write(FILE.into(), io::Error::other(error)))?
    }
}

/// Checks that layout numbers only grow, and that no two layouts share one.
fn check_follows(before: &State, next: &State) -> Result<(), Broken> {
    let (old, new) = (&before.layouts.current, &next.layouts.current);
    holds!(
        "cluster.layouts",
        old.number < new.number || old == new,
        "layout {} ({}) would follow layout {} ({})",
        new.number,
        new.digest(),
        old.number,
        old.digest()
    );
    let numbers = || std::iter::once(new.number).chain(next.accepted.iter().map(|layout| layout.number));
    holds!(
        "cluster.accepted",
        numbers().is_sorted_by(|a, b| a < b),
        "layouts {:?} would be in force or accepted, in this order",
        Vec::from_iter(numbers())
    );
    Ok(())
}

fn write_one(volume: &VolumeId, dir: &Path, state: &State) -> io::Result<()> {
    let path = durable_file::path_of(dir, FILE);
    let file = LayoutsFile::new(volume.clone(), state.layouts.clone(), state.accepted.clone());
    // An equal file is not replaced, which saves two syncs.
    if durable_file::read::<LayoutsFile>(&path).is_ok_and(|there| there.as_ref() == Some(&file)) {
        return Ok(());
    }
    durable_file::replace(&path, &file)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use placement::Roles;
    use volume::{DiskSettings, DiskVolume, FixityLog, NODE_DIR};

    use super::*;

    fn layout(number: u64, seed: u64) -> Layout {
        let roles = Roles {
            replicas: 1,
            nodes: Vec::new(),
            volumes: Vec::new(),
            retired: BTreeSet::new(),
        };
        Layout { number, seed, roles }
    }

    fn layouts(number: u64, older: &[u64]) -> Layouts {
        Layouts {
            current: layout(number, 0),
            older: older.iter().map(|number| layout(*number, 0)).collect(),
        }
    }

    /// Returns the directories of volumes `n/0` and `n/1`.
    fn volumes() -> [tempfile::TempDir; 2] {
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        for (i, dir) in dirs.iter().enumerate() {
            let id = VolumeId::from(format!("n/{i}"));
            DiskVolume::open(DiskSettings::new(dir.path(), id, FixityLog::new())).unwrap();
        }
        dirs
    }

    fn layout_log(dirs: &[tempfile::TempDir]) -> Arc<LayoutLog> {
        let file = LayoutsFile::read(dirs[0].path()).unwrap();
        let (layouts, accepted) = file.map_or((layouts(1, &[]), Vec::new()), |file| {
            (file.layouts, file.accepted)
        });
        let places = dirs.iter().enumerate();
        let places = places.map(|(i, dir)| (VolumeId::from(format!("n/{i}")), dir.path().to_owned()));
        LayoutLog::new(layouts, accepted, places.collect())
    }

    #[tokio::test]
    async fn an_acceptance_survives_a_restart_and_excludes_others() {
        let dirs = volumes();
        layout_log(&dirs).propose(&layout(2, 7)).await.unwrap();
        let layout_log = layout_log(&dirs);
        assert_eq!(layout_log.accepted().await, [layout(2, 7)]);
        layout_log.propose(&layout(2, 7)).await.unwrap();
        layout_log.propose(&layout(2, 8)).await.unwrap_err();
        layout_log.propose(&layout(1, 8)).await.unwrap_err();
        layout_log.propose(&layout(4, 8)).await.unwrap();
        layout_log.propose(&layout(3, 8)).await.unwrap_err();
        layout_log.adopt(layouts(2, &[1])).await;
        assert_eq!(layout_log.accepted().await, [layout(4, 8)]);
        assert_eq!(layout_log.tag(), LayoutTag::of(&layout(2, 0)));
        for dir in &dirs {
            let file = LayoutsFile::read(dir.path()).unwrap().unwrap();
            assert_eq!(
                (file.layouts, file.accepted),
                (layouts(2, &[1]), vec![layout(4, 8)])
            );
        }
    }

    #[tokio::test]
    async fn one_volume_that_can_be_written_is_enough_and_none_is_not() {
        let mut dirs = volumes();
        let layout_log = layout_log(&dirs);
        std::fs::remove_dir_all(dirs[0].path()).unwrap();
        layout_log.propose(&layout(2, 0)).await.unwrap();
        assert!(!dirs[0].path().exists(), "a missing volume must not be created");
        std::fs::remove_dir_all(dirs[1].path()).unwrap();
        layout_log.propose(&layout(3, 0)).await.unwrap_err();
        assert_eq!(layout_log.accepted().await, [layout(2, 0)]);
        dirs.iter_mut().for_each(|dir| dir.disable_cleanup(true));
    }

    /// If a disk is unmounted, its mount point does not identify itself as a volume.
    #[tokio::test]
    async fn nothing_is_written_where_there_is_no_volume() {
        let dirs = volumes();
        let layout_log = layout_log(&dirs);
        for name in ["volume.json", "index.redb"] {
            std::fs::remove_file(dirs[0].path().join(name)).unwrap();
        }
        layout_log.propose(&layout(2, 0)).await.unwrap();
        assert!(!dirs[0].path().join(NODE_DIR).exists());
        let dir = dirs[0].path().to_owned();
        let furnish = move || layout_log.write_node_files(&VolumeId::from("n/0".to_owned()), &dir);
        tokio::task::spawn_blocking(furnish).await.unwrap().unwrap();
        let file = LayoutsFile::read(dirs[0].path()).unwrap().unwrap();
        assert_eq!(file.accepted, [layout(2, 0)], "a new volume gets the layouts");
    }

    #[tokio::test]
    async fn what_is_in_force_never_goes_back() {
        let layout_log = LayoutLog::new(layouts(3, &[2, 1]), Vec::new(), Vec::new());
        layout_log.adopt(layouts(2, &[1])).await;
        assert_eq!(layout_log.layouts().await, layouts(3, &[2, 1]));
        // For one current layout the list of older ones only shrinks, in whatever order updates
        // arrive.
        layout_log.adopt(layouts(3, &[2])).await;
        layout_log.adopt(layouts(3, &[2, 1])).await;
        assert_eq!(layout_log.layouts().await, layouts(3, &[2]));
    }
}
