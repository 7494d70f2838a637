//! A volume in memory: a model of a volume, with switchable faults and manual damage.

mod faults;
mod replica;
mod volume;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use faults::Faults;
pub use faults::{FaultMode, Step};
use parking_lot::Mutex;
pub use replica::{Replica, table};
use store_protocol::{
    BLOCK_BYTES, FixityEvent, Key, Meta, Partition, Pending, Purpose, ReplicaEntry, ReplicaState,
    SurveyEntry, UploadId, Version, VolumeError, VolumeId,
};

/// A volume in memory.
pub struct MemoryVolume {
    id: VolumeId,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    faults: Faults,
    replicas: BTreeMap<Key, BTreeMap<Version, Replica>>,
    /// Files that are not replicas, by partition and path.
    strays: Vec<(Partition, String)>,
    uploads: HashMap<UploadId, Upload>,
    log: Vec<FixityEvent>,
}

struct Upload {
    content: Vec<u8>,
    meta: Option<(Meta, Purpose)>,
}

impl State {
    fn newest(&self, key: &Key) -> Option<&Replica> {
        self.replicas.get(key)?.values().next_back()
    }

    /// Returns everything prepared for a write.
    fn pending(&self) -> impl Iterator<Item = Pending> {
        self.uploads
            .iter()
            .filter_map(|(upload, entry)| match &entry.meta {
                Some((meta, Purpose::Write)) => Some(Pending {
                    upload: *upload,
                    meta: meta.clone(),
                }),
                _ => None,
            })
    }

    fn newest_mut(&mut self, key: &Key) -> Option<&mut Replica> {
        self.replicas.get_mut(key)?.values_mut().next_back()
    }

    fn of(&self, key: &Key, version: Version) -> Option<&Replica> {
        self.replicas.get(key)?.get(&version)
    }

    fn all(&self) -> impl Iterator<Item = &Replica> {
        self.replicas.values().flat_map(BTreeMap::values)
    }

    fn survey(&self, partition: Partition) -> Vec<SurveyEntry> {
        let here = self
            .all()
            .filter(|replica| replica.meta.key.partition() == partition);
        let strays = self.strays.iter().filter(|stray| stray.0 == partition);
        let strays = strays.map(|stray| SurveyEntry::Stray {
            path: stray.1.clone(),
            bytes: 1,
            detail: "unknown".to_owned(),
        });
        here.map(Replica::surveyed).chain(strays).collect()
    }

    /// Removes a version. Returns whether it existed.
    fn remove(&mut self, key: &Key, version: Version) -> bool {
        let Some(versions) = self.replicas.get_mut(key) else {
            return false;
        };
        let found = versions.remove(&version).is_some();
        if versions.is_empty() {
            self.replicas.remove(key);
        }
        found
    }
}

/// Control of its faults.
impl MemoryVolume {
    pub fn new(id: VolumeId) -> Arc<Self> {
        let state = Mutex::default();
        Arc::new(Self { id, state })
    }

    pub fn set(&self, fault_mode: FaultMode) {
        self.state.lock().faults.fault_mode = fault_mode;
    }

    pub fn fault_mode(&self) -> FaultMode {
        self.state.lock().faults.fault_mode.clone()
    }

    /// Makes the `nth` call of a step from now on (1 is the next) fail.
    pub fn fail_at(&self, step: Step, nth: u32) {
        let error = VolumeError::Failed {
            volume: self.id.clone(),
            detail: format!("tripped at {step:?}"),
        };
        self.fail_at_with(step, nth, error);
    }

    pub fn fail_at_with(&self, step: Step, nth: u32, error: VolumeError) {
        self.state.lock().faults.failures.insert(step, (nth, error));
    }

    /// Cancels all planned failures.
    pub fn clear_failures(&self) {
        self.state.lock().faults.failures.clear();
    }

    /// Stops answering requests that change something after this many changes, like a crash in
    /// between.
    pub fn stop_after(&self, changes: Option<u64>) {
        self.state.lock().faults.changes_left = changes;
    }

