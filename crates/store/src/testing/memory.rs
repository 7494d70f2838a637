//! A volume in memory: the model of what a volume does, with faults that can be switched.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use parking_lot::Mutex;

use crate::clock::Version;
use crate::key::{Key, Partition};
use crate::meta::{BLOCK_BYTES, Meta};
use crate::volume::blocks::{BlockHasher, BlockTable};
use crate::volume::{
    ByteStream, Cause, FixityEvent, Head, Held, ListQuery, ReplicaRead, ReplicaState, StageId, Staged,
    StagedRead, Surveyed, Verdict, Volume, VolumeError, VolumeId, VolumeState, VolumeStatus,
};

/// How a volume behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mood {
    /// As it should.
    Well,
    /// Every question fails at once.
    Unreachable,
    /// Out of service.
    Out,
    /// Takes no content, but reads, lists, and deletes.
    Full,
    /// Every question takes so long.
    Slow(Duration),
    /// Answers nothing.
    Frozen,
    /// Works, but "not found" means "not known".
    Rebuilding,
}

/// A step that can be made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    Stage,
    Prepare,
    ReadStaged,
    Commit,
    Head,
    Read,
    List,
}

/// One replica with its bytes.
#[derive(Clone)]
struct Replica {
    held: Held,
    content: Vec<u8>,
    table: Arc<BlockTable>,
}

struct Upload {
    content: Vec<u8>,
    meta: Option<Meta>,
}

struct State {
    mood: Mood,
    /// Fails at the call of this number of a step, counted down, with this error.
    trips: HashMap<Step, (u32, VolumeError)>,
    replicas: BTreeMap<Key, Replica>,
    uploads: HashMap<StageId, Upload>,
    log: Vec<FixityEvent>,
    calls: HashMap<Step, u64>,
    /// A stream of a replica ends after so many bytes.
    cut_reads_after: Option<usize>,
}

/// A volume in memory.
pub(crate) struct MemoryVolume {
    id: VolumeId,
    state: Mutex<State>,
}

impl MemoryVolume {
    pub(crate) fn new(id: VolumeId) -> Arc<Self> {
        let state = Mutex::new(State {
            mood: Mood::Well,
            trips: HashMap::new(),
            replicas: BTreeMap::new(),
            uploads: HashMap::new(),
            log: Vec::new(),
            calls: HashMap::new(),
            cut_reads_after: None,
        });
        Arc::new(Self { id, state })
    }

    pub(crate) fn set(&self, mood: Mood) {
        self.state.lock().mood = mood;
    }

    pub(crate) fn mood(&self) -> Mood {
        self.state.lock().mood.clone()
    }

    /// The `nth` call of a step from now on (1 is the next) fails.
    pub(crate) fn trip(&self, step: Step, nth: u32) {
        let error = VolumeError::Failed {
            volume: self.id.clone(),
            detail: format!("tripped at {step:?}"),
        };
        self.trip_with(step, nth, error);
    }

    pub(crate) fn trip_with(&self, step: Step, nth: u32, error: VolumeError) {
        self.state.lock().trips.insert(step, (nth, error));
    }

    /// Keys of all replicas, tombstones included.
    pub(crate) fn keys(&self) -> Vec<Key> {
        self.state.lock().replicas.keys().cloned().collect()
    }

    /// Forgets all failures ordered.
    pub(crate) fn untrip(&self) {
        self.state.lock().trips.clear();
    }

    /// The replica is no longer known to be bad.
    pub(crate) fn restore(&self, key: &Key, version: Version) {
        let mut state = self.state.lock();
        let same = state
            .replicas
            .get_mut(key)
            .filter(|replica| replica.held.meta.version == version);
        if let Some(replica) = same {
            replica.held.state = ReplicaState::Good;
        }
    }

    /// Streams of replicas end after so many bytes from now on.
    pub(crate) fn cut_reads(&self, after: Option<usize>) {
        self.state.lock().cut_reads_after = after;
    }

    /// Flips a bit of a block of the replica held. False if there is none.
    pub(crate) fn corrupt(&self, key: &Key, block: u64) -> bool {
        let at = usize::try_from(block * BLOCK_BYTES).unwrap();
        let mut state = self.state.lock();
        let byte = state
            .replicas
            .get_mut(key)
            .and_then(|replica| replica.content.get_mut(at));
        byte.map(|byte| *byte ^= 1).is_some()
    }

