//! Passes over the partitions that this node looks after, and ends layout changes.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::join_all;
use store_protocol::{Partition, VolumeId};
use tokio::time::Instant;

use super::board::{Board, FailureSubject};
use super::pending::Urgency;
use super::shared::{Shared, all_partitions};
use crate::cluster::Topology;
use crate::upkeep::moved::MoveCheck;
use crate::upkeep::rebuild;
use crate::upkeep::reconcile::{VolumeReports, Walk};

/// Partitions in parallel: one being read and one being written for each of two disks.
const PARTITIONS_AT_ONCE: usize = 4;

pub(super) async fn run(shared: Arc<Shared>, board: Board) {
    let mut looked: Option<Instant> = None;
    while !shared.gate.is_stopped() {
        let (urgency, partitions) = shared.pending.take(PARTITIONS_AT_ONCE);
        if !partitions.is_empty() {
            match urgency {
                Urgency::Routine => routine(&shared, &board, partitions).await,
                Urgency::AtOnce | Urgency::ByMe => {
                    reconcile_urgent(&shared, &board, urgency, partitions).await
                }
            }
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
            biased;
            () = shared.pending.arrival() => {}
            _ = shared.gate.sleep(shared.settings.watch_every) => {}
        }
    }
}

/// Reconciles urgent partitions, each gathered by itself.
async fn reconcile_urgent(shared: &Shared, board: &Board, urgency: Urgency, partitions: Vec<Partition>) {
    begin(shared, board, partitions.len());
    let work = partitions
        .into_iter()
        .map(|partition| one(shared, board, urgency, partition, None));
    join_all(work).await;
}

/// Walks over all waiting routine partitions, starting with these. Ends when something more urgent
/// arrives, or a partition that the walk does not include.
async fn routine(shared: &Shared, board: &Board, first: Vec<Partition>) {
    let topology = shared.cluster().topology();
    let waiting = first.iter().copied().chain(shared.pending.routine());
    let mine = waiting.filter(|partition| shared.is_responsible_for(&topology, *partition));
    let mut walk = Walk::new(&topology, &shared.reconciler.outages, mine.collect::<Vec<_>>());
    let mut partitions = first;
    while !partitions.is_empty() {
        begin(shared, board, partitions.len());
        if !shared.gate.pass().await {
            return;
        }
        let is_new = |partition: &Partition| {
            shared.is_responsible_for(&topology, *partition) && !walk.holds(*partition)
        };
        if partitions.iter().any(is_new) || shared.cluster().topology().layouts != topology.layouts {
            shared.pending.add(partitions, Urgency::Routine);
            return;
        }
        let mut met = Vec::new();
        for partition in partitions {
            let found = if walk.skip_to(partition) {
                walk.next().await.map(|(_, found)| found)
            } else {
                None
            };
            met.push((partition, found));
        }
        let work = met
            .into_iter()
            .map(|(partition, found)| one(shared, board, Urgency::Routine, partition, found));
        join_all(work).await;
        partitions = shared.pending.take_routine(PARTITIONS_AT_ONCE);
    }
}

fn begin(shared: &Shared, board: &Board, partitions: usize) {
    if !board.is_busy() {
        board.begin(None);
    }
    let left = (shared.pending.len() + partitions) as u64;
    board.update(|status| status.total = Some(status.done + left));
}

/// Reconciles one partition, using a walk's findings if there are any.
async fn one(
    shared: &Shared,
    board: &Board,
    urgency: Urgency,
    partition: Partition,
    found: Option<VolumeReports>,
) {
    let topology = shared.cluster().topology();
    if urgency == Urgency::ByMe || shared.is_responsible_for(&topology, partition) {
        let (reconciler, cluster) = (&shared.reconciler, shared.cluster());
        let done = match found {
            Some(found) => {
                reconciler
                    .reconcile_walked(cluster, &topology, partition, &found)
                    .await
            }
            None => reconciler.partition(cluster, partition).await,
        };
        board.update(|status| {
            status.bytes += done.copied_bytes;
            status.found += done.found;
            status.repaired += done.repaired;
        });
        let failure = done.failures.last();
        let failure = failure.map_or(Ok(()), |(what, why)| Err(format!("{what}: {why}")));
        board.ended(FailureSubject::Partition(partition), failure);
        shared.clear_failures(partition, &done);
        if done.is_complete() {
            for volume in shared.pending.done(partition, urgency) {
                rebuilt(&topology, &volume).await;
            }
        } else {
            shared.pending.again(partition, urgency);
        }
    }
    board.update(|status| status.done += 1);
}

/// Ends the rebuilding of a volume all of whose partitions were repaired since it was found empty.
async fn rebuilt(topology: &Topology, volume: &VolumeId) {
    if let Some(volume) = topology.volumes.get(volume) {
        rebuild::end(topology, volume.as_ref(), &BTreeSet::new()).await;
    }
}

/// Checks whether everything has moved. Stops at the first partition that has not.
async fn end_layout_change(shared: &Shared) {
    let topology = shared.cluster().topology();
    if topology.layouts.older.is_empty() || !shared.pending.is_settled() || !shared.runs_cluster_tasks() {
        return;
    }
    let mut moved = MoveCheck::begin(&topology).await;
    let mut walk = Walk::new(&topology, &shared.reconciler.outages, all_partitions());
    while moved.can_succeed() && !shared.gate.is_stopped() {
        let Some((partition, found)) = walk.next().await else {
            break;
        };
        moved.add(
            &topology,
            partition,
            &shared.reconciler.partition_state(&topology, &found),
        );
    }
    if moved.finish(shared.cluster(), &topology).await {
        // Tombstones and leftovers of moved copies can be removed now.
        shared.pending.add(all_partitions(), Urgency::Routine);
    }
}
