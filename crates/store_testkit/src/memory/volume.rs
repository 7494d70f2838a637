//! The responses of a volume in memory.

use std::collections::BTreeSet;
use std::io;
use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use parking_lot::MutexGuard;
use store_protocol::{
    AbortScope, BLOCK_BYTES, ByteStream, Cause, FixityEvent, Head, Key, KeysInDoubt, ListQuery, Meta,
    Partition, Purpose, Receipt, ReplicaEntry, ReplicaRead, SurveyEntry, UploadId, UploadRead, Verdict,
    Version, Volume, VolumeError, VolumeId, VolumeRequest, VolumeResponse, VolumeState, VolumeStatus,
};

use super::replica::Replica;
use super::{FaultMode, MemoryVolume, State, Step, Upload};

type Answer<T> = Result<T, VolumeError>;

impl MemoryVolume {
    /// Starts every request.
    async fn begin(&self, step: Step) -> Answer<MutexGuard<'_, State>> {
        match self.fault_mode() {
            FaultMode::Slow(time) => tokio::time::sleep(time).await,
            FaultMode::Frozen => std::future::pending().await,
            _ => {}
        }
        let mut state = self.state.lock();
        state.faults.meet(&self.id, step)?;
        Ok(state)
    }

    fn missing(&self, what: impl ToString) -> VolumeError {
        VolumeError::Missing {
            volume: self.id.clone(),
            what: what.to_string(),
        }
    }

    fn event(&self, event: &str, key: &Key, version: Version, cause: Cause, detail: &str) -> FixityEvent {
        FixityEvent {
            time_ms: system::wall_ms(),
            event: event.to_owned(),
            volume: self.id.clone(),
            key: Some(key.clone()),
            version: Some(version),
            cause,
            detail: detail.to_owned(),
        }
    }
}

/// Returns the bytes in pieces that are not blocks.
fn pieces(bytes: &Bytes) -> ByteStream {
    let pieces: Vec<io::Result<Bytes>> = bytes
        .chunks(100_000)
        .map(|piece| Ok(bytes.slice_ref(piece)))
        .collect();
    Box::pin(stream::iter(pieces))
}

impl MemoryVolume {
    async fn prepare_upload(&self, upload: UploadId, meta: &Meta, purpose: Purpose) -> Answer<()> {
        let mut state = self.begin(Step::Prepare).await?;
        if meta.deleted {
            let (content, meta) = (Vec::new(), Some((meta.clone(), purpose)));
            state.uploads.insert(upload, Upload { content, meta });
            return Ok(());
        }
        let entry = state
            .uploads
            .get_mut(&upload)
            .ok_or_else(|| self.missing(upload))?;
        let found = blake3::hash(&entry.content);
        if *found.as_bytes() != meta.digests.blake3 || entry.content.len() as u64 != meta.size {
            state.uploads.remove(&upload);
            return Err(VolumeError::Corrupt {
                volume: self.id.clone(),
                what: format!("upload {upload}"),
                found: found.to_hex().to_string(),
                expected: data_encoding::HEXLOWER.encode(&meta.digests.blake3),
            });
        }
        if entry.meta.as_ref().is_some_and(|(prepared, _)| prepared != meta) {
            return Err(VolumeError::Failed {
                volume: self.id.clone(),
                detail: format!("upload {upload} is prepared with other metadata"),
            });
        }
        entry.meta = Some((meta.clone(), purpose));
        Ok(())
    }

    async fn commit_upload(&self, upload: UploadId, cause: Cause, evidence: &str) -> Answer<()> {
        let mut state = self.begin(Step::Commit).await?;
        let entry = state.uploads.remove(&upload);
        let Some(Upload {
            content,
            meta: Some((meta, _)),
        }) = entry
        else {
            return Err(self.missing(format!("prepared upload {upload}")));
        };
        let (key, version) = (meta.key.clone(), meta.version);
        let held = state.newest(&key).map(|held| held.meta.version);
        if held <= Some(version) {
            let only = [(version, Replica::new(meta, content))].into();
            state.replicas.insert(key.clone(), only);
        }
        let event = match cause {
            Cause::Write => return Ok(()),
            Cause::Rebalance => "moved",
            _ => "repaired",
        };
        state.log.push(self.event(event, &key, version, cause, evidence));
        Ok(())
    }

    async fn abort_upload(&self, upload: UploadId, what: AbortScope) {
        if let Ok(mut state) = self.begin(Step::Abort).await {
            let entry = state.uploads.get(&upload);
            let prepared = entry.and_then(|entry| entry.meta.as_ref());
            if prepared.is_none_or(|(meta, purpose)| what.includes(meta, *purpose)) {
                state.uploads.remove(&upload);
            }
        }
    }

