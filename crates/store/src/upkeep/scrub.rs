//! The scrub: reads every replica of a volume again and verifies it, in order, a little at a time.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use store_protocol::{
    Cause, Key, PARTITIONS, Partition, ReplicaState, SurveyEntry, Verdict, Version, Volume, VolumeError,
    VolumeId,
};

use super::Progress;
use super::census::name;
use super::gate::Gate;
use super::reconcile::{Outages, Reader};
use super::throttle::Throttle;
use crate::cluster::Topology;

/// The position of the scrub of a volume. Stored on disk, so that a pass continues after a restart.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScrubState {
    /// When the running or last pass began, milliseconds since 1970. `None` before the first.
    pub started_ms: Option<u64>,
    /// The partition being read. `None` if no pass is running.
    pub partition: Option<Partition>,
    /// The last key verified in that partition. `None` at its beginning.
    pub after: Option<Key>,
    /// Replicas verified in this pass.
    pub replicas: u64,
    /// Bytes read in this pass.
    pub bytes: u64,
    /// Bad or missing replicas found in this pass.
    pub found: u64,
    /// When the last whole pass ended.
    pub last_pass_ms: Option<u64>,
}

/// Stores the scrub positions of a node's volumes: one small file per volume, in every state
/// directory of the node.
#[derive(Debug, Clone)]
pub struct ScrubFiles {
    dirs: Vec<PathBuf>,
}

/// The result of a scrub on request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScrubReport {
    /// Replicas verified.
    pub replicas: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Bad replicas found. They are now marked, so that a repair replaces them.
    pub bad: u64,
    /// Missing replicas found.
    pub missing: u64,
    /// Volumes, keys and reasons of bad and missing replicas, at most 100.
    pub details: Vec<String>,
    /// Volumes that could not be read to the end.
    pub volumes_failed: Vec<String>,
}

impl ScrubFiles {
    /// Stores positions in those of these directories that exist.
    pub fn new(dirs: Vec<PathBuf>) -> Self {
        Self { dirs }
    }

    /// Returns the position of a volume's scrub from the newest file. Starts from the beginning if
    /// no file can be read.
    pub fn load(&self, volume: &VolumeId) -> ScrubState {
        let read = |dir: &PathBuf| {
            let state = fs::read(Self::path(dir, volume)).and_then(|text| Ok(serde_json::from_slice(&text)?));
            if let Err(error) = &state
                && error.kind() != io::ErrorKind::NotFound
            {
                tracing::warn!(%volume, dir = %dir.display(), %error, "a scrub position cannot be read");
            }
            state.ok()
        };
        let states = self.dirs.iter().filter_map(read);
        let newest = states.max_by_key(|state: &ScrubState| {
            // Within one pass the more advanced state wins; a pass that has ended is the most
            // advanced.
            (state.started_ms, state.last_pass_ms, state.replicas)
        });
        newest.unwrap_or_default()
    }

    /// Stores the position durably in at least one of the directories.
    ///
    /// # Errors
    /// The error of writing, syncing or renaming the file. The previous file is then intact.
    #[expect(
        clippy::disallowed_methods,
        reason = "the position of a scrub; if it is lost, the scrub starts again"
    )]
    pub fn save(&self, volume: &VolumeId, state: &ScrubState) -> io::Result<()> {
        let text = serde_json::to_vec(state)?;
        write_to_any(&self.dirs, |dir| {
            let path = Self::path(dir, volume);
            let temporary = path.with_extension("tmp");
            let mut file = system::private::file()
                .write(true)
                .create(true)
                .truncate(true)
                .open(&temporary)?;
            file.write_all(&text)?;
            file.sync_all()?;
            fs::rename(&temporary, &path)?;
            File::open(dir)?.sync_all()
        })
    }

    /// Returns the path of a volume's state. Volume names have one slash and no `+`, so different
    /// volumes have different paths.
    fn path(dir: &Path, volume: &VolumeId) -> PathBuf {
        dir.join(format!("scrub-{}.json", volume.0.replace('/', "+")))
    }
}

/// Writes into all directories that exist, and succeeds if one write does. Makes no directory: an
/// absent directory means that its volume is absent.
pub(super) fn write_to_any(dirs: &[PathBuf], write: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "none of the node's directories exists");
    let mut written = false;
    for dir in dirs.iter().filter(|dir| dir.exists()) {
        match write(dir) {
            Ok(()) => written = true,
            Err(error) => failure = error,
        }
    }
    if written { Ok(()) } else { Err(failure) }
}

