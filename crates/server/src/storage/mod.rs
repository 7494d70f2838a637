//! The replicated store beside the archive: how the pages, the API and the metrics learn about its state.
//!
//! The server knows a store only through its reports ([`Storage`]): it reads no object and writes none.
//! Invariants: at most one report is made at a time, and none is requested again within [`REPORT_AGE_MAX`],
//! however many clients ask.

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
pub(crate) use metrics::{write, write_s3};

/// Every client that asks within this time gets the same report.
const REPORT_AGE_MAX: Duration = Duration::from_secs(1);

/// The counts of an S3 face or gateway since its start: requests by operation, and connections.
pub type FaceCounts = Arc<dyn Fn() -> (Vec<store::RequestCount>, ConnectionCount) + Send + Sync>;

/// A source of reports about a store.
#[async_trait]
pub trait Storage: Send + Sync + 'static {
    /// The state of the store now. It takes seconds at most. Nodes that do not answer are reported as such.
    async fn report(&self) -> StoreReport;
}

/// An attached store and its recent history.
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

    /// A report of now, or one that is at most [`REPORT_AGE_MAX`] old.
    pub(crate) async fn report(&self) -> Arc<StoreReport> {
        // Held while the nodes are asked: whoever comes meanwhile waits for this report and makes no second
        // one.
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
        // A report may take longer than an interval. The next one then comes a whole interval later, because
        // nodes that are slow must not be asked without a pause.
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let report = self.report().await;
            self.history.add(system::now(), &report);
        }
    }
}
