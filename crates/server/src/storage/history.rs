//! The last minutes of a store's work: rates over all its nodes for the charts, and rates of each
//! operation.
//!
//! Nodes count from their start. A node that was restarted, or once did not answer, causes no jump.
//! At most [`POINTS_MAX`] points are kept.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use store::RequestCount;

use super::StoreReport;
use crate::history::POINTS_MAX;

/// Values at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Point {
    /// Requests answered by all nodes.
    pub(crate) requests_per_s: f64,
    /// Content received by all nodes.
    pub(crate) bytes_in_per_s: f64,
    /// Content sent by all nodes.
    pub(crate) bytes_out_per_s: f64,
    /// Mean time to the end of a response, in milliseconds; 0 if there was no request.
    pub(crate) ms_mean: f64,
    /// Bytes that the workers of all nodes read.
    pub(crate) upkeep_bytes_per_s: f64,
}

/// Rates of one operation between the last two samples.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Rate {
    pub(crate) per_s: f64,
    /// In milliseconds; 0 if there was no request.
    pub(crate) ms_mean: f64,
}

/// Source of a count: a node or the S3 server, and the operation.
type Source = (String, String);

/// The points, oldest first.
pub(crate) struct History(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    points: VecDeque<Point>,
    last: Option<Reading>,
    /// Rates of all nodes together, by operation.
    nodes: BTreeMap<String, Rate>,
    /// Rates of the S3 server, by operation.
    s3: BTreeMap<String, Rate>,
}

struct Reading {
    at: Instant,
    counts: BTreeMap<Source, RequestCount>,
    /// Bytes read by workers, by node and worker.
    upkeep: BTreeMap<Source, u64>,
}

/// The name of the S3 server among the sources. No node has an empty name.
const S3: &str = "";

impl History {
    pub(crate) fn new() -> History {
        History(Mutex::default())
    }

    /// Returns the points so far, oldest first.
    pub(crate) fn points(&self) -> Vec<Point> {
        self.lock().points.iter().copied().collect()
    }

    /// Returns the rates of `operation` on all nodes.
    pub(crate) fn node_rate(&self, operation: &str) -> Rate {
        self.lock().nodes.get(operation).copied().unwrap_or_default()
    }

    /// Returns the rates of `operation` at the S3 server.
    pub(crate) fn s3_rate(&self, operation: &str) -> Rate {
        self.lock().s3.get(operation).copied().unwrap_or_default()
    }

    pub(super) fn add(&self, now: Instant, report: &StoreReport) {
        let seen = Reading::of(now, report);
        let mut inner = self.lock();
        let mut point = Point::default();
        if let Some(last) = &inner.last {
            // Rates are divided by this, and two samples may be of the same moment.
            let seconds = now.saturating_duration_since(last.at).as_secs_f64().max(0.001);
            let steps = steps(&last.counts, &seen.counts);
            point = point_of(&steps, seconds);
            point.upkeep_bytes_per_s = upkeep_step(last, &seen) as f64 / seconds;
            // A put over S3 is several requests to nodes, so the two are never added.
            let (s3, nodes): (Vec<_>, Vec<_>) = steps.into_iter().partition(|(source, _)| source == S3);
            inner.nodes = rates(nodes, seconds);
            inner.s3 = rates(s3, seconds);
        }
        inner.last = Some(seen);
        if inner.points.len() == POINTS_MAX {
            inner.points.pop_front();
        }
        inner.points.push_back(point);
    }

    /// Locks the points. A poisoned lock only means that a point may be missing.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reading {
    fn of(at: Instant, report: &StoreReport) -> Reading {
        let nodes = report
            .nodes
            .iter()
            .flat_map(|node| node.requests.iter().map(|count| (node.id.as_str(), count)));
        let all = nodes.chain(report.s3.iter().map(|count| (S3, count)));
        let workers = report
            .nodes
            .iter()
            .flat_map(|node| node.workers.iter().map(|worker| (node.id.clone(), worker)));
        Reading {
            at,
            counts: all
                .map(|(source, count)| ((source.to_owned(), count.operation.clone()), count.clone()))
                .collect(),
            upkeep: workers
                .map(|(node, worker)| ((node, worker.name.clone()), worker.bytes))
                .collect(),
        }
    }
}

