//! The last minutes of the archive's work, for the statistics charts.
//!
//! Rates are computed from the counters of each load. So pages that were crawled again count too,
//! and a load that begins or is forgotten causes no jump. At most [`POINTS_MAX`] points are kept.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use archive::question::{JobBody, Jobs, StageRow, Stages, Status};

use crate::archive_client::ArchiveClient;
use crate::counters::Counters;

/// Maximum number of points kept: ten minutes at the default interval.
pub(crate) const POINTS_MAX: usize = 300;

/// Values at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Point {
    pub(crate) pages_per_s: f64,
    pub(crate) links_per_s: f64,
    pub(crate) epochs_per_s: f64,
    /// Items that wait for a stage or are being processed.
    pub(crate) in_flight: u64,
    pub(crate) memory_bytes: u64,
    /// Requests answered per second.
    pub(crate) requests_per_s: f64,
}

/// Counters of one load.
#[derive(Debug, Clone, Copy, Default)]
struct LoadCounters {
    pages: u64,
    links: u64,
    epochs: u64,
}

impl LoadCounters {
    fn of(job: &JobBody) -> LoadCounters {
        LoadCounters {
            pages: job.pages,
            links: job.links,
            epochs: job.epochs,
        }
    }
}

/// The points, oldest first.
pub(crate) struct History(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    points: VecDeque<Point>,
    last: Option<Reading>,
}

/// Values of the last sample.
struct Reading {
    at: Instant,
    /// Counters by the load's number.
    counts: BTreeMap<u64, LoadCounters>,
    requests: u64,
}

impl Reading {
    /// Returns the seconds from the sample to `now`. Never 0, because rates are divided by it.
    fn seconds_to(&self, now: Instant) -> f64 {
        now.saturating_duration_since(self.at).as_secs_f64().max(0.001)
    }
}

impl History {
    pub(crate) fn new() -> History {
        History(Mutex::default())
    }

    /// Returns the points so far, oldest first.
    pub(crate) fn points(&self) -> Vec<Point> {
        self.lock().points.iter().copied().collect()
    }

    /// Takes a sample every `interval`, until the task is aborted.
    pub(crate) async fn sample_forever(
        &self,
        archive: &ArchiveClient,
        counters: &Counters,
        interval: Duration,
    ) {
        let mut ticks = tokio::time::interval(interval.max(Duration::from_millis(100)));
        // Points must be an interval apart: after a pause, missed samples are not made up for in a
        // burst.
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        loop {
            ticks.tick().await;
            self.sample(archive, counters).await;
        }
    }

    async fn sample(&self, archive: &ArchiveClient, counters: &Counters) {
        // If the archive does not answer, this sample is skipped.
        let asked = archive.ask_together(|together| {
            (
                together.ask(Status {}),
                together.ask(Jobs {}),
                together.ask(Stages {}),
            )
        });
        if let Ok((Ok(status), Ok(jobs), Ok(stages))) = asked.await {
            let requests = counters.answered_total();
            let (jobs, stages) = (&jobs.body.rows, &stages.body.stages);
            self.add(system::now(), jobs, stages, status.body.memory_bytes, requests);
        }
    }

    fn add(&self, now: Instant, jobs: &[JobBody], stages: &[StageRow], memory_bytes: u64, requests: u64) {
        let mut inner = self.lock();
        let counts: BTreeMap<u64, LoadCounters> =
            jobs.iter().map(|job| (job.id, LoadCounters::of(job))).collect();
        let mut point = Point {
            in_flight: stages.iter().map(|stage| stage.waiting + stage.running).sum(),
            memory_bytes,
            ..Point::default()
        };
        if let Some(last) = &inner.last {
            rates(&mut point, last, &counts, now);
            point.requests_per_s = requests.saturating_sub(last.requests) as f64 / last.seconds_to(now);
        }
        inner.last = Some(Reading {
            at: now,
            counts,
            requests,
        });
        if inner.points.len() == POINTS_MAX {
            inner.points.pop_front();
        }
        inner.points.push_back(point);
    }

    /// Locks the points. A poisoned lock only means that a point may be missing.
    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

fn rates(point: &mut Point, last: &Reading, counts: &BTreeMap<u64, LoadCounters>, now: Instant) {
    let seconds = last.seconds_to(now);
    for (id, counts) in counts {
        // A load that began since the last sample counts from 0.
        let was = last.counts.get(id).copied().unwrap_or_default();
        point.pages_per_s += counts.pages.saturating_sub(was.pages) as f64 / seconds;
        point.links_per_s += counts.links.saturating_sub(was.links) as f64 / seconds;
        point.epochs_per_s += counts.epochs.saturating_sub(was.epochs) as f64 / seconds;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(id: u64, pages: u64) -> JobBody {
        JobBody {
            id,
            pages,
            links: pages * 10,
            epochs: pages / 10,
            ..JobBody::default()
        }
    }

    #[test]
    fn rates_add_up_over_loads_and_never_jump() {
        let history = History::new();
        let begun = Instant::now();
        let second = |n: u64| begun + Duration::from_secs(n);
        history.add(second(0), &[job(1, 1000)], &[], 7, 0);
        history.add(second(2), &[job(1, 1200), job(2, 100)], &[], 7, 0);
        history.add(second(3), &[job(2, 150)], &[], 7, 0);
        let pages: Vec<f64> = history.points().iter().map(|p| p.pages_per_s).collect();
        assert_eq!(pages, [0.0, 150.0, 50.0]);
        assert_eq!(history.points()[1].links_per_s, 1500.0);
        assert_eq!(history.points()[1].epochs_per_s, 15.0);
    }

    #[test]
    fn only_the_last_points_are_kept() {
        let history = History::new();
        let stage = StageRow {
            waiting: 2,
            running: 1,
            ..StageRow::default()
        };
        for n in 0..POINTS_MAX as u64 + 5 {
            history.add(Instant::now(), &[], std::slice::from_ref(&stage), n, 0);
        }
        let points = history.points();
        assert_eq!(
            (points.len(), points[0].memory_bytes, points[0].in_flight),
            (POINTS_MAX, 5, 3)
        );
    }
}
