//! Partitions waiting to be reconciled, and volumes waiting for all of theirs.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;
use store_protocol::{Partition, VolumeId};
use tokio::sync::Notify;

/// How soon a partition must be reconciled. Later variants are more urgent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::upkeep) enum Urgency {
    /// As part of a normal pass: waits while the node is busy.
    Routine,
    /// Replicas are probably missing: does not wait.
    AtOnce,
    /// Like `AtOnce`, but by this node whichever node looks after the partition, because one of its
    /// volumes is being rebuilt.
    ByMe,
}

/// Pending work. Bounded by the number of partitions and volumes.
#[derive(Debug, Default)]
pub(in crate::upkeep) struct Pending {
    inner: Mutex<Inner>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    waiting: BTreeMap<Partition, Urgency>,
    /// Partitions that could not be repaired last time, to be retried later.
    open: BTreeMap<Partition, Urgency>,
    /// Partitions that each volume being rebuilt still waits for.
    rebuilding: BTreeMap<VolumeId, BTreeSet<Partition>>,
}

impl Pending {
    pub(in crate::upkeep) fn add(&self, partitions: impl IntoIterator<Item = Partition>, urgency: Urgency) {
        let mut inner = self.inner.lock();
        for partition in partitions {
            let entry = inner.waiting.entry(partition).or_insert(urgency);
            *entry = (*entry).max(urgency);
        }
        drop(inner);
        self.arrived.notify_one();
    }

    /// Adds all partitions of a volume that is being rebuilt. Does nothing if that is already
    /// known.
    pub(in crate::upkeep) fn rebuild(&self, volume: &VolumeId, partitions: BTreeSet<Partition>) {
        if self.inner.lock().rebuilding.contains_key(volume) {
            return;
        }
        self.inner
            .lock()
            .rebuilding
            .insert(volume.clone(), partitions.clone());
        self.add(partitions, Urgency::ByMe);
    }

    /// Forgets which partitions volumes wait for, because a new layout has changed them.
    pub(in crate::upkeep) fn forget_rebuilding(&self) {
        self.inner.lock().rebuilding.clear();
    }

    /// Takes the most urgent partitions, at most `limit`, all of one urgency.
    pub(in crate::upkeep) fn take(&self, limit: usize) -> (Urgency, Vec<Partition>) {
        let mut inner = self.inner.lock();
        let urgency = inner.waiting.values().max().copied().unwrap_or(Urgency::Routine);
        let chosen = inner.waiting.iter().filter(|(_, held)| **held == urgency);
        let chosen: Vec<_> = chosen.map(|(partition, _)| *partition).take(limit).collect();
        for partition in &chosen {
            inner.waiting.remove(partition);
        }
        (urgency, chosen)
    }

    /// Takes the next routine partitions, at most `limit`; none if something more urgent is
    /// waiting.
    pub(in crate::upkeep) fn take_routine(&self, limit: usize) -> Vec<Partition> {
        let mut inner = self.inner.lock();
        if inner.waiting.values().any(|urgency| *urgency != Urgency::Routine) {
            return Vec::new();
        }
        let chosen: Vec<_> = inner.waiting.keys().copied().take(limit).collect();
        for partition in &chosen {
            inner.waiting.remove(partition);
        }
        chosen
    }

    /// Returns all waiting routine partitions, in order.
    pub(in crate::upkeep) fn routine(&self) -> Vec<Partition> {
        let inner = self.inner.lock();
        let routine = inner.waiting.iter().filter(|entry| *entry.1 == Urgency::Routine);
        routine.map(|(partition, _)| *partition).collect()
    }

    /// Returns the number of waiting partitions.
    pub(in crate::upkeep) fn len(&self) -> usize {
        self.inner.lock().waiting.len()
    }

    /// Returns whether nothing is waiting or to be retried.
    pub(in crate::upkeep) fn is_settled(&self) -> bool {
        let inner = self.inner.lock();
        inner.waiting.is_empty() && inner.open.is_empty()
    }

    /// Records that a partition was repaired. Returns the volumes for which it was the last one.
    /// For a volume being rebuilt only work started for it counts: other work may have looked at
    /// the volume before it was found empty.
    pub(in crate::upkeep) fn done(&self, partition: Partition, urgency: Urgency) -> Vec<VolumeId> {
        let mut inner = self.inner.lock();
        if inner.open.get(&partition).is_some_and(|open| *open <= urgency) {
            inner.open.remove(&partition);
        }
        if urgency != Urgency::ByMe {
            return Vec::new();
        }
        let mut ready = Vec::new();
        for (volume, waits) in &mut inner.rebuilding {
            if waits.remove(&partition) && waits.is_empty() {
                ready.push(volume.clone());
            }
        }
        for volume in &ready {
            inner.rebuilding.remove(volume);
        }
        ready
    }

    /// Records that a partition could not be repaired yet.
    pub(in crate::upkeep) fn again(&self, partition: Partition, urgency: Urgency) {
        let mut inner = self.inner.lock();
        let open = inner.open.entry(partition).or_insert(urgency);
        *open = (*open).max(urgency);
    }

    /// Moves failed partitions back to the waiting ones.
    pub(in crate::upkeep) fn retry(&self) {
        let open = std::mem::take(&mut self.inner.lock().open);
        for (partition, urgency) in open {
            self.add([partition], urgency);
        }
    }

    /// Waits until something is added. Returns at once if something was added since the last call.
    pub(in crate::upkeep) async fn arrival(&self) {
        self.arrived.notified().await;
    }
}
