//! Damage in different blocks of every copy: each block that is right in some copy is read, however
//! damaged that copy is. A WARC file was once reported as lost because its two copies had lost one
//! block each.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use store::StoreError;
use store_protocol::{BLOCK_BYTES, BlockTable, Cause, Key, Volume};
use store_testkit::rig::read;
use store_testkit::{Dice, MemoryVolume, Rig};

use super::{content, key};

/// Returns the size of an object of `blocks` blocks, the last of them short.
fn size_of(blocks: u64) -> u64 {
    (blocks - 1) * BLOCK_BYTES + 1000
}

/// One object with random damage, and its model: the blocks that are bad in every copy.
struct Torn {
    key: Key,
    content: Vec<u8>,
    lost: BTreeSet<u64>,
}

impl Torn {
    async fn new(rig: &Rig, seed: u64, dice: &mut Dice) -> Self {
        let (key, blocks) = (key(&format!("torn {seed}")), 1 + dice.roll(6));
        let content = content(usize::try_from(size_of(blocks)).unwrap(), seed as u8);
        rig.put(&key, &content).await.unwrap();
        let mut lost: BTreeSet<u64> = (0..blocks).collect();
        for volume in rig.home(&key) {
            let bad: BTreeSet<u64> = (0..blocks).filter(|_| dice.roll(2) == 0).collect();
            bad.iter().for_each(|block| assert!(volume.corrupt(&key, *block)));
            lost.retain(|block| bad.contains(block));
            if dice.roll(2) == 0 {
                // The damage of about half of the copies is already known.
                let version = volume.held(&key).unwrap().meta.version;
                volume.verify(&key, version, Cause::Scrub).await.unwrap();
            }
        }
        Self { key, content, lost }
    }

    /// Checks that a range is read correctly, or fails if one of its blocks is right in no copy.
    async fn check(&self, rig: &Rig, range: Range<u64>) {
        let first_lost = self.lost.iter().find(|block| {
            let start = *block * BLOCK_BYTES;
            start < range.end && range.start < start + BLOCK_BYTES
        });
        let found = read(rig.store(), &self.key, Some(range.clone())).await;
        match (found, first_lost) {
            (Ok(found), None) => {
                let place = |byte: u64| usize::try_from(byte).unwrap().min(self.content.len());
                assert!(found == self.content[place(range.start)..place(range.end)]);
            }
            (Err(StoreError::Lost { detail, .. }), Some(block)) => {
                let bytes = format!("bytes {}-", block * BLOCK_BYTES);
                assert!(detail.contains(&bytes), "{bytes}: {detail}");
            }
            (found, first_lost) => panic!("{range:?}: lost {first_lost:?}, {:?}", found.map(|_| "read")),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_block_that_is_right_somewhere_is_read() {
    for replicas in 1..=3 {
        let rig = Rig::new(4, replicas);
        for seed in 0..25 {
            println!("{replicas} replicas, seed {seed}");
            let mut dice = Dice(seed);
            let torn = Torn::new(&rig, seed, &mut dice).await;
            let size = torn.content.len() as u64;
            torn.check(&rig, 0..size).await;
            for _ in 0..4 {
                let start = dice.roll(size);
                torn.check(&rig, start..start + 1 + dice.roll(size)).await;
            }
        }
    }
}

fn spoil_table(volume: &Arc<MemoryVolume>, key: &Key, block: usize) {
    let version = volume.held(key).unwrap().meta.version;
    volume.damage(key, version, |replica| {
        let mut values = replica.table.values().to_vec();
        values[block][0] ^= 1;
        replica.table = Arc::new(BlockTable::from_values(values));
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_table_does_not_take_the_content_along() {
    let rig = Rig::new(3, 2);
    let content = content(usize::try_from(size_of(5)).unwrap(), 9);
    rig.put(&key("a"), &content).await.unwrap();
    let home: Vec<_> = rig.home(&key("a")).into_iter().cloned().collect();
    // The table of one copy, and the content of the other.
    spoil_table(&home[0], &key("a"), 0);
    assert!(home[1].corrupt(&key("a"), 1));
    assert!(rig.get(&key("a")).await.unwrap() == content);
    // Both tables and both contents, in four places.
    spoil_table(&home[1], &key("a"), 2);
    assert!(home[0].corrupt(&key("a"), 3));
    assert!(rig.get(&key("a")).await.unwrap() == content);
    // Every copy of the table is empty.
    for volume in &home {
        let version = volume.held(&key("a")).unwrap().meta.version;
        volume.damage(&key("a"), version, |replica| {
            replica.table = Arc::new(BlockTable::from_values(Vec::new()));
        });
    }
    let found = rig.get(&key("a")).await;
    assert!(
        matches!(found, Err(StoreError::Lost { .. })),
        "two contents that differ"
    );
}