    async fn head_of(&self, key: &Key) -> Answer<Head> {
        let state = self.begin(Step::Head).await?;
        let of_key = state.pending().filter(|pending| pending.meta.key == *key);
        Ok(Head {
            found: state.newest(key).map(Replica::held),
            pending: of_key.max_by_key(|pending| pending.meta.version),
            complete: state.faults.fault_mode != FaultMode::Rebuilding,
        })
    }

    async fn unsettled_below(&self, prefix: &str) -> Answer<KeysInDoubt> {
        let state = self.begin(Step::KeysInDoubt).await?;
        let keys: BTreeSet<_> = state
            .pending()
            .map(|pending| pending.meta.key)
            .filter(|key| key.as_str().starts_with(prefix))
            .collect();
        Ok(KeysInDoubt {
            keys: keys.into_iter().collect(),
            complete: state.faults.fault_mode != FaultMode::Rebuilding,
        })
    }

    async fn newest_of(&self, query: &ListQuery) -> Answer<Vec<ReplicaEntry>> {
        let state = self.begin(Step::List).await?;
        let is_after = |key: &&Key| {
            query
                .after
                .as_ref()
                .is_none_or(|after| key.as_str() > after.as_str())
        };
        let keys = state
            .replicas
            .keys()
            .filter(|key| key.as_str().starts_with(&query.prefix))
            .filter(is_after);
        let newest = keys.filter_map(|key| state.newest(key));
        Ok(newest.map(Replica::held).take(query.limit).collect())
    }

    async fn survey_of(&self, partitions: &[Partition]) -> Answer<Vec<Vec<SurveyEntry>>> {
        let state = self.begin(Step::Survey).await?;
        let most = state.faults.survey_most.unwrap_or(usize::MAX);
        let partitions = partitions.iter().take(most);
        Ok(partitions.map(|partition| state.survey(*partition)).collect())
    }

    async fn verify_replica(&self, key: &Key, version: Version, cause: Cause) -> Answer<Verdict> {
        let mut state = self.begin(Step::Verify).await?;
        let versions = state.replicas.get_mut(key);
        let Some(replica) = versions.and_then(|versions| versions.get_mut(&version)) else {
            return Ok(Verdict::Missing);
        };
        let (bad, event, verdict) = if replica.content.is_none() {
            (replica.bad.clone(), "missing", Verdict::Missing)
        } else if replica.is_sound() {
            let bytes = replica.meta.size;
            (None, "verified", Verdict::Good { bytes })
        } else {
            let detail = "digest differs".to_owned();
            let blocks = Some(replica.find_bad_blocks());
            replica.bad_blocks = blocks.clone();
            (Some(detail.clone()), "bad", Verdict::Bad { detail, blocks })
        };
        if bad.is_none() {
            replica.bad_blocks = None;
        }
        replica.bad = bad;
        state.log.push(self.event(event, key, version, cause, ""));
        Ok(verdict)
    }

    async fn remove_replica(&self, key: &Key, version: Version, cause: Cause, evidence: &str) -> Answer<()> {
        let mut state = self.begin(Step::Remove).await?;
        if !state.remove(key, version) {
            return Err(self.missing(key));
        }
        state
            .log
            .push(self.event("dropped", key, version, cause, evidence));
        Ok(())
    }

    async fn forget_stray(&self, path: &str) -> Answer<()> {
        let mut state = self.begin(Step::SettleStray).await?;
        state.strays.retain(|stray| stray.1 != path);
        Ok(())
    }

    async fn end_rebuilding(&self) -> Answer<()> {
        let mut state = self.begin(Step::Rebuilt).await?;
        if state.faults.fault_mode == FaultMode::Rebuilding {
            state.faults.fault_mode = FaultMode::Well;
        }
        Ok(())
    }

    async fn log_about(&self, key: Option<&Key>, limit: usize) -> Answer<Vec<FixityEvent>> {
        let state = self.begin(Step::Fixity).await?;
        let is_about = |event: &&FixityEvent| key.is_none() || event.key.as_ref() == key;
        let lines: Vec<_> = state.log.iter().filter(is_about).cloned().collect();
        Ok(lines[lines.len().saturating_sub(limit)..].to_vec())
    }

