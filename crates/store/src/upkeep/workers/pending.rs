//! Partitions waiting to be reconciled, and volumes waiting for all of theirs.

use std::collections::{BTreeMap, BTreeSet};

use contract::{Partition, VolumeId};
use parking_lot::Mutex;
use tokio::sync::Notify;

/// How soon a partition is to be reconciled. The later is the more urgent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::upkeep) enum Urgency {
    /// In the course of things: waits while the node is busy.
    Routine,
    /// Replicas are probably missing: waits for nothing.
    AtOnce,
    /// The same, and by this node whoever else looks after the partition: a volume of its own is being rebuilt.
    ByMe,
}

/// What is to be done. Bounded by the number of partitions and volumes.
#[derive(Debug, Default)]
pub(in crate::upkeep) struct Pending {
    inner: Mutex<Inner>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    waiting: BTreeMap<Partition, Urgency>,
    /// Not put right the last time; to be tried again later.
    open: BTreeMap<Partition, Urgency>,
    /// Partitions that volumes being rebuilt still wait for.
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

    /// A volume is being rebuilt: all its partitions are to be reconciled. Nothing if it is known already.
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

    /// A new layout: which partitions a volume waits for is no longer true.
    pub(in crate::upkeep) fn forget_rebuilding(&self) {
        self.inner.lock().rebuilding.clear();
    }

    /// The most urgent partitions, at most so many, all of one urgency.
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

    /// The next partitions, at most so many, unless something more urgent waits.
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

    /// All partitions that wait in the course of things, in order.
    pub(in crate::upkeep) fn routine(&self) -> Vec<Partition> {
        let inner = self.inner.lock();
        let routine = inner.waiting.iter().filter(|entry| *entry.1 == Urgency::Routine);
        routine.map(|(partition, _)| *partition).collect()
    }

    /// How many wait.
    pub(in crate::upkeep) fn len(&self) -> usize {
        self.inner.lock().waiting.len()
    }

    /// Whether nothing waits, nor is to be tried again.
    pub(in crate::upkeep) fn is_settled(&self) -> bool {
        let inner = self.inner.lock();
        inner.waiting.is_empty() && inner.open.is_empty()
    }

    /// A partition is put right. Answers the volumes that waited for it last. Volumes being rebuilt wait for what was begun
    /// for their sake: anything else may have seen them before they were found empty.
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

    /// A partition could not be put right yet.
    pub(in crate::upkeep) fn again(&self, partition: Partition, urgency: Urgency) {
        let mut inner = self.inner.lock();
        let open = inner.open.entry(partition).or_insert(urgency);
        *open = (*open).max(urgency);
    }

    /// Puts what could not be put right among the waiting again.
    pub(in crate::upkeep) fn retry(&self) {
        let open = std::mem::take(&mut self.inner.lock().open);
        for (partition, urgency) in open {
            self.add([partition], urgency);
        }
    }

    /// Returns when something was added, now or since the last time.
    pub(in crate::upkeep) async fn arrival(&self) {
        self.arrived.notified().await;
    }
}
