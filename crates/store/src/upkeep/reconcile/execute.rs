//! Carries out the steps that were decided.
//!
//! Every step checks its assumptions again just before it acts. A copy checks whether the version
//! has arrived in the meantime. A removal checks whether all home volumes were verified in this
//! very run, and whether the layout of the decision is still in force.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use store_protocol::{
    AbortScope, BlockSet, Cause, Key, Partition, ReplicaState, SurveyEntry, Verdict, Version, Volume,
    VolumeError, VolumeId,
};

use super::copy::{self, CopyError, Job};
use super::decide::{Copy, Finding, ObjectState, Plan, Replaces, Rules, Step, decide};
use super::gather::{self, VolumeReports};
use super::outages::Outages;
use crate::cluster::{Cluster, Topology};
use crate::upkeep::settings::UpkeepSettings;
use crate::upkeep::throttle::Throttle;

/// How often a partition is looked at again after a change. A source found to be bad, a full target
/// and a late verification each take one round; the next pass handles the rest.
const ROUNDS_MAX: usize = 4;

/// Most prepared versions of one key that are discarded on one volume, one per interrupted write.
/// Without a limit, a writer that prepares again and again would hold up the partition. The next
/// pass continues.
const PENDING_MAX: usize = 64;

/// Repairs partitions and keys.
pub struct Reconciler {
    /// Which volumes are away.
    pub outages: Arc<Outages>,
    tombstone_grace_ms: u64,
    repair: Arc<Throttle>,
    rebalance: Arc<Throttle>,
}

/// What was done about a partition or key, and its state afterwards.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReconcileResult {
    /// Keys looked at.
    pub keys: u64,
    /// Replicas made.
    pub copies: u64,
    /// Copies that restored something missing or bad, as opposed to moves.
    pub repaired: u64,
    /// Bytes in these copies.
    pub copied_bytes: u64,
    /// Bad or missing replicas found, summed over all rounds.
    pub found: u64,
    /// Replicas verified.
    pub verified: u64,
    /// Replicas and entries dropped.
    pub dropped: u64,
    /// Tombstones collected.
    pub collected: u64,
    /// Strays settled.
    pub settled: u64,
    /// Objects that cannot be made whole, with the bytes that are right in no replica.
    pub lost: Vec<(Key, String)>,
    /// Objects whose good replicas disagree.
    pub conflicts: Vec<(Key, String)>,
    /// Keys and stray files that still need work, each with the reason of its last failure.
    pub failures: Vec<(String, String)>,
    /// Volumes that did not answer.
    pub away: BTreeMap<VolumeId, String>,
    /// Whether every key except lost ones has good replicas on all its home volumes.
    pub home_complete: bool,
    /// Replicas still missing or bad, not counting lost objects.
    pub wanting: u64,
    /// Whether no volume outside the current layout holds anything of a lost or conflicting object.
    pub nothing_left_behind: bool,
}

/// Why a step failed.
#[derive(Debug, thiserror::Error)]
enum StepError {
    #[error("volume {0} is in no layout in force")]
    NoVolume(VolumeId),
    #[error(transparent)]
    Volume(#[from] VolumeError),
    #[error(transparent)]
    Copy(#[from] CopyError),
    #[error("volume {0} has a newer version prepared")]
    NewerPrepared(VolumeId),
    #[error("volume {0} still has prepared versions")]
    StillPrepared(VolumeId),
}

/// One round of steps.
struct Round<'a> {
    reconciler: &'a Reconciler,
    cluster: &'a Cluster,
    topology: &'a Topology,
    done: &'a mut ReconcileResult,
    /// Whether something has changed since the round was decided, so that another decision is
    /// worthwhile.
    changed: bool,
    failures: Vec<(String, String)>,
    /// Volumes that certainly hold the newest version of the current key: verified or written by
    /// this run.
    certain: BTreeSet<VolumeId>,
}

impl Reconciler {
    /// Returns a reconciler with the settings of a node.
    pub fn new(settings: &UpkeepSettings) -> Self {
        Self {
            outages: Arc::new(Outages::new(settings.unreachable_grace)),
            tombstone_grace_ms: u64::try_from(settings.tombstone_grace.as_millis()).unwrap_or(u64::MAX),
            repair: Arc::new(Throttle::new(None)),
            rebalance: Arc::new(Throttle::new(Some(settings.rebalance_bytes_per_s))),
        }
    }