    async fn present_status(&self) -> Answer<VolumeStatus> {
        let state = self.begin(Step::Status).await?;
        let live = || state.all().filter(|replica| !replica.meta.deleted);
        let is_full = state.faults.fault_mode == FaultMode::Full;
        Ok(VolumeStatus {
            id: self.id.clone(),
            path: "memory".to_owned(),
            state: match state.faults.fault_mode {
                FaultMode::Rebuilding => VolumeState::Rebuilding,
                _ => VolumeState::InService,
            },
            capacity_bytes: u64::MAX,
            free_bytes: if is_full { 0 } else { u64::MAX },
            replicas: live().count() as u64,
            replica_bytes: live().map(|replica| replica.meta.size).sum(),
            tombstones: (state.all().count() - live().count()) as u64,
            bad: live().filter(|replica| replica.bad.is_some()).count() as u64,
            uploads: state.uploads.len() as u64,
        })
    }
}

#[async_trait]
impl Volume for MemoryVolume {
    fn id(&self) -> &VolumeId {
        &self.id
    }

    async fn call(&self, ask: VolumeRequest) -> Answer<VolumeResponse> {
        Ok(match ask {
            VolumeRequest::Prepare {
                upload,
                meta,
                purpose,
            } => self.prepare_upload(upload, &meta, purpose).await?.into(),
            VolumeRequest::Commit {
                upload,
                cause,
                evidence,
            } => self.commit_upload(upload, cause, &evidence).await?.into(),
            VolumeRequest::Abort { upload, what } => {
                self.abort_upload(upload, what).await;
                ().into()
            }
            VolumeRequest::Head { key } => self.head_of(&key).await?.into(),
            VolumeRequest::KeysInDoubt { prefix } => self.unsettled_below(&prefix).await?.into(),
            VolumeRequest::List(query) => self.newest_of(&query).await?.into(),
            VolumeRequest::Survey { partitions } => self.survey_of(&partitions).await?.into(),
            VolumeRequest::Verify { key, version, cause } => {
                self.verify_replica(&key, version, cause).await?.into()
            }
            VolumeRequest::Remove {
                key,
                version,
                cause,
                evidence,
            } => self.remove_replica(&key, version, cause, &evidence).await?.into(),
            VolumeRequest::SettleStray { path } => self.forget_stray(&path).await?.into(),
            VolumeRequest::Rebuilt => self.end_rebuilding().await?.into(),
            VolumeRequest::Fixity { key, limit } => self.log_about(key.as_ref(), limit).await?.into(),
            VolumeRequest::Status => self.present_status().await?.into(),
        })
    }

    async fn receive(&self, upload: UploadId, mut body: ByteStream) -> Answer<Receipt> {
        self.begin(Step::Receive).await?.faults.room(&self.id)?;
        let mut content = Vec::new();
        while let Some(piece) = body.next().await {
            if self.fault_mode() == FaultMode::Frozen {
                std::future::pending().await
            }
            content.extend_from_slice(&piece.map_err(|error| VolumeError::Body(error.to_string()))?);
        }
        let receipt = Receipt {
            size: content.len() as u64,
            blake3: *blake3::hash(&content).as_bytes(),
        };
        let mut state = self.state.lock();
        state.faults.answers(&self.id)?;
        state.uploads.insert(upload, Upload { content, meta: None });
        Ok(receipt)
    }

    async fn prepare_whole(&self, upload: UploadId, meta: &Meta, content: Bytes) -> Answer<()> {
        self.receive(upload, Box::pin(stream::iter([Ok(content)])))
            .await?;
        self.prepare(upload, meta, Purpose::Write).await
    }

    async fn read_upload(&self, upload: UploadId) -> Answer<UploadRead> {
        let state = self.begin(Step::ReadUpload).await?;
        let entry = state.uploads.get(&upload).ok_or_else(|| self.missing(upload))?;
        let mut bytes = Bytes::from(entry.content.clone());
        let size = bytes.len() as u64;
        bytes.truncate(state.faults.cut_reads_after.unwrap_or(usize::MAX));
        Ok(UploadRead {
            size,
            bytes: pieces(&bytes),
        })
    }

    async fn read(&self, key: &Key, version: Version, blocks: Range<u64>) -> Answer<ReplicaRead> {
        let state = self.begin(Step::Read).await?;
        let replica = state.of(key, version).ok_or_else(|| self.missing(key))?;
        let content = replica.content.clone().ok_or_else(|| self.missing(key))?;
        let end = content.len();
        let place =
            |block: u64| usize::try_from(block.saturating_mul(BLOCK_BYTES)).map_or(end, |at| at.min(end));
        let mut bytes = Bytes::from(content).slice(place(blocks.start)..place(blocks.end));
        bytes.truncate(state.faults.cut_reads_after.unwrap_or(usize::MAX));
        Ok(ReplicaRead {
            meta: replica.meta.clone(),
            table: replica.table.clone(),
            bytes: pieces(&bytes),
        })
    }
}
