//! The integrity of one object: its history on all volumes, and its digests.

use data_encoding::HEXLOWER;
use futures_util::StreamExt;
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha512};
use store_protocol::{Cause, FixityEvent, Key, Meta, Verdict};

use crate::client::{Store, StoreError};
use crate::cluster::Topology;

/// Digests of one object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectDigests {
    /// The object's metadata, with the digests computed when it was written.
    pub meta: Meta,
    /// SHA-512 in hexadecimal, computed now from verified bytes.
    pub sha512: String,
}

/// Returns the history of a key in the fixity logs of all volumes' nodes, oldest first, at most
/// `limit` lines from each, and the volumes that did not answer.
pub async fn fixity(topology: &Topology, key: &Key, limit: usize) -> (Vec<FixityEvent>, Vec<String>) {
    let answers = join_all(
        topology
            .volumes
            .values()
            .map(|volume| volume.fixity(Some(key), limit)),
    )
    .await;
    let mut events = Vec::new();
    let mut failed = Vec::new();
    for answer in answers {
        match answer {
            Ok(lines) => events.extend(lines),
            Err(error) => failed.push(error.to_string()),
        }
    }
    // Volumes of one node may share one log, so each line counts once.
    events.sort_by_cached_key(|event| {
        (
            event.time_ms,
            event.volume.clone(),
            event.event.clone(),
            event.detail.clone(),
        )
    });
    events.dedup();
    (events, failed)
}

/// Reads every replica of a version completely on its home volumes, and counts the good ones. A
/// volume that does not answer counts as having no good replica.
pub async fn right_replicas(topology: &Topology, meta: &Meta) -> u32 {
    let homes = topology.placements.first();
    let homes = homes.map_or(&[][..], |placement| placement.replicas(meta.key.partition()));
    let volumes = homes.iter().filter_map(|home| topology.volumes.get(home));
    let verdicts =
        join_all(volumes.map(|volume| volume.verify(&meta.key, meta.version, Cause::Request))).await;
    let is_right = |verdict: &Result<Verdict, _>| matches!(verdict, Ok(Verdict::Good { .. }));
    verdicts.iter().filter(|verdict| is_right(verdict)).count() as u32
}

/// Reads an object, verified, and computes the digests that are not stored with it.
///
/// # Errors
/// As [`Store::get`]; [`StoreError::Lost`] if its bytes cannot be read to the end.
pub async fn digests(store: &Store, key: &Key) -> Result<ObjectDigests, StoreError> {
    let mut object = store.get(key, None).await?;
    let mut sha512 = Sha512::new();
    while let Some(piece) = object.body.next().await {
        let piece = piece.map_err(|error| StoreError::Lost {
            key: key.to_string(),
            detail: error.to_string(),
        })?;
        sha512.update(&piece);
    }
    Ok(ObjectDigests {
        meta: object.meta,
        sha512: HEXLOWER.encode(&sha512.finalize()),
    })
}
