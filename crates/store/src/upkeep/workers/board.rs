//! Where a worker writes what it is doing.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::upkeep::WorkerStatus;
use crate::upkeep::gate::Wait;
use crate::upkeep::time::now_ms;

const IDLE: &str = "idle";
const BUSY: &str = "busy";

/// One worker's board. Cheap to clone.
#[derive(Clone)]
pub(super) struct Board {
    status: Arc<Mutex<WorkerStatus>>,
}

impl Board {
    pub(super) fn new(name: &str) -> Self {
        let status = WorkerStatus {
            name: name.to_owned(),
            state: IDLE.to_owned(),
            ..WorkerStatus::default()
        };
        Self {
            status: Arc::new(Mutex::new(status)),
        }
    }

    pub(super) fn update(&self, change: impl FnOnce(&mut WorkerStatus)) {
        change(&mut self.status.lock());
    }

    pub(super) fn idle(&self) {
        self.update(|status| status.state = IDLE.to_owned());
    }

    pub(super) fn busy(&self) {
        self.update(|status| status.state = BUSY.to_owned());
    }

    pub(super) fn is_busy(&self) -> bool {
        self.status.lock().state == BUSY
    }

    /// A pass begins.
    pub(super) fn begin(&self, total: Option<u64>) {
        self.update(|status| {
            status.state = BUSY.to_owned();
            status.done = 0;
            status.total = total;
        });
    }

    /// A whole pass ended.
    pub(super) fn end(&self) {
        self.update(|status| {
            status.state = IDLE.to_owned();
            status.last_pass_ms = Some(now_ms());
        });
    }

    pub(super) fn error(&self, error: &dyn std::fmt::Display) {
        self.update(|status| status.last_error = error.to_string());
    }

    /// The status, with the reason why work stands still if it does.
    pub(super) fn status(&self, wait: Option<Wait>) -> WorkerStatus {
        let mut status = self.status.lock().clone();
        let waits = status.state == BUSY && (status.name == "reconcile" || status.name.starts_with("scrub"));
        if let (true, Some(wait)) = (waits, wait) {
            status.state = match wait {
                Wait::Paused => "paused: on request".to_owned(),
                Wait::Busy => "paused: the node is busy".to_owned(),
            };
        }
        status
    }
}
