//! The store's metrics in the Prometheus text format.

use metrics::{Measure, Metric, Text};
use store::upkeep::Census;
use store::{LATENCY_MICROS, RequestCount, WorkerStatus};

use crate::storage::{ConnectionCount, NodeReport, StoreReport, VolumeReport};

const LAYOUT: &[Measure<StoreReport>] = &[
    Measure::gauge("weft_store_layout", "Number of the current layout.", |r| {
        r.layout.into()
    }),
    Measure::gauge(
        "weft_store_layouts_older",
        "Older layouts that reads still use.",
        |r| r.layouts_older.len().into(),
    ),
];

/// Metrics of each node.
const NODES: &[Measure<NodeReport>] = &[Measure::gauge(
    "weft_store_node_up",
    "Whether a node answers.",
    |n| n.reachable.into(),
)];

/// Metrics of each volume.
const VOLUMES: &[Measure<VolumeReport>] = &[
    Measure::gauge(
        "weft_store_volume_up",
        "Whether a volume takes part in reads and writes.",
        |v| v.state.takes_part().into(),
    ),
    Measure::gauge(
        "weft_store_volume_capacity_bytes",
        "Size of a volume's file system.",
        |v| v.capacity_bytes.into(),
    ),
    Measure::gauge(
        "weft_store_volume_free_bytes",
        "Free bytes of a volume's file system.",
        |v| v.free_bytes.into(),
    ),
    Measure::gauge(
        "weft_store_volume_share",
        "Share of all replicas that the layout assigns to a volume.",
        |v| v.share.into(),
    ),
    Measure::gauge("weft_store_volume_replicas", "Live replicas on a volume.", |v| {
        v.replicas.into()
    }),
    Measure::gauge(
        "weft_store_volume_replica_bytes",
        "Content bytes of the replicas on a volume.",
        |v| v.replica_bytes.into(),
    ),
    Measure::gauge("weft_store_volume_tombstones", "Tombstones on a volume.", |v| {
        v.tombstones.into()
    }),
    Measure::gauge(
        "weft_store_volume_bad_replicas",
        "Replicas known to be bad on a volume.",
        |v| v.bad.into(),
    ),
    Measure::gauge(
        "weft_store_volume_uploads",
        "Uploads in progress on a volume.",
        |v| v.staged.into(),
    ),
];

/// Metrics of each worker.
const WORKERS: &[Measure<WorkerStatus>] = &[
    Measure::gauge(
        "weft_store_worker_items_done",
        "Items that a worker has done in its current pass.",
        |w| w.done.into(),
    ),
    Measure::counter(
        "weft_store_worker_bytes_total",
        "Bytes that a worker has read.",
        |w| w.bytes.into(),
    ),
    Measure::counter(
        "weft_store_worker_found_total",
        "Problems that a worker has found.",
        |w| w.found.into(),
    ),
    Measure::counter(
        "weft_store_worker_repaired_total",
        "Problems that a worker has repaired.",
        |w| w.repaired.into(),
    ),
    Measure::gauge(
        "weft_store_worker_last_pass_timestamp_seconds",
        "End of a worker's last complete pass; 0 before the first.",
        |w| (w.last_pass_ms.unwrap_or(0) as f64 / 1000.0).into(),
    ),
];

/// Metrics of requests.
struct RequestMetrics {
    /// Metrics that are plain numbers.
    numbers: [Measure<RequestCount>; 4],
    seconds: Metric,
}

