//! The census: counts every replica of every object, in both directions.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::stream::FuturesOrdered;
use futures_util::{FutureExt, StreamExt};
use serde::{Deserialize, Serialize};
use store_protocol::{Key, PARTITIONS, Partition, Version, VolumeId};

use super::Progress;
use super::reconcile::{Finding, ObjectState, Outages, Plan, Rules, VolumeReports, Walk, decide, gather};
use crate::cluster::Topology;

/// Counts over the whole store: objects without files, and files without objects.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Census {
    /// When it ended, milliseconds since 1970.
    pub time_ms: u64,
    /// Number of the layout counted against.
    pub layout: u64,
    /// Live objects, whose newest version is not a tombstone.
    pub objects: u64,
    /// Content bytes of the live objects, each counted once.
    pub object_bytes: u64,
    /// Replicas that must exist: objects and tombstones times R.
    pub replicas_expected: u64,
    /// Expected replicas that exist and are not known to be bad.
    pub replicas_good: u64,
    /// Replicas that exist but are bad, on any volume.
    pub replicas_bad: u64,
    /// Replicas that do not exist, or are on a volume that cannot be reached (see
    /// `volumes_unreachable`).
    pub replicas_missing: u64,
    /// Missing replicas that an index lists without a file.
    #[serde(default)]
    pub files_missing: u64,
    /// Good copies on volumes outside their current partition: unfinished hand-offs and moves, and
    /// older versions.
    pub replicas_surplus: u64,
    /// Objects without a good replica, some of whose bytes are right in no bad replica either. They
    /// are lost unless a missing volume comes back.
    pub objects_lost: u64,
    /// Keys of lost objects, at most 100.
    pub lost: Vec<String>,
    /// Keys of lost objects with the bytes that no replica has right, at most 100. All other bytes
    /// can still be read.
    #[serde(default)]
    pub lost_bytes: Vec<String>,
    /// Objects whose good replicas of one version have different digests. Only damage causes this.
    /// All of these replicas are kept.
    #[serde(default)]
    pub conflicts: u64,
    /// Keys and digests of conflicting objects, at most 100.
    #[serde(default)]
    pub conflicting: Vec<String>,
    /// Tombstones.
    pub tombstones: u64,
    /// Files that belong to no object.
    pub strays: u64,
    /// Volumes that did not answer.
    pub volumes_unreachable: Vec<String>,
    /// Live replicas by volume.
    pub by_volume: Vec<(String, u64)>,
}

impl Census {
    /// Returns whether nothing is bad, missing, lost, in conflict or stray, and every volume was
    /// counted.
    pub fn is_whole(&self) -> bool {
        self.replicas_good == self.replicas_expected
            && self.replicas_bad + self.replicas_missing + self.objects_lost + self.conflicts + self.strays
                == 0
            && self.volumes_unreachable.is_empty()
    }
}

/// Counts the whole store, partition by partition. Memory is bounded by one answer of every volume.
/// Writes in progress are not mistaken for damage: a partition with an incomplete young version is
/// looked at again.
pub async fn census(topology: &Topology, progress: &(dyn Fn(Progress) + Sync)) -> Census {
    // No volume counts as away for long, because a census repairs nothing.
    let outages = Outages::new(Duration::MAX);
    let names = topology.volumes.keys().cloned();
    let mut count = Count {
        by_volume: names.map(|volume| (volume, 0)).collect(),
        ..Count::default()
    };
    let mut walk = Walk::new(topology, &outages, (0..PARTITIONS).map(Partition));
    let (mut surveys, mut done) = (FuturesOrdered::new(), 0);
    let mut is_over = false;
    while !is_over {
        match walk.next().await {
            Some((partition, found)) => {
                surveys.push_back(survey(topology, partition, found, &outages).boxed())
            }
            None => is_over = true,
        }
        while (is_over || surveys.len() >= PARTITIONS_AT_ONCE)
            && let Some(seen) = surveys.next().await
        {
            count.add(&seen);
            done += 1;
            progress(count.progress(done));
        }
    }
    count.finish(topology.layouts.current.number)
}

/// Partitions looked at more closely in parallel: enough to keep several disks and nodes busy.
const PARTITIONS_AT_ONCE: usize = 8;

/// Keys listed per kind of trouble. They are examples for an operator; the counts are complete.
const NAMED_MAX: usize = 100;

/// A version younger than this, in milliseconds, possibly has not reached all its volumes yet.
const UNDER_WAY_MS: u64 = 10_000;

/// How often a partition with an incomplete young version is looked at; the next constant is the
/// wait between two surveys.
const SURVEYS_MAX: usize = 4;
const BETWEEN_SURVEYS: Duration = Duration::from_millis(100);

/// The state of a partition as found.
struct PartitionState {
    found: VolumeReports,
    plan: Plan,
    /// Young keys that only the last survey found incomplete: they are being written.
    under_way: BTreeSet<Key>,
}

