//! Requests to volumes by name, under the layout in force when the request is sent.

use std::future::Future;
use std::sync::Arc;

use futures_util::stream::{FuturesUnordered, StreamExt};
use store_protocol::{Key, Volume, VolumeError, VolumeId};
use tokio::time::timeout;

use super::store::Store;
use crate::cluster::Topology;

/// How often a step is repeated because a node knew a newer layout. Operators change layouts by
/// hand, so two changes in a row are already rare.
pub(super) const LAYOUT_TRIES: usize = 4;

impl Store {
    /// Asks a volume, and again with a fresh topology if the layout has changed.
    pub(super) async fn ask<T, F>(
        &self,
        id: &VolumeId,
        question: impl Fn(Arc<dyn Volume>) -> F,
    ) -> Result<T, VolumeError>
    where
        F: Future<Output = Result<T, VolumeError>>,
    {
        let mut tries = 1;
        loop {
            let answer = question(self.volume(id)?).await;
            match answer {
                Err(VolumeError::OtherLayout { .. }) if tries < LAYOUT_TRIES => tries += 1,
                answer => return answer,
            }
        }
    }

    /// Asks the nodes whether the older layouts that this process still reads are in force. This is
    /// needed because volumes that left the cluster do not answer, and a process that is not a node
    /// does not learn that an older layout has ended. Returns whether something has changed.
    pub(super) async fn ask_for_layouts(&self) -> bool {
        let topology = self.cluster().topology();
        if topology.layouts.older.is_empty() {
            return false;
        }
        let answer = self.timeouts().answer;
        let mut answers: FuturesUnordered<_> = topology
            .nodes
            .values()
            .map(|node| timeout(answer, node.layouts()))
            .collect();
        while let Some(told) = answers.next().await {
            if let Ok(Ok(layouts)) = told {
                self.cluster().adopt(layouts);
            }
            if self.cluster().topology().layouts != topology.layouts {
                return true;
            }
        }
        false
    }

    /// Returns a volume's handle in the current topology.
    pub(super) fn volume(&self, id: &VolumeId) -> Result<Arc<dyn Volume>, VolumeError> {
        self.cluster()
            .topology()
            .volumes
            .get(id)
            .cloned()
            .ok_or_else(|| VolumeError::Unreachable {
                volume: id.clone(),
                detail: "no layout in force contains it".to_owned(),
            })
    }
}

/// Returns the next volume for a copy of a version: home volumes of the partition first, then the
/// fallbacks in their order. While no home volume holds the version, only home volumes are
/// considered. Skips a volume that would leave the copies on fewer nodes or zones than home has.
pub(super) fn next_place(
    topology: &Topology,
    key: &Key,
    held: &[VolumeId],
    refused: &[VolumeId],
) -> Option<VolumeId> {
    let partition = key.partition();
    let home = topology.home(partition);
    let wanted = topology.required_width(partition);
    let at_home = held.iter().any(|volume| home.contains(volume));
    let fallbacks = match topology.placements.first() {
        Some(placement) if at_home => placement.fallbacks(partition),
        _ => Vec::new(),
    };
    home.iter().cloned().chain(fallbacks).find(|volume| {
        let is_free = !held.contains(volume) && !refused.contains(volume);
        is_free && topology.domains.helps(held, volume, &wanted)
    })
}

/// Returns the next places, at most `limit`; see [`next_place`].
pub(super) fn next_places(
    topology: &Topology,
    key: &Key,
    held: &[VolumeId],
    refused: &[VolumeId],
    wanted: usize,
) -> Vec<VolumeId> {
    let mut taken = held.to_vec();
    while taken.len() < held.len() + wanted
        && let Some(volume) = next_place(topology, key, &taken, refused)
    {
        taken.push(volume);
    }
    taken.split_off(held.len())
}