impl RequestMetrics {
    /// Returns metrics with these names: all, failures, bytes in, bytes out, response times.
    const fn named(names: [&'static str; 5]) -> RequestMetrics {
        let [all, failures, bytes_in, bytes_out, seconds] = names;
        RequestMetrics {
            numbers: [
                Measure::counter(all, "Requests answered, by operation.", |r| r.count.into()),
                Measure::counter(
                    failures,
                    "Requests that failed through no fault of the client.",
                    |r| r.failures.into(),
                ),
                Measure::counter(bytes_in, "Content bytes received, by operation.", |r| {
                    r.bytes_in.into()
                }),
                Measure::counter(bytes_out, "Content bytes sent, by operation.", |r| {
                    r.bytes_out.into()
                }),
            ],
            seconds: Metric::histogram(seconds, "Time to the end of the response, by operation."),
        }
    }
}

const NODE_REQUESTS: RequestMetrics = RequestMetrics::named([
    "weft_store_requests_total",
    "weft_store_request_failures_total",
    "weft_store_received_bytes_total",
    "weft_store_sent_bytes_total",
    "weft_store_request_seconds",
]);

const S3_REQUESTS: RequestMetrics = RequestMetrics::named([
    "weft_s3_requests_total",
    "weft_s3_request_failures_total",
    "weft_s3_received_bytes_total",
    "weft_s3_sent_bytes_total",
    "weft_s3_request_seconds",
]);

const S3_CONNECTIONS: &[Measure<ConnectionCount>] = &[
    Measure::gauge(
        "weft_s3_connections",
        "Open connections of the S3 gateway.",
        |c| c.open.into(),
    ),
    Measure::counter(
        "weft_s3_connections_refused_total",
        "Connections refused because their address had too many, or only the reserve was left.",
        |c| c.refused.into(),
    ),
];

/// Metrics of the last census. Prometheus uses seconds.
const CENSUS: &[Measure<Census>] = &[
    Measure::gauge(
        "weft_store_census_timestamp_seconds",
        "End of the last census.",
        |c| (c.time_ms as f64 / 1000.0).into(),
    ),
    Measure::gauge("weft_store_census_objects", "Objects at the last census.", |c| {
        c.objects.into()
    }),
    Measure::gauge(
        "weft_store_census_lost_objects",
        "Objects without any good replica at the last census.",
        |c| c.objects_lost.into(),
    ),
    Measure::gauge(
        "weft_store_census_whole",
        "Whether the last census found no problems.",
        |c| c.is_whole().into(),
    ),
];
const CENSUS_REPLICAS: Metric = Metric::gauge(
    "weft_store_census_replicas",
    "Replicas at the last census, by state.",
);

/// Writes all metrics of a report.
pub(crate) fn write(text: &mut Text, report: &StoreReport) {
    text.single(LAYOUT, report);
    let nodes = report.nodes.iter();
    let nodes: Vec<_> = nodes
        .map(|node| ([("node", node.id.as_str()), ("zone", &node.zone)], node))
        .collect();
    text.table(NODES, &nodes);
    let volumes = report.volumes.iter();
    let volumes: Vec<_> = volumes
        .map(|volume| ([("volume", volume.id.as_str()), ("zone", &volume.zone)], volume))
        .collect();
    text.table(VOLUMES, &volumes);
    text.table(WORKERS, &workers(&report.nodes));
    let requests = report.nodes.iter();
    let requests: Vec<_> = requests
        .flat_map(|node| {
            let node_id = Some(node.id.as_str());
            node.requests
                .iter()
                .map(move |count| (labels(node_id, count), count))
        })
        .collect();
    write_requests(text, &NODE_REQUESTS, &requests);
    write_s3(text, &report.s3, report.s3_connections.as_ref());
    if let Some(census) = &report.census {
        write_census(text, census);
    }
}

/// Writes the metrics of an S3 server or gateway.
pub(crate) fn write_s3(text: &mut Text, requests: &[RequestCount], connections: Option<&ConnectionCount>) {
    // Without an S3 server its metrics are left out: zeros would mean that it is present and idle.
    let requests: Vec<_> = requests
        .iter()
        .map(|count| (labels(None, count), count))
        .collect();
    if !requests.is_empty() {
        write_requests(text, &S3_REQUESTS, &requests);
    }
    if let Some(connections) = connections {
        text.single(S3_CONNECTIONS, connections);
    }
}

/// Returns the workers of all nodes, with their labels.
fn workers(nodes: &[NodeReport]) -> Vec<([(&str, &str); 2], &WorkerStatus)> {
    let mut rows = Vec::new();
    for node in nodes {
        rows.extend(node.workers.iter().map(|worker| {
            (
                [("node", node.id.as_str()), ("worker", worker.name.as_str())],
                worker,
            )
        }));
    }
    rows
}

/// Writes the metrics of requests, each row with its labels.
fn write_requests(text: &mut Text, metrics: &RequestMetrics, counts: &[(Labels<'_>, &RequestCount)]) {
    text.table(&metrics.numbers, counts);
    let mut lines = text.begin(&metrics.seconds);
    for (labels, count) in counts {
        lines.buckets(labels, &LATENCY_MICROS, &count.buckets, count.micros);
    }
}

/// Labels of a count of requests: the name of the node that counted, if it was a node, and the
/// operation.
type Labels<'a> = Vec<(&'static str, &'a str)>;

fn labels<'a>(node: Option<&'a str>, count: &'a RequestCount) -> Labels<'a> {
    let node = node.map(|node| ("node", node));
    node.into_iter()
        .chain([("operation", count.operation.as_str())])
        .collect()
}

fn write_census(text: &mut Text, census: &Census) {
    text.single(CENSUS, census);
    let states = [
        ("expected", census.replicas_expected),
        ("good", census.replicas_good),
        ("bad", census.replicas_bad),
        ("missing", census.replicas_missing),
        ("surplus", census.replicas_surplus),
    ];
    let mut replicas = text.begin(&CENSUS_REPLICAS);
    for (state, count) in states {
        replicas.value(&[("state", state)], count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_cumulative_and_in_seconds() {
        let mut buckets = vec![0; LATENCY_MICROS.len() + 1];
        buckets[0] = 2;
        buckets[3] = 1;
        buckets[LATENCY_MICROS.len()] = 4;
        let count = RequestCount {
            operation: "put".into(),
            count: 7,
            failures: 1,
            bytes_in: 10,
            bytes_out: 0,
            micros: 1_500_000,
            buckets,
        };
        let mut text = Text::new();
        write_requests(&mut text, &S3_REQUESTS, &[(labels(None, &count), &count)]);
        let text = text.into_string();
        for line in [
            "weft_s3_requests_total{operation=\"put\"} 7",
            "weft_s3_request_seconds_bucket{operation=\"put\",le=\"0.0001\"} 2",
            "weft_s3_request_seconds_bucket{operation=\"put\",le=\"0.001\"} 3",
            "weft_s3_request_seconds_bucket{operation=\"put\",le=\"50\"} 3",
            "weft_s3_request_seconds_bucket{operation=\"put\",le=\"+Inf\"} 7",
            "weft_s3_request_seconds_sum{operation=\"put\"} 1.5",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
        }
    }
}
