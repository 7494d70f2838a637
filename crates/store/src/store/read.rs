//! Reading: block by block from one replica, every block compared with its digest before it goes on, and from the next
//! replica at that block when one is bad, breaks off or stalls.
//!
//! No byte leaves here that was not verified: the replica's table must make up the BLAKE3 that the version's
//! description names, and each block must be what the table says.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;

use bytes::{Bytes, BytesMut};
use futures_util::stream::{self, StreamExt};
use tokio::time::timeout;

use super::current::Look;
use super::{Damage, Object, Store, StoreError};
use crate::key::Key;
use crate::meta::{BLOCK_BYTES, Meta};
use crate::volume::blocks::block_count;
use crate::volume::{ByteStream, Cause, ReplicaRead, Verdict, VolumeError, VolumeId};

/// How often a key is looked up again because the version found was replaced before it could be opened.
const OVERTAKEN_TRIES: usize = 8;

/// A version being read.
struct Reader {
    plan: Plan,
    source: Option<Source>,
}

/// What is to be read, and from where.
struct Plan {
    store: Store,
    meta: Meta,
    /// Bytes of the content that are wanted.
    range: Range<u64>,
    /// The next block to give.
    block: u64,
    /// The block after the last.
    end: u64,
    /// Volumes not tried yet, best first, and whether they said that they hold the version.
    candidates: VecDeque<(VolumeId, bool)>,
    /// What each volume tried has said.
    failures: Vec<String>,
}

/// An open replica.
struct Source {
    volume: VolumeId,
    replica: ReplicaRead,
    /// Received beyond the block given last; less than a block and a piece.
    rest: Bytes,
}

impl Store {
    pub(super) async fn open(&self, key: &Key, range: Option<Range<u64>>) -> Result<Object, StoreError> {
        let mut tries = 1;
        loop {
            let look = self.look(key).await;
            let meta = look.live()?.clone();
            let range = cut(&meta, range.clone())?;
            let mut reader = Reader::new(self, meta, range.clone(), self.candidates(&look));
            // The first block is read before anything is answered, so that a lost object is an error and no answer.
            match reader.next().await {
                Ok(first) => {
                    let meta = reader.plan.meta.clone();
                    let body = stream::iter(first.map(Ok)).chain(reader.into_stream());
                    return Ok(Object {
                        meta,
                        range,
                        body: Box::pin(body),
                    });
                }
                Err(error) => {
                    let again = self.look(key).await;
                    let newest = again.newest.as_ref().map(|meta| meta.version);
                    if newest <= Some(reader.plan.meta.version) || tries == OVERTAKEN_TRIES {
                        return Err(error);
                    }
                    tries += 1;
                }
            }
        }
    }

    /// All verified bytes of a version, from these volumes only.
    pub(super) fn read_back(&self, meta: &Meta, volumes: &[VolumeId]) -> ByteStream {
        let candidates = volumes.iter().map(|volume| (volume.clone(), true)).collect();
        let reader = Reader::new(self, meta.clone(), 0..meta.size, candidates);
        Box::pin(reader.into_stream())
    }

    /// Who may have a version: this node's volumes first, then the others that said so in random order, then whoever
    /// did not say that its copy is bad.
    fn candidates(&self, look: &Look) -> VecDeque<(VolumeId, bool)> {
        let view = self.cluster().view();
        let is_here = |volume: &VolumeId| {
            let roles = view.layouts.current.roles.volumes.iter();
            let node = roles
                .filter(|role| role.id == *volume)
                .map(|role| &role.node)
                .next();
            node.is_some() && node == self.cluster().me()
        };
        let mut holders: Vec<_> = look.good.iter().map(|volume| (volume.clone(), true)).collect();
        holders.sort_by_cached_key(|(volume, _)| (!is_here(volume), rand::random::<u32>()));
        let others = view
            .volumes
            .keys()
            .filter(|volume| !look.good.contains(volume) && !look.bad.contains(volume))
            .map(|volume| (volume.clone(), false));
        holders.into_iter().chain(others).collect()
    }
}

