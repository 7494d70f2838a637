//! The store's metrics in the Prometheus text format.

use metrics::{Metric, Text};
use store::upkeep::Census;
use store::{LATENCY_MICROS, RequestCount, WorkerStatus};

use super::{ConnectionCount, NodeReport, StoreReport, VolumeReport};

const LAYOUT: Metric = Metric::gauge("weft_store_layout", "Number of the current layout.");
const LAYOUTS_OLDER: Metric =
    Metric::gauge("weft_store_layouts_older", "Older layouts that reads still use.");
const NODE_UP: Metric = Metric::gauge("weft_store_node_up", "Whether a node answers.");

/// A metric of each volume.
type VolumeFigure = (Metric, fn(&VolumeReport) -> f64);

const VOLUME_FIGURES: [VolumeFigure; 9] = [
    (
        Metric::gauge(
            "weft_store_volume_up",
            "Whether a volume takes part in reads and writes.",
        ),
        |v| f64::from(u8::from(v.state.takes_part())),
    ),
    (
        Metric::gauge(
            "weft_store_volume_capacity_bytes",
            "Size of a volume's file system.",
        ),
        |v| v.capacity_bytes as f64,
    ),
    (
        Metric::gauge(
            "weft_store_volume_free_bytes",
            "Free bytes of a volume's file system.",
        ),
        |v| v.free_bytes as f64,
    ),
    (
        Metric::gauge(
            "weft_store_volume_share",
            "Share of all replicas that the layout assigns to a volume.",
        ),
        |v| v.share,
    ),
    (
        Metric::gauge("weft_store_volume_replicas", "Live replicas on a volume."),
        |v| v.replicas as f64,
    ),
    (
        Metric::gauge(
            "weft_store_volume_replica_bytes",
            "Content bytes of the replicas on a volume.",
        ),
        |v| v.replica_bytes as f64,
    ),
    (
        Metric::gauge("weft_store_volume_tombstones", "Tombstones on a volume."),
        |v| v.tombstones as f64,
    ),
    (
        Metric::gauge(
            "weft_store_volume_bad_replicas",
            "Replicas known to be bad on a volume.",
        ),
        |v| v.bad as f64,
    ),
    (
        Metric::gauge("weft_store_volume_uploads", "Uploads in progress on a volume."),
        |v| v.staged as f64,
    ),
];

/// A metric of each worker.
type WorkerFigure = (Metric, fn(&WorkerStatus) -> f64);

const WORKER_FIGURES: [WorkerFigure; 5] = [
    (
        Metric::gauge(
            "weft_store_worker_items_done",
            "Items that a worker has done in its current pass.",
        ),
        |w| w.done as f64,
    ),
    (
        Metric::counter("weft_store_worker_bytes_total", "Bytes that a worker has read."),
        |w| w.bytes as f64,
    ),
    (
        Metric::counter(
            "weft_store_worker_found_total",
            "Problems that a worker has found.",
        ),
        |w| w.found as f64,
    ),
    (
        Metric::counter(
            "weft_store_worker_repaired_total",
            "Problems that a worker has repaired.",
        ),
        |w| w.repaired as f64,
    ),
    (
        Metric::gauge(
            "weft_store_worker_last_pass_timestamp_seconds",
            "End of a worker's last complete pass; 0 before the first.",
        ),
        |w| w.last_pass_ms.unwrap_or(0) as f64 / 1000.0,
    ),
];

/// A metric of requests.
type RequestFigure = (Metric, fn(&RequestCount) -> u64);

/// Metrics of requests.
struct RequestMetrics {
    /// Metrics that are plain numbers.
    numbers: [RequestFigure; 4],
    seconds: Metric,
}

