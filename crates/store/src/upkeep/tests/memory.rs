//! Volumes and nodes in memory, with damage done by hand: a plain model of what a disk does.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use data_encoding::HEXLOWER;
use futures_util::{StreamExt, stream};
use parking_lot::Mutex;

use crate::clock::Version;
use crate::cluster::{Connect, LayoutTag};
use crate::key::{Key, Partition};
use crate::layout::{Layout, Layouts, NodeRole, VolumeRole};
use crate::meta::{BLOCK_BYTES, Meta};
use crate::node::{Finish, Node, NodeError, NodeStatus};
use crate::upkeep::time::now_ms;
use crate::volume::blocks::{BlockHasher, BlockTable};
use crate::volume::{
    ByteStream, Cause, FixityEvent, Head, Held, ListQuery, NodeId, ReplicaRead, ReplicaState, StageId,
    Staged, StagedRead, Surveyed, Verdict, Volume, VolumeError, VolumeId, VolumeState, VolumeStatus,
};

/// One replica: the index's word (`meta`, `bad`) and the file (`content`, gone if `None`).
#[derive(Clone)]
pub(crate) struct Replica {
    pub meta: Meta,
    pub table: Arc<BlockTable>,
    pub content: Option<Vec<u8>>,
    pub bad: Option<String>,
}

#[derive(Default)]
pub(crate) struct State {
    pub replicas: BTreeMap<(Key, Version), Replica>,
    pub strays: Vec<(Partition, String)>,
    stages: BTreeMap<StageId, (Vec<u8>, Option<Meta>)>,
    pub log: Vec<FixityEvent>,
    /// Does not answer.
    pub away: bool,
    /// Takes nothing.
    pub full: bool,
    /// Calls that change something until the volume stops answering: a crash in between.
    pub changes_left: Option<u64>,
    pub rebuilding: bool,
}

pub(crate) struct MemVolume {
    id: VolumeId,
    pub state: Mutex<State>,
}

type Answer<T> = Result<T, VolumeError>;

impl MemVolume {
    pub(crate) fn new(id: &VolumeId) -> Arc<Self> {
        Arc::new(Self {
            id: id.clone(),
            state: Mutex::default(),
        })
    }

    /// Puts a replica where it may or may not belong.
    pub(crate) fn put(&self, meta: &Meta, content: &[u8]) {
        let replica = Replica {
            meta: meta.clone(),
            table: Arc::new(table(content).0),
            content: Some(content.to_vec()),
            bad: None,
        };
        let at = (meta.key.clone(), meta.version);
        self.state.lock().replicas.insert(at, replica);
    }

    /// Damages a replica by hand.
    pub(crate) fn damage(&self, key: &Key, version: Version, damage: impl FnOnce(&mut Replica)) {
        let at = (key.clone(), version);
        damage(
            self.state
                .lock()
                .replicas
                .get_mut(&at)
                .expect("the replica to damage is there"),
        );
    }

    fn unreachable(&self) -> VolumeError {
        VolumeError::Unreachable {
            volume: self.id.clone(),
            detail: "away".into(),
        }
    }

    fn missing<T>(&self, what: &dyn std::fmt::Display) -> Answer<T> {
        Err(VolumeError::Missing {
            volume: self.id.clone(),
            what: what.to_string(),
        })
    }

    /// The state, if the volume answers.
    fn up(&self) -> Answer<parking_lot::MutexGuard<'_, State>> {
        let state = self.state.lock();
        if state.away {
            Err(self.unreachable())
        } else {
            Ok(state)
        }
    }

    /// The same, for a change.
    fn changing(&self) -> Answer<parking_lot::MutexGuard<'_, State>> {
        let mut state = self.up()?;
        match &mut state.changes_left {
            Some(0) => return Err(self.unreachable()),
            Some(left) => *left -= 1,
            None => {}
        }
        Ok(state)
    }

    fn event(&self, event: &str, key: &Key, version: Version, cause: Cause, detail: &str) -> FixityEvent {
        FixityEvent {
            time_ms: now_ms(),
            event: event.into(),
            volume: self.id.clone(),
            key: Some(key.clone()),
            version: Some(version),
            cause,
            detail: detail.into(),
        }
    }
}

/// The table of blocks and the root.
pub(crate) fn table(content: &[u8]) -> (BlockTable, [u8; 32]) {
    let mut hasher = BlockHasher::default();
    hasher.update(content);
    hasher.finish()
}

impl Replica {
    /// Whether the bytes are those of the digest.
    pub(crate) fn is_sound(&self) -> bool {
        self.content
            .as_ref()
            .is_some_and(|content| table(content).1 == self.meta.digests.blake3)
    }

    fn state(&self) -> ReplicaState {
        self.bad.clone().map_or(ReplicaState::Good, ReplicaState::Bad)
    }
}

