//! Passes over the partitions that this node looks after, and the end of layout changes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::join_all;
use futures_util::{StreamExt, stream};

use super::board::Board;
use super::pending::Urgency;
use super::{Shared, all_partitions};
use crate::cluster::View;
use crate::key::Partition;
use crate::upkeep::moved::Moved;
use crate::upkeep::rebuild;
use crate::volume::VolumeId;

/// Partitions at once: one being read and one being written for each of two disks.
const PARTITIONS_AT_ONCE: usize = 4;

pub(super) async fn run(shared: Arc<Shared>, board: Board) {
    let mut looked: Option<Instant> = None;
    while !shared.gate.is_stopped() {
        let (urgency, partitions) = shared.pending.take(PARTITIONS_AT_ONCE);
        if !partitions.is_empty() {
            batch(&shared, &board, urgency, partitions).await;
            continue;
        }
        if board.is_busy() {
            board.end();
        }
        if looked.is_none_or(|last| last.elapsed() >= shared.settings.watch_every) {
            end_layout_change(&shared).await;
            looked = Some(Instant::now());
        }
        tokio::select! {
            () = shared.pending.arrival() => {}
            _ = shared.gate.sleep(shared.settings.watch_every) => {}
        }
    }
}

async fn batch(shared: &Shared, board: &Board, urgency: Urgency, partitions: Vec<Partition>) {
    if !board.is_busy() {
        board.begin(None);
    }
    let left = (shared.pending.len() + partitions.len()) as u64;
    board.update(|status| status.total = Some(status.done + left));
    if urgency == Urgency::Routine && !shared.gate.pass().await {
        return;
    }
    join_all(
        partitions
            .into_iter()
            .map(|partition| one(shared, board, urgency, partition)),
    )
    .await;
}

async fn one(shared: &Shared, board: &Board, urgency: Urgency, partition: Partition) {
    let view = shared.cluster().view();
    if urgency == Urgency::ByMe || shared.looks_after(&view, partition) {
        let done = shared.reconciler.partition(shared.cluster(), partition).await;
        board.update(|status| {
            status.bytes += done.copied_bytes;
            status.found += done.found;
            status.repaired += done.repaired;
            if let Some((what, why)) = done.failures.last() {
                status.last_error = format!("{what}: {why}");
            }
        });
        if done.is_complete() {
            for volume in shared.pending.done(partition) {
                rebuilt(&view, &volume).await;
            }
        } else {
            shared.pending.again(partition, urgency);
        }
    }
    board.update(|status| status.done += 1);
}

/// All partitions of a volume were put right since it was found empty.
async fn rebuilt(view: &View, volume: &VolumeId) {
    if let Some(volume) = view.volumes.get(volume) {
        rebuild::end(view, volume.as_ref(), &BTreeSet::new()).await;
    }
}

/// Looks whether everything has moved; stops at the first partition that has not.
async fn end_layout_change(shared: &Shared) {
    let view = shared.cluster().view();
    if view.layouts.older.is_empty() || !shared.pending.is_settled() || !shared.acts_for_all() {
        return;
    }
    let mut moved = Moved::begin(&view).await;
    let mut looks = stream::iter(all_partitions())
        .map(|partition| async move {
            (
                partition,
                shared.reconciler.look(shared.cluster(), partition).await,
            )
        })
        .buffered(PARTITIONS_AT_ONCE);
    while moved.is_hopeful() && !shared.gate.is_stopped() {
        let Some((partition, done)) = looks.next().await else {
            break;
        };
        moved.add(&view, partition, &done);
    }
    drop(looks);
    if moved.finish(shared.cluster(), &view).await {
        // Tombstones and what is left of moved copies can go now.
        shared.pending.add(all_partitions(), Urgency::Routine);
    }
}
