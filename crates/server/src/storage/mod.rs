//! The replicated store beside the archive: how the pages, the API and the metrics learn how it is doing.
//!
//! The server knows a store by its reports ([`Storage`]) and by nothing else: it reads no object and writes none.
//! Invariants: at most one report is being put together at a time, and none is asked for again within
//! [`REPORT_AGE_MAX`], whoever looks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;

mod gather;
mod history;
mod metrics;
mod report;
mod troubles;

pub use gather::gather;
pub use report::{ConnectionCount, NodeReport, StoreReport, VolumeCondition, VolumeReport};

pub(crate) use history::{History, Point, Rate};
pub(crate) use metrics::write;

/// A report is shown to everybody who asks within this time.
const REPORT_AGE_MAX: Duration = Duration::from_secs(1);

/// Something that can say how a store is doing.
#[async_trait]
pub trait Storage: Send + Sync + 'static {
    /// How it is doing now. Nodes that do not answer are in it as such; it takes seconds at most.
    async fn report(&self) -> StoreReport;
}

/// An attached store, watched.
pub(crate) struct Watch {
    source: Arc<dyn Storage>,
    last: tokio::sync::Mutex<Option<(Instant, Arc<StoreReport>)>>,
    /// Rates of the last minutes.
    pub(crate) history: History,
}

impl Watch {
    pub(crate) fn new(source: Arc<dyn Storage>) -> Watch {
        Watch {
            source,
            last: tokio::sync::Mutex::new(None),
            history: History::new(),
        }
    }

    /// The report of now, or one that is hardly older.
    pub(crate) async fn report(&self) -> Arc<StoreReport> {
        let mut last = self.last.lock().await;
        if let Some((at, report)) = last.as_ref()
            && at.elapsed() < REPORT_AGE_MAX
        {
            return Arc::clone(report);
        }
        let report = Arc::new(self.source.report().await);
        *last = Some((Instant::now(), Arc::clone(&report)));
        report
    }

    /// Takes a sample every interval, until the task is aborted.
    pub(crate) async fn sample_forever(&self, interval: Duration) {
        let mut ticks = tokio::time::interval(interval.max(Duration::from_millis(100)));
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let report = self.report().await;
            self.history.add(Instant::now(), &report);
        }
    }
}