/// The range of the content that is asked for.
fn cut(meta: &Meta, range: Option<Range<u64>>) -> Result<Range<u64>, StoreError> {
    match range {
        None => Ok(0..meta.size),
        Some(range) if range.start < meta.size && range.start < range.end => {
            Ok(range.start..range.end.min(meta.size))
        }
        Some(range) => Err(StoreError::Range {
            key: meta.key.to_string(),
            start: range.start,
            end: range.end,
            size: meta.size,
        }),
    }
}

impl Reader {
    fn new(store: &Store, meta: Meta, range: Range<u64>, candidates: VecDeque<(VolumeId, bool)>) -> Self {
        let block = range.start / BLOCK_BYTES;
        let end = range.end.div_ceil(BLOCK_BYTES);
        let plan = Plan {
            store: store.clone(),
            meta,
            range,
            block,
            end,
            candidates,
            failures: Vec::new(),
        };
        Self { plan, source: None }
    }

    fn into_stream(self) -> impl stream::Stream<Item = io::Result<Bytes>> + Send {
        stream::try_unfold(self, |mut reader| async move {
            let next = reader.next().await.map_err(io::Error::other)?;
            Ok(next.map(|bytes| (bytes, reader)))
        })
    }

    /// The next verified bytes of the range; `None` at its end.
    async fn next(&mut self) -> Result<Option<Bytes>, StoreError> {
        let plan = &mut self.plan;
        if plan.block >= plan.end {
            return Ok(None);
        }
        loop {
            let mut source = match self.source.take() {
                Some(source) => source,
                None => plan.open_next().await?,
            };
            match plan.block_of(&mut source).await {
                Ok(block) => {
                    let bytes = plan.wanted(&block);
                    self.source = Some(source);
                    plan.block += 1;
                    return Ok(Some(bytes));
                }
                Err(error) => plan.failed(&source.volume, true, &error),
            }
        }
    }
}

impl Plan {
    /// Opens the next replica that can be opened.
    async fn open_next(&mut self) -> Result<Source, StoreError> {
        while let Some((volume, holder)) = self.candidates.pop_front() {
            match self.open_on(&volume).await {
                Ok(source) => return Ok(source),
                Err(error) => self.failed(&volume, holder, &error),
            }
        }
        Err(StoreError::Lost {
            key: self.meta.key.to_string(),
            detail: match self.failures.as_slice() {
                [] => "no volume holds one that is not known to be bad".to_owned(),
                failures => failures.join("; "),
            },
        })
    }

    async fn open_on(&self, volume: &VolumeId) -> Result<Source, VolumeError> {
        let (meta, blocks) = (&self.meta, self.block..self.end);
        let opening = self.store.ask(volume, |asked| {
            let blocks = blocks.clone();
            async move { asked.read(&meta.key, meta.version, blocks).await }
        });
        let replica = timeout(self.store.patience().stall, opening)
            .await
            .map_err(|_| stalled(volume))??;
        let (found, blocks) = (replica.table.root(), replica.table.values().len() as u64);
        if found != Some(self.meta.digests.blake3) || blocks != block_count(self.meta.size) {
            let hex = |digest: &[u8; 32]| data_encoding::HEXLOWER.encode(digest);
            return Err(VolumeError::Corrupt {
                volume: volume.clone(),
                what: format!("table of blocks of {} version {}", meta.key, meta.version),
                found: format!(
                    "{blocks} blocks, BLAKE3 {}",
                    found.as_ref().map_or_else(String::new, hex)
                ),
                expected: format!(
                    "{} blocks, BLAKE3 {}",
                    block_count(meta.size),
                    hex(&meta.digests.blake3)
                ),
            });
        }
        Ok(Source {
            volume: volume.clone(),
            replica,
            rest: Bytes::new(),
        })
    }

