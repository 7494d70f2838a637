//! Repair on real directories: flipped bits, truncated, deleted and misplaced files, and a volume
//! wiped while it is open.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use data_encoding::HEXLOWER;
use futures_util::TryStreamExt as _;
use parking_lot::Mutex;
use placement::{Layout, Layouts, NodeRole, VolumeRole};
use store_protocol::{BLOCK_BYTES, Cause, Key, Node, UploadId, Version, Volume, VolumeId};
use store_testkit::Dice;
use volume::replica::CONTENT_AT;
use volume::{DiskSettings, DiskVolume, FixityLog};

use super::nodes::MemConnect;
use super::world::{content, key, meta, roles};
use crate::client::{Store, StoreError};
use crate::cluster::{Cluster, Connect, LayoutTag};
use crate::upkeep::{RepairOptions, RepairReport, census, repair_all, scrub_all};

/// Volumes in directories, with objects on them.
struct Disks {
    dir: tempfile::TempDir,
    cluster: Arc<Cluster>,
    versions: BTreeMap<Key, Version>,
}

struct DiskConnect {
    volumes: BTreeMap<VolumeId, Arc<DiskVolume>>,
    nodes: MemConnect,
}

impl Connect for DiskConnect {
    fn volume(&self, _: LayoutTag, volume: &VolumeRole, _: &NodeRole) -> Arc<dyn Volume> {
        self.volumes[&volume.id].clone()
    }

    fn node(&self, under: LayoutTag, node: &NodeRole) -> Arc<dyn Node> {
        self.nodes.node(under, node)
    }
}

impl Disks {
    async fn with_objects(count: u64) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let roles = roles(2, &[1, 1, 1]);
        let log = FixityLog::new();
        let open = |role: &VolumeRole| {
            let path = dir.path().join(role.id.0.replace('/', "-"));
            let settings = DiskSettings::new(path, role.id.clone(), log.clone());
            (role.id.clone(), DiskVolume::open(settings).expect("a volume"))
        };
        let volumes = roles.volumes.iter().map(open).collect();
        let current = Layout {
            number: 1,
            seed: 7,
            roles,
        };
        let layouts = Layouts {
            current,
            older: Vec::new(),
        };
        let nodes = MemConnect {
            volumes: Arc::default(),
            layouts: Arc::new(Mutex::new(layouts.clone())),
        };
        let cluster = Cluster::new(None, layouts, Box::new(DiskConnect { volumes, nodes }));
        let mut disks = Self {
            dir,
            cluster,
            versions: BTreeMap::new(),
        };
        for i in 0..count {
            disks.write(i).await;
        }
        disks
    }

    async fn write(&mut self, i: u64) {
        self.write_as(i, content(i, [1000, 262_144, 700_000][(i % 3) as usize]))
            .await;
    }

    async fn write_as(&mut self, i: u64, content: Vec<u8>) {
        let key = key(i);
        let mut version = self.cluster.clock.now();
        // Old enough not to be mistaken for a write in progress.
        version.millis -= 3_600_000;
        let topology = self.cluster.topology();
        for id in topology.home(key.partition()) {
            let (upload, volume) = (UploadId::random(), &topology.volumes[id]);
            let meta = meta(&key, version, Some(&content));
            volume
                .prepare_whole(upload, &meta, Bytes::from(content.clone()))
                .await
                .expect("staged");
            volume.commit(upload, Cause::Write, "").await.expect("committed");
        }
        self.versions.insert(key, version);
    }

    fn path(&self, id: &VolumeId) -> PathBuf {
        self.dir.path().join(id.0.replace('/', "-"))
    }

    /// Returns the file of an object's replica on its `nth` home volume.
    fn file(&self, i: u64, nth: usize) -> PathBuf {
        let topology = self.cluster.topology();
        let root = self.path(&topology.home(key(i).partition())[nth]).join("objects");
        let hash = HEXLOWER.encode(&key(i).hash()[..8]);
        let mut found = files_below(&root);
        found.retain(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with(&hash))
        });
        found.pop().expect("the replica's file")
    }

    async fn repair(&self) -> RepairReport {
        repair_all(&self.cluster, &RepairOptions::default(), &|_| {}).await
    }

    /// Checks that the census is whole and that reading everything finds nothing bad.
    async fn check_whole(&self) {
        let topology = self.cluster.topology();
        let census = census(&topology, &|_| {}).await;
        assert!(census.is_whole() && census.replicas_surplus == 0, "{census:?}");
        assert_eq!(census.objects, self.versions.len() as u64);
        let report = scrub_all(&topology, &[], None, &|_| {}).await;
        assert!(report.is_clean(), "{report:?}");
        assert_eq!(report.replicas, 2 * self.versions.len() as u64);
    }
}