#[async_trait]
impl Volume for MemVolume {
    fn id(&self) -> &VolumeId {
        &self.id
    }

    async fn stage(&self, stage: StageId, mut body: ByteStream) -> Answer<Staged> {
        if self.changing()?.full {
            return Err(VolumeError::Full {
                volume: self.id.clone(),
                detail: "no room".into(),
            });
        }
        let mut content = Vec::new();
        while let Some(piece) = body.next().await {
            content.extend_from_slice(&piece.map_err(|error| VolumeError::Body(error.to_string()))?);
        }
        let staged = Staged {
            size: content.len() as u64,
            blake3: table(&content).1,
        };
        self.up()?.stages.insert(stage, (content, None));
        Ok(staged)
    }

    async fn prepare(&self, stage: StageId, meta: &Meta) -> Answer<()> {
        let mut state = self.changing()?;
        if meta.deleted {
            state.stages.insert(stage, (Vec::new(), None));
        }
        let Some(staged) = state.stages.get_mut(&stage) else {
            return self.missing(&stage);
        };
        staged.1 = Some(meta.clone());
        Ok(())
    }

    async fn stage_whole(&self, stage: StageId, meta: &Meta, content: Bytes) -> Answer<()> {
        self.stage(stage, Box::pin(stream::iter([Ok(content)]))).await?;
        self.prepare(stage, meta).await
    }

    async fn read_staged(&self, stage: StageId) -> Answer<StagedRead> {
        let state = self.up()?;
        let Some((content, _)) = state.stages.get(&stage) else {
            return self.missing(&stage);
        };
        let bytes = Bytes::copy_from_slice(content);
        Ok(StagedRead {
            size: bytes.len() as u64,
            bytes: Box::pin(stream::iter([Ok(bytes)])),
        })
    }

    async fn commit(&self, stage: StageId, cause: Cause, evidence: &str) -> Answer<()> {
        let mut state = self.changing()?;
        let Some((content, Some(meta))) = state.stages.remove(&stage) else {
            return self.missing(&stage);
        };
        let event = self.event("repaired", &meta.key, meta.version, cause, evidence);
        state.log.push(event);
        drop(state);
        self.put(&meta, &content);
        Ok(())
    }

    async fn abort(&self, stage: StageId) {
        self.state.lock().stages.remove(&stage);
    }

    async fn head(&self, key: &Key) -> Answer<Head> {
        let state = self.up()?;
        let newest = state.replicas.iter().rev().find(|((held, _), _)| held == key);
        Ok(Head {
            found: newest.map(|(_, replica)| Held {
                meta: replica.meta.clone(),
                state: replica.state(),
            }),
            complete: !state.rebuilding,
        })
    }

    async fn read(&self, key: &Key, version: Version, blocks: Range<u64>) -> Answer<ReplicaRead> {
        let state = self.up()?;
        let Some(replica) = state.replicas.get(&(key.clone(), version)) else {
            return self.missing(key);
        };
        let Some(content) = &replica.content else {
            return self.missing(key);
        };
        let at = |block: u64| usize::try_from(block * BLOCK_BYTES).unwrap().min(content.len());
        // In pieces that are no blocks.
        let bytes = content[at(blocks.start)..at(blocks.end)].to_vec();
        let pieces: Vec<_> = bytes
            .chunks(100_000)
            .map(|piece| Ok(Bytes::copy_from_slice(piece)))
            .collect();
        Ok(ReplicaRead {
            meta: replica.meta.clone(),
            table: replica.table.clone(),
            bytes: Box::pin(stream::iter(pieces)),
        })
    }

    async fn list(&self, query: &ListQuery) -> Answer<Vec<Held>> {
        let state = self.up()?;
        let mut newest = BTreeMap::new();
        for ((key, _), replica) in &state.replicas {
            let after = query
                .after
                .as_ref()
                .is_none_or(|after| key.as_str() > after.as_str());
            if key.as_str().starts_with(&query.prefix) && after {
                let meta = replica.meta.clone();
                newest.insert(
                    key.clone(),
                    Held {
                        meta,
                        state: replica.state(),
                    },
                );
            }
        }
        Ok(newest.into_values().take(query.limit).collect())
    }

    async fn survey(&self, partition: Partition) -> Answer<Vec<Surveyed>> {
        let state = self.up()?;
        let mut found = Vec::new();
        for ((key, version), replica) in &state.replicas {
            if key.partition() != partition {
                continue;
            }
            let (key, version, deleted) = (key.clone(), *version, replica.meta.deleted);
            found.push(match &replica.content {
                None => Surveyed::FileMissing {
                    key,
                    version,
                    deleted,
                },
                Some(content) => Surveyed::Replica {
                    key,
                    version,
                    deleted,
                    size: replica.meta.size,
                    blake3: HEXLOWER.encode(&replica.meta.digests.blake3),
                    state: if content.len() as u64 == replica.meta.size {
                        replica.state()
                    } else {
                        ReplicaState::Bad("another length".into())
                    },
                },
            });
        }
        let strays = state.strays.iter().filter(|stray| stray.0 == partition);
        found.extend(strays.map(|stray| Surveyed::Stray {
            path: stray.1.clone(),
            bytes: 1,
            detail: "unknown".into(),
        }));
        Ok(found)
    }