    /// Ends streams of content after this many bytes from now on.
    pub fn cut_reads(&self, after: Option<usize>) {
        self.state.lock().faults.cut_reads_after = after;
    }

    /// Limits responses to surveys to this many partitions from now on.
    pub fn survey_at_most(&self, partitions: usize) {
        self.state.lock().faults.survey_most = Some(partitions);
    }

    pub fn calls(&self, step: Step) -> u64 {
        self.state.lock().faults.calls.get(&step).copied().unwrap_or(0)
    }
}

/// Its content, and manual damage.
impl MemoryVolume {
    /// Stores a replica, even where it does not belong.
    pub fn put(&self, meta: &Meta, content: &[u8]) {
        let replica = Replica::new(meta.clone(), content.to_vec());
        let mut state = self.state.lock();
        let versions = state.replicas.entry(meta.key.clone()).or_default();
        versions.insert(meta.version, replica);
    }

    /// Damages a replica.
    pub fn damage(&self, key: &Key, version: Version, damage: impl FnOnce(&mut Replica)) {
        let mut state = self.state.lock();
        let versions = state.replicas.get_mut(key);
        let found = versions.and_then(|versions| versions.get_mut(&version));
        damage(found.expect("the replica to damage is there"));
    }

    /// Flips a bit in a block of the newest replica held. Returns false if there is no such
    /// replica.
    pub fn corrupt(&self, key: &Key, block: u64) -> bool {
        let at = usize::try_from(block * BLOCK_BYTES).unwrap();
        let mut state = self.state.lock();
        let content = state.newest_mut(key).and_then(|replica| replica.content.as_mut());
        let byte = content.and_then(|content| content.get_mut(at));
        byte.map(|byte| *byte ^= 1).is_some()
    }

    /// Marks a replica as no longer bad.
    pub fn restore(&self, key: &Key, version: Version) {
        self.damage(key, version, |replica| {
            replica.bad = None;
            replica.bad_blocks = None;
        });
    }

    /// Loses everything, as if replaced by an empty disk.
    pub fn wipe(&self) {
        let mut state = self.state.lock();
        state.replicas.clear();
        state.uploads.clear();
    }

    /// Adds a file that is not a replica.
    pub fn stray(&self, partition: Partition, path: &str) {
        self.state.lock().strays.push((partition, path.to_owned()));
    }

    /// Returns the keys of all replicas, tombstones included.
    pub fn keys(&self) -> Vec<Key> {
        self.state.lock().replicas.keys().cloned().collect()
    }

    /// Returns all replicas, older versions included.
    pub fn replicas(&self) -> Vec<Replica> {
        self.state.lock().all().cloned().collect()
    }

    /// Returns the newest version of a key.
    pub fn held(&self, key: &Key) -> Option<ReplicaEntry> {
        self.state.lock().newest(key).map(Replica::held)
    }

    /// Returns the live content held of a key.
    pub fn content(&self, key: &Key) -> Option<Vec<u8>> {
        let state = self.state.lock();
        let live = state.newest(key).filter(|replica| !replica.meta.deleted);
        live?.content.clone()
    }

    pub fn uploads(&self) -> usize {
        self.state.lock().uploads.len()
    }

    /// Restarts the process: uploads that were received but not prepared are lost.
    pub fn restart(&self) {
        self.state.lock().uploads.retain(|_, entry| entry.meta.is_some());
    }

    /// Returns the fixity log.
    pub fn log(&self) -> Vec<FixityEvent> {
        self.state.lock().log.clone()
    }
}

impl Replica {
    fn held(&self) -> ReplicaEntry {
        ReplicaEntry {
            meta: self.meta.clone(),
            state: self.state(),
            bad_blocks: self.bad_blocks.clone(),
        }
    }

    fn state(&self) -> ReplicaState {
        self.bad.clone().map_or(ReplicaState::Good, ReplicaState::Bad)
    }
}
