//! Reading: every block is compared with its digest before it is returned. If a replica has a wrong
//! block, breaks off or stalls, the block is read from another replica.
//!
//! No unverified byte leaves this module: the block table must hash to the BLAKE3 in the version's
//! metadata, and each block must match the table ([`crate::union`]). A replica that is known to be
//! bad is tried last but is still read, because its intact blocks may exist nowhere else.

use std::collections::BTreeSet;
use std::io;
use std::ops::Range;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::stream::{self, StreamExt};
use store_protocol::{BLOCK_BYTES, ByteStream, Cause, Key, Meta, Verdict, VolumeError, VolumeId};

use super::error::StoreError;
use super::key_state::KeyState;
use super::store::{Damage, Store};
use crate::union::{ReplicaAccess, Union};

/// How often a key is looked up again because the version found was replaced before it could be
/// opened. A version disappears when the next is committed: fewer tries would refuse reads of a key
/// that is written several times a second. Each try costs a lookup.
const OVERTAKEN_TRIES: usize = 8;

/// A range of a version being read.
struct Reader {
    union: Union,
    /// Requested bytes of the content.
    range: Range<u64>,
}

/// Volumes that may hold a version, best first.
struct Candidates {
    volumes: Vec<VolumeId>,
    /// Volumes that reported the version. If one of them has no file, that is damage.
    holders: BTreeSet<VolumeId>,
    /// Volumes that know that their replica is bad, so no damage is reported for them.
    bad: BTreeSet<VolumeId>,
}

/// An object opened for reading. Reading verifies its bytes.
pub struct Object {
    /// The object's metadata.
    pub meta: Meta,
    /// Range of the content that `body` yields.
    pub range: Range<u64>,
    /// The bytes. The stream ends with an error if no replica holds a block intact.
    pub body: ByteStream,
}

impl Store {
    /// Returns the metadata of the newest version.
    ///
    /// # Errors
    /// [`StoreError`]; `NotFound` if there is no live version.
    pub async fn head(&self, key: &Key) -> Result<Meta, StoreError> {
        self.readable_key_state(key).await?.live(self.reading()).cloned()
    }

    /// Opens the newest version for reading, whole or a range of it. A range is cut at the object's
    /// end.
    ///
    /// # Errors
    /// [`StoreError`]; `Range` for a range that begins after the end or is empty.
    pub async fn get(&self, key: &Key, range: Option<Range<u64>>) -> Result<Object, StoreError> {
        let mut tries = 1;
        loop {
            let state = self.readable_key_state(key).await?;
            let meta = state.live(self.reading())?.clone();
            let range = resolve_range(&meta, range.clone())?;
            let mut reader = Reader::new(self, meta, range.clone(), self.candidates(&state));
            // The first block is read before the response begins, so that a lost object is an error
            // and not a truncated response.
            match reader.next().await {
                Ok(first) => {
                    let meta = reader.union.meta().clone();
                    let body = stream::iter(first.map(Ok)).chain(reader.into_stream());
                    return Ok(Object {
                        meta,
                        range,
                        body: Box::pin(body),
                    });
                }
                Err(error) => {
                    let again = self.key_state(key).await;
                    let newest = again.newest.as_ref().map(|meta| meta.version);
                    if newest <= Some(reader.union.meta().version) || tries == OVERTAKEN_TRIES {
                        return Err(error);
                    }
                    tries += 1;
                }
            }
        }
    }

    /// Returns all verified bytes of a version, from these volumes only.
    pub(super) fn read_back(&self, meta: &Meta, volumes: &[VolumeId]) -> ByteStream {
        let candidates = Candidates {
            volumes: volumes.to_vec(),
            holders: volumes.iter().cloned().collect(),
            bad: BTreeSet::new(),
        };
        let reader = Reader::new(self, meta.clone(), 0..meta.size, candidates);
        Box::pin(reader.into_stream())
    }

