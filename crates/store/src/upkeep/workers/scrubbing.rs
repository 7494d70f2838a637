//! The scrub of one volume: a pass at regular intervals, one replica at a time, continued after a
//! restart.

use std::sync::Arc;

use store_protocol::{PARTITIONS, Partition, Volume, VolumeError, VolumeId};
use tokio::time::{Duration, Instant};

use super::board::{Board, FailureSubject};
use super::shared::Shared;
use crate::upkeep::ScrubState;
use crate::upkeep::scrub::{Reading, Replica};
use crate::upkeep::throttle::Throttle;

/// Interval between saves of the position. A restart repeats at most this much time's work.
const SAVE_EVERY: Duration = Duration::from_secs(30);

/// Interval between checks whether a scrub is due. A scrub is due once in weeks, so minutes do not
/// matter.
const LOOK_EVERY: Duration = Duration::from_mins(10);

/// A scrub worker.
struct Scrub {
    shared: Arc<Shared>,
    board: Board,
    id: VolumeId,
    throttle: Throttle,
    state: ScrubState,
    saved: Instant,
}

pub(super) async fn run(shared: Arc<Shared>, board: Board, id: VolumeId) {
    let mut scrub = Scrub {
        throttle: Throttle::new(Some(shared.settings.scrub_bytes_per_s)),
        state: shared.scrub_files.load(&id),
        saved: Instant::now(),
        shared: shared.clone(),
        board,
        id,
    };
    scrub
        .board
        .update(|status| status.last_pass_ms = scrub.state.last_pass_ms);
    while !shared.gate.is_stopped() {
        if scrub.is_due() {
            let ended = scrub.pass().await;
            scrub.board.ended(FailureSubject::Pass, ended);
            scrub.save();
        }
        scrub.board.idle();
        if scrub.state.partition.is_some() {
            // The pass was interrupted because the volume is away for now.
            shared.gate.sleep(shared.settings.watch_every).await;
            continue;
        }
        shared
            .gate
            .sleep(LOOK_EVERY.min(shared.settings.scrub_every))
            .await;
    }
}

impl Scrub {
    fn is_due(&self) -> bool {
        let every_ms = u64::try_from(self.shared.settings.scrub_every.as_millis()).unwrap_or(u64::MAX);
        let since = |started: u64| system::wall_ms().saturating_sub(started);
        self.state.partition.is_some()
            || self
                .state
                .started_ms
                .is_none_or(|started| since(started) >= every_ms)
    }

    /// Scans all partitions from the saved position. An error, or the node's stop, ends it early.
    async fn pass(&mut self) -> Result<(), VolumeError> {
        let volume = self.volume()?;
        if self.state.partition.is_none() {
            self.state = ScrubState {
                started_ms: Some(system::wall_ms()),
                partition: Some(Partition(0)),
                last_pass_ms: self.state.last_pass_ms,
                ..ScrubState::default()
            };
        }
        self.board.begin(None);
        let status = volume.status().await?;
        let done = self.state.replicas;
        self.board.update(|board| {
            board.done = done;
            board.total = Some(status.replicas + status.tombstones);
        });
        while let Some(partition) = self.state.partition {
            let volume = self.volume()?;
            if !self.partition(&volume, partition).await? {
                return Ok(());
            }
            self.state.after = None;
            self.state.partition = Some(Partition(partition.0 + 1)).filter(|next| next.0 < PARTITIONS);
            if self.saved.elapsed() >= SAVE_EVERY {
                self.save();
            }
        }
        // The saved and the shown time are the same, so that they stay the same after a restart.
        self.state.last_pass_ms = Some(self.board.end());
        Ok(())
    }

    /// Returns the volume's handle under the layout in force.
    fn volume(&self) -> Result<Arc<dyn Volume>, VolumeError> {
        let topology = self.shared.cluster().topology();
        topology
            .volumes
            .get(&self.id)
            .cloned()
            .ok_or_else(|| VolumeError::Failed {
                volume: self.id.clone(),
                detail: "is in no layout in force: nothing to scrub".into(),
            })
    }

    async fn partition(
        &mut self,
        volume: &Arc<dyn Volume>,
        partition: Partition,
    ) -> Result<bool, VolumeError> {
        let shared = self.shared.clone();
        let reading = Reading {
            volume,
            throttle: &self.throttle,
            gate: &shared.gate,
        };
        let after = self.state.after.clone();
        let (state, saved, board, id) = (&mut self.state, &mut self.saved, &self.board, &self.id);
        let mut note = |seen: Replica<'_>| {
            note(&shared, board, state, &seen);
            if saved.elapsed() >= SAVE_EVERY {
                save(&shared, board, id, state);
                *saved = Instant::now();
            }
        };
        reading.partition(partition, after.as_ref(), &mut note).await
    }

    fn save(&mut self) {
        save(&self.shared, &self.board, &self.id, &self.state);
        self.saved = Instant::now();
    }
}

fn note(shared: &Shared, board: &Board, state: &mut ScrubState, seen: &Replica<'_>) {
    let damage = seen.outcome.is_damage();
    let bytes = seen.outcome.bytes();
    if damage {
        shared.queue.push(seen.key);
    }
    state.after = Some(seen.key.clone());
    state.replicas += 1;
    state.bytes += bytes;
    state.found += u64::from(damage);
    board.update(|status| {
        status.done = state.replicas;
        status.bytes += bytes;
        status.found += u64::from(damage);
    });
}

/// Saves the position. A failure is only recorded, because it only costs a second read.
fn save(shared: &Shared, board: &Board, id: &VolumeId, state: &ScrubState) {
    let saved = shared.scrub_files.save(id, state);
    if let Err(error) = &saved {
        tracing::warn!(volume = %id, %error, "the scrub position cannot be saved");
    }
    let saved = saved.map_err(|error| format!("save the scrub position: {error}"));
    board.ended(FailureSubject::Saving, saved);
}
