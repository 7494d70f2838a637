//! Ends the process at every crash point, and checks that everything acknowledged before survives.
//!
//! The test binary runs itself: the child works on a volume and aborts at the point named in its
//! environment. It records acknowledged operations in a file next to the volume.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use bytes::Bytes;
use store_protocol::{Cause, Key, SurveyEntry, UploadId, Volume, VolumeState};

use super::support::*;
use crate::CRASH_POINTS;

const HOME: &str = "WEFT_TEST_CRASH_HOME";
const ROUNDS: u64 = 6;

/// Runs every operation with durable steps several times.
async fn work(home: &Path) {
    let root = home.join("volume");
    let mut answered = std::fs::File::options()
        .create(true)
        .append(true)
        .open(home.join("answered"))
        .unwrap();
    let volume = open(&root);
    let begin = list(volume.as_ref())
        .await
        .iter()
        .map(|held| held.meta.version.millis)
        .max()
        .unwrap_or(0);
    for n in begin + 1..=begin + ROUNDS {
        let content = content(n * 100, n);
        let name = format!("k{}", n % 3);
        let meta = meta(&key(&name), version(n), &content);
        if n.is_multiple_of(2) {
            put(volume.as_ref(), &meta, &content).await.unwrap();
        } else {
            let upload = UploadId::random();
            volume.prepare_whole(upload, &meta, content).await.unwrap();
            volume.commit(upload, Cause::Write, "").await.unwrap();
        }
        writeln!(answered, "{name} {n}").unwrap();
    }
    // A separate key, which is added and removed.
    let content = content(10, 0);
    let passing = meta(&key("passing"), version(1), &content);
    put(volume.as_ref(), &passing, &content).await.unwrap();
    volume
        .remove(&passing.key, passing.version, Cause::Rebalance, "")
        .await
        .unwrap();
    std::fs::write(root.join("objects/stray"), b"stray").unwrap();
    volume.settle_stray("objects/stray").await.unwrap();
    std::fs::remove_file(root.join("volume.json")).unwrap();
    assert_eq!(volume.status().await.unwrap().state, VolumeState::Rebuilding);
}

/// Runs only in the child process of the test below.
#[test]
fn child() {
    if let Some(home) = std::env::var_os(HOME) {
        run(work(Path::new(&home)));
    }
}

fn run_child(home: &Path, point: &str) -> bool {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "disk::tests::crash::child", "--test-threads", "1"])
        .env(HOME, home)
        .env("WEFT_CRASH_POINT", point)
        .output()
        .unwrap();
    output.status.success()
}

/// Returns the newest acknowledged version of each key.
fn answered(home: &Path) -> BTreeMap<Key, u64> {
    let text = std::fs::read_to_string(home.join("answered")).unwrap_or_default();
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs.map(|(name, n)| (key(name), n.parse().unwrap())).collect()
}

async fn check(home: &Path, context: &str) {
    let volume = open(&home.join("volume"));
    let held = list(volume.as_ref()).await;
    for held in &held {
        let n = held.meta.version.millis;
        let content: Bytes = match held.meta.key.name() {
            "passing" => content(10, 0),
            _ => content(n * 100, n),
        };
        assert_eq!(
            get(volume.as_ref(), &held.meta, 0..1).await.unwrap(),
            content,
            "{context}"
        );
    }
    for (key, n) in answered(home) {
        let found = held.iter().find(|held| held.meta.key == key);
        let found = found.map(|held| held.meta.version.millis);
        assert!(
            found >= Some(n),
            "{context}: {key} is {found:?}, but {n} was acknowledged"
        );
    }
    let is_sound = |found: &SurveyEntry| match found {
        SurveyEntry::Replica { state, .. } => *state == store_protocol::ReplicaState::Good,
        SurveyEntry::Stray { path, .. } => path == "objects/stray",
        SurveyEntry::FileMissing { .. } => false,
    };
    let surveyed = survey(volume.as_ref()).await;
    assert!(surveyed.iter().all(is_sound), "{context}: {surveyed:#?}");
    // A remaining upload is a whole replica, newer than the visible version. The decider of the key
    // completes it.
    let mut left = 0;
    for key in volume.keys_in_doubt("").await.unwrap().keys {
        let head = volume.head(&key).await.unwrap();
        let pending = head.pending.unwrap();
        assert!(
            head.found.map(|held| held.meta.version) < Some(pending.meta.version),
            "{context}"
        );
        volume.commit(pending.upload, Cause::Write, "").await.unwrap();
        let (meta, n) = (pending.meta.clone(), pending.meta.version.millis);
        assert_eq!(
            get(volume.as_ref(), &meta, 0..1).await.unwrap(),
            content(n * 100, n),
            "{context}"
        );
        left += 1;
    }
    assert!(left <= 1, "{context}: {left}");
    let left = std::fs::read_dir(home.join("volume/staging")).unwrap().count();
    assert_eq!(left, 0, "{context}");
}

#[test]
fn a_crash_at_any_point_loses_nothing_that_was_answered() {
    let home = tempfile::tempdir().unwrap();
    for point in CRASH_POINTS {
        let home = home.path().join(point);
        std::fs::create_dir(&home).unwrap();
        for nth in [1, 2, 5] {
            let crashed = !run_child(&home, &format!("{point}:{nth}"));
            assert!(crashed || nth > 1, "{point} was never reached");
            run(check(&home, &format!("after {point}:{nth}")));
        }
    }
}
