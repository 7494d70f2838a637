//! Asking volumes by name, under whichever layout is in force when the question is put.

use std::future::Future;
use std::sync::Arc;

use contract::{Key, Volume, VolumeError, VolumeId};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::time::timeout;

use super::Store;
use crate::cluster::View;

/// How often a step is asked again because somebody knew a newer layout. Layouts change by a person's hand: two in a
/// row are already rare.
pub(super) const LAYOUT_TRIES: usize = 4;

impl Store {
    /// Asks a volume, again on a fresh view when the layout had changed.
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

    /// Asks the nodes whether the older layouts that are looked into here are still in force. For those in doubt:
    /// volumes that left the cluster do not answer, and a process that is no node hears from nobody that it need not
    /// look there any more. Whether something has changed.
    pub(super) async fn ask_for_layouts(&self) -> bool {
        let view = self.cluster().view();
        if view.layouts.older.is_empty() {
            return false;
        }
        let answer = self.patience().answer;
        let mut answers: FuturesUnordered<_> = view
            .nodes
            .values()
            .map(|node| timeout(answer, node.layouts()))
            .collect();
        while let Some(told) = answers.next().await {
            if let Ok(Ok(layouts)) = told {
                self.cluster().adopt(layouts);
            }
            if self.cluster().view().layouts != view.layouts {
                return true;
            }
        }
        false
    }

    /// A volume's handle in the view of this moment.
    pub(super) fn volume(&self, id: &VolumeId) -> Result<Arc<dyn Volume>, VolumeError> {
        self.cluster()
            .view()
            .volumes
            .get(id)
            .cloned()
            .ok_or_else(|| VolumeError::Unreachable {
                volume: id.clone(),
                detail: "no layout in force names it".to_owned(),
            })
    }
}

/// Where the next copy of a version goes: to a volume of the partition's home as long as one is left, then to the
/// fallbacks in their order; only home counts while no home volume holds it. A volume that would leave the copies on
/// fewer nodes or zones than home has is passed over.
pub(super) fn next_place(
    view: &View,
    key: &Key,
    held: &[VolumeId],
    refused: &[VolumeId],
) -> Option<VolumeId> {
    let partition = key.partition();
    let home = view.home(partition);
    let wanted = view.wanted(partition);
    let at_home = held.iter().any(|volume| home.contains(volume));
    let fallbacks = match view.placements.first() {
        Some(placement) if at_home => placement.fallbacks(partition),
        _ => Vec::new(),
    };
    home.iter().cloned().chain(fallbacks).find(|volume| {
        let is_free = !held.contains(volume) && !refused.contains(volume);
        is_free && view.domains.helps(held, volume, &wanted)
    })
}

/// The next places, at most so many; see [`next_place`].
pub(super) fn next_places(
    view: &View,
    key: &Key,
    held: &[VolumeId],
    refused: &[VolumeId],
    wanted: usize,
) -> Vec<VolumeId> {
    let mut taken = held.to_vec();
    while taken.len() < held.len() + wanted
        && let Some(volume) = next_place(view, key, &taken, refused)
    {
        taken.push(volume);
    }
    taken.split_off(held.len())
}
