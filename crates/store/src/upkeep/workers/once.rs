//! Tasks that one node does for the whole cluster: the census for display, and the removal of
//! unfinished uploads.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use super::board::{Board, FailureSubject};
use super::shared::Shared;
use crate::upkeep::scrub::write_to_any;
use crate::upkeep::{Census, census};

/// Wait after the start, and between checks whether a task is due. Shorter would survey all volumes
/// while nodes are just starting. A task that is a few minutes late does no harm.
const LOOK_EVERY: Duration = Duration::from_mins(5);

/// Takes a census when the last one is old enough, and saves it.
pub(super) async fn censuses(shared: Arc<Shared>, board: Board) {
    let every = shared.settings.census_every;
    let every_ms = u64::try_from(every.as_millis()).unwrap_or(u64::MAX);
    while shared.gate.sleep(LOOK_EVERY.min(every)).await && shared.gate.pass().await {
        let last_ms = shared.census.lock().as_ref().map_or(0, |census| census.time_ms);
        if system::wall_ms().saturating_sub(last_ms) < every_ms || !shared.runs_cluster_tasks() {
            continue;
        }
        board.begin(None);
        let topology = shared.cluster().topology();
        let progress = |now: crate::upkeep::Progress| {
            board.update(|status| {
                status.done = now.done;
                status.total = Some(now.total);
            });
        };
        let taken = tokio::select! {
            biased;
            () = shared.gate.stopped() => return,
            taken = census(&topology, &progress) => taken,
        };
        board.update(|status| {
            status.found += taken.replicas_bad + taken.replicas_missing + taken.objects_lost + taken.strays;
        });
        let kept = save_census(&shared.state_dirs, &taken);
        board.ended(
            FailureSubject::Saving,
            kept.map_err(|error| format!("save the census: {error}")),
        );
        *shared.census.lock() = Some(taken);
        board.end();
    }
}

/// Aborts multipart uploads that are too old.
pub(super) async fn expiries(shared: Arc<Shared>, board: Board) {
    while shared.gate.sleep(shared.settings.expire_every).await {
        if !shared.runs_cluster_tasks() {
            continue;
        }
        board.begin(None);
        let expired = shared
            .store
            .expire_multiparts(shared.settings.upload_age_max)
            .await;
        if let Ok(count) = expired {
            board.update(|status| status.done = count);
        }
        board.ended(FailureSubject::Pass, expired.map(drop));
        board.end();
    }
}

/// Returns the census saved by an earlier run of this node.
pub(super) fn last_census(dirs: &[PathBuf]) -> Option<Census> {
    let read = |dir: &PathBuf| serde_json::from_slice::<Census>(&fs::read(path(dir)).ok()?).ok();
    dirs.iter().filter_map(read).max_by_key(|census| census.time_ms)
}

/// Saves a census for display. It is not synced: if a crash loses it, another is taken.
#[expect(
    clippy::disallowed_methods,
    reason = "a census for display; if it is lost, the next one replaces it"
)]
fn save_census(dirs: &[PathBuf], census: &Census) -> io::Result<()> {
    let text = serde_json::to_vec(census)?;
    write_to_any(dirs, |dir| {
        let temporary = dir.join("census.tmp");
        let mut file = system::private::file()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&temporary)?;
        file.write_all(&text)?;
        fs::rename(temporary, path(dir))
    })
}

fn path(dir: &Path) -> PathBuf {
    dir.join("census.json")
}
