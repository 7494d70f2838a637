//! Tests of the repair queue and of the pending partitions.

use std::collections::BTreeSet;
use std::time::Duration;

use store_protocol::Partition;

use super::world::key;
use crate::upkeep::RepairQueue;
use crate::upkeep::workers::pending::{Pending, Urgency};

#[test]
fn a_key_waits_once_and_what_does_not_fit_is_remembered_by_partition() {
    let queue = RepairQueue::new(2, Duration::ZERO, Duration::ZERO);
    queue.push(&key(1));
    queue.push(&key(1));
    assert_eq!(queue.len(), 1);
    queue.push(&key(2));
    queue.push(&key(3));
    assert_eq!(queue.len(), 2);
    assert_eq!(queue.take_overflow(), BTreeSet::from([key(3).partition()]));
    assert_eq!(queue.take_overflow(), BTreeSet::new());
}

#[test]
fn a_repair_that_failed_is_tried_again_after_growing_waits() {
    let hour = Duration::from_hours(1);
    let queue = RepairQueue::new(10, hour, hour * 3);
    queue.push(&key(1));
    let mut waits = Vec::new();
    for _ in 0..4 {
        let taken = queue.take().unwrap_or_else(|_| key(1));
        assert_eq!(taken, key(1));
        queue.again(&key(1));
        let wait = queue
            .take()
            .expect_err("the key is not due")
            .expect("a key is waiting");
        waits.push(wait.as_secs_f64() / 3600.0);
        queue.due_now();
    }
    let rounded: Vec<_> = waits.iter().map(|wait| wait.round() as u64).collect();
    assert_eq!(rounded, [1, 2, 3, 3]);
}

#[test]
fn damage_met_again_during_a_repair_is_repaired_again() {
    let queue = RepairQueue::new(10, Duration::ZERO, Duration::ZERO);
    queue.push(&key(1));
    assert_eq!(queue.take(), Ok(key(1)));
    queue.push(&key(1));
    queue.done(&key(1));
    assert_eq!(queue.take(), Ok(key(1)));
    queue.done(&key(1));
    assert!(queue.is_empty());
}

#[test]
fn urgent_partitions_go_first_and_a_volume_is_ready_after_its_last() {
    let pending = Pending::default();
    let partitions = |of: &[u16]| of.iter().map(|number| Partition(*number)).collect::<Vec<_>>();
    pending.add(partitions(&[1, 2, 3]), Urgency::Routine);
    pending.add(partitions(&[3]), Urgency::AtOnce);
    let volume = "a/v".to_owned().into();
    pending.rebuild(&volume, partitions(&[2, 9]).into_iter().collect());
    assert_eq!(pending.take(9), (Urgency::ByMe, partitions(&[2, 9])));
    assert_eq!(pending.take(9), (Urgency::AtOnce, partitions(&[3])));
    assert_eq!(pending.take(9), (Urgency::Routine, partitions(&[1])));
    assert!(pending.done(Partition(2), Urgency::ByMe).is_empty());
    pending.again(Partition(9), Urgency::ByMe);
    assert!(!pending.is_settled());
    pending.retry();
    assert_eq!(pending.take(9), (Urgency::ByMe, partitions(&[9])));
    pending.again(Partition(9), Urgency::ByMe);
    pending.again(Partition(9), Urgency::Routine);
    assert!(
        pending.done(Partition(9), Urgency::Routine).is_empty(),
        "the pass may have read the volume before the wipe"
    );
    pending.retry();
    assert_eq!(pending.take_routine(9), []);
    assert_eq!(pending.take(9), (Urgency::ByMe, partitions(&[9])));
    assert_eq!(pending.done(Partition(9), Urgency::ByMe), [volume]);
    assert!(pending.is_settled());
}
