//! The directory of a volume is emptied under its running node: reads continue, repair restores
//! everything, and the fixity log records it.

use std::path::Path;

use store_protocol::{FixityEvent, Volume, VolumeState};

use super::harness::{Fifteen, until};
use super::load::Load;

const HAZARD: u64 = 6;

pub(crate) async fn run(cluster: &mut Fifteen, load: &mut Load) {
    let [victim] = cluster.victims(HAZARD);
    let dir = cluster.volume_dir(&victim);
    let before = cluster.volume(&victim).status().await.unwrap();
    assert!(before.replicas > 0, "{before:?}");
    let wipes = async || {
        let volume = cluster.volume(&victim);
        let told = volume.fixity(None, 100_000).await.unwrap_or_default();
        let is_wipe = |line: &&FixityEvent| line.volume == *volume.id() && line.event == "volume-wiped";
        told.iter().filter(is_wipe).count()
    };
    let wipes_before = wipes().await;
    let counts = load
        .during(async |progress| {
            progress.reaches(20).await;
            empty(&dir);
            // Its state is visible only for a moment: a small volume is rebuilt within a tenth of a
            // second.
            until("the volume is empty again", async || wipes().await > wipes_before).await;
        })
        .await;
    assert_eq!(counts.unserved, 0, "reads while a volume is rebuilt");
    cluster.settle("wipe").await;
    load.check().await;
    let volume = cluster.volume(&victim);
    assert_eq!(state(volume.as_ref()).await, VolumeState::InService);
    let told = volume.fixity(None, 100_000).await.unwrap();
    let about = |event: &str| {
        let mut lines = told.iter().rev();
        lines.find(|line| line.volume == *volume.id() && line.event == event)
    };
    let wiped = about("volume-wiped").map(|line| line.time_ms);
    assert!(
        wiped.is_some() && about("volume-rebuilt").map(|line| line.time_ms) >= wiped,
        "{told:#?}"
    );
    assert!(about("repaired").is_some(), "{told:#?}");
}

async fn state(volume: &dyn Volume) -> VolumeState {
    volume.status().await.unwrap().state
}

/// Removes everything, including files that are made meanwhile.
fn empty(dir: &Path) {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    // The file whose absence is noticed goes last. Otherwise the volume might be set up again
    // earlier and record the wipe in a log that is then removed too, and the record would be lost.
    paths.sort_by_key(|path| path.ends_with("volume.json"));
    for path in paths {
        while path.symlink_metadata().is_ok() {
            let _ = if path.is_dir() {
                std::fs::remove_dir_all(&path)
            } else {
                std::fs::remove_file(&path)
            };
        }
    }
}
