//! Gathers what every volume in force reports about a partition, or about one key.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use data_encoding::HEXLOWER;
use futures_util::future::join_all;
use store_protocol::{
    Cause, Key, Partition, ReplicaState, SurveyEntry, Verdict, Volume, VolumeError, VolumeId,
};

use super::outages::Outages;
use crate::cluster::Topology;

/// How long a volume may take to answer a survey. A partition of a very large store has some ten
/// thousand files.
const SURVEY_WITHIN: Duration = Duration::from_mins(5);

/// How long a volume may take to read one replica completely: two terabytes at 100 MB/s. Less would
/// leave long objects uncertain forever; with more, a disk that hangs delays the repair of a key
/// for longer.
const VERIFY_WITHIN: Duration = Duration::from_hours(6);

/// The reports of all volumes about a partition or key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VolumeReports {
    /// Home volumes of the partition by the current layout, the decider first.
    pub home: Vec<VolumeId>,
    /// Copies that the current layout asks for. `home` has fewer volumes if a layout asks for more
    /// copies than there are volumes with a weight, which older releases did not refuse.
    pub copies: usize,
    /// The other volumes with a weight, in the order in which they are used as stand-ins.
    pub fallbacks: Vec<VolumeId>,
    /// Whether layouts before the current one are still in force.
    pub older_layouts: bool,
    /// True if this is the whole partition, false if it is the newest replicas of one key.
    pub whole: bool,
    /// Volumes that answered.
    pub volumes: BTreeMap<VolumeId, Vec<SurveyEntry>>,
    /// Volumes in force that did not answer.
    pub away: BTreeMap<VolumeId, Away>,
    /// Volumes that recently had no space.
    pub full: BTreeSet<VolumeId>,
}

impl VolumeReports {
    /// Returns the number of copies that an object must have to be whole.
    pub(in crate::upkeep) fn wanted(&self) -> usize {
        self.home.len().max(self.copies)
    }
}

/// A volume that did not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Away {
    /// Away longer than the grace time: its copies are to be replaced elsewhere.
    pub long: bool,
    /// The error.
    pub detail: String,
}

/// Surveys a partition on every volume in force, in parallel.
pub async fn partition(topology: &Topology, partition: Partition, outages: &Outages) -> VolumeReports {
    let answers = topology.volumes.values().map(|volume| async move {
        let answer = survey(volume, &[partition], outages).await;
        (volume.id().clone(), answer.map(|found| found.concat()))
    });
    let answers = join_all(answers).await;
    collect(topology, partition, outages, true, answers)
}

/// Returns the newest replicas of one key. With `read_through` they are read completely and so
/// certain, otherwise as the index reports them.
pub async fn key(topology: &Topology, key: &Key, outages: &Outages, read_through: bool) -> VolumeReports {
    let answers = topology.volumes.values().map(|volume| async move {
        let answer = within(
            VERIFY_WITHIN,
            volume.as_ref(),
            newest_replica(volume, key, read_through),
        )
        .await;
        if answer.is_ok() {
            outages.answered(volume.id());
        }
        (volume.id().clone(), answer)
    });
    let answers = join_all(answers).await;
    collect(topology, key.partition(), outages, false, answers)
}

/// Returns the newest replica of a key on one volume.
async fn newest_replica(
    volume: &Arc<dyn Volume>,
    key: &Key,
    read_through: bool,
) -> Result<Vec<SurveyEntry>, VolumeError> {
    let Some(held) = volume.head(key).await?.found else {
        return Ok(Vec::new());
    };
    let meta = held.meta;
    let (mut state, mut bad_blocks) = (held.state, held.bad_blocks);
    if read_through {
        (state, bad_blocks) = match volume.verify(key, meta.version, Cause::Repair).await? {
            Verdict::Good { .. } => (ReplicaState::Good, None),
            Verdict::Bad { detail, blocks } => (ReplicaState::Bad(detail), blocks),
            Verdict::Missing => {
                return Ok(vec![SurveyEntry::FileMissing {
                    key: meta.key,
                    version: meta.version,
                    deleted: meta.deleted,
                }]);
            }
        };
    }
    Ok(vec![SurveyEntry::Replica {
        key: meta.key,
        version: meta.version,
        deleted: meta.deleted,
        size: meta.size,
        blake3: HEXLOWER.encode(&meta.digests.blake3),
        state,
        bad_blocks,
    }])
}

/// Surveys the first of these partitions on a volume, and records that it has answered.
pub(super) async fn survey(
    volume: &Arc<dyn Volume>,
    partitions: &[Partition],
    outages: &Outages,
) -> Result<Vec<Vec<SurveyEntry>>, VolumeError> {
    let answer = within(SURVEY_WITHIN, volume.as_ref(), volume.survey(partitions)).await?;
    outages.answered(volume.id());
    Ok(answer)
}

pub(super) fn collect(
    topology: &Topology,
    partition: Partition,
    outages: &Outages,
    whole: bool,
    answers: Vec<(VolumeId, Result<Vec<SurveyEntry>, VolumeError>)>,
) -> VolumeReports {
    let mut found = VolumeReports {
        home: topology.home(partition).to_vec(),
        copies: usize::from(topology.layouts.current.roles.replicas),
        fallbacks: topology
            .placements
            .first()
            .map(|placement| placement.fallbacks(partition))
            .unwrap_or_default(),
        older_layouts: !topology.layouts.older.is_empty(),
        whole,
        full: outages.full(),
        ..VolumeReports::default()
    };
    for (volume, answer) in answers {
        match answer {
            Ok(surveyed) => {
                found.volumes.insert(volume, surveyed);
            }
            Err(error) => {
                let away = Away {
                    long: outages.away(&volume),
                    detail: error.to_string(),
                };
                found.away.insert(volume, away);
            }
        }
    }
    found
}

/// Returns the answer, or an unreachable error after `time`, so that a frozen node does not hold
/// everything up.
pub(crate) async fn within<T>(
    time: Duration,
    volume: &dyn Volume,
    answer: impl Future<Output = Result<T, VolumeError>>,
) -> Result<T, VolumeError> {
    tokio::time::timeout(time, answer).await.unwrap_or_else(|_| {
        Err(VolumeError::Unreachable {
            volume: volume.id().clone(),
            detail: format!("no answer within {} s", time.as_secs()),
        })
    })
}