fn files_below(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Vec::new();
    };
    let paths = entries.flatten().map(|entry| entry.path());
    paths
        .flat_map(|path| {
            if path.is_dir() {
                files_below(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_damaged_by_hand_are_found_and_put_right() {
    let disks = Disks::with_objects(12).await;
    disks.check_whole().await;
    for i in 0..12 {
        let file = disks.file(i, (i % 2) as usize);
        let mut bytes = fs::read(&file).expect("read");
        match i % 4 {
            0 => {
                let middle = bytes.len() / 2;
                bytes[middle] ^= 1;
                fs::write(&file, bytes).expect("written");
            }
            1 => fs::write(&file, &bytes[..bytes.len() - 1]).expect("cut"),
            2 => fs::remove_file(&file).expect("deleted"),
            _ => {
                fs::remove_file(&file).expect("deleted");
                fs::write(file.with_file_name("notes.txt"), b"not a replica").expect("written");
            }
        }
    }
    let topology = disks.cluster.topology();
    let report = scrub_all(&topology, &[], None, &|_| {}).await;
    assert_eq!(report.bad + report.missing, 12, "{report:?}");
    let report = disks.repair().await;
    assert!(report.is_clean(), "{report:?}");
    assert_eq!((report.copies, report.strays_settled), (12, 3), "{report:?}");
    disks.check_whole().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_wiped_while_it_is_open_is_filled_again() {
    let disks = Disks::with_objects(12).await;
    let volume = disks
        .cluster
        .topology()
        .volumes
        .keys()
        .next()
        .expect("a volume")
        .clone();
    let held = files_below(&disks.path(&volume).join("objects")).len() as u64;
    for entry in fs::read_dir(disks.path(&volume)).expect("listed").flatten() {
        let path = entry.path();
        if path.is_dir() {
            fs::remove_dir_all(path)
        } else {
            fs::remove_file(path)
        }
        .expect("wiped");
    }
    disks.repair().await;
    let report = disks.repair().await;
    assert!(report.is_clean(), "{report:?}");
    disks.check_whole().await;
    assert_eq!(
        files_below(&disks.path(&volume).join("objects")).len() as u64,
        held
    );
}

/// Damages the head, tail or table of a replica of `blocks` blocks, in addition to its content.
fn damage_frame(file: &Path, size: usize, dice: &mut Dice, table_too: bool) {
    let mut bytes = fs::read(file).expect("read");
    match dice.roll(4) {
        0 => bytes[100] ^= 1,
        1 if table_too => bytes[CONTENT_AT as usize + size + 33] ^= 1,
        2 if table_too => bytes.truncate(CONTENT_AT as usize + size + 40),
        _ => {}
    }
    fs::write(file, bytes).expect("written");
}

/// Two copies of a file, each with different bad blocks and with a damaged head, table or tail:
/// everything can be read, and both copies are whole again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_damaged_at_different_blocks_are_joined() {
    for seed in 0..6 {
        println!("seed {seed}");
        let mut dice = Dice(seed);
        let mut disks = Disks::with_objects(1).await;
        let blocks = 2 + dice.roll(4);
        let size = usize::try_from((blocks - 1) * BLOCK_BYTES + 1 + dice.roll(BLOCK_BYTES)).unwrap();
        let whole = content(seed, size);
        disks.write_as(9, whole.clone()).await;
        let files = [disks.file(9, 0), disks.file(9, 1)];
        let mut lost_everywhere = None;
        for block in 0..blocks {
            let at = (CONTENT_AT + block * BLOCK_BYTES) as usize;
            let victim = dice.roll(3) as usize;
            let victims: &[PathBuf] = match victim {
                // The last seeds lose one block entirely.
                _ if seed >= 4 && block == 1 => {
                    lost_everywhere = Some(block);
                    &files
                }
                2 => &[],
                one => &files[one..=one],
            };
            for file in victims {
                let mut bytes = fs::read(file).expect("read");
                bytes[at] ^= 1;
                fs::write(file, bytes).expect("written");
            }
        }
        damage_frame(&files[0], size, &mut dice, true);
        damage_frame(&files[1], size, &mut dice, false);
        let store = Store::new(disks.cluster.clone());
        let Some(block) = lost_everywhere else {
            assert!(read(&store, &key(9), None).await.expect("read") == whole);
            scrub_all(&disks.cluster.topology(), &[], None, &|_| {}).await;
            assert!(read(&store, &key(9), None).await.expect("read") == whole);
            let report = disks.repair().await;
            assert!(report.is_clean(), "{report:?}");
            disks.check_whole().await;
            continue;
        };
        let (start, end) = (block * BLOCK_BYTES, (block + 1) * BLOCK_BYTES);
        scrub_all(&disks.cluster.topology(), &[], None, &|_| {}).await;
        let report = disks.repair().await;
        let told = format!("bytes {start}-{} of {size}", end.min(size as u64) - 1);
        assert!(report.lost_bytes[0].contains(&told), "{told}: {report:?}");
        let before = read(&store, &key(9), Some(0..start)).await.expect("read");
        assert!(before == whole[..start as usize]);
        if end < size as u64 {
            let after = read(&store, &key(9), Some(end..size as u64)).await.expect("read");
            assert!(after == whole[end as usize..]);
        }
        read(&store, &key(9), None)
            .await
            .expect_err("reading the whole object must fail");
    }
}

/// A directory occupies the path of a replica's file, so no new copy could be renamed to that path.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_in_the_place_of_a_replica_makes_way() {
    let disks = Disks::with_objects(3).await;
    let file = disks.file(1, 0);
    fs::remove_file(&file).expect("removed");
    fs::create_dir(&file).expect("made");
    fs::write(file.join("notes.txt"), "mine").expect("written");
    let volume = disks.cluster.topology().home(key(1).partition())[0].clone();
    let report = scrub_all(&disks.cluster.topology(), &[], None, &|_| {}).await;
    assert_eq!(report.bad, 1, "{report:?}");
    let report = disks.repair().await;
    assert!(report.is_clean(), "{report:?}");
    disks.check_whole().await;
    let kept = files_below(&disks.path(&volume).join("lost+found"));
    assert_eq!(kept.len(), 1, "the old content must be kept: {kept:?}");
}

/// Reads an object or a range of it.
async fn read(store: &Store, key: &Key, range: Option<Range<u64>>) -> Result<Vec<u8>, StoreError> {
    let object = store.get(key, range).await?;
    let pieces: Vec<Bytes> = object
        .body
        .try_collect()
        .await
        .map_err(|error| StoreError::Lost {
            key: key.to_string(),
            detail: error.to_string(),
        })?;
    Ok(pieces.concat())
}