impl RequestMetrics {
    /// Returns metrics with these names: all, failures, bytes in, bytes out, response times.
    const fn named(names: [&'static str; 5]) -> RequestMetrics {
        let [all, failures, bytes_in, bytes_out, seconds] = names;
        RequestMetrics {
            numbers: [
                (Metric::counter(all, "Requests answered, by operation."), |r| {
                    r.count
                }),
                (
                    Metric::counter(failures, "Requests that failed through no fault of the client."),
                    |r| r.failures,
                ),
                (
                    Metric::counter(bytes_in, "Content bytes received, by operation."),
                    |r| r.bytes_in,
                ),
                (
                    Metric::counter(bytes_out, "Content bytes sent, by operation."),
                    |r| r.bytes_out,
                ),
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

const S3_CONNECTIONS: Metric = Metric::gauge("weft_s3_connections", "Open connections of the S3 gateway.");
const S3_REFUSED: Metric = Metric::counter(
    "weft_s3_connections_refused_total",
    "Connections refused because their address had too many, or only the reserve was left.",
);

const CENSUS_TIME: Metric = Metric::gauge("weft_store_census_timestamp_seconds", "End of the last census.");
const CENSUS_OBJECTS: Metric = Metric::gauge("weft_store_census_objects", "Objects at the last census.");
const CENSUS_REPLICAS: Metric = Metric::gauge(
    "weft_store_census_replicas",
    "Replicas at the last census, by state.",
);
const CENSUS_LOST: Metric = Metric::gauge(
    "weft_store_census_lost_objects",
    "Objects without any good replica at the last census.",
);
const CENSUS_WHOLE: Metric = Metric::gauge(
    "weft_store_census_whole",
    "Whether the last census found no problems.",
);

/// Writes all metrics of a report.
pub(crate) fn write(text: &mut Text, report: &StoreReport) {
    text.one(&LAYOUT, report.layout);
    text.one(&LAYOUTS_OLDER, report.layouts_older.len());
    let mut up = text.begin(&NODE_UP);
    for node in &report.nodes {
        up.value(
            &[("node", &node.id), ("zone", &node.zone)],
            u8::from(node.reachable),
        );
    }
    write_volumes(text, &report.volumes);
    write_workers(text, &report.nodes);
    let of_nodes = report.nodes.iter();
    let of_nodes: Vec<_> = of_nodes
        .flat_map(|node| node.requests.iter().map(|count| (Some(node.id.as_str()), count)))
        .collect();
    write_requests(text, &NODE_REQUESTS, &of_nodes);
    write_s3(text, &report.s3, report.s3_connections.as_ref());
    if let Some(census) = &report.census {
        write_census(text, census);
    }
}

/// Writes the metrics of an S3 face or gateway.
pub(crate) fn write_s3(text: &mut Text, requests: &[RequestCount], connections: Option<&ConnectionCount>) {
    // Without a face its metrics are left out: zeros would mean that it is present and idle.
    let requests: Vec<_> = requests.iter().map(|count| (None, count)).collect();
    if !requests.is_empty() {
        write_requests(text, &S3_REQUESTS, &requests);
    }
    if let Some(connections) = connections {
        text.one(&S3_CONNECTIONS, connections.open);
        text.one(&S3_REFUSED, connections.refused);
    }
}

fn write_volumes(text: &mut Text, volumes: &[VolumeReport]) {
    for (metric, value) in &VOLUME_FIGURES {
        let mut lines = text.begin(metric);
        for volume in volumes {
            lines.value(&[("volume", &volume.id), ("zone", &volume.zone)], value(volume));
        }
    }
}

fn write_workers(text: &mut Text, nodes: &[NodeReport]) {
    for (metric, value) in &WORKER_FIGURES {
        let mut lines = text.begin(metric);
        for node in nodes {
            for worker in &node.workers {
                lines.value(&[("node", &node.id), ("worker", &worker.name)], value(worker));
            }
        }
    }
}

/// Writes `counts`, each with the name of the node that counted, if it was a node.
fn write_requests(text: &mut Text, metrics: &RequestMetrics, counts: &[(Option<&str>, &RequestCount)]) {
    for (metric, value) in &metrics.numbers {
        let mut lines = text.begin(metric);
        for (node, count) in counts {
            lines.value(&labels(*node, count), value(count));
        }
    }
    // All lines of one metric must follow its declaration without interruption. So the outer loop
    // is over metrics, and the inner one over counts.
    let mut lines = text.begin(&metrics.seconds);
    for (node, count) in counts {
        lines.buckets(
            &labels(*node, count),
            &LATENCY_MICROS,
            &count.buckets,
            count.micros,
        );
    }
}

fn labels<'a>(node: Option<&'a str>, count: &'a RequestCount) -> Vec<(&'static str, &'a str)> {
    let node = node.map(|node| ("node", node));
    node.into_iter()
        .chain([("operation", count.operation.as_str())])
        .collect()
}

fn write_census(text: &mut Text, census: &Census) {
    // Prometheus uses seconds.
    text.one(&CENSUS_TIME, census.time_ms as f64 / 1000.0);
    text.one(&CENSUS_OBJECTS, census.objects);
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
    text.one(&CENSUS_LOST, census.objects_lost);
    text.one(&CENSUS_WHOLE, u8::from(census.is_whole()));
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
        write_requests(&mut text, &S3_REQUESTS, &[(None, &count)]);
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
