//! Plans: what a change of layout would move, before data moves.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::VolumeId;
use crate::layout::Layout;
use crate::partition::{PARTITIONS, Partition};
use crate::placement::Placement;

/// The known amounts of data.
#[derive(Debug, Clone, Copy)]
pub enum Sizes<'a> {
    /// Unknown: all bytes are 0.
    Unknown,
    /// Bytes of content in one copy of each partition, by number. Missing ones count as 0.
    Partitions(&'a [u64]),
    /// Bytes of content on each volume. Each partition is estimated as the mean of its volumes'
    /// partitions.
    Volumes(&'a BTreeMap<VolumeId, u64>),
}

/// What would move between two layouts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Number of the layout before.
    pub from: u64,
    /// Number of the layout after.
    pub to: u64,
    /// Copies of partitions in the new layout.
    pub copies: u32,
    /// Copies made on a volume that did not have the partition.
    pub moved: u32,
    /// Fewest copies that the change of capacities forces to move. `moved` is never less.
    pub moved_least: u32,
    /// Estimated bytes copied.
    pub moved_bytes: u64,
    /// Every volume with a share before or after, in order of name.
    pub volumes: Vec<VolumePlan>,
    /// Every pair of volumes between which data is copied, in order of names.
    pub moves: Vec<Move>,
}

/// Copies and bytes of one volume.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Copies of partitions.
    pub copies: u32,
    /// Estimated bytes in these copies.
    pub bytes: u64,
}

/// One volume before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumePlan {
    /// The volume.
    pub volume: VolumeId,
    /// Its share now.
    pub before: Share,
    /// Its share after everything has moved.
    pub after: Share,
    /// The share that it receives.
    pub received: Share,
    /// The share that it drops once the new copies are verified.
    pub dropped: Share,
}

/// Copies from one volume to another. The source is the volume that loses the partition, or its old
/// decider if the number of copies grows. Any other replica may be read instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    /// The volume that has the copies.
    pub from: VolumeId,
    /// The volume that will have them.
    pub to: VolumeId,
    /// The number of copies, and the bytes in them.
    pub share: Share,
}

/// Returns what would move between two layouts. Their numbers must differ.
pub fn plan(old: &Layout, new: &Layout, sizes: Sizes<'_>) -> Plan {
    let (before, after) = (Placement::compute(old), Placement::compute(new));
    let bytes = partition_bytes(&before, sizes);
    let mut volumes: BTreeMap<VolumeId, VolumePlan> = BTreeMap::new();
    let mut moves: BTreeMap<(VolumeId, VolumeId), Share> = BTreeMap::new();
    for (partition, bytes) in (0..PARTITIONS).map(Partition).zip(bytes) {
        let (held, wanted) = (before.replicas(partition), after.replicas(partition));
        let received: Vec<&VolumeId> = wanted.iter().filter(|id| !held.contains(id)).collect();
        let dropped: Vec<&VolumeId> = held.iter().filter(|id| !wanted.contains(id)).collect();
        held.iter()
            .for_each(|id| entry(&mut volumes, id).before.add(bytes));
        wanted
            .iter()
            .for_each(|id| entry(&mut volumes, id).after.add(bytes));
        received
            .iter()
            .for_each(|id| entry(&mut volumes, id).received.add(bytes));
        dropped
            .iter()
            .for_each(|id| entry(&mut volumes, id).dropped.add(bytes));
        for (i, to) in received.into_iter().enumerate() {
            if let Some(from) = dropped.get(i).copied().or(held.first()) {
                moves.entry((from.clone(), to.clone())).or_default().add(bytes);
            }
        }
    }
    let volumes: Vec<VolumePlan> = volumes.into_values().collect();
    let grown = |volume: &VolumePlan| volume.after.copies.saturating_sub(volume.before.copies);
    Plan {
        from: old.number,
        to: new.number,
        copies: volumes.iter().map(|volume| volume.after.copies).sum(),
        moved: volumes.iter().map(|volume| volume.received.copies).sum(),
        moved_least: volumes.iter().map(grown).sum(),
        moved_bytes: volumes.iter().map(|volume| volume.received.bytes).sum(),
        volumes,
        moves: moves
            .into_iter()
            .map(|((from, to), share)| Move { from, to, share })
            .collect(),
    }
}

impl Share {
    fn add(&mut self, bytes: u64) {
        self.copies += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

fn entry<'a>(volumes: &'a mut BTreeMap<VolumeId, VolumePlan>, id: &VolumeId) -> &'a mut VolumePlan {
    volumes.entry(id.clone()).or_insert_with(|| VolumePlan {
        volume: id.clone(),
        before: Share::default(),
        after: Share::default(),
        received: Share::default(),
        dropped: Share::default(),
    })
}

/// Returns the bytes in one copy of each partition.
fn partition_bytes(placement: &Placement, sizes: Sizes<'_>) -> Vec<u64> {
    let copies = placement.copies();
    let of_volume = |bytes: &BTreeMap<VolumeId, u64>, id: &VolumeId| {
        bytes.get(id).copied().unwrap_or(0) / u64::from(copies.get(id).copied().unwrap_or(0).max(1))
    };
    let of_partition = |number: u16| match sizes {
        Sizes::Unknown => 0,
        Sizes::Partitions(bytes) => bytes.get(usize::from(number)).copied().unwrap_or(0),
        Sizes::Volumes(bytes) => {
            let replicas = placement.replicas(Partition(number));
            let sum: u64 = replicas.iter().map(|id| of_volume(bytes, id)).sum();
            sum / (replicas.len() as u64).max(1)
        }
    };
    (0..PARTITIONS).map(of_partition).collect()
}