    /// Loses everything, as an empty disk put in its place.
    pub(crate) fn wipe(&self) {
        let mut state = self.state.lock();
        state.replicas.clear();
        state.uploads.clear();
    }

    pub(crate) fn held(&self, key: &Key) -> Option<Held> {
        self.state
            .lock()
            .replicas
            .get(key)
            .map(|replica| replica.held.clone())
    }

    /// Live content held of a key.
    pub(crate) fn content(&self, key: &Key) -> Option<Vec<u8>> {
        let state = self.state.lock();
        let live = state
            .replicas
            .get(key)
            .filter(|replica| !replica.held.meta.deleted);
        live.map(|replica| replica.content.clone())
    }

    pub(crate) fn uploads(&self) -> usize {
        self.state.lock().uploads.len()
    }

    pub(crate) fn calls(&self, step: Step) -> u64 {
        self.state.lock().calls.get(&step).copied().unwrap_or(0)
    }

    /// Every question begins here.
    async fn begin(&self, step: Option<Step>) -> Result<(), VolumeError> {
        match self.mood() {
            Mood::Slow(time) => tokio::time::sleep(time).await,
            Mood::Frozen => std::future::pending().await,
            _ => {}
        }
        let volume = self.id.clone();
        let mut state = self.state.lock();
        let detail = "told to".to_owned();
        match state.mood {
            Mood::Unreachable => return Err(VolumeError::Unreachable { volume, detail }),
            Mood::Out => return Err(VolumeError::Out { volume, detail }),
            _ => {}
        }
        let Some(step) = step else { return Ok(()) };
        *state.calls.entry(step).or_default() += 1;
        let Some((left, error)) = state.trips.get_mut(&step) else {
            return Ok(());
        };
        *left -= 1;
        if *left > 0 {
            return Ok(());
        }
        let error = error.clone();
        state.trips.remove(&step);
        Err(error)
    }

    fn room(&self) -> Result<(), VolumeError> {
        if self.mood() == Mood::Full {
            return Err(VolumeError::Full {
                volume: self.id.clone(),
                detail: "told to".to_owned(),
            });
        }
        Ok(())
    }

    fn missing(&self, what: impl ToString) -> VolumeError {
        VolumeError::Missing {
            volume: self.id.clone(),
            what: what.to_string(),
        }
    }

    fn log(&self, event: &str, key: &Key, version: Version, cause: Cause, detail: &str) {
        self.state.lock().log.push(FixityEvent {
            time_ms: version.millis,
            event: event.to_owned(),
            volume: self.id.clone(),
            key: Some(key.clone()),
            version: Some(version),
            cause,
            detail: detail.to_owned(),
        });
    }

    fn replica(&self, key: &Key, version: Version) -> Option<Replica> {
        let state = self.state.lock();
        let replica = state
            .replicas
            .get(key)
            .filter(|replica| replica.held.meta.version == version);
        replica.cloned()
    }
}

fn table(content: &[u8]) -> (BlockTable, [u8; 32]) {
    let mut hasher = BlockHasher::default();
    hasher.update(content);
    hasher.finish()
}

/// In pieces that are no blocks.
fn pieces(bytes: &Bytes) -> ByteStream {
    let pieces: Vec<io::Result<Bytes>> = bytes
        .chunks(100_000)
        .map(|piece| Ok(bytes.slice_ref(piece)))
        .collect();
    Box::pin(stream::iter(pieces))
}

#[async_trait]
impl Volume for MemoryVolume {
    fn id(&self) -> &VolumeId {
        &self.id
    }

    async fn stage(&self, stage: StageId, mut body: ByteStream) -> Result<Staged, VolumeError> {
        self.begin(Some(Step::Stage)).await?;
        self.room()?;
        let mut content = Vec::new();
        while let Some(piece) = body.next().await {
            content.extend_from_slice(&piece.map_err(|error| VolumeError::Body(error.to_string()))?);
        }
        self.begin(None).await?;
        let staged = Staged {
            size: content.len() as u64,
            blake3: *blake3::hash(&content).as_bytes(),
        };
        self.state
            .lock()
            .uploads
            .insert(stage, Upload { content, meta: None });
        Ok(staged)
    }