    /// Applies one limit to all copies, whatever their cause.
    #[must_use]
    pub fn with_limit(self, bytes_per_s: Option<u64>) -> Self {
        let throttle = Arc::new(Throttle::new(bytes_per_s));
        Self {
            repair: throttle.clone(),
            rebalance: throttle,
            ..self
        }
    }

    /// Gathers, decides and carries out until nothing is left to do about a partition.
    pub async fn partition(&self, cluster: &Cluster, partition: Partition) -> ReconcileResult {
        let mut done = ReconcileResult::default();
        for round in 0..=ROUNDS_MAX {
            let topology = cluster.topology();
            let found = gather::partition(&topology, partition, &self.outages).await;
            if !self.round(cluster, &topology, &found, round, &mut done).await {
                break;
            }
        }
        done
    }

    /// Like [`Reconciler::partition`], for one key. First reads all its replicas completely: one is
    /// damaged, and others may be.
    pub async fn key(&self, cluster: &Cluster, key: &Key) -> ReconcileResult {
        let mut done = ReconcileResult::default();
        for round in 0..=ROUNDS_MAX {
            let topology = cluster.topology();
            let read_through = round == 0;
            let found = gather::key(&topology, key, &self.outages, read_through).await;
            if !self.round(cluster, &topology, &found, round, &mut done).await {
                break;
            }
        }
        done
    }

    /// Like [`Reconciler::partition`], for a partition seen in a walk. Gathers it again unless
    /// there is nothing to do.
    pub async fn reconcile_walked(
        &self,
        cluster: &Cluster,
        topology: &Topology,
        partition: Partition,
        found: &VolumeReports,
    ) -> ReconcileResult {
        let plan = self.plan(found);
        if !plan.is_quiet() || cluster.topology().layouts != topology.layouts {
            return self.partition(cluster, partition).await;
        }
        let mut done = ReconcileResult::default();
        done.record_state(topology, found, &plan);
        done
    }

    /// Returns the state of a partition seen in a walk. Changes nothing.
    pub fn partition_state(&self, topology: &Topology, found: &VolumeReports) -> ReconcileResult {
        let mut done = ReconcileResult::default();
        done.record_state(topology, found, &self.plan(found));
        done
    }

    /// Returns the plan for the gathered state, as of now.
    pub(crate) fn plan(&self, found: &VolumeReports) -> Plan {
        let rules = Rules {
            now_ms: system::wall_ms(),
            tombstone_grace_ms: self.tombstone_grace_ms,
        };
        decide(found, &rules)
    }

    /// Runs one round. Returns whether another is worthwhile.
    async fn round(
        &self,
        cluster: &Cluster,
        topology: &Topology,
        found: &VolumeReports,
        number: usize,
        done: &mut ReconcileResult,
    ) -> bool {
        let plan = self.plan(found);
        done.record_state(topology, found, &plan);
        if number == ROUNDS_MAX {
            return false;
        }
        let mut run = Round {
            reconciler: self,
            cluster,
            topology,
            done,
            changed: false,
            failures: Vec::new(),
            certain: BTreeSet::new(),
        };
        for finding in plan.findings.iter().filter(|finding| !finding.steps.is_empty()) {
            run.finding(finding).await;
        }
        for (volume, path) in &plan.strays {
            run.settle(volume, path).await;
        }
        let Round {
            changed, failures, ..
        } = run;
        done.failed(found, &plan, failures);
        changed
    }
}

impl Round<'_> {
    /// Runs the steps of one finding. Stops at a step that fails, because later steps depend on it.
    async fn finding(&mut self, finding: &Finding) {
        self.certain.clear();
        for step in &finding.steps {
            if matches!(finding.state, ObjectState::Torn(_)) && !self.certain.is_empty() {
                // There is a whole replica now, and the next round continues from it.
                break;
            }
            let outcome = match step {
                Step::Copy(copy) => self.copy(finding, copy).await,
                Step::Verify { on, cause, known } => self.verify(finding, on, *cause, known.as_ref()).await,
                Step::Drop { on, version, home } => self.drop(finding, on, *version, home).await,
                Step::Collect { home } => self.collect(finding, home).await,
            };
            if let Err(why) = outcome {
                self.failed(&finding.key, &why);
            }
        }
    }

