//! Makes one replica from others. Every byte written was compared with the object's digest.
//!
//! Each block comes from any replica that has it right ([`crate::union`]), so a whole copy can be
//! made of several bad ones. A source with a wrong block is read completely by its own volume,
//! which marks it bad. The target computes the digest of the bytes it received, which must also be
//! the object's.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use data_encoding::HEXLOWER;
use futures_util::{FutureExt, StreamExt, stream};
use parking_lot::Mutex;
use store_protocol::{
    AbortScope, BlockSet, ByteStream, Cause, Key, Meta, Purpose, UploadId, Version, Volume, VolumeError,
    VolumeId, block_count,
};

use crate::union::{ReplicaAccess, Union, Unreadable};
use crate::upkeep::throttle::Throttle;

/// A source that sends nothing for this long is abandoned for the next one. Longer than for a
/// client, because no client waits. Shorter would abandon the only good replica on a disk that is
/// busy with a full read; longer would keep one of the parallel copies idle.
const SOURCE_STALLS: Duration = Duration::from_secs(60);

/// A copy to be made.
pub(super) struct Job<'a> {
    pub key: &'a Key,
    pub version: Version,
    /// In hexadecimal; empty if unknown.
    pub blake3: &'a str,
    pub cause: Cause,
    pub to: &'a Arc<dyn Volume>,
    /// Sources without known damage, best first.
    pub from: Vec<Arc<dyn Volume>>,
    /// Sources known to be bad.
    pub torn: Vec<Arc<dyn Volume>>,
    pub throttle: Arc<Throttle>,
}

/// Why no copy was made.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The target did not accept the copy.
    #[error("copy failed: {0}")]
    Target(#[source] VolumeError),
    /// No source could provide the object.
    #[error("{key} version {version}: no replica could be copied to {to}: {detail}")]
    Sources {
        /// The object.
        key: Key,
        /// Its version.
        version: Version,
        /// The target.
        to: VolumeId,
        /// The error of each source.
        detail: String,
    },
    /// No replica has some of the blocks right.
    #[error("{key} version {version}: {detail}")]
    Unreadable {
        /// The object.
        key: Key,
        /// Its version.
        version: Version,
        /// All unreadable byte ranges, and each source's error for the first of them.
        detail: String,
    },
}

/// The result of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Copied {
    pub bytes: u64,
    /// Sources found to be bad during the copy.
    pub bad_sources: u64,
}

/// Copies a live replica.
pub(super) async fn content(job: &Job<'_>) -> Result<Copied, CopyError> {
    let meta = meta_of(job).await?;
    let trouble: Trouble = Arc::default();
    let blocks = 0..block_count(meta.size);
    let volumes = job.sources().map(|volume| volume.id().clone());
    let union = Union::new(meta.clone(), blocks, volumes, job.replica_access(&trouble));
    let reading = Reading {
        union: Arc::new(tokio::sync::Mutex::new(union)),
        failed: Arc::default(),
    };
    let upload = UploadId::random();
    let written = write(job, upload, &meta, &reading).await;
    let bad_sources = look_at_bad(job, &meta, &trouble).await;
    let Err(error) = written else {
        let bytes = meta.size;
        return Ok(Copied { bytes, bad_sources });
    };
    job.to.abort(upload, AbortScope::Version(job.version)).await;
    // An interrupted body is the sources' fault, whatever error the target returns.
    let unreadable = reading.failed.lock().take();
    let Some(unreadable) = unreadable else {
        return Err(CopyError::Target(error));
    };
    Err(CopyError::Unreadable {
        key: job.key.clone(),
        version: job.version,
        detail: reading.all_unreadable(unreadable, meta.size).await,
    })
}