/// Verifies every replica of the named volumes (all if none is named), at most `bytes_per_s` on
/// each.
pub async fn scrub_all(
    topology: &Topology,
    volumes: &[VolumeId],
    bytes_per_s: Option<u64>,
    progress: &(dyn Fn(Progress) + Sync),
) -> ScrubReport {
    let shared = Mutex::new((ScrubReport::default(), Progress::default()));
    let wanted = |id: &VolumeId| volumes.is_empty() || volumes.contains(id);
    let chosen: Vec<_> = topology
        .volumes
        .values()
        .filter(|volume| wanted(volume.id()))
        .collect();
    let totals = join_all(chosen.iter().map(|volume| volume.status())).await;
    shared.lock().1.total = totals
        .iter()
        .flatten()
        .map(|status| status.replicas + status.tombstones)
        .sum();
    let each = chosen.into_iter().map(|volume| {
        let shared = &shared;
        let throttle = Throttle::new(bytes_per_s);
        async move {
            let gate = Gate::open();
            let reading = Reading {
                volume,
                throttle: &throttle,
                gate: &gate,
            };
            // Surveyed many at a time: a request for each partition would take longer than reading
            // the replicas of a small store.
            let (mut surveys, outages) = (Reader::new(volume), Outages::new(Duration::MAX));
            let partitions: Vec<_> = (0..PARTITIONS).map(Partition).collect();
            for at in 0..partitions.len() {
                let mut note = |seen: Replica<'_>| {
                    let mut shared = shared.lock();
                    shared.0.add(volume.id(), &seen);
                    shared.1.add(&seen);
                    progress(shared.1);
                };
                let read = async {
                    let entries = surveys.next(&partitions[at..], &outages).await?;
                    reading.entries(&entries, None, &mut note).await
                };
                if let Err(error) = read.await {
                    name(&mut shared.lock().0.volumes_failed, error.to_string());
                    return;
                }
            }
        }
    });
    join_all(each).await;
    shared.into_inner().0
}

/// Reads a volume's replicas and verifies them against their digests.
pub(super) struct Reading<'a> {
    pub volume: &'a Arc<dyn Volume>,
    pub throttle: &'a Throttle,
    pub gate: &'a Gate,
}

/// A replica that was read.
pub(super) struct Replica<'a> {
    pub key: &'a Key,
    pub version: Version,
    pub outcome: Outcome,
}

/// Result of reading a replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Intact, with its size in bytes.
    Good(u64),
    /// Bad, with the reason.
    Bad(String),
    /// An entry without its file.
    Missing,
    /// Overwritten or moved before the scrub reached it.
    Gone,
}

impl Reading<'_> {
    /// Verifies the replicas of a partition after a key, in order, and reports each. Returns false
    /// if it was stopped.
    pub(super) async fn partition(
        &self,
        partition: Partition,
        after: Option<&Key>,
        note: &mut (dyn FnMut(Replica<'_>) + Send),
    ) -> Result<bool, VolumeError> {
        let entries = self.volume.survey(&[partition]).await?.concat();
        self.entries(&entries, after, note).await
    }

    /// Like [`Reading::partition`], for a partition that was surveyed.
    async fn entries(
        &self,
        entries: &[SurveyEntry],
        after: Option<&Key>,
        note: &mut (dyn FnMut(Replica<'_>) + Send),
    ) -> Result<bool, VolumeError> {
        for item in entries {
            let (key, version, size) = match item {
                SurveyEntry::Replica {
                    key, version, size, ..
                } => (key, *version, *size),
                SurveyEntry::FileMissing { key, version, .. } => (key, *version, 0),
                // Reconcile settles a stray, which has no digest to verify it against.
                SurveyEntry::Stray { .. } => continue,
            };
            if after.is_some_and(|after| key <= after) {
                continue;
            }
            if !self.gate.pass().await {
                return Ok(false);
            }
            tokio::select! {
                biased;
                () = self.gate.stopped() => return Ok(false),
                () = self.throttle.take(size) => {}
            }
            let outcome = self.replica(item, key, version).await?;
            note(Replica {
                key,
                version,
                outcome,
            });
        }
        Ok(true)
    }

    async fn replica(&self, item: &SurveyEntry, key: &Key, version: Version) -> Result<Outcome, VolumeError> {
        // A replica known to be bad need not be read again.
        if let SurveyEntry::Replica {
            state: ReplicaState::Bad(detail),
            ..
        } = item
        {
            return Ok(Outcome::Bad(detail.clone()));
        }
        Ok(match self.volume.verify(key, version, Cause::Scrub).await? {
            Verdict::Good { bytes } => Outcome::Good(bytes),
            Verdict::Bad { detail, .. } => Outcome::Bad(detail),
            Verdict::Missing => {
                let head = self.volume.head(key).await?.found;
                match head {
                    Some(held) if held.meta.version == version => Outcome::Missing,
                    _ => Outcome::Gone,
                }
            }
        })
    }
}

impl ScrubReport {
    /// Returns whether nothing is bad or missing, and every volume was read to the end.
    pub fn is_clean(&self) -> bool {
        self.bad + self.missing == 0 && self.volumes_failed.is_empty()
    }

    fn add(&mut self, volume: &VolumeId, seen: &Replica<'_>) {
        self.replicas += 1;
        match &seen.outcome {
            Outcome::Good(bytes) => self.bytes += bytes,
            Outcome::Gone => {}
            Outcome::Bad(detail) => {
                self.bad += 1;
                name(
                    &mut self.details,
                    format!("{volume} {} {}: {detail}", seen.key, seen.version),
                );
            }
            Outcome::Missing => {
                self.missing += 1;
                name(
                    &mut self.details,
                    format!("{volume} {} {}: no file", seen.key, seen.version),
                );
            }
        }
    }
}

impl Outcome {
    /// Returns whether repair must fix it.
    pub(super) fn is_damage(&self) -> bool {
        matches!(self, Self::Bad(_) | Self::Missing)
    }

    /// Returns the number of bytes verified.
    pub(super) fn bytes(&self) -> u64 {
        if let Self::Good(bytes) = self { *bytes } else { 0 }
    }
}

impl Progress {
    fn add(&mut self, seen: &Replica<'_>) {
        self.done += 1;
        self.objects += 1;
        self.bytes += seen.outcome.bytes();
        self.found += u64::from(seen.outcome.is_damage());
    }
}