    fn failed(&mut self, what: &dyn fmt::Display, why: &StepError) {
        tracing::warn!(%what, %why, "a repair step failed");
        self.failures.push((what.to_string(), why.to_string()));
    }

    fn volume(&self, id: &VolumeId) -> Result<Arc<dyn Volume>, StepError> {
        let volume = self.topology.volumes.get(id).cloned();
        volume.ok_or_else(|| StepError::NoVolume(id.clone()))
    }

    /// Returns those of the volumes that the topology has.
    fn volumes(&self, ids: &[VolumeId]) -> Vec<Arc<dyn Volume>> {
        ids.iter()
            .filter_map(|id| self.topology.volumes.get(id).cloned())
            .collect()
    }

    async fn copy(&mut self, finding: &Finding, copy: &Copy) -> Result<(), StepError> {
        let target = self.volume(&copy.to)?;
        if copy.replaces == Replaces::Nothing && has_arrived(target.as_ref(), finding).await? {
            self.changed = true;
            return Ok(());
        }
        let moving = copy.cause == Cause::Rebalance;
        let throttle = if moving {
            &self.reconciler.rebalance
        } else {
            &self.reconciler.repair
        };
        let job = Job {
            key: &finding.key,
            version: finding.version,
            blake3: &copy.blake3,
            cause: copy.cause,
            to: &target,
            from: self.volumes(&copy.from),
            torn: self.volumes(&copy.torn),
            throttle: throttle.clone(),
        };
        self.done.found += u64::from(!moving);
        let made = if finding.deleted {
            copy::tombstone(&job).await
        } else {
            copy::content(&job).await
        };
        match made {
            Ok(made) => {
                self.certain.insert(copy.to.clone());
                self.changed = true;
                self.done.copies += 1;
                self.done.repaired += u64::from(!moving);
                self.done.copied_bytes += made.bytes;
                self.done.found += made.bad_sources;
                Ok(())
            }
            Err(CopyError::Unreadable { detail, .. }) if matches!(finding.state, ObjectState::Torn(_)) => {
                self.done.is_lost(finding, detail);
                Ok(())
            }
            Err(error) => {
                if let CopyError::Target(VolumeError::Full { .. }) = &error {
                    self.reconciler.outages.was_full(&copy.to);
                }
                // A bad source is marked by now, and a full target recorded, so the next decision
                // may find another way.
                self.changed |= !matches!(error, CopyError::Target(VolumeError::Unreachable { .. }));
                Err(error.into())
            }
        }
    }

    async fn verify(
        &mut self,
        finding: &Finding,
        on: &VolumeId,
        cause: Cause,
        known: Option<&BlockSet>,
    ) -> Result<(), StepError> {
        if self.certain.contains(on) {
            return Ok(());
        }
        let safe = finding.state == ObjectState::Safe;
        let verdict = self
            .volume(on)?
            .verify(&finding.key, finding.version, cause)
            .await?;
        let good = matches!(verdict, Verdict::Good { .. });
        if let Verdict::Bad { blocks, .. } = &verdict {
            self.changed |= blocks.as_ref() != known;
        }
        if good {
            self.certain.insert(on.clone());
            self.done.verified += 1;
        } else {
            self.done.found += u64::from(safe);
        }
        // Either a replica thought good is bad, or a lost object has a good one after all.
        self.changed |= good != safe;
        Ok(())
    }

