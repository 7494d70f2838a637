//! The union of a version's replicas: the version's content, with each block from any replica that
//! has it right.
//!
//! Invariants:
//!  - a block is returned only if it matches the table, and the table hashes to the version's
//!    BLAKE3;
//!  - a replica that fails at a block is asked again for the blocks after it, however often it has
//!    failed; only a replica that does not exist is never asked again;
//!  - a block is reported as unreadable only after every replica was asked for it.
//!
//! The caller decides which volumes may hold the version, and what happens to a replica that
//! failed. Memory is bounded by one replica being read and the table.

use std::mem::Discriminant;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use store_protocol::{
    BLOCK_BYTES, BlockSet, BlockTable, Meta, ReplicaRead, VolumeError, VolumeId, block_bytes, block_count,
};
use tokio::time::timeout;

mod open_replica;
mod table;

use open_replica::OpenReplica;

/// Opens a replica at some blocks.
type Open =
    Box<dyn Fn(&VolumeId, Range<u64>) -> BoxFuture<'static, Result<ReplicaRead, VolumeError>> + Send + Sync>;

/// Called with the reason why a replica failed, once per replica and kind of failure.
type Failed = Box<dyn FnMut(&VolumeId, &VolumeError) + Send>;

/// Access to the replicas.
pub(crate) struct ReplicaAccess {
    pub(crate) open: Open,
    pub(crate) failed: Failed,
    /// Longest wait for a replica to open, and for each block.
    pub(crate) stall: Duration,
}

/// Blocks that are right in no replica.
#[derive(Debug, thiserror::Error)]
#[error("{} have no intact replica: {detail}", BlockSet::from_range(blocks.clone()).bytes_text(*size))]
pub(crate) struct Unreadable {
    /// One block, or all remaining blocks if no table could be found to compare them with.
    pub(crate) blocks: Range<u64>,
    size: u64,
    /// The error of each replica.
    detail: String,
}

impl Unreadable {
    /// Returns the error of each replica.
    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }
}

/// A version being read.
pub(crate) struct Union {
    meta: Meta,
    /// The replicas in the order in which the caller named them.
    replicas: Vec<Replica>,
    access: ReplicaAccess,
    /// The verified table, once it is found.
    table: Option<Arc<BlockTable>>,
    reading: Option<OpenReplica>,
    /// The next block to return.
    next: u64,
    /// The block after the last one to return.
    end: u64,
}

/// The state of one replica.
struct Replica {
    volume: VolumeId,
    /// The block at which it last failed.
    failed_at: Option<u64>,
    failures: u64,
    /// Why it last failed.
    last_error: String,
    /// Its volume did not answer the last request: retried only after all others have failed.
    away: bool,
    /// The replica does not exist.
    gone: bool,
    reported: Option<Discriminant<VolumeError>>,
    /// It has provided at least one block.
    used: bool,
}

impl Union {
    /// Starts to read some blocks of a version from these volumes, best first.
    pub(crate) fn new(
        meta: Meta,
        blocks: Range<u64>,
        volumes: impl IntoIterator<Item = VolumeId>,
        access: ReplicaAccess,
    ) -> Self {
        // The table of an object of one block is the object's digest.
        let table =
            (meta.size <= BLOCK_BYTES).then(|| Arc::new(BlockTable::from_values(vec![meta.digests.blake3])));
        Self {
            replicas: volumes.into_iter().map(Replica::new).collect(),
            access,
            table,
            reading: None,
            next: blocks.start,
            end: blocks.end.min(block_count(meta.size)),
            meta,
        }
    }

    /// Returns the version's metadata.
    pub(crate) fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Returns the number of the next block to be returned.
    pub(crate) fn position(&self) -> u64 {
        self.next
    }

