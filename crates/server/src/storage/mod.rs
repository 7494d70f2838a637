//! The attached replicated store: how the pages, the API and the metrics learn about its state.
//!
//! The server accesses a store only through reports ([`Storage`]): it reads no object and writes
//! none. Invariants: at most one report is made at a time, and none is requested again within
//! [`REPORT_AGE_MAX`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;

mod gather;
mod history;
mod report;
mod troubles;

pub use gather::gather;
pub use report::{ConnectionCount, NodeReport, StoreReport, VolumeCondition, VolumeReport};

pub(crate) use history::{History, Point, Rate};

/// Maximum age of a cached report.
const REPORT_AGE_MAX: Duration = Duration::from_secs(1);

/// Counters of an S3 server or gateway since its start: requests by operation, and connections.
pub type FaceCounts = Arc<dyn Fn() -> (Vec<store::RequestCount>, ConnectionCount) + Send + Sync>;

/// A source of reports about a store.
#[async_trait]
pub trait Storage: Send + Sync + 'static {
    /// Returns the current state of the store, within seconds. Nodes that do not answer are
    /// reported as unreachable.
    async fn report(&self) -> StoreReport;
}

/// An attached store and its recent history.
pub(crate) struct StoreMonitor {
    source: Arc<dyn Storage>,
    last: tokio::sync::Mutex<Option<(Instant, Arc<StoreReport>)>>,
    /// Rates of the last minutes.
    pub(crate) history: History,
}

impl StoreMonitor {
    pub(crate) fn new(source: Arc<dyn Storage>) -> StoreMonitor {
        StoreMonitor {
            source,
            last: tokio::sync::Mutex::new(None),
            history: History::new(),
        }
    }

    /// Returns a report that is at most [`REPORT_AGE_MAX`] old.
    pub(crate) async fn report(&self) -> Arc<StoreReport> {
        // Held while the nodes are asked, so concurrent callers wait for this report and do not
        // start a second one.
        let mut last = self.last.lock().await;
        if let Some((at, report)) = last.as_ref()
            && system::since(*at) < REPORT_AGE_MAX
        {
            return Arc::clone(report);
        }
        let report = Arc::new(self.source.report().await);
        *last = Some((system::now(), Arc::clone(&report)));
        report
    }

    /// Takes a sample every `interval`, until the task is aborted.
    pub(crate) async fn sample_forever(&self, interval: Duration) {
        let mut ticks = tokio::time::interval(interval.max(Duration::from_millis(100)));
        // A report may take longer than an interval. The next one then starts a whole interval
        // later, because slow nodes must not be asked without a pause.
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let report = self.report().await;
            self.history.add(system::now(), &report);
        }
    }
}