    async fn drop(
        &mut self,
        finding: &Finding,
        on: &VolumeId,
        version: Version,
        home: &[VolumeId],
    ) -> Result<(), StepError> {
        if !self.may_remove(home) {
            return Ok(());
        }
        let evidence = format!(
            "version {} was verified on {}",
            finding.version,
            names(&self.certain)
        );
        self.remove(finding, on, version, &evidence).await?;
        self.changed = true;
        self.done.dropped += 1;
        Ok(())
    }

    async fn collect(&mut self, finding: &Finding, home: &[VolumeId]) -> Result<(), StepError> {
        if !self.may_remove(home) {
            return Ok(());
        }
        self.clear_pending(finding).await?;
        let evidence = format!(
            "every volume answered and {} hold this tombstone",
            names(&self.certain)
        );
        for on in home {
            self.remove(finding, on, finding.version, &evidence).await?;
        }
        self.changed = true;
        self.done.collected += 1;
        Ok(())
    }

    /// Discards prepared versions of a key that are older than its tombstone, on all volumes:
    /// without the tombstone they would look like writes to be finished. Fails if there is a newer
    /// preparation or a volume does not answer.
    async fn clear_pending(&self, finding: &Finding) -> Result<(), StepError> {
        for volume in self.topology.volumes.values() {
            self.clear_pending_on(volume.as_ref(), finding).await?;
        }
        Ok(())
    }

    async fn clear_pending_on(&self, volume: &dyn Volume, finding: &Finding) -> Result<(), StepError> {
        for _ in 0..PENDING_MAX {
            let head = volume.head(&finding.key).await?;
            let Some(pending) = head.pending else {
                return Ok(());
            };
            if pending.meta.version > finding.version {
                return Err(StepError::NewerPrepared(volume.id().clone()));
            }
            volume
                .abort(pending.upload, AbortScope::Version(pending.meta.version))
                .await;
        }
        Err(StepError::StillPrepared(volume.id().clone()))
    }

    /// Returns whether all of `home` are certain, and the layout of the decision is still in force.
    fn may_remove(&self, home: &[VolumeId]) -> bool {
        !home.is_empty()
            && home.iter().all(|volume| self.certain.contains(volume))
            && self.cluster.topology().layouts.current.number == self.topology.layouts.current.number
    }