/// Copies a tombstone. It has no content, so an index entry or a file describes it completely.
pub(super) async fn tombstone(job: &Job<'_>) -> Result<Copied, CopyError> {
    let mut said = Vec::new();
    for source in &job.from {
        let answer = match source.head(job.key).await {
            Ok(head) => match head.found {
                Some(held) if held.meta.version == job.version && held.meta.deleted => {
                    let upload = UploadId::random();
                    let evidence = format!("tombstone as {} knows it", source.id());
                    if let Err(error) = make_visible(job, upload, &held.meta, &evidence).await {
                        job.to.abort(upload, AbortScope::Version(job.version)).await;
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
        said.push(answer);
    }
    Err(job.no_source(&said))
}

/// Volumes whose replica was found to be bad.
type Trouble = Arc<Mutex<BTreeSet<VolumeId>>>;

impl Job<'_> {
    fn sources(&self) -> impl Iterator<Item = &Arc<dyn Volume>> {
        self.from.iter().chain(&self.torn)
    }

    fn no_source(&self, said: &[String]) -> CopyError {
        CopyError::Sources {
            key: self.key.clone(),
            version: self.version,
            to: self.to.id().clone(),
            detail: said.join("; "),
        }
    }

    fn replica_access(&self, trouble: &Trouble) -> ReplicaAccess {
        let sources: Vec<Arc<dyn Volume>> = self.sources().cloned().collect();
        let (key, version) = (self.key.clone(), self.version);
        let open = move |id: &VolumeId, blocks: Range<u64>| {
            let source = sources.iter().find(|volume| volume.id() == id).cloned();
            let (id, key) = (id.clone(), key.clone());
            async move {
                let unknown = VolumeError::Unreachable {
                    volume: id,
                    detail: "it is not a source".to_owned(),
                };
                source.ok_or(unknown)?.read(&key, version, blocks).await
            }
            .boxed()
        };
        let trouble = trouble.clone();
        let failed = move |volume: &VolumeId, error: &VolumeError| {
            tracing::warn!(%volume, %error, "a source of a copy failed");
            if !matches!(error, VolumeError::Unreachable { .. } | VolumeError::Out { .. }) {
                trouble.lock().insert(volume.clone());
            }
        };
        ReplicaAccess {
            open: Box::new(open),
            failed: Box::new(failed),
            stall: SOURCE_STALLS,
        }
    }
}

/// Returns the object's metadata from the first source that still has it.
async fn meta_of(job: &Job<'_>) -> Result<Meta, CopyError> {
    let mut said = Vec::new();
    for source in job.sources() {
        match source.head(job.key).await.map(|head| head.found) {
            Ok(Some(held)) if held.meta.version == job.version && !held.meta.deleted => {
                let digest = HEXLOWER.encode(&held.meta.digests.blake3);
                if job.blake3.is_empty() || digest == job.blake3 {
                    return Ok(held.meta);
                }
                said.push(format!(
                    "{} has a replica with digest {digest}, expected {}",
                    source.id(),
                    job.blake3
                ));
            }
            Ok(_) => said.push(format!("{} no longer has it", source.id())),
            Err(error) => said.push(error.to_string()),
        }
    }
    Err(job.no_source(&said))
}

/// Verifies the sources that failed during the copy but were thought good, so that their volumes
/// mark them. Returns their number.
async fn look_at_bad(job: &Job<'_>, meta: &Meta, trouble: &Trouble) -> u64 {
    let bad = std::mem::take(&mut *trouble.lock());
    let mut number = 0;
    for source in job.from.iter().filter(|source| bad.contains(source.id())) {
        number += 1;
        // Only the mark matters, and the volume sets it: the copy proceeds whatever the answer.
        let _ = source.verify(&meta.key, meta.version, Cause::Repair).await;
    }
    number
}

/// Sends the content, prepares and commits it.
async fn write(job: &Job<'_>, upload: UploadId, meta: &Meta, reading: &Reading) -> Result<(), VolumeError> {
    let receipt = job
        .to
        .receive(upload, reading.stream(job.throttle.clone()))
        .await?;
    if receipt.size != meta.size || receipt.blake3 != meta.digests.blake3 {
        return Err(VolumeError::Corrupt {
            volume: job.to.id().clone(),
            what: format!("copy of {}", job.key),
            found: format!("{} bytes {}", receipt.size, HEXLOWER.encode(&receipt.blake3)),
            expected: format!("{} bytes {}", meta.size, HEXLOWER.encode(&meta.digests.blake3)),
        });
    }
    let used = reading.union.lock().await.used();
    let names = used.iter().map(ToString::to_string).collect::<Vec<_>>();
    let digest = HEXLOWER.encode(&meta.digests.blake3);
    let evidence = format!(
        "copied from {}, every block compared with blake3 {digest}",
        names.join(", ")
    );
    make_visible(job, upload, meta, &evidence).await
}

async fn make_visible(
    job: &Job<'_>,
    upload: UploadId,
    meta: &Meta,
    evidence: &str,
) -> Result<(), VolumeError> {
    // `prepare` syncs the replica, so it must come before `commit`, which makes it visible.
    job.to.prepare(upload, meta, Purpose::Copy).await?;
    job.to.commit(upload, job.cause, evidence).await
}

/// The content on its way to the target.
struct Reading {
    union: Arc<tokio::sync::Mutex<Union>>,
    /// The blocks that ended the stream.
    failed: Arc<Mutex<Option<Unreadable>>>,
}

impl Reading {
    fn stream(&self, throttle: Arc<Throttle>) -> ByteStream {
        let state = Some((self.union.clone(), self.failed.clone(), throttle));
        let blocks = stream::unfold(state, |state| async move {
            let (union, failed, throttle) = state?;
            let next = union.lock().await.next().await;
            match next {
                Ok(Some(block)) => {
                    throttle.take(block.len() as u64).await;
                    Some((Ok(block), Some((union, failed, throttle))))
                }
                Ok(None) => None,
                Err(unreadable) => {
                    let error = std::io::Error::other(unreadable.to_string());
                    // The stream carries only an I/O error; `content` takes the blocks from here.
                    *failed.lock() = Some(unreadable);
                    Some((Err(error), None))
                }
            }
        });
        // A volume may poll once more after the end, and `unfold` alone would panic.
        Box::pin(blocks.fuse())
    }

    /// Returns all bytes that no replica has right, and the errors for the first of them. Reads the
    /// rest of the object to find them.
    async fn all_unreadable(&self, first: Unreadable, size: u64) -> String {
        let mut union = self.union.lock().await;
        union.skip(&first);
        let mut ranges = vec![first.blocks.clone()];
        ranges.extend(union.rest_unreadable().await.ranges().iter().cloned());
        let all = BlockSet::from(ranges);
        format!(
            "{} have no intact replica: {}",
            all.bytes_text(size),
            first.detail()
        )
    }
}