/// Returns the work between two samples, by source. A source that is new, or whose counters were
/// reset, counts from the next sample on.
fn steps(
    last: &BTreeMap<Source, RequestCount>,
    now: &BTreeMap<Source, RequestCount>,
) -> Vec<(String, RequestCount)> {
    let step = |(source, now): (&Source, &RequestCount)| {
        let was = last.get(source)?;
        Some((
            source.0.clone(),
            RequestCount {
                operation: now.operation.clone(),
                // A smaller count means that the node was restarted, so there is no step to show.
                // The other counters only grow together with this one, but they may be read at
                // slightly different moments, so they must not wrap.
                count: now.count.checked_sub(was.count)?,
                failures: now.failures.saturating_sub(was.failures),
                bytes_in: now.bytes_in.saturating_sub(was.bytes_in),
                bytes_out: now.bytes_out.saturating_sub(was.bytes_out),
                micros: now.micros.saturating_sub(was.micros),
                buckets: Vec::new(),
            },
        ))
    };
    now.iter().filter_map(step).collect()
}

fn point_of(steps: &[(String, RequestCount)], seconds: f64) -> Point {
    let nodes = || {
        steps
            .iter()
            .filter(|(source, _)| source != S3)
            .map(|(_, step)| step)
    };
    let sum = |figure: fn(&RequestCount) -> u64| nodes().map(figure).sum::<u64>() as f64;
    let count = sum(|step| step.count);
    Point {
        requests_per_s: count / seconds,
        bytes_in_per_s: sum(|step| step.bytes_in) / seconds,
        bytes_out_per_s: sum(|step| step.bytes_out) / seconds,
        ms_mean: sum(|step| step.micros) / 1000.0 / count.max(1.0),
        upkeep_bytes_per_s: 0.0,
    }
}

fn upkeep_step(last: &Reading, now: &Reading) -> u64 {
    let step = |(source, bytes): (&Source, &u64)| Some(bytes.saturating_sub(*last.upkeep.get(source)?));
    now.upkeep.iter().filter_map(step).sum()
}

fn rates(steps: Vec<(String, RequestCount)>, seconds: f64) -> BTreeMap<String, Rate> {
    let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for (_, step) in steps {
        let sum = sums.entry(step.operation).or_default();
        *sum = (sum.0 + step.count, sum.1 + step.micros);
    }
    let rate = |(count, micros): (u64, u64)| Rate {
        per_s: count as f64 / seconds,
        ms_mean: micros as f64 / 1000.0 / count.max(1) as f64,
    };
    sums.into_iter()
        .map(|(operation, sum)| (operation, rate(sum)))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::storage::NodeReport;

    fn report(counts: &[(&str, u64)], s3: u64) -> StoreReport {
        let count = |operation: &str, count| RequestCount {
            operation: operation.into(),
            count,
            failures: 0,
            bytes_in: count * 10,
            bytes_out: 0,
            micros: count * 2000,
            buckets: Vec::new(),
        };
        let node = |(id, n): &(&str, u64)| NodeReport {
            id: (*id).into(),
            requests: vec![count("put", *n)],
            ..NodeReport::default()
        };
        StoreReport {
            nodes: counts.iter().map(node).collect(),
            s3: vec![count("PutObject", s3)],
            ..StoreReport::default()
        }
    }

    #[test]
    fn rates_are_of_all_nodes_and_never_jump() {
        let history = History::new();
        let begun = Instant::now();
        let second = |n: u64| begun + Duration::from_secs(n);
        history.add(second(0), &report(&[("a", 100)], 10));
        // A second node is seen for the first time. Its earlier work does not belong to these two
        // seconds.
        history.add(second(2), &report(&[("a", 140), ("b", 5000)], 30));
        // The first node was restarted.
        history.add(second(4), &report(&[("a", 3), ("b", 5010)], 30));
        let per_s: Vec<f64> = history.points().iter().map(|p| p.requests_per_s).collect();
        assert_eq!(per_s, [0.0, 20.0, 5.0]);
        assert_eq!(history.points()[1].ms_mean, 2.0);
        assert_eq!(history.points()[1].bytes_in_per_s, 200.0);
        assert_eq!(history.node_rate("put").per_s, 5.0);
        assert_eq!(
            history.s3_rate("PutObject"),
            Rate {
                per_s: 0.0,
                ms_mean: 0.0
            }
        );
        assert_eq!(history.node_rate("nothing"), Rate::default());
    }

    #[test]
    fn only_the_last_points_are_kept() {
        let history = History::new();
        for n in 0..POINTS_MAX as u64 + 5 {
            history.add(Instant::now(), &report(&[("a", n)], 0));
        }
        assert_eq!(history.points().len(), POINTS_MAX);
    }
}