    async fn prepare(&self, stage: StageId, meta: &Meta) -> Result<(), VolumeError> {
        self.begin(Some(Step::Prepare)).await?;
        let mut state = self.state.lock();
        if meta.deleted {
            let (content, meta) = (Vec::new(), Some(meta.clone()));
            state.uploads.insert(stage, Upload { content, meta });
            return Ok(());
        }
        let upload = state.uploads.get_mut(&stage).ok_or_else(|| self.missing(stage))?;
        let found = blake3::hash(&upload.content);
        if *found.as_bytes() != meta.digests.blake3 || upload.content.len() as u64 != meta.size {
            state.uploads.remove(&stage);
            return Err(VolumeError::Corrupt {
                volume: self.id.clone(),
                what: format!("upload {stage}"),
                found: found.to_hex().to_string(),
                expected: data_encoding::HEXLOWER.encode(&meta.digests.blake3),
            });
        }
        upload.meta = Some(meta.clone());
        Ok(())
    }

    async fn stage_whole(&self, stage: StageId, meta: &Meta, content: Bytes) -> Result<(), VolumeError> {
        self.stage(stage, Box::pin(stream::once(async move { Ok(content) })))
            .await?;
        self.prepare(stage, meta).await
    }

    async fn read_staged(&self, stage: StageId) -> Result<StagedRead, VolumeError> {
        self.begin(Some(Step::ReadStaged)).await?;
        let state = self.state.lock();
        let content = state.uploads.get(&stage).map(|upload| upload.content.clone());
        let mut bytes = Bytes::from(content.ok_or_else(|| self.missing(stage))?);
        let size = bytes.len() as u64;
        if let Some(most) = state.cut_reads_after {
            bytes.truncate(most);
        }
        Ok(StagedRead {
            size,
            bytes: pieces(&bytes),
        })
    }

    async fn commit(&self, stage: StageId, cause: Cause, evidence: &str) -> Result<(), VolumeError> {
        self.begin(Some(Step::Commit)).await?;
        let upload = self
            .state
            .lock()
            .uploads
            .remove(&stage)
            .ok_or_else(|| self.missing(stage))?;
        let meta = upload
            .meta
            .ok_or_else(|| self.missing(format!("upload {stage}, prepared")))?;
        let (key, version) = (meta.key.clone(), meta.version);
        let replica = Replica {
            held: Held {
                meta,
                state: ReplicaState::Good,
            },
            table: Arc::new(table(&upload.content).0),
            content: upload.content,
        };
        {
            let mut state = self.state.lock();
            let newer = state
                .replicas
                .get(&key)
                .is_some_and(|held| held.held.meta.version > version);
            if !newer {
                state.replicas.insert(key.clone(), replica);
            }
        }
        self.log("committed", &key, version, cause, evidence);
        Ok(())
    }

    async fn abort(&self, stage: StageId) {
        if self.begin(None).await.is_ok() {
            self.state.lock().uploads.remove(&stage);
        }
    }

    async fn head(&self, key: &Key) -> Result<Head, VolumeError> {
        self.begin(Some(Step::Head)).await?;
        Ok(Head {
            found: self.held(key),
            complete: self.mood() != Mood::Rebuilding,
        })
    }

    async fn read(
        &self,
        key: &Key,
        version: Version,
        blocks: Range<u64>,
    ) -> Result<ReplicaRead, VolumeError> {
        self.begin(Some(Step::Read)).await?;
        let replica = self.replica(key, version).ok_or_else(|| self.missing(key))?;
        let end = replica.content.len();
        let place = |block: u64| usize::try_from(block * BLOCK_BYTES).unwrap().min(end);
        let mut bytes = Bytes::from(replica.content).slice(place(blocks.start)..place(blocks.end));
        if let Some(most) = self.state.lock().cut_reads_after {
            bytes.truncate(most);
        }
        Ok(ReplicaRead {
            meta: replica.held.meta,
            table: replica.table,
            bytes: pieces(&bytes),
        })
    }

