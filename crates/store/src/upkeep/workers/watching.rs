//! Watches volumes, nodes and layouts for changes, and adds the affected partitions to the pending
//! work.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::join_all;
use store_protocol::{NEWS, Volume, VolumeId, VolumeState};
use tokio::time::Instant;

use super::board::Board;
use super::pending::Urgency;
use super::shared::{Shared, all_partitions};
use crate::cluster::{Topology, announce};
use crate::upkeep::rebuild::partitions_of;
use crate::upkeep::reconcile::gather::within;

/// State of a volume at the last check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    There,
    /// Found empty, being refilled.
    Rebuilding,
    /// Does not answer, or has been taken out of service.
    Away,
    /// Away for longer than the grace time.
    AwayLong,
}

/// State at the last check.
struct Watch {
    shared: Arc<Shared>,
    health: BTreeMap<VolumeId, Health>,
    layout: Option<u64>,
    whole_pass: Option<Instant>,
    retried: Instant,
}

pub(super) async fn run(shared: Arc<Shared>, board: Board) {
    let mut watch = Watch {
        shared: shared.clone(),
        health: BTreeMap::new(),
        layout: None,
        whole_pass: None,
        retried: Instant::now(),
    };
    while !shared.gate.is_stopped() {
        board.begin(None);
        let topology = shared.cluster().topology();
        watch.layouts(&topology);
        watch.volumes(&topology).await;
        watch.clock();
        if shared.runs_cluster_tasks() {
            tell_nodes(&shared, &topology).await;
        }
        board.update(|status| status.done = watch.health.len() as u64);
        board.end();
        shared.gate.sleep(shared.settings.watch_every).await;
    }
}

impl Watch {
    /// Handles a new layout: everything may have to move.
    fn layouts(&mut self, topology: &Topology) {
        let number = topology.layouts.current.number;
        let before = self.layout.replace(number);
        if before.is_some_and(|before| before != number)
            || (before.is_none() && !topology.layouts.older.is_empty())
        {
            self.shared.pending.forget_rebuilding();
            self.shared.pending.add(all_partitions(), Urgency::Routine);
        }
    }

    async fn volumes(&mut self, topology: &Topology) {
        let looks = topology.volumes.values().map(|volume| self.health(volume));
        let now: BTreeMap<_, _> = join_all(looks).await.into_iter().collect();
        for (id, health) in &now {
            let before = self.health.get(id).copied();
            if before != Some(*health) {
                self.changed(topology, id, before, *health);
            }
            if *health == Health::Rebuilding && self.shared.local.contains(id) {
                self.shared.pending.rebuild(id, partitions_of(topology, id));
            }
        }
        self.health = now;
    }

    async fn health(&self, volume: &Arc<dyn Volume>) -> (VolumeId, Health) {
        let id = volume.id();
        let outages = &self.shared.reconciler.outages;
        let answer = within(
            self.shared.settings.answer_within,
            volume.as_ref(),
            volume.status(),
        )
        .await;
        let health = match answer.map(|status| status.state) {
            Ok(VolumeState::InService) => Health::There,
            Ok(VolumeState::Rebuilding) => Health::Rebuilding,
            Ok(VolumeState::Out(_)) | Err(_) if outages.away(id) => Health::AwayLong,
            Ok(VolumeState::Out(_)) | Err(_) => Health::Away,
        };
        if matches!(health, Health::There | Health::Rebuilding) {
            outages.answered(id);
        } else if self.shared.local.contains(id) {
            volume.revive();
        }
        (id.clone(), health)
    }

    /// Adds the partitions that a change of a volume affects. If the volume came back, these
    /// include partitions that stand-ins hold for it.
    fn changed(&self, topology: &Topology, id: &VolumeId, before: Option<Health>, now: Health) {
        // A volume of this node logs its own changes.
        if !self.shared.local.contains(id) || now == Health::AwayLong {
            log_change(id, before, now);
        }
        let came_back = matches!(before, Some(Health::Away | Health::AwayLong)) && now == Health::There;
        if came_back {
            let holds = all_partitions().filter(|partition| topology.places(*partition).contains(id));
            self.shared.pending.add(holds, Urgency::AtOnce);
        } else if now == Health::AwayLong {
            self.shared
                .pending
                .add(partitions_of(topology, id), Urgency::AtOnce);
        }
    }

    /// Adds work that is due by time, and partitions that did not fit into the repair queue.
    fn clock(&mut self) {
        let settings = &self.shared.settings;
        if self
            .whole_pass
            .is_none_or(|last| last.elapsed() >= settings.reconcile_every)
        {
            self.whole_pass = Some(Instant::now());
            self.shared.pending.add(all_partitions(), Urgency::Routine);
        }
        if self.retried.elapsed() >= settings.retry_after_max {
            self.retried = Instant::now();
            self.shared.pending.retry();
        }
        let overflow = self.shared.queue.take_overflow();
        if !overflow.is_empty() {
            self.shared.pending.add(overflow, Urgency::AtOnce);
        }
    }
}

/// Logs a change for operators.
fn log_change(id: &VolumeId, before: Option<Health>, now: Health) {
    let said = match (before, now) {
        (None, Health::There) => return,
        (_, Health::Away) => "does not answer, or is out of service",
        (_, Health::AwayLong) => "has been away for a long time: its replicas are copied to other volumes",
        (_, Health::Rebuilding) => "is being rebuilt",
        (Some(Health::Rebuilding), Health::There) => "is rebuilt, and in service",
        (Some(_), Health::There) => "is back",
    };
    tracing::info!(target: NEWS, "volume {id} {said}");
}

/// Sends layout changes to nodes that missed them.
async fn tell_nodes(shared: &Shared, topology: &Topology) {
    let mine = &topology.layouts;
    let answers = topology.nodes.values().map(|node| async move {
        let layouts = tokio::time::timeout(shared.settings.answer_within, node.layouts()).await;
        let Ok(Ok(theirs)) = layouts else {
            return false;
        };
        let behind = theirs.current.number < mine.current.number;
        let looks_back = theirs.current == mine.current && theirs.older.len() > mine.older.len();
        behind || looks_back
    });
    if join_all(answers).await.contains(&true) {
        announce(shared.cluster(), mine).await;
    }
}
