//! Making one replica out of others: no byte is written that was not compared with the object's digest.
//!
//! Each block is compared with the table of blocks, the table with the digest that all good replicas agree about. A
//! source whose block differs is read again by its own volume (which marks it bad), and the next source goes on from
//! that block. What the target received it digests itself, and that digest must be the object's too.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use data_encoding::HEXLOWER;
use futures_util::{StreamExt, stream};
use parking_lot::Mutex;

use crate::clock::Version;
use crate::key::Key;
use crate::meta::{BLOCK_BYTES, Meta};
use crate::upkeep::throttle::Throttle;
use crate::volume::blocks::{BlockTable, block_count};
use crate::volume::{ByteStream, Cause, StageId, Volume, VolumeError, VolumeId};

/// A source that gives nothing for this long is left for the next one.
const SOURCE_STALLS: Duration = Duration::from_secs(60);

/// A copy to be made.
pub(super) struct Job<'a> {
    pub key: &'a Key,
    pub version: Version,
    /// Length of the content.
    pub size: u64,
    /// In hexadecimal; empty when unknown.
    pub blake3: &'a str,
    pub cause: Cause,
    pub to: &'a Arc<dyn Volume>,
    pub from: Vec<Arc<dyn Volume>>,
    pub throttle: Arc<Throttle>,
}

/// Why no copy was made.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The target did not take it.
    #[error("copy to {0}")]
    Target(#[source] VolumeError),
    /// No source could give it.
    #[error("{key} version {version}: no replica could be copied to {to}: {detail}")]
    Sources {
        /// The object.
        key: Key,
        /// Its version.
        version: Version,
        /// Where to.
        to: VolumeId,
        /// What each source said.
        detail: String,
    },
}

/// A copy made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Copied {
    pub bytes: u64,
    /// Sources that turned out bad on the way.
    pub bad_sources: u64,
}

/// Copies a live replica.
pub(super) async fn content(job: &Job<'_>) -> Result<Copied, CopyError> {
    let trouble: Trouble = Arc::default();
    let mut sources: VecDeque<_> = job.from.iter().cloned().collect();
    let Some((meta, first)) = open_first(job, &mut sources, &trouble).await else {
        return Err(job.no_source(&trouble));
    };
    let meta = Arc::new(meta);
    let used = Arc::new(Mutex::new(vec![first.volume.id().clone()]));
    let reading = Reading {
        meta: meta.clone(),
        current: Some(first),
        sources,
        next_block: 0,
        blocks: block_count(meta.size),
        used: used.clone(),
        trouble: trouble.clone(),
        throttle: job.throttle.clone(),
    };
    let stage = StageId::random();
    match write(job, stage, &meta, reading.stream(), &used).await {
        Ok(()) => Ok(Copied {
            bytes: meta.size,
            bad_sources: trouble.lock().len() as u64,
        }),
        Err(error) => {
            job.to.abort(stage).await;
            // An interrupted body is the sources' fault, whatever the target calls it.
            let exhausted = matches!(error, VolumeError::Body(_)) && !trouble.lock().is_empty();
            Err(if exhausted {
                job.no_source(&trouble)
            } else {
                CopyError::Target(error)
            })
        }
    }
}

/// Copies a tombstone: it has no content, only what an index or a file says of it.
pub(super) async fn tombstone(job: &Job<'_>) -> Result<Copied, CopyError> {
    let trouble: Trouble = Arc::default();
    for source in &job.from {
        let said = match source.head(job.key).await {
            Ok(head) => match head.found {
                Some(held) if held.meta.version == job.version && held.meta.deleted => {
                    let stage = StageId::random();
                    let evidence = format!("tombstone as {} knows it", source.id());
                    if let Err(error) = make_visible(job, stage, &held.meta, &evidence).await {
                        job.to.abort(stage).await;
                        return Err(CopyError::Target(error));
                    }
                    return Ok(Copied {
                        bytes: 0,
                        bad_sources: 0,
                    });
                }
                _ => format!("{} no longer has it", source.id()),
            },
            Err(error) => error.to_string(),
        };
        trouble.lock().push(said);
    }
    Err(job.no_source(&trouble))
}

/// What went wrong with sources, in words.
type Trouble = Arc<Mutex<Vec<String>>>;

impl Job<'_> {
    fn no_source(&self, trouble: &Trouble) -> CopyError {
        CopyError::Sources {
            key: self.key.clone(),
            version: self.version,
            to: self.to.id().clone(),
            detail: trouble.lock().join("; "),
        }
    }
}

/// The first source that opens, and what it says of the object, checked as far as can be without its bytes.
async fn open_first(
    job: &Job<'_>,
    sources: &mut VecDeque<Arc<dyn Volume>>,
    trouble: &Trouble,
) -> Option<(Meta, Source)> {
    while let Some(volume) = sources.pop_front() {
        match open(volume, job.key, job.version, 0..block_count(job.size), None).await {
            Ok((meta, source)) => {
                let digest = HEXLOWER.encode(&meta.digests.blake3);
                if job.blake3.is_empty() || digest == job.blake3 {
                    return Some((meta, source));
                }
                let volume = source.volume.id();
                let said = format!("{volume} has a replica of {digest}, not {}", job.blake3);
                trouble.lock().push(said);
            }
            Err(said) => trouble.lock().push(said),
        }
    }
    None
}

/// A replica being read, from some block on.
struct Source {
    volume: Arc<dyn Volume>,
    table: Arc<BlockTable>,
    bytes: ByteStream,
    /// Received, not yet a whole block.
    buffer: BytesMut,
}