/// Returns the result of a walk if all is well; otherwise gathers the partition again by itself.
async fn survey(
    topology: &Topology,
    partition: Partition,
    found: VolumeReports,
    outages: &Outages,
) -> PartitionState {
    // A census carries out no steps, so the age of tombstones does not matter.
    let rules = Rules {
        now_ms: system::wall_ms(),
        tombstone_grace_ms: u64::MAX,
    };
    let plan = decide(&found, &rules);
    if !plan.is_quiet() {
        return survey_again(topology, partition, outages).await;
    }
    PartitionState {
        found,
        plan,
        under_way: BTreeSet::new(),
    }
}

async fn survey_again(topology: &Topology, partition: Partition, outages: &Outages) -> PartitionState {
    let mut before: Option<BTreeSet<(Key, Version)>> = None;
    let mut surveys = 0;
    loop {
        surveys += 1;
        let found = gather::partition(topology, partition, outages).await;
        let now_ms = system::wall_ms();
        // A census carries out no steps, so the age of tombstones does not matter.
        let rules = Rules {
            now_ms,
            tombstone_grace_ms: u64::MAX,
        };
        let plan = decide(&found, &rules);
        let young = |finding: &&Finding| now_ms.saturating_sub(finding.version.millis) < UNDER_WAY_MS;
        let wanting: BTreeSet<_> = plan
            .findings
            .iter()
            .filter(|finding| !finding.is_whole())
            .filter(young)
            .map(|finding| (finding.key.clone(), finding.version))
            .collect();
        let new = |entry: &&(Key, Version)| before.as_ref().is_some_and(|before| !before.contains(*entry));
        let under_way: BTreeSet<_> = wanting.iter().filter(new).map(|entry| entry.0.clone()).collect();
        if under_way.len() == wanting.len() || surveys == SURVEYS_MAX {
            return PartitionState {
                found,
                plan,
                under_way,
            };
        }
        before = Some(wanting);
        tokio::time::sleep(BETWEEN_SURVEYS).await;
    }
}

/// A census in progress.
#[derive(Default)]
struct Count {
    census: Census,
    by_volume: BTreeMap<VolumeId, u64>,
    away: BTreeSet<VolumeId>,
}

impl Count {
    fn add(&mut self, seen: &PartitionState) {
        self.away.extend(seen.found.away.keys().cloned());
        self.census.strays += seen.plan.strays.len() as u64;
        let wanted = seen.found.wanted() as u64;
        for finding in &seen.plan.findings {
            self.key(finding);
            if seen.under_way.contains(&finding.key) {
                self.census.replicas_expected += finding.good_home;
            } else {
                self.wanting(finding, wanted);
            }
        }
    }

    /// Counts what applies to every key.
    fn key(&mut self, finding: &Finding) {
        let census = &mut self.census;
        census.replicas_good += finding.good_home;
        census.replicas_surplus += finding.surplus;
        if finding.deleted {
            census.tombstones += 1;
            return;
        }
        census.objects += 1;
        census.object_bytes += finding.size;
        for volume in &finding.good {
            *self.by_volume.entry(volume.clone()).or_default() += 1;
        }
    }

    /// Counts a key's expected, bad and missing replicas, and whether it is lost or in conflict.
    fn wanting(&mut self, finding: &Finding, wanted: u64) {
        let census = &mut self.census;
        census.replicas_expected += wanted;
        census.replicas_bad += finding.bad;
        census.replicas_missing += finding.missing;
        census.files_missing += finding.files_missing;
        match &finding.state {
            // Its replicas are counted as bad; repair makes a whole one of them.
            ObjectState::Safe | ObjectState::Torn(_) => {}
            ObjectState::Lost(why) => {
                census.objects_lost += 1;
                name(&mut census.lost, finding.key.to_string());
                name(&mut census.lost_bytes, format!("{}: {why}", finding.key));
            }
            ObjectState::Conflict(digests) => {
                census.conflicts += 1;
                name(&mut census.conflicting, format!("{}: {digests}", finding.key));
            }
        }
    }

    fn progress(&self, done: u64) -> Progress {
        let census = &self.census;
        Progress {
            done,
            total: u64::from(PARTITIONS),
            objects: census.objects,
            bytes: 0,
            found: census.replicas_bad + census.replicas_missing,
        }
    }

    fn finish(self, layout: u64) -> Census {
        let by_volume = self.by_volume.into_iter();
        Census {
            time_ms: system::wall_ms(),
            layout,
            volumes_unreachable: self.away.iter().map(ToString::to_string).collect(),
            by_volume: by_volume
                .map(|(volume, count)| (volume.to_string(), count))
                .collect(),
            ..self.census
        }
    }
}

/// Adds a name, up to [`NAMED_MAX`].
pub(super) fn name(names: &mut Vec<String>, what: String) {
    if names.len() < NAMED_MAX {
        names.push(what);
    }
}