    /// Removes a replica. A replica that no longer exists counts as removed.
    async fn remove(
        &self,
        finding: &Finding,
        on: &VolumeId,
        version: Version,
        evidence: &str,
    ) -> Result<(), StepError> {
        match self
            .volume(on)?
            .remove(&finding.key, version, Cause::Rebalance, evidence)
            .await
        {
            Ok(()) | Err(VolumeError::Missing { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    async fn settle(&mut self, on: &VolumeId, path: &str) {
        let settled = match self.volume(on) {
            Ok(volume) => volume.settle_stray(path).await.map_err(StepError::from),
            Err(why) => Err(why),
        };
        match settled {
            Ok(()) => {
                self.changed = true;
                self.done.settled += 1;
            }
            Err(why) => self.failed(&path, &why),
        }
    }
}

/// Returns whether the target now holds the version, or a newer one, because of a concurrent write
/// or repair.
async fn has_arrived(target: &dyn Volume, finding: &Finding) -> Result<bool, VolumeError> {
    let head = target.head(&finding.key).await?;
    Ok(head.found.is_some_and(|held| {
        held.meta.version > finding.version
            || (held.meta.version == finding.version && held.state == ReplicaState::Good)
    }))
}

fn names(volumes: &BTreeSet<VolumeId>) -> String {
    volumes
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

impl ReconcileResult {
    /// Returns whether everything possible was done, and every volume answered. Lost objects do not
    /// count, because nothing can be done about them.
    pub fn is_complete(&self) -> bool {
        self.home_complete && self.failures.is_empty() && self.away.is_empty()
    }

    /// Records that the blocks of a torn object do not make up a whole one. Nothing can be done
    /// about it, so it does not count as missing work.
    fn is_lost(&mut self, finding: &Finding, why: String) {
        if self.lost.iter().any(|(key, _)| *key == finding.key) {
            return;
        }
        // An earlier failed copy, from a source then thought good, has the same cause: forget that
        // failure.
        let key = finding.key.to_string();
        self.failures.retain(|(what, _)| *what != key);
        self.lost.push((finding.key.clone(), why));
        self.wanting = self.wanting.saturating_sub(finding.missing + finding.bad);
        self.home_complete = self.wanting == 0;
    }

    /// Records what failed in a round. A failure of an earlier round stays as long as its key needs
    /// work, because the plan may have avoided it: no copy is tried on a volume that was full, and
    /// that must still be reported.
    fn failed(&mut self, found: &VolumeReports, plan: &Plan, failures: Vec<(String, String)>) {
        let wanting = plan.findings.iter().filter(|finding| !finding.is_whole());
        let wanting: BTreeMap<String, &Finding> = wanting
            .map(|finding| (finding.key.to_string(), finding))
            .collect();
        let again: BTreeSet<&String> = failures.iter().map(|(what, _)| what).collect();
        self.failures
            .retain(|(what, _)| wanting.contains_key(what) && !again.contains(what));
        self.failures.extend(failures);
        let noted: BTreeSet<String> = self.failures.iter().map(|(what, _)| what.clone()).collect();
        let unnoted = wanting.into_iter().filter(|(what, _)| !noted.contains(what));
        self.failures.extend(unnoted.filter_map(|(what, finding)| {
            let lacks = |volume: &&VolumeId| found.full.contains(*volume) && !finding.good.contains(volume);
            let full = found.home.iter().find(lacks)?;
            Some((
                what,
                format!("volume {full} is full: it had no room at the last attempt"),
            ))
        }));
    }

    /// Records the state before a round; the state of the last round remains.
    fn record_state(&mut self, topology: &Topology, found: &VolumeReports, plan: &Plan) {
        let reasons = |select: fn(&ObjectState) -> Option<&String>| {
            plan.findings
                .iter()
                .filter_map(|finding| select(&finding.state).map(|why| (finding.key.clone(), why.clone())))
                .collect::<Vec<_>>()
        };
        self.lost = reasons(|state| {
            if let ObjectState::Lost(why) = state {
                Some(why)
            } else {
                None
            }
        });
        self.conflicts = reasons(|state| {
            if let ObjectState::Conflict(why) = state {
                Some(why)
            } else {
                None
            }
        });
        self.keys = plan.findings.len() as u64;
        let away = found.away.iter();
        self.away = away
            .map(|(volume, away)| (volume.clone(), away.detail.clone()))
            .collect();
        let lost = |finding: &Finding| matches!(finding.state, ObjectState::Lost(_));
        let kept = plan.findings.iter().filter(|finding| !lost(finding));
        self.wanting = kept.map(|finding| finding.missing + finding.bad).sum();
        self.home_complete = self.wanting == 0;
        self.nothing_left_behind = !leaves_replicas_behind(topology, found, plan);
    }
}

/// Returns whether a volume outside the current layout holds something of a lost or conflicting
/// object.
fn leaves_replicas_behind(topology: &Topology, found: &VolumeReports, plan: &Plan) -> bool {
    let stays = |id: &VolumeId| {
        topology
            .layouts
            .current
            .roles
            .volumes
            .iter()
            .any(|volume| volume.id == *id)
    };
    let troubled: BTreeSet<&Key> = plan
        .findings
        .iter()
        .filter(|finding| finding.state != ObjectState::Safe)
        .map(|finding| &finding.key)
        .collect();
    let leaving = found.volumes.iter().filter(|(id, _)| !stays(id));
    leaving.flat_map(|(_, surveyed)| surveyed).any(|item| match item {
        SurveyEntry::Replica { key, .. } | SurveyEntry::FileMissing { key, .. } => troubled.contains(key),
        SurveyEntry::Stray { .. } => true,
    })
}