    /// Returns the next block, verified, or `None` at the end. After an error the next call retries
    /// the same block, unless [`Union::skip`] skips it.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Unreadable> {
        if self.next >= self.end {
            return Ok(None);
        }
        let table = self.find_table().await?;
        let (block, stall) = (self.next, self.access.stall);
        let length = block_bytes(block, self.meta.size);
        while let Some(mut reading) = self.open_next().await {
            let index = reading.replica;
            match reading.block(length, stall).await {
                Ok(bytes) if table.holds(block, &bytes) => {
                    self.replicas[index].used = true;
                    self.reading = Some(reading);
                    self.next += 1;
                    return Ok(Some(bytes));
                }
                Ok(_) => {
                    let error = self.corrupt(index, &format!("block {block}"));
                    self.failed(index, &error);
                }
                Err(error) => self.failed(index, &error),
            }
        }
        // The next call asks every replica again, because a failure may have been temporary.
        self.replicas
            .iter_mut()
            .for_each(|replica| replica.failed_at = None);
        Err(self.unreadable(block..block + 1))
    }

    /// Skips blocks that cannot be read.
    pub(crate) fn skip(&mut self, unreadable: &Unreadable) {
        self.next = unreadable.blocks.end.max(self.next);
        self.reading = None;
    }

    /// Reads to the end and returns the blocks that cannot be read.
    pub(crate) async fn rest_unreadable(&mut self) -> BlockSet {
        let mut found = BlockSet::default();
        loop {
            match self.next().await {
                Ok(None) => return found,
                Ok(Some(_)) => {}
                Err(unreadable) => {
                    self.skip(&unreadable);
                    found.push(unreadable.blocks);
                }
            }
        }
    }

    /// Returns the volumes that provided a block.
    pub(crate) fn used(&self) -> Vec<VolumeId> {
        let used = self.replicas.iter().filter(|replica| replica.used);
        used.map(|replica| replica.volume.clone()).collect()
    }

    /// Returns the replica being read, or else opens the best one that has not failed at this
    /// block.
    async fn open_next(&mut self) -> Option<OpenReplica> {
        if let Some(reading) = self.reading.take() {
            return Some(reading);
        }
        while let Some(index) = self.best() {
            match self.open(index, self.next..self.end).await {
                Ok(reading) => {
                    let table = self.table.as_ref();
                    if table.is_some_and(|table| *table != reading.table) {
                        let error = self.corrupt(index, "block table");
                        self.report(index, &error);
                    }
                    return Some(reading);
                }
                Err(error) => self.failed(index, &error),
            }
        }
        None
    }

    /// Returns the replica that has failed least, among those that have not failed at this block.
    fn best(&self) -> Option<usize> {
        let open = |replica: &Replica| !replica.gone && replica.failed_at != Some(self.next);
        let all = self.replicas.iter().enumerate();
        all.filter(|(_, replica)| open(replica))
            .min_by_key(|(index, replica)| (replica.away, replica.failures, *index))
            .map(|(index, _)| index)
    }

    async fn open(&mut self, index: usize, blocks: Range<u64>) -> Result<OpenReplica, VolumeError> {
        let volume = self.replicas[index].volume.clone();
        let opening = (self.access.open)(&volume, blocks);
        let opened = timeout(self.access.stall, opening).await;
        let read = opened.map_err(|_| open_replica::stalled(&volume))??;
        let (ours, theirs) = (&self.meta, &read.meta);
        let same = (&ours.key, ours.version, ours.size, ours.digests.blake3)
            == (&theirs.key, theirs.version, theirs.size, theirs.digests.blake3);
        if !same {
            return Err(self.corrupt(index, "meta"));
        }
        self.replicas[index].away = false;
        Ok(OpenReplica::new(index, volume, read))
    }

    /// Records that a replica did not provide the next block.
    fn failed(&mut self, index: usize, error: &VolumeError) {
        use VolumeError::{Missing, OtherLayout, Out, Unreachable};
        let replica = &mut self.replicas[index];
        replica.failed_at = Some(self.next);
        replica.failures += 1;
        replica.last_error = error.to_string();
        replica.away = matches!(error, Unreachable { .. } | Out { .. } | OtherLayout { .. });
        replica.gone = matches!(error, Missing { .. });
        self.report(index, error);
    }

    fn report(&mut self, index: usize, error: &VolumeError) {
        let replica = &mut self.replicas[index];
        let kind = std::mem::discriminant(error);
        if replica.reported.replace(kind) != Some(kind) {
            (self.access.failed)(&replica.volume, error);
        }
    }

    fn corrupt(&self, index: usize, part: &str) -> VolumeError {
        VolumeError::Corrupt {
            volume: self.replicas[index].volume.clone(),
            what: format!("{part} of {} version {}", self.meta.key, self.meta.version),
            found: "different bytes".to_owned(),
            expected: "bytes that match its digest".to_owned(),
        }
    }

    fn unreadable(&self, blocks: Range<u64>) -> Unreadable {
        let said: Vec<&str> = self
            .replicas
            .iter()
            .map(|replica| replica.last_error.as_str())
            .filter(|said| !said.is_empty())
            .collect();
        Unreadable {
            blocks,
            size: self.meta.size,
            detail: match said.as_slice() {
                [] => "no volume holds a replica".to_owned(),
                said => said.join("; "),
            },
        }
    }
}

impl Replica {
    fn new(volume: VolumeId) -> Self {
        Self {
            volume,
            failed_at: None,
            failures: 0,
            last_error: String::new(),
            away: false,
            gone: false,
            reported: None,
            used: false,
        }
    }
}
