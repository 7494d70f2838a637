//! Surveys many partitions: each request asks a volume for as many partitions as fit into one
//! answer.
//!
//! Invariants:
//!  - every result was requested by this walk, less than [`FRESH_FOR`] ago;
//!  - one answer per volume is held, so memory does not depend on the size of the store;
//!  - the volumes' answers are from different moments. So a walk can only show that there is
//!    nothing to do. Anything that looks like work is gathered again ([`gather::partition`]) before
//!    it is acted upon.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::join_all;
use store_protocol::{Partition, SurveyEntry, Volume, VolumeError, VolumeId};
use tokio::time::{Duration, Instant};

use super::gather::{self, VolumeReports};
use super::outages::Outages;
use crate::cluster::Topology;

/// A survey older than this is repeated. Shorter would survey partitions again that were asked for
/// together; longer would plan copies of versions that were replaced meanwhile.
const FRESH_FOR: Duration = Duration::from_mins(1);

/// A walk over partitions in a given order.
pub struct Walk<'a> {
    topology: &'a Topology,
    outages: &'a Outages,
    left: VecDeque<Partition>,
    readers: Vec<Reader>,
}

/// One volume's answers, some partitions ahead of the walk.
pub struct Reader {
    volume: Arc<dyn Volume>,
    /// Surveys of the first of the remaining partitions.
    ready: VecDeque<Vec<SurveyEntry>>,
    asked: Instant,
}

impl<'a> Walk<'a> {
    /// Returns a walk that has not asked anything yet.
    pub fn new(
        topology: &'a Topology,
        outages: &'a Outages,
        partitions: impl IntoIterator<Item = Partition>,
    ) -> Self {
        Self {
            topology,
            outages,
            left: partitions.into_iter().collect(),
            readers: topology.volumes.values().map(Reader::new).collect(),
        }
    }

    /// Returns the next partition, with what every volume in force reports about it.
    pub async fn next(&mut self) -> Option<(Partition, VolumeReports)> {
        let left = self.left.make_contiguous();
        let partition = *left.first()?;
        let (left, outages) = (&*left, self.outages);
        let answers = self.readers.iter_mut().map(|reader| {
            let asking = async move {
                let id: VolumeId = reader.volume.id().clone();
                (id, reader.next(left, outages).await)
            };
            asking.boxed()
        });
        let answers = join_all(answers).await;
        self.left.pop_front();
        let found = gather::collect(self.topology, partition, self.outages, true, answers);
        Some((partition, found))
    }

    /// Returns whether the walk has yet to reach a partition.
    pub fn holds(&self, partition: Partition) -> bool {
        self.left.contains(&partition)
    }

    /// Skips all partitions before this one. Returns false, and skips nothing, if the walk will not
    /// reach it.
    pub fn skip_to(&mut self, partition: Partition) -> bool {
        let Some(skipped) = self.left.iter().position(|next| *next == partition) else {
            return false;
        };
        self.left.drain(..skipped);
        for reader in &mut self.readers {
            reader.ready.drain(..skipped.min(reader.ready.len()));
        }
        true
    }
}

impl Reader {
    /// Returns a reader that has not asked anything yet.
    pub fn new(volume: &Arc<dyn Volume>) -> Self {
        Self {
            volume: volume.clone(),
            ready: VecDeque::new(),
            asked: Instant::now(),
        }
    }

    /// Returns the survey of the first of the remaining partitions.
    ///
    /// # Errors
    /// The volume does not answer.
    pub async fn next(
        &mut self,
        left: &[Partition],
        outages: &Outages,
    ) -> Result<Vec<SurveyEntry>, VolumeError> {
        if self.ready.is_empty() || self.asked.elapsed() > FRESH_FOR {
            self.ready.clear();
            self.asked = Instant::now();
            self.ready = gather::survey(&self.volume, left, outages).await?.into();
        }
        self.ready.pop_front().ok_or_else(|| VolumeError::Failed {
            volume: self.volume.id().clone(),
            detail: "the survey contains no partition".to_owned(),
        })
    }
}
