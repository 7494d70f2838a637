//! Statistics of a stage, counted with a few relaxed additions per item.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

pub(crate) struct StageStats {
    pub(crate) name: &'static str,
    pub(crate) threads: usize,
    arrived: AtomicU64,
    started: AtomicU64,
    done: AtomicU64,
    busy_ns: AtomicU64,
    /// Number of handler calls.
    calls: AtomicU64,
    /// Number of calls with more than one item.
    batches: AtomicU64,
    /// Number of items in those calls.
    batched: AtomicU64,
}

impl StageStats {
    pub(crate) fn new(name: &'static str, threads: usize) -> StageStats {
        let zero = || AtomicU64::new(0);
        StageStats {
            name,
            threads,
            arrived: zero(),
            started: zero(),
            done: zero(),
            busy_ns: zero(),
            calls: zero(),
            batches: zero(),
            batched: zero(),
        }
    }

    pub(crate) fn arrive(&self, items: u64) {
        self.arrived.fetch_add(items, Relaxed);
    }

    pub(crate) fn start(&self, items: u64) {
        self.started.fetch_add(items, Relaxed);
    }

    /// `busy` is the time in the handler, without the time it waited for room in the next queue.
    pub(crate) fn finish(&self, items: u64, busy: Duration) {
        self.done.fetch_add(items, Relaxed);
        self.busy_ns.fetch_add(busy.as_nanos() as u64, Relaxed);
        self.calls.fetch_add(1, Relaxed);
        if items > 1 {
            self.batches.fetch_add(1, Relaxed);
            self.batched.fetch_add(items, Relaxed);
        }
    }

    pub(crate) fn report(&self) -> StageReport {
        // The later counters are read first: an item passes arrived, started, done in this order,
        // so the differences are not negative, apart from a race that `saturating_sub` covers.
        let done = self.done.load(Relaxed);
        let started = self.started.load(Relaxed);
        let total = self.arrived.load(Relaxed);
        let busy_ns = self.busy_ns.load(Relaxed);
        let calls = self.calls.load(Relaxed);
        StageReport {
            name: self.name,
            threads: self.threads,
            waiting: total.saturating_sub(started),
            running: started.saturating_sub(done),
            done,
            total,
            ms_per_item: ratio(busy_ns as f64 / 1e6, done),
            batched_share: ratio(self.batched.load(Relaxed) as f64, done),
            batch_mean: ratio(done as f64, calls),
        }
    }
}

fn ratio(sum: f64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum / count as f64 }
}

/// The state of a stage at one moment. Items are counted by [`crate::Item::count`].
#[derive(Debug, Clone, PartialEq)]
pub struct StageReport {
    /// Name of the stage.
    pub name: &'static str,
    /// Number of its threads.
    pub threads: usize,
    /// Items in its queue.
    pub waiting: u64,
    /// Items being handled.
    pub running: u64,
    /// Items handled.
    pub done: u64,
    /// Items that ever arrived: `waiting + running + done`.
    pub total: u64,
    /// Mean time in the handler per item, in milliseconds, without waiting for room in the next
    /// queue.
    pub ms_per_item: f64,
    /// Share of the items handled in calls with several items, 0 to 1.
    pub batched_share: f64,
    /// Mean number of items per handler call.
    pub batch_mean: f64,
}

/// Formats the reports as a table with one line per stage.
pub fn table(reports: &[StageReport]) -> String {
    let mut out = String::from(
        "stage        threads    waiting   running         done        total   ms/item  batched  mean batch\n",
    );
    for r in reports {
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "{:<12} {:>7} {:>10} {:>9} {:>12} {:>12} {:>9.3} {:>7.0}% {:>11.1}",
            r.name,
            r.threads,
            r.waiting,
            r.running,
            r.done,
            r.total,
            r.ms_per_item,
            r.batched_share * 100.0,
            r.batch_mean
        );
    }
    out
}