    /// Receives the next block and verifies it.
    async fn block_of(&self, source: &mut Source) -> Result<Bytes, VolumeError> {
        let start = self.block * BLOCK_BYTES;
        let length = usize::try_from((self.meta.size - start).min(BLOCK_BYTES)).unwrap_or(usize::MAX);
        let volume = source.volume.clone();
        let block = timeout(self.store.patience().stall, source.receive(length))
            .await
            .map_err(|_| stalled(&volume))??;
        if source.replica.table.holds(self.block, &block) {
            return Ok(block);
        }
        Err(VolumeError::Corrupt {
            volume,
            what: format!(
                "block {} of {} version {}",
                self.block, self.meta.key, self.meta.version
            ),
            found: "other bytes".to_owned(),
            expected: "those of its digest".to_owned(),
        })
    }

    /// What of the block lies in the range.
    fn wanted(&self, block: &Bytes) -> Bytes {
        let start = self.block * BLOCK_BYTES;
        let place = |byte: u64| {
            usize::try_from(byte.saturating_sub(start))
                .unwrap_or(usize::MAX)
                .min(block.len())
        };
        block.slice(place(self.range.start)..place(self.range.end))
    }

    /// Notes why a replica was left, and has it looked at if the way to it is not to blame.
    fn failed(&mut self, volume: &VolumeId, holder: bool, error: &VolumeError) {
        use VolumeError::{Corrupt, Failed, Missing};
        self.failures.push(error.to_string());
        if !holder && matches!(error, Missing { .. }) {
            return;
        }
        tracing::warn!(key = %self.meta.key, version = %self.meta.version, %volume, %error, "a replica could not be read");
        if matches!(error, Corrupt { .. } | Failed { .. } | Missing { .. }) {
            self.store.suspect(&self.meta, volume.clone(), error.to_string());
        }
    }
}

impl Source {
    /// The next `length` bytes.
    async fn receive(&mut self, length: usize) -> Result<Bytes, VolumeError> {
        if self.rest.len() >= length {
            return Ok(self.rest.split_to(length));
        }
        let mut joined = BytesMut::new();
        loop {
            if joined.is_empty() && self.rest.len() >= length {
                return Ok(self.rest.split_to(length));
            }
            let take = self.rest.len().min(length - joined.len());
            if joined.is_empty() {
                joined.reserve(length);
            }
            joined.extend_from_slice(&self.rest.split_to(take));
            if joined.len() == length {
                return Ok(joined.freeze());
            }
            self.rest = match self.replica.bytes.next().await {
                Some(Ok(piece)) => piece,
                Some(Err(error)) => return Err(self.broke_off(error)),
                None => return Err(self.broke_off(format_args!("{} of {length} bytes", joined.len()))),
            };
        }
    }

    fn broke_off(&self, detail: impl std::fmt::Display) -> VolumeError {
        VolumeError::Failed {
            volume: self.volume.clone(),
            detail: format!("read of {} broke off: {detail}", self.replica.meta.key),
        }
    }
}

impl Store {
    /// Has a replica re-read, marked if it is bad, and told to repair unless it proves good; nobody waits for it.
    fn suspect(&self, meta: &Meta, volume: VolumeId, detail: String) {
        let (store, key, version) = (self.clone(), meta.key.clone(), meta.version);
        let damage = Damage {
            key: key.clone(),
            version,
            volume: volume.clone(),
            detail,
        };
        tokio::spawn(async move {
            let verdict = store
                .ask(&volume, |asked| {
                    let key = key.clone();
                    async move { asked.verify(&key, version, Cause::Read).await }
                })
                .await;
            if let Err(error) = &verdict {
                tracing::warn!(%key, %volume, %error, "a replica could not be re-read");
            }
            if !matches!(verdict, Ok(Verdict::Good { .. })) {
                store.damaged(damage);
            }
        });
    }
}

fn stalled(volume: &VolumeId) -> VolumeError {
    VolumeError::Unreachable {
        volume: volume.clone(),
        detail: "it has stalled".to_owned(),
    }
}
