//! Copies on two machines, each with different damage: read and made whole again over the network.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use store::upkeep::{RepairOptions, repair_all, scrub_all};
use store::{Put, Store};
use store_protocol::{BLOCK_BYTES, Key};

use crate::nodes::{Files, seen};
use crate::wire::{content, pieces};

/// Returns the longest file below a directory, which is the one replica with content.
fn longest(dir: &Path) -> (u64, PathBuf) {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let of = |path: PathBuf| {
        if path.is_dir() {
            longest(&path)
        } else {
            (path.metadata().unwrap().len(), path)
        }
    };
    entries.map(of).max().unwrap_or_default()
}

fn flip(files: &Files, node: &str, at: u64) {
    let (_, path) = longest(&files.volume(node, "d1").join("objects"));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[usize::try_from(2048 + at).unwrap()] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

async fn read(store: &Store, key: &Key, range: Option<std::ops::Range<u64>>) -> Option<Vec<u8>> {
    let object = store.get(key, range).await.ok()?;
    let pieces: Vec<Bytes> = object.body.try_collect().await.ok()?;
    Some(pieces.concat())
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_of_two_machines_make_one_object() {
    let files = Files::new(2, 1, 2);
    let nodes = files.start_all().await;
    let (store, key) = (nodes[0].store(), Key::new("b", "torn").unwrap());
    let whole = content(1_000_000, 5);
    store.put(&key, pieces(&whole), Put::default()).await.unwrap();
    // The first and the last block on one machine, the two between them on the other.
    flip(&files, "n1", 7);
    flip(&files, "n1", 3 * BLOCK_BYTES);
    flip(&files, "n2", BLOCK_BYTES + 1);
    flip(&files, "n2", 2 * BLOCK_BYTES + 1);
    let client = files.client().await;
    for _ in 0..2 {
        for store in [&nodes[0].store(), &nodes[1].store(), &client.store()] {
            assert!(read(store, &key, None).await.unwrap() == whole);
        }
        scrub_all(&seen(&store).topology(), &[], None, &|_| {}).await;
    }
    let report = repair_all(&seen(&client.store()), &RepairOptions::default(), &|_| {}).await;
    assert!(report.is_clean() && report.copies == 2, "{report:?}");
    let scrub = scrub_all(&seen(&store).topology(), &[], None, &|_| {}).await;
    assert!(scrub.is_clean(), "{scrub:?}");
    // The same block on both: the other blocks can still be read from either.
    flip(&files, "n1", BLOCK_BYTES);
    flip(&files, "n2", BLOCK_BYTES);
    assert!(read(&client.store(), &key, None).await.is_none());
    let rest = read(&client.store(), &key, Some(2 * BLOCK_BYTES..1_000_000))
        .await
        .unwrap();
    assert!(rest == whole[2 * BLOCK_BYTES as usize..]);
    client.close().await;
    for node in nodes {
        node.shutdown().await;
    }
}
