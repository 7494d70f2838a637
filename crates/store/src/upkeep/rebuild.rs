//! Ends the rebuilding of a volume.
//!
//! A volume that was found empty answers "not known" instead of "not found" until every partition
//! that belongs on it was repaired while all volumes in force answered. Only then does it hold
//! everything it should.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join_all;
use store_protocol::{PARTITIONS, Partition, Volume, VolumeId, VolumeState};

use super::reconcile::gather::within;
use crate::cluster::Topology;

/// How long a volume may take to report its state. Shorter would leave a busy volume to the next
/// pass; a pass waits this long for a dead one.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// Returns the partitions that belong on a volume by the current layout.
pub(super) fn partitions_of(topology: &Topology, volume: &VolumeId) -> BTreeSet<Partition> {
    (0..PARTITIONS)
        .map(Partition)
        .filter(|partition| topology.home(*partition).contains(volume))
        .collect()
}

/// Returns the volumes that are being rebuilt.
pub(super) async fn rebuilding_volumes(topology: &Topology) -> BTreeSet<VolumeId> {
    let looks = topology.volumes.values().map(|volume| async move {
        let status = within(ANSWER_WITHIN, volume.as_ref(), volume.status()).await;
        let rebuilding = status.is_ok_and(|status| status.state == VolumeState::Rebuilding);
        rebuilding.then(|| volume.id().clone())
    });
    join_all(looks).await.into_iter().flatten().collect()
}

/// Tells a volume that its rebuilding has ended, if it was being rebuilt and no partition in `open`
/// belongs on it. Returns whether it did.
pub(super) async fn end(topology: &Topology, volume: &dyn Volume, open: &BTreeSet<Partition>) -> bool {
    let status = within(ANSWER_WITHIN, volume, volume.status()).await;
    let rebuilding = status.is_ok_and(|status| status.state == VolumeState::Rebuilding);
    if !rebuilding || !partitions_of(topology, volume.id()).is_disjoint(open) {
        return false;
    }
    match within(ANSWER_WITHIN, volume, volume.rebuilt()).await {
        Ok(()) => true,
        Err(error) => {
            tracing::warn!(%error, "a volume could not be told that its rebuild has ended");
            false
        }
    }
}
