//! A whole copy from several bad ones, against a plain model: an object is whole again exactly if
//! each of its blocks is right in some copy. Otherwise it is lost with exactly the reported bytes,
//! and no right block disappears.

use std::collections::BTreeSet;
use std::sync::Arc;

use store_protocol::{BLOCK_BYTES, BlockSet, Cause, Key, Volume};
use store_testkit::{Dice, MemoryVolume};

use super::world::{World, content, key};

/// Objects in each world.
const OBJECTS: u64 = 40;

/// One object and the damage done to it.
struct Case {
    key: Key,
    size: u64,
    copies: Vec<Arc<MemoryVolume>>,
    /// Blocks that are bad in every copy.
    lost: BTreeSet<u64>,
    /// What the copies hold after the damage.
    damaged: Vec<Option<Vec<u8>>>,
}

/// Damages a few blocks of one copy, or its end, or the whole file. Returns the bad blocks.
fn damage(volume: &MemoryVolume, key: &Key, blocks: u64, dice: &mut Dice) -> BTreeSet<u64> {
    let version = volume.held(key).unwrap().meta.version;
    let (kind, some): (_, BTreeSet<u64>) =
        (dice.roll(8), (0..blocks).filter(|_| dice.roll(3) == 0).collect());
    volume.damage(key, version, |replica| match (kind, &mut replica.content) {
        (0, content) => *content = None,
        (1, Some(content)) => content.truncate(content.len() - 1),
        (_, Some(content)) => {
            let places = some
                .iter()
                .map(|block| usize::try_from(block * BLOCK_BYTES).unwrap());
            places.for_each(|at| content[at] ^= 1);
        }
        (_, None) => {}
    });
    match kind {
        0 => (0..blocks).collect(),
        1 => [blocks - 1].into(),
        _ => some,
    }
}

async fn case(world: &mut World, seed: u64, dice: &mut Dice) -> Case {
    let (key, blocks) = (key(seed), 1 + dice.roll(5));
    let size = (blocks - 1) * BLOCK_BYTES + 700;
    let version = world.write(&key, Some(&content(seed, usize::try_from(size).unwrap())));
    let homes = world.home(&key);
    let copies: Vec<_> = homes.iter().map(|id| world.volume(id)).collect();
    let mut lost: BTreeSet<u64> = (0..blocks).collect();
    for volume in &copies {
        let bad = damage(volume, &key, blocks, dice);
        lost.retain(|block| bad.contains(block));
        if dice.roll(2) == 0 {
            // Half of the damage is already known; repair discovers the rest.
            volume.verify(&key, version, Cause::Scrub).await.unwrap();
        }
    }
    let damaged = copies.iter().map(|volume| volume.content(&key)).collect();
    Case {
        key,
        size,
        copies,
        lost,
        damaged,
    }
}

impl Case {
    fn check(&self, world: &World, lost_bytes: &[String]) {
        let now: Vec<_> = self
            .copies
            .iter()
            .map(|volume| volume.content(&self.key))
            .collect();
        let name = format!("{}: ", self.key);
        let told = lost_bytes.iter().find(|line| line.starts_with(&name));
        if self.lost.is_empty() {
            let whole = &world.truth[&self.key].1;
            assert!(
                now.iter().all(|content| content == whole),
                "{} is not whole",
                self.key
            );
            assert_eq!(told, None);
            return;
        }
        assert!(now == self.damaged, "{}: no replica may change", self.key);
        let told = told.expect("the damage is reported");
        // If no copy has a file, there are no bytes to name.
        if self.damaged.iter().any(Option::is_some) {
            let ranges = self.lost.iter().map(|block| *block..block + 1);
            let lost: BlockSet = ranges.collect::<Vec<_>>().into();
            let bytes = lost.bytes_text(self.size);
            assert!(told.contains(&bytes), "{bytes}: {told}");
        }
    }
}

#[tokio::test]
async fn a_whole_copy_is_made_of_bad_ones_whenever_each_block_is_right_somewhere() {
    for replicas in 1..=3 {
        println!("{replicas} replicas");
        let mut dice = Dice(u64::from(replicas));
        let mut world = World::new(replicas, &[1, 1, 1, 1]);
        let mut cases = Vec::new();
        for seed in 0..OBJECTS {
            cases.push(case(&mut world, seed, &mut dice).await);
        }
        world.repair().await;
        // Possibly the repair did not need a copy with undiscovered damage.
        for case in &cases {
            for volume in &case.copies {
                let version = world.version(&case.key);
                volume.verify(&case.key, version, Cause::Scrub).await.unwrap();
            }
        }
        let report = world.repair().await;
        let lost = cases.iter().filter(|case| !case.lost.is_empty()).count() as u64;
        assert!(lost > 0 && lost < OBJECTS, "{lost}");
        assert_eq!(
            (report.objects_lost, report.failures, report.wanting),
            (lost, 0, 0),
            "{report:?}"
        );
        cases
            .iter()
            .for_each(|case| case.check(&world, &report.lost_bytes));
        let census = world.census().await;
        assert_eq!(census.objects_lost, lost, "{census:?}");
        cases
            .iter()
            .for_each(|case| case.check(&world, &census.lost_bytes));
    }
}