    /// Returns this node's volumes first, then the others that reported the version in random
    /// order, then those whose replica is bad, then the volumes that did not answer or did not know
    /// the version.
    fn candidates(&self, state: &KeyState) -> Candidates {
        let topology = self.cluster().topology();
        let is_here = |volume: &VolumeId| {
            let roles = topology.layouts.current.roles.volumes.iter();
            let node = roles
                .filter(|role| role.id == *volume)
                .map(|role| &role.node)
                .next();
            node.is_some() && node == self.cluster().me()
        };
        let mut volumes = state.good.clone();
        volumes.sort_by_cached_key(|volume| (!is_here(volume), system::random::<u32>()));
        volumes.extend(state.bad.iter().cloned());
        let holders: BTreeSet<_> = volumes.iter().cloned().collect();
        volumes.extend(
            topology
                .volumes
                .keys()
                .filter(|volume| !holders.contains(*volume))
                .cloned(),
        );
        Candidates {
            volumes,
            holders,
            bad: state.bad.iter().cloned().collect(),
        }
    }
}

/// Returns the requested range of the content.
fn resolve_range(meta: &Meta, range: Option<Range<u64>>) -> Result<Range<u64>, StoreError> {
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
    fn new(store: &Store, meta: Meta, range: Range<u64>, candidates: Candidates) -> Self {
        let blocks = range.start / BLOCK_BYTES..range.end.div_ceil(BLOCK_BYTES);
        let replica_access = store.replica_access(&meta, candidates.holders, candidates.bad);
        Self {
            union: Union::new(meta, blocks, candidates.volumes, replica_access),
            range,
        }
    }

    fn into_stream(self) -> impl stream::Stream<Item = io::Result<Bytes>> + Send {
        stream::try_unfold(self, |mut reader| async move {
            let next = reader.next().await.map_err(io::Error::other)?;
            Ok(next.map(|bytes| (bytes, reader)))
        })
    }

    /// Returns the next verified bytes of the range, `None` at its end.
    async fn next(&mut self) -> Result<Option<Bytes>, StoreError> {
        let start = self.union.position() * BLOCK_BYTES;
        let block = self.union.next().await.map_err(|unreadable| StoreError::Lost {
            key: self.union.meta().key.to_string(),
            detail: unreadable.to_string(),
        })?;
        Ok(block.map(|block| slice_to_range(&block, start, &self.range)))
    }
}

/// Returns the part of a block, beginning at `start`, that is in the range.
fn slice_to_range(block: &Bytes, start: u64, range: &Range<u64>) -> Bytes {
    let place = |byte: u64| {
        usize::try_from(byte.saturating_sub(start))
            .unwrap_or(usize::MAX)
            .min(block.len())
    };
    block.slice(place(range.start)..place(range.end))
}

impl Store {
    /// Returns access to the replicas of a version. Each request uses the layout in force at that
    /// moment, and a failure leads to a check of the replica.
    fn replica_access(
        &self,
        meta: &Meta,
        holders: BTreeSet<VolumeId>,
        bad: BTreeSet<VolumeId>,
    ) -> ReplicaAccess {
        let (store, key, version) = (self.clone(), meta.key.clone(), meta.version);
        let open = move |volume: &VolumeId, blocks: Range<u64>| {
            let (store, volume, key) = (store.clone(), volume.clone(), key.clone());
            async move {
                let question = |asked: std::sync::Arc<dyn store_protocol::Volume>| {
                    let (key, blocks) = (key.clone(), blocks.clone());
                    async move { asked.read(&key, version, blocks).await }
                };
                store.ask(&volume, question).await
            }
            .boxed()
        };
        let (store, meta) = (self.clone(), meta.clone());
        let failed = move |volume: &VolumeId, error: &VolumeError| {
            let missing = matches!(error, VolumeError::Missing { .. });
            if bad.contains(volume) || (missing && !holders.contains(volume)) {
                return;
            }
            store.failed(&meta, volume, error);
        };
        ReplicaAccess {
            open: Box::new(open),
            failed: Box::new(failed),
            stall: self.timeouts().stall,
        }
    }

    /// Logs why a replica was abandoned, and has it checked unless the connection is to blame.
    fn failed(&self, meta: &Meta, volume: &VolumeId, error: &VolumeError) {
        use VolumeError::{Corrupt, Failed, Missing};
        tracing::warn!(key = %meta.key, version = %meta.version, %volume, %error, "a replica could not be read");
        if matches!(error, Corrupt { .. } | Failed { .. } | Missing { .. }) {
            self.verify_in_background(meta, volume.clone(), error.to_string());
        }
    }

    /// Has a replica read again in the background, marked if it is bad, and reported to repair
    /// unless it is good.
    fn verify_in_background(&self, meta: &Meta, volume: VolumeId, detail: String) {
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
                store.report_damage(damage);
            }
        });
    }
}
