//! One request and its response: counters, the access log's entry, and limits that were exceeded.
//!
//! It is stored in the request's extensions. The connection creates it, the access check adds the
//! operation and the sender, and the bodies count bytes. When the last reference is dropped, after
//! the response's body was sent or dropped, it is reported to the metrics and the access log.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use listen::Connection;
use listen::RequestInProgress;
use metrics::Operations;
use parking_lot::Mutex;
use store::{Counters, InFlight};

use crate::log::{Entry, Log};

mod body_state;

use body_state::BodyState;

/// Operation of a request that was refused before its operation was known.
const UNKNOWN: &str = "Unknown";

/// A request in progress.
pub(crate) struct Exchange {
    requests: Arc<Operations>,
    log: Option<Log>,
    connection: Arc<Connection>,
    /// Prevents the connection from being closed as idle.
    _under_way: RequestInProgress,
    /// Counts the request as load, so that the node's workers wait.
    _in_flight: Option<InFlight>,
    begun: Instant,
    operation: Mutex<String>,
    /// The line for the access log.
    entry: Mutex<Entry>,
    status: AtomicU64,
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
    timed_out: AtomicBool,
    too_large: AtomicBool,
    /// The request's body.
    pub(crate) body: BodyState,
}

impl Exchange {
    /// Begins a request, which counts as load of `node`.
    pub(crate) fn begin(
        requests: Arc<Operations>,
        node: Option<&Arc<Counters>>,
        log: Option<Log>,
        connection: Arc<Connection>,
        entry: Entry,
    ) -> Arc<Self> {
        Arc::new(Self {
            requests,
            log,
            _under_way: connection.begin(),
            connection,
            _in_flight: node.map(Counters::track_in_flight),
            begun: system::now(),
            operation: Mutex::new(UNKNOWN.to_owned()),
            entry: Mutex::new(entry),
            status: AtomicU64::new(0),
            bytes_in: AtomicU64::new(0),
            bytes_out: AtomicU64::new(0),
            timed_out: AtomicBool::new(false),
            too_large: AtomicBool::new(false),
            body: BodyState::default(),
        })
    }

    /// Sets the operation.
    pub(crate) fn name(&self, operation: &str) {
        operation.clone_into(&mut self.operation.lock());
    }

    /// Records that the request's signature is valid.
    pub(crate) fn trust(&self) {
        self.connection.trust();
    }

    /// Changes the entry of the access log.
    pub(crate) fn note(&self, note: impl FnOnce(&mut Entry)) {
        if self.log.is_some() {
            note(&mut self.entry.lock());
        }
    }

    /// Records the response's status, and the time until its head.
    pub(crate) fn answer(&self, status: u16) {
        self.status.store(u64::from(status), Ordering::Relaxed);
        self.note(|entry| entry.turnaround_ms = millis(self.begun));
    }

    /// Counts received bytes of the request's body.
    pub(crate) fn received(&self, bytes: usize) {
        self.bytes_in.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Reports whether any byte of the request's body was received.
    pub(crate) fn has_received(&self) -> bool {
        self.bytes_in.load(Ordering::Relaxed) > 0
    }

    /// Counts sent bytes of the response's body.
    pub(crate) fn sent(&self, bytes: usize) {
        self.bytes_out.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Records that the client sent nothing for too long within its body.
    pub(crate) fn set_timed_out(&self) {
        self.timed_out.store(true, Ordering::Relaxed);
    }

    /// Records that the client's body is longer than allowed.
    pub(crate) fn set_too_large(&self) {
        self.too_large.store(true, Ordering::Relaxed);
    }

    /// Reports whether the client sent nothing for too long.
    pub(crate) fn timed_out(&self) -> bool {
        self.timed_out.load(Ordering::Relaxed)
    }

    /// Reports whether the client's body was longer than allowed.
    pub(crate) fn too_large(&self) -> bool {
        self.too_large.load(Ordering::Relaxed)
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let operation = std::mem::take(self.operation.get_mut());
        let status = self.status.load(Ordering::Relaxed);
        let (bytes_in, bytes_out) = (
            self.bytes_in.load(Ordering::Relaxed),
            self.bytes_out.load(Ordering::Relaxed),
        );
        let counters = self.requests.operation(&operation);
        counters.received(bytes_in);
        counters.sent(bytes_out);
        // 4xx is the client's fault. 0 means that the client disconnected before a response was
        // made.
        counters.count_request(system::since(self.begun), status >= 500);
        if let Some(log) = &self.log {
            let mut entry = std::mem::take(self.entry.get_mut());
            entry.operation = operation;
            entry.status = u16::try_from(status).unwrap_or_default();
            (entry.bytes_received, entry.bytes_sent) = (bytes_in, bytes_out);
            entry.total_ms = millis(self.begun);
            log.write(entry);
        }
    }
}

fn millis(since: Instant) -> u64 {
    u64::try_from(system::since(since).as_millis()).unwrap_or(u64::MAX)
}
