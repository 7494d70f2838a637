//! Bits flip, files are truncated and disappear under running nodes: damaged content is never
//! returned, and all damage is found, reported and repaired.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use rand::RngExt as _;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use store::upkeep::{fixity, scrub_all};
use store_protocol::{Key, VolumeId};

use super::harness::{Fifteen, until, volume_id};
use super::load::{Load, kept};

const HAZARD: u64 = 5;

/// Number of objects with one damaged replica.
const DAMAGED: usize = 24;

/// A replica and how it was damaged.
struct Damaged {
    key: Key,
    volume: VolumeId,
    how: &'static str,
}

pub(crate) async fn run(cluster: &mut Fifteen, load: &mut Load) {
    let mut random = cluster.random(HAZARD);
    let keys: Vec<_> = kept().collect();
    let keys: Vec<_> = keys.sample(&mut random, DAMAGED).cloned().collect();
    let mut damaged = Vec::new();
    let counts = load
        .during(async |progress| {
            for (i, key) in keys.into_iter().enumerate() {
                progress.reaches(10 + i * 60 / DAMAGED).await;
                damaged.push(damage(cluster, key, &mut random));
            }
        })
        .await;
    assert_eq!(counts.unserved, 0, "every object has another replica");
    let report = scrub_all(&cluster.topology(), &[], None, &|_| {}).await;
    println!(
        "  scrub: {} replicas, {} bad, {} missing",
        report.replicas, report.bad, report.missing
    );
    assert!(report.volumes_failed.is_empty(), "{report:#?}");
    cluster.settle("damage").await;
    load.check().await;
    for damaged in &damaged {
        told(cluster, damaged).await;
    }
}

/// Checks that the log reports a replica as bad, and then as repaired.
async fn told(cluster: &Fifteen, damaged: &Damaged) {
    let Damaged { key, volume, how } = damaged;
    let topology = cluster.topology();
    let what = format!("{key} on {volume}, {how}, is reported as found and repaired");
    until(&what, async || {
        let (events, failed) = fixity(&topology, key, 1000).await;
        assert!(failed.is_empty(), "{failed:?}");
        let mut events = events.iter().filter(|event| event.volume == *volume);
        events.any(|event| ["bad", "missing"].contains(&event.event.as_str()))
            && events.any(|event| event.event == "repaired")
    })
    .await;
}

fn damage(cluster: &Fifteen, key: Key, random: &mut StdRng) -> Damaged {
    let mut replicas = Vec::new();
    for node in cluster.nodes() {
        let file = replica(&cluster.volume_dir(&node), &key);
        replicas.extend(file.map(|file| (volume_id(&node), file)));
    }
    let (volume, file) = replicas.choose(random).unwrap().clone();
    let how = match random.random_range(0..3) {
        0 => flip(&file, random),
        1 => truncate(&file, random),
        _ => {
            std::fs::remove_file(&file).unwrap();
            "deleted"
        }
    };
    Damaged { key, volume, how }
}

fn flip(file: &Path, random: &mut StdRng) -> &'static str {
    let file = OpenOptions::new().read(true).write(true).open(file).unwrap();
    let at = random.random_range(0..file.metadata().unwrap().len());
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    byte[0] ^= 1 << random.random_range(0..8);
    file.write_all_at(&byte, at).unwrap();
    "a bit flipped"
}

fn truncate(file: &Path, random: &mut StdRng) -> &'static str {
    let file = OpenOptions::new().write(true).open(file).unwrap();
    let length = file.metadata().unwrap().len();
    file.set_len(random.random_range(0..length)).unwrap();
    "cut short"
}

/// Returns the file of a key's replica below a volume's directory.
fn replica(volume: &Path, key: &Key) -> Option<PathBuf> {
    let partition = volume.join(format!("objects/{:03x}", key.partition().0));
    let name = HEXLOWER.encode(&key.hash()[..16]);
    let files = std::fs::read_dir(partition).ok()?;
    let mut files = files.map(|file| file.unwrap().path());
    files.find(|file| {
        file.file_name()
            .is_some_and(|found| found.to_string_lossy().starts_with(&name))
    })
}
