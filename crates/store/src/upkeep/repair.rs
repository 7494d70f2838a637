//! Repair of the whole store: reconciles every partition, from a node or from the command line.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::FuturesOrdered;
use futures_util::{FutureExt, StreamExt};
use serde::{Deserialize, Serialize};
use store_protocol::{PARTITIONS, Partition, VolumeId};

use super::census::name;
use super::moved::MoveCheck;
use super::reconcile::{ReconcileResult, Reconciler, Walk};
use super::{Progress, UpkeepSettings, rebuild};
use crate::cluster::{Cluster, Topology};

/// Options of a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairOptions {
    /// How long a volume may be away before its copies are replaced on others. Zero by default: an
    /// operator who starts a repair wants it now.
    pub unreachable_grace: Duration,
    /// Age from which tombstones may be collected.
    pub tombstone_grace: Duration,
    /// Most bytes copied per second.
    pub bytes_per_s: Option<u64>,
}

/// The result of a repair.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepairReport {
    /// Objects and tombstones looked at.
    pub keys: u64,
    /// Replicas made.
    pub copies: u64,
    /// Bytes of content copied.
    pub copied_bytes: u64,
    /// Replicas verified before others were dropped.
    pub verified: u64,
    /// Replicas dropped: surplus, older versions, stale entries.
    pub dropped: u64,
    /// Tombstones collected.
    pub tombstones_collected: u64,
    /// Stray files settled.
    pub strays_settled: u64,
    /// Volumes whose rebuilding ended.
    pub rebuilt: Vec<String>,
    /// Objects of which no whole replica is left or can be made.
    pub objects_lost: u64,
    /// Keys of lost objects, at most 100.
    pub lost: Vec<String>,
    /// Keys of lost objects with the bytes that no replica has right, at most 100. All other bytes
    /// can still be read.
    #[serde(default)]
    pub lost_bytes: Vec<String>,
    /// Objects whose good replicas disagree.
    pub conflicts: u64,
    /// Replicas still missing or bad at the end, not counting those of lost objects.
    #[serde(default)]
    pub wanting: u64,
    /// Steps that failed and did not succeed in a later round.
    pub failures: u64,
    /// Keys or files of failed steps with the reasons, at most 100.
    pub failed: Vec<String>,
    /// Volumes that did not answer.
    pub volumes_unreachable: Vec<String>,
}

/// Repairs the whole store. It can be interrupted and repeated at any time.
///
/// If a layout change has moved everything, the older layouts are taken out of force. A volume that
/// was being rebuilt and has all its replicas again is notified that its rebuilding has ended.
pub async fn repair_all(
    cluster: &Arc<Cluster>,
    options: &RepairOptions,
    progress: &(dyn Fn(Progress) + Sync),
) -> RepairReport {
    let reconciler = Reconciler::new(&options.settings()).with_limit(options.bytes_per_s);
    let topology = cluster.topology();
    let started = MoveCheck::begin(&topology).await;
    let mut pass = Pass::new(
        topology.clone(),
        started,
        rebuild::rebuilding_volumes(&topology).await,
    );
    let mut walk = Walk::new(&topology, &reconciler.outages, (0..PARTITIONS).map(Partition));
    let mut outcomes = FuturesOrdered::new();
    let mut is_over = false;
    while !is_over {
        match walk.next().await {
            Some((partition, found)) => {
                let (reconciler, topology) = (&reconciler, &topology);
                let work = async move {
                    let done = reconciler
                        .reconcile_walked(cluster, topology, partition, &found)
                        .await;
                    (partition, done)
                };
                outcomes.push_back(work.boxed());
            }
            None => is_over = true,
        }
        while (is_over || outcomes.len() >= PARTITIONS_AT_ONCE)
            && let Some((partition, done)) = outcomes.next().await
        {
            pass.add(partition, done);
            progress(pass.progress());
        }
    }
    pass.finish(cluster).await
}

/// Partitions repaired in parallel: enough to keep two disks busy, one reading and one writing.
const PARTITIONS_AT_ONCE: usize = 4;

impl Default for RepairOptions {
    fn default() -> Self {
        Self {
            unreachable_grace: Duration::ZERO,
            tombstone_grace: UpkeepSettings::default().tombstone_grace,
            bytes_per_s: None,
        }
    }
}

impl RepairOptions {
    fn settings(&self) -> UpkeepSettings {
        UpkeepSettings {
            unreachable_grace: self.unreachable_grace,
            tombstone_grace: self.tombstone_grace,
            ..UpkeepSettings::default()
        }
    }
}

impl RepairReport {
    /// Returns whether nothing is lost, in conflict, missing or failed, and every volume answered.
    pub fn is_clean(&self) -> bool {
        self.objects_lost + self.conflicts + self.wanting + self.failures == 0
            && self.volumes_unreachable.is_empty()
    }

    fn add(&mut self, done: ReconcileResult) {
        self.keys += done.keys;
        self.copies += done.copies;
        self.copied_bytes += done.copied_bytes;
        self.verified += done.verified;
        self.dropped += done.dropped;
        self.tombstones_collected += done.collected;
        self.strays_settled += done.settled;
        self.objects_lost += done.lost.len() as u64;
        self.conflicts += done.conflicts.len() as u64;
        self.wanting += done.wanting;
        self.failures += done.failures.len() as u64;
        done.lost.into_iter().for_each(|(key, why)| {
            name(&mut self.lost, key.to_string());
            name(&mut self.lost_bytes, format!("{key}: {why}"));
        });
        done.failures
            .into_iter()
            .for_each(|(what, why)| name(&mut self.failed, format!("{what}: {why}")));
    }
}

/// A repair in progress.
struct Pass {
    topology: Arc<Topology>,
    moved: MoveCheck,
    report: RepairReport,
    found: u64,
    partitions: u64,
    away: BTreeSet<VolumeId>,
    /// Partitions that still need work.
    open: BTreeSet<Partition>,
    /// Volumes that were being rebuilt before anything was surveyed. A volume found empty later
    /// waits for the next pass, because it may have lost everything that this pass saw.
    rebuilding: BTreeSet<VolumeId>,
}

impl Pass {
    fn new(topology: Arc<Topology>, moved: MoveCheck, rebuilding: BTreeSet<VolumeId>) -> Self {
        Self {
            topology,
            moved,
            report: RepairReport::default(),
            found: 0,
            partitions: 0,
            away: BTreeSet::new(),
            open: BTreeSet::new(),
            rebuilding,
        }
    }

    fn add(&mut self, partition: Partition, done: ReconcileResult) {
        if !done.is_complete() {
            self.open.insert(partition);
        }
        self.moved.add(&self.topology, partition, &done);
        self.away.extend(done.away.keys().cloned());
        self.found += done.found;
        self.partitions += 1;
        self.report.add(done);
    }

    fn progress(&self) -> Progress {
        Progress {
            done: self.partitions,
            total: u64::from(PARTITIONS),
            objects: self.report.keys,
            bytes: self.report.copied_bytes,
            found: self.found,
        }
    }

    async fn finish(mut self, cluster: &Arc<Cluster>) -> RepairReport {
        self.report.volumes_unreachable = self.away.iter().map(ToString::to_string).collect();
        let rebuilding = self.rebuilding.iter();
        for volume in rebuilding.filter_map(|id| self.topology.volumes.get(id)) {
            if rebuild::end(&self.topology, volume.as_ref(), &self.open).await {
                self.report.rebuilt.push(volume.id().to_string());
            }
        }
        self.moved.finish(cluster, &self.topology).await;
        self.report
    }
}
