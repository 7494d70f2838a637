//! One request and its answer: what is counted of it, and what cut it short.
//!
//! It travels in the request's extensions: the connection makes it, the access check names the operation, the bodies
//! count into it. When the last holder lets go - the answer's body has been sent or given up - the metrics get it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;

use store::node::{Counters, InFlight};

use crate::metrics::Metrics;

/// Operation of a request that was refused before it was known.
const UNKNOWN: &str = "Unknown";

/// A request under way.
pub(crate) struct Exchange {
    metrics: Arc<Metrics>,
    _in_flight: Option<InFlight>,
    begun: Instant,
    operation: Mutex<String>,
    status: AtomicU64,
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
    timed_out: AtomicBool,
    too_large: AtomicBool,
}

impl Exchange {
    /// A request that begins now; `node` makes way for it.
    pub(crate) fn begin(metrics: Arc<Metrics>, node: Option<&Arc<Counters>>) -> Arc<Self> {
        Arc::new(Self {
            metrics,
            _in_flight: node.map(Counters::in_flight_now),
            begun: Instant::now(),
            operation: Mutex::new(UNKNOWN.to_owned()),
            status: AtomicU64::new(0),
            bytes_in: AtomicU64::new(0),
            bytes_out: AtomicU64::new(0),
            timed_out: AtomicBool::new(false),
            too_large: AtomicBool::new(false),
        })
    }

    /// The operation is known.
    pub(crate) fn name(&self, operation: &str) {
        operation.clone_into(&mut self.operation.lock());
    }

    /// The answer's status is known.
    pub(crate) fn answer(&self, status: u16) {
        self.status.store(u64::from(status), Ordering::Relaxed);
    }

    /// Bytes of the request's body came in.
    pub(crate) fn received(&self, bytes: usize) {
        self.bytes_in.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Whether any byte of the request's body came in.
    pub(crate) fn has_received(&self) -> bool {
        self.bytes_in.load(Ordering::Relaxed) > 0
    }

    /// Bytes of the answer's body went out.
    pub(crate) fn sent(&self, bytes: usize) {
        self.bytes_out.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// The client was silent for too long in the middle of its body.
    pub(crate) fn set_timed_out(&self) {
        self.timed_out.store(true, Ordering::Relaxed);
    }

    /// The client's body is longer than allowed.
    pub(crate) fn set_too_large(&self) {
        self.too_large.store(true, Ordering::Relaxed);
    }

    /// Whether the client was silent for too long.
    pub(crate) fn timed_out(&self) -> bool {
        self.timed_out.load(Ordering::Relaxed)
    }

    /// Whether the client's body was longer than allowed.
    pub(crate) fn too_large(&self) -> bool {
        self.too_large.load(Ordering::Relaxed)
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.metrics.count(
            &self.operation.lock(),
            self.status.load(Ordering::Relaxed),
            self.bytes_in.load(Ordering::Relaxed),
            self.bytes_out.load(Ordering::Relaxed),
            self.begun.elapsed(),
        );
    }
}