    async fn list(&self, query: &ListQuery) -> Result<Vec<Held>, VolumeError> {
        self.begin(Some(Step::List)).await?;
        let state = self.state.lock();
        let found = state.replicas.iter().filter(|(key, _)| {
            key.as_str().starts_with(&query.prefix)
                && query
                    .after
                    .as_ref()
                    .is_none_or(|after| key.as_str() > after.as_str())
        });
        Ok(found
            .map(|(_, replica)| replica.held.clone())
            .take(query.limit)
            .collect())
    }

    async fn survey(&self, partition: Partition) -> Result<Vec<Surveyed>, VolumeError> {
        self.begin(None).await?;
        let state = self.state.lock();
        let here = state
            .replicas
            .iter()
            .filter(|(key, _)| key.partition() == partition);
        Ok(here
            .map(|(key, replica)| Surveyed::Replica {
                key: key.clone(),
                version: replica.held.meta.version,
                deleted: replica.held.meta.deleted,
                size: replica.held.meta.size,
                blake3: data_encoding::HEXLOWER.encode(&replica.held.meta.digests.blake3),
                state: replica.held.state.clone(),
            })
            .collect())
    }

    async fn verify(&self, key: &Key, version: Version, cause: Cause) -> Result<Verdict, VolumeError> {
        self.begin(None).await?;
        let found = {
            let mut state = self.state.lock();
            let same = state
                .replicas
                .get_mut(key)
                .filter(|replica| replica.held.meta.version == version);
            same.map(|replica| {
                let found = *blake3::hash(&replica.content).as_bytes();
                if found == replica.held.meta.digests.blake3 {
                    return Ok(replica.held.meta.size);
                }
                let detail = format!("found {}", data_encoding::HEXLOWER.encode(&found));
                replica.held.state = ReplicaState::Bad(detail.clone());
                Err(detail)
            })
        };
        let detail = match found {
            None => {
                self.log("missing", key, version, cause, "");
                return Ok(Verdict::Missing);
            }
            Some(Ok(bytes)) => {
                self.log("verified", key, version, cause, "");
                return Ok(Verdict::Good { bytes });
            }
            Some(Err(detail)) => detail,
        };
        self.log("bad", key, version, cause, &detail);
        Ok(Verdict::Bad { detail })
    }

    async fn remove(
        &self,
        key: &Key,
        version: Version,
        cause: Cause,
        evidence: &str,
    ) -> Result<(), VolumeError> {
        self.begin(None).await?;
        self.replica(key, version).ok_or_else(|| self.missing(key))?;
        self.state.lock().replicas.remove(key);
        self.log("dropped", key, version, cause, evidence);
        Ok(())
    }

    async fn settle_stray(&self, path: &str) -> Result<(), VolumeError> {
        Err(self.missing(path))
    }

    async fn rebuilt(&self) -> Result<(), VolumeError> {
        self.begin(None).await?;
        let mut state = self.state.lock();
        if state.mood == Mood::Rebuilding {
            state.mood = Mood::Well;
        }
        Ok(())
    }

    async fn fixity(&self, key: Option<&Key>, limit: usize) -> Result<Vec<FixityEvent>, VolumeError> {
        self.begin(None).await?;
        let state = self.state.lock();
        let about = state
            .log
            .iter()
            .filter(|event| key.is_none() || event.key.as_ref() == key);
        let mut last: Vec<_> = about.rev().take(limit).cloned().collect();
        last.reverse();
        Ok(last)
    }

    async fn status(&self) -> Result<VolumeStatus, VolumeError> {
        self.begin(None).await?;
        let state = self.state.lock();
        let live = || {
            state
                .replicas
                .values()
                .filter(|replica| !replica.held.meta.deleted)
        };
        let bad = |replica: &&Replica| replica.held.state != ReplicaState::Good;
        Ok(VolumeStatus {
            id: self.id.clone(),
            path: "memory".to_owned(),
            state: match state.mood {
                Mood::Rebuilding => VolumeState::Rebuilding,
                _ => VolumeState::InService,
            },
            capacity_bytes: u64::MAX,
            free_bytes: if state.mood == Mood::Full { 0 } else { u64::MAX },
            replicas: live().count() as u64,
            replica_bytes: live().map(|replica| replica.held.meta.size).sum(),
            tombstones: (state.replicas.len() - live().count()) as u64,
            bad: live().filter(bad).count() as u64,
            staged: state.uploads.len() as u64,
        })
    }
}
