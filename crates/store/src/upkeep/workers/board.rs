//! A board on which a worker shows its current work and its failures.
//!
//! Invariant: a failure is shown only while it lasts. A later success removes it.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use parking_lot::Mutex;
use store_protocol::{Key, Partition, WorkerState, WorkerStatus};

use crate::upkeep::gate::Wait;

/// Most failures remembered; the oldest are forgotten first.
const FAILURES_MAX: usize = 100;

/// One worker's board. Cheap to clone.
#[derive(Clone)]
pub(super) struct Board {
    status: Arc<Mutex<WorkerStatus>>,
    failures: Arc<Mutex<Failures>>,
}

/// What a failure is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FailureSubject {
    /// One object.
    Key(Key),
    /// One partition.
    Partition(Partition),
    /// A worker's pass as a whole.
    Pass,
    /// Saving a worker's result.
    Saving,
}

/// Current failures, with the order in which they began.
#[derive(Default)]
struct Failures {
    began: u64,
    open: BTreeMap<FailureSubject, (u64, String)>,
}

impl Failures {
    fn latest(&self) -> String {
        let latest = self.open.values().max_by_key(|(began, _)| *began);
        latest.map(|(_, why)| why.clone()).unwrap_or_default()
    }
}

impl Board {
    pub(super) fn new(name: &str) -> Self {
        let status = WorkerStatus {
            name: name.to_owned(),
            ..WorkerStatus::default()
        };
        Self {
            status: Arc::new(Mutex::new(status)),
            failures: Arc::default(),
        }
    }

    pub(super) fn update(&self, change: impl FnOnce(&mut WorkerStatus)) {
        change(&mut self.status.lock());
    }

    pub(super) fn idle(&self) {
        self.update(|status| status.state = WorkerState::Idle);
    }

    pub(super) fn busy(&self) {
        self.update(|status| status.state = WorkerState::Busy);
    }

    pub(super) fn is_busy(&self) -> bool {
        self.status.lock().state == WorkerState::Busy
    }

    /// Records the start of a pass.
    pub(super) fn begin(&self, total: Option<u64>) {
        self.update(|status| {
            status.state = WorkerState::Busy;
            status.done = 0;
            status.total = total;
        });
    }

    /// Records the end of a whole pass. Returns the time in milliseconds since 1970.
    pub(super) fn end(&self) -> u64 {
        let ended_ms = system::wall_ms();
        self.update(|status| {
            status.state = WorkerState::Idle;
            status.last_pass_ms = Some(ended_ms);
        });
        ended_ms
    }

    /// Records a failure.
    pub(super) fn failed(&self, about: FailureSubject, why: &dyn Display) {
        let mut failures = self.failures.lock();
        failures.began += 1;
        let failure = (failures.began, why.to_string());
        failures.open.insert(about, failure);
        while failures.open.len() > FAILURES_MAX {
            let oldest = failures.open.iter().min_by_key(|(_, (began, _))| *began);
            let Some(oldest) = oldest.map(|(about, _)| about.clone()) else {
                break;
            };
            failures.open.remove(&oldest);
        }
        self.update(|status| status.last_error = failures.latest());
    }

    /// Removes failures that have been resolved or no longer matter.
    pub(super) fn clear(&self, is_over: impl Fn(&FailureSubject) -> bool) {
        let mut failures = self.failures.lock();
        failures.open.retain(|about, _| !is_over(about));
        self.update(|status| status.last_error = failures.latest());
    }

    /// Records a result: a failure, or the end of one.
    pub(super) fn ended<E: Display>(&self, about: FailureSubject, result: Result<(), E>) {
        match result {
            Ok(()) => self.clear(|over| *over == about),
            Err(error) => self.failed(about, &error),
        }
    }

    /// Returns the status, with the reason if the worker is waiting.
    pub(super) fn status(&self, wait: Option<Wait>) -> WorkerStatus {
        let mut status = self.status.lock().clone();
        let waits = status.state == WorkerState::Busy
            && (status.name == "reconcile" || status.name.starts_with("scrub"));
        if let (true, Some(wait)) = (waits, wait) {
            let why = match wait {
                Wait::Paused => "on request",
                Wait::Busy => "the node is busy",
            };
            status.state = WorkerState::Paused(why.to_owned());
        }
        status
    }
}