/// Opens a replica at a block. Its table is that of its digest, and that of `like` if given.
async fn open(
    volume: Arc<dyn Volume>,
    key: &Key,
    version: Version,
    blocks: Range<u64>,
    like: Option<&Meta>,
) -> Result<(Meta, Source), String> {
    let read = volume
        .read(key, version, blocks.clone())
        .await
        .map_err(|error| error.to_string())?;
    let meta = read.meta;
    let same = like.is_none_or(|like| like.digests.blake3 == meta.digests.blake3 && like.size == meta.size);
    let sound = read.table.root() == Some(meta.digests.blake3)
        && read.table.values().len() as u64 == blocks.end
        && block_count(meta.size) == blocks.end;
    if !(same && sound && meta.key == *key && meta.version == version && !meta.deleted) {
        let said = format!(
            "{}: the replica's head, size or table of blocks is not that of its digest",
            volume.id()
        );
        // So that its volume marks it bad; what it answers changes nothing here.
        let _ = volume.verify(key, version, Cause::Repair).await;
        return Err(said);
    }
    let source = Source {
        volume,
        table: read.table,
        bytes: read.bytes,
        buffer: BytesMut::new(),
    };
    Ok((meta, source))
}

/// Stages, prepares and commits.
async fn write(
    job: &Job<'_>,
    stage: StageId,
    meta: &Meta,
    body: ByteStream,
    used: &Mutex<Vec<VolumeId>>,
) -> Result<(), VolumeError> {
    let staged = job.to.stage(stage, body).await?;
    if staged.size != meta.size || staged.blake3 != meta.digests.blake3 {
        return Err(VolumeError::Corrupt {
            volume: job.to.id().clone(),
            what: format!("copy of {}", job.key),
            found: format!("{} bytes {}", staged.size, HEXLOWER.encode(&staged.blake3)),
            expected: format!("{} bytes {}", meta.size, HEXLOWER.encode(&meta.digests.blake3)),
        });
    }
    let names = used.lock().iter().map(ToString::to_string).collect::<Vec<_>>();
    let digest = HEXLOWER.encode(&meta.digests.blake3);
    let evidence = format!(
        "copied from {}, every block compared with blake3 {digest}",
        names.join(", ")
    );
    make_visible(job, stage, meta, &evidence).await
}

async fn make_visible(job: &Job<'_>, stage: StageId, meta: &Meta, evidence: &str) -> Result<(), VolumeError> {
    job.to.prepare(stage, meta).await?;
    job.to.commit(stage, job.cause, evidence).await
}

/// A replica on its way, verified block by block, from as many sources as it takes.
struct Reading {
    meta: Arc<Meta>,
    current: Option<Source>,
    /// Not yet used.
    sources: VecDeque<Arc<dyn Volume>>,
    next_block: u64,
    blocks: u64,
    used: Arc<Mutex<Vec<VolumeId>>>,
    trouble: Trouble,
    throttle: Arc<Throttle>,
}

impl Reading {
    fn stream(self) -> ByteStream {
        let blocks = stream::unfold(Some(self), |reading| async move {
            let mut reading = reading?;
            match reading.next().await {
                Ok(Some(block)) => Some((Ok(block), Some(reading))),
                Ok(None) => None,
                Err(error) => Some((Err(error), None)),
            }
        });
        // A volume may ask once more after the end, which `unfold` alone answers with a panic.
        Box::pin(blocks.fuse())
    }

    /// The next block, right; `None` after the last.
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        while self.next_block < self.blocks {
            if let Some(block) = self.current_block().await {
                self.next_block += 1;
                self.throttle.take(block.len() as u64).await;
                return Ok(Some(block));
            }
            self.go_on_elsewhere().await?;
        }
        Ok(None)
    }

    /// The next block from the source being read; `None` if it cannot give it right.
    async fn current_block(&mut self) -> Option<Bytes> {
        let source = self.current.as_mut()?;
        let rest = self.meta.size - (self.next_block * BLOCK_BYTES).min(self.meta.size);
        let length = usize::try_from(rest.min(BLOCK_BYTES)).ok()?;
        let said = match source.block(length).await {
            Ok(block) if source.table.holds(self.next_block, &block) => return Some(block),
            Ok(_) => format!(
                "{}: block {} differs from its digest",
                source.volume.id(),
                self.next_block
            ),
            Err(error) => format!("{}: block {}: {error}", source.volume.id(), self.next_block),
        };
        self.trouble.lock().push(said);
        let volume = source.volume.clone();
        self.current = None;
        // So that its volume marks it bad; what it answers changes nothing here.
        let _ = volume
            .verify(&self.meta.key, self.meta.version, Cause::Repair)
            .await;
        None
    }

    /// Opens the next source at the block where the last one failed.
    async fn go_on_elsewhere(&mut self) -> io::Result<()> {
        while let Some(volume) = self.sources.pop_front() {
            let (key, version) = (&self.meta.key, self.meta.version);
            match open(
                volume,
                key,
                version,
                self.next_block..self.blocks,
                Some(&self.meta),
            )
            .await
            {
                Ok((_, source)) => {
                    self.used.lock().push(source.volume.id().clone());
                    self.current = Some(source);
                    return Ok(());
                }
                Err(said) => self.trouble.lock().push(said),
            }
        }
        Err(io::Error::other(self.trouble.lock().join("; ")))
    }
}

impl Source {
    /// The next `length` bytes; fewer if the stream ends before.
    async fn block(&mut self, length: usize) -> io::Result<Bytes> {
        while self.buffer.len() < length {
            match tokio::time::timeout(SOURCE_STALLS, self.bytes.next()).await {
                Ok(Some(piece)) => self.buffer.extend_from_slice(&piece?),
                Ok(None) => break,
                Err(_) => return Err(io::Error::new(io::ErrorKind::TimedOut, "no bytes for a minute")),
            }
        }
        Ok(self.buffer.split_to(length.min(self.buffer.len())).freeze())
    }
}
