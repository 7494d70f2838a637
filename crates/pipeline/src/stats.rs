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

    pub(crate) fn report(&self) -> StageRow {
        // The later counters are read first: an item passes arrived, started, done in this order,
        // so the differences are not negative, apart from a race that `saturating_sub` covers.
        let done = self.done.load(Relaxed);
        let started = self.started.load(Relaxed);
        let total = self.arrived.load(Relaxed);
        let busy_ns = self.busy_ns.load(Relaxed);
        let calls = self.calls.load(Relaxed);
        StageRow {
            stage: self.name.to_owned(),
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

/// Statistics of one stage of loading.
// Items are counted by [`crate::Item::count`].
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
pub struct StageRow {
    /// Name of the stage: `digest`, `register`, `read`, `extract`, `weave` or `search`.
    // Scans of files have other stages.
    #[cfg_attr(feature = "schema", schemars(example = &"read"))]
    pub stage: String,
    /// Number of threads of the stage.
    pub threads: usize,
    /// Number of items in the stage's queue.
    pub waiting: u64,
    /// Number of items that the stage is working on.
    pub running: u64,
    /// Number of items that have passed the stage.
    pub done: u64,
    /// Number of items that have entered the stage's queue.
    pub total: u64,
    /// Mean time that the stage spends on an item, in milliseconds.
    // Without waiting for room in the next queue.
    pub ms_per_item: f64,
    /// Share of items that the stage handled in batches, from 0 to 1.
    pub batched_share: f64,
    /// Mean number of items per batch.
    pub batch_mean: f64,
}

/// Formats the reports as a table with one line per stage.
pub fn table(reports: &[StageRow]) -> String {
    let mut out = String::from(
        "stage        threads    waiting   running         done        total   ms/item  batched  mean batch\n",
    );
    for r in reports {
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "{:<12} {:>7} {:>10} {:>9} {:>12} {:>12} {:>9.3} {:>7.0}% {:>11.1}",
            r.stage,
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