    async fn verify(&self, key: &Key, version: Version, cause: Cause) -> Answer<Verdict> {
        let mut state = self.up()?;
        let Some(replica) = state.replicas.get_mut(&(key.clone(), version)) else {
            return Ok(Verdict::Missing);
        };
        let verdict = if replica.content.is_none() {
            Verdict::Missing
        } else if replica.is_sound() {
            replica.bad = None;
            Verdict::Good {
                bytes: replica.meta.size,
            }
        } else {
            replica.bad = Some("digest differs".into());
            Verdict::Bad {
                detail: "digest differs".into(),
            }
        };
        let event = match verdict {
            Verdict::Good { .. } => "verified",
            Verdict::Bad { .. } => "bad",
            Verdict::Missing => "missing",
        };
        let event = self.event(event, key, version, cause, "");
        state.log.push(event);
        Ok(verdict)
    }

    async fn remove(&self, key: &Key, version: Version, cause: Cause, evidence: &str) -> Answer<()> {
        let mut state = self.changing()?;
        if state.replicas.remove(&(key.clone(), version)).is_none() {
            return self.missing(key);
        }
        let event = self.event("dropped", key, version, cause, evidence);
        state.log.push(event);
        Ok(())
    }

    async fn settle_stray(&self, path: &str) -> Answer<()> {
        self.changing()?.strays.retain(|stray| stray.1 != path);
        Ok(())
    }

    async fn rebuilt(&self) -> Answer<()> {
        self.changing()?.rebuilding = false;
        Ok(())
    }

    async fn fixity(&self, key: Option<&Key>, limit: usize) -> Answer<Vec<FixityEvent>> {
        let state = self.up()?;
        let about = state
            .log
            .iter()
            .filter(|event| key.is_none() || event.key.as_ref() == key);
        let lines: Vec<_> = about.cloned().collect();
        Ok(lines[lines.len().saturating_sub(limit)..].to_vec())
    }

    async fn status(&self) -> Answer<VolumeStatus> {
        let state = self.up()?;
        let in_service = if state.rebuilding {
            VolumeState::Rebuilding
        } else {
            VolumeState::InService
        };
        Ok(VolumeStatus {
            id: self.id.clone(),
            path: String::new(),
            state: in_service,
            capacity_bytes: 0,
            free_bytes: 0,
            replicas: state.replicas.len() as u64,
            replica_bytes: 0,
            tombstones: 0,
            bad: 0,
            staged: state.stages.len() as u64,
        })
    }
}

/// A node that knows layouts and nothing else.
pub(crate) struct MemNode {
    id: NodeId,
    layouts: Arc<Mutex<Layouts>>,
}

#[async_trait]
impl Node for MemNode {
    fn id(&self) -> &NodeId {
        &self.id
    }

    async fn finish(&self, _: Finish) -> Result<Meta, NodeError> {
        Err(NodeError::Failed("takes no writes".into()))
    }

    async fn layouts(&self) -> Result<Layouts, NodeError> {
        Ok(self.layouts.lock().clone())
    }

    async fn accepted(&self) -> Result<Vec<Layout>, NodeError> {
        Ok(vec![self.layouts.lock().current.clone()])
    }

    async fn propose(&self, _: &Layout) -> Result<(), NodeError> {
        Ok(())
    }

    async fn adopt(&self, layouts: &Layouts) -> Result<(), NodeError> {
        *self.layouts.lock() = layouts.clone();
        Ok(())
    }

    async fn status(&self) -> Result<NodeStatus, NodeError> {
        Err(NodeError::Failed("has no status".into()))
    }
}

/// Hands out the same volumes and nodes whatever the layout.
#[derive(Clone)]
pub(crate) struct MemConnect {
    pub volumes: Arc<Mutex<BTreeMap<VolumeId, Arc<MemVolume>>>>,
    /// What all nodes know.
    pub layouts: Arc<Mutex<Layouts>>,
}

impl Connect for MemConnect {
    fn volume(&self, _: LayoutTag, volume: &VolumeRole, _: &NodeRole) -> Arc<dyn Volume> {
        let mut volumes = self.volumes.lock();
        volumes
            .entry(volume.id.clone())
            .or_insert_with(|| MemVolume::new(&volume.id))
            .clone()
    }

    fn node(&self, _: LayoutTag, node: &NodeRole) -> Arc<dyn Node> {
        Arc::new(MemNode {
            id: node.id.clone(),
            layouts: self.layouts.clone(),
        })
    }
}
