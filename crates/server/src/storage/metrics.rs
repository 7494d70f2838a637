//! The store's figures in Prometheus text. Names are constants with their units.

use store::upkeep::Census;
use store::{LATENCY_MICROS, RequestCount};

use super::{NodeReport, StoreReport, VolumeReport};
use crate::metrics::{Text, label};

/// Number of the layout in force.
pub const STORE_LAYOUT: &str = "weft_store_layout";
/// Older layouts that reads still look into.
pub const STORE_LAYOUTS_OLDER: &str = "weft_store_layouts_older";
/// Whether a node answers, 1 or 0.
pub const STORE_NODE_UP: &str = "weft_store_node_up";
/// Whether a volume takes part in reads and writes, 1 or 0.
pub const STORE_VOLUME_UP: &str = "weft_store_volume_up";
/// Size of a volume's file system.
pub const STORE_VOLUME_CAPACITY_BYTES: &str = "weft_store_volume_capacity_bytes";
/// Free on a volume's file system.
pub const STORE_VOLUME_FREE_BYTES: &str = "weft_store_volume_free_bytes";
/// Share of all replicas that the layout gives a volume, 0 to 1.
pub const STORE_VOLUME_SHARE: &str = "weft_store_volume_share";
/// Live replicas on a volume.
pub const STORE_VOLUME_REPLICAS: &str = "weft_store_volume_replicas";
/// Content bytes of the replicas on a volume.
pub const STORE_VOLUME_REPLICA_BYTES: &str = "weft_store_volume_replica_bytes";
/// Tombstones on a volume.
pub const STORE_VOLUME_TOMBSTONES: &str = "weft_store_volume_tombstones";
/// Replicas on a volume that are known to be bad.
pub const STORE_VOLUME_BAD_REPLICAS: &str = "weft_store_volume_bad_replicas";
/// Uploads under way on a volume.
pub const STORE_VOLUME_UPLOADS: &str = "weft_store_volume_uploads";
/// Items that a worker has done in its present pass.
pub const STORE_WORKER_DONE: &str = "weft_store_worker_items_done";
/// Bytes that a worker has read since its node started.
pub const STORE_WORKER_BYTES: &str = "weft_store_worker_bytes_total";
/// Bad or missing things that a worker has found.
pub const STORE_WORKER_FOUND: &str = "weft_store_worker_found_total";
/// Of these, put right.
pub const STORE_WORKER_REPAIRED: &str = "weft_store_worker_repaired_total";
/// End of a worker's last whole pass, in seconds since 1970.
pub const STORE_WORKER_LAST_PASS: &str = "weft_store_worker_last_pass_timestamp_seconds";
/// Requests that nodes answered, by operation.
pub const STORE_REQUESTS: &str = "weft_store_requests_total";
/// Of these, failures of the store's own.
pub const STORE_REQUEST_FAILURES: &str = "weft_store_request_failures_total";
/// Content bytes received, by operation.
pub const STORE_BYTES_IN: &str = "weft_store_received_bytes_total";
/// Content bytes sent, by operation.
pub const STORE_BYTES_OUT: &str = "weft_store_sent_bytes_total";
/// Answer times of nodes, by operation.
pub const STORE_SECONDS: &str = "weft_store_request_seconds";
/// End of the last census, in seconds since 1970.
pub const STORE_CENSUS_TIME: &str = "weft_store_census_timestamp_seconds";
/// Objects that the last census counted.
pub const STORE_CENSUS_OBJECTS: &str = "weft_store_census_objects";
/// Replicas that the last census counted, by state.
pub const STORE_CENSUS_REPLICAS: &str = "weft_store_census_replicas";
/// Objects without any good replica at the last census.
pub const STORE_CENSUS_LOST: &str = "weft_store_census_lost_objects";
/// Whether everything was as it must be at the last census, 1 or 0.
pub const STORE_CENSUS_WHOLE: &str = "weft_store_census_whole";
/// Requests at the S3 face, by operation.
pub const S3_REQUESTS: &str = "weft_s3_requests_total";
/// Of these, failures of the store's own.
pub const S3_REQUEST_FAILURES: &str = "weft_s3_request_failures_total";
/// Content bytes received by the S3 face, by operation.
pub const S3_BYTES_IN: &str = "weft_s3_received_bytes_total";
/// Content bytes sent by the S3 face, by operation.
pub const S3_BYTES_OUT: &str = "weft_s3_sent_bytes_total";
/// Answer times of the S3 face, by operation.
pub const S3_SECONDS: &str = "weft_s3_request_seconds";

/// All figures of a report.
pub(crate) fn write(text: &mut Text, report: &StoreReport) {
    text.one(
        STORE_LAYOUT,
        "gauge",
        "Number of the layout in force.",
        "",
        report.layout,
    );
    text.one(
        STORE_LAYOUTS_OLDER,
        "gauge",
        "Older layouts that reads still look into.",
        "",
        report.layouts_older.len(),
    );
    text.head(STORE_NODE_UP, "gauge", "Whether a node answers.");
    for node in &report.nodes {
        let up = u8::from(node.reachable);
        text.line(
            STORE_NODE_UP,
            &format!("node=\"{}\",zone=\"{}\"", label(&node.id), label(&node.zone)),
            up,
        );
    }
    write_volumes(text, &report.volumes);
    write_workers(text, &report.nodes);
    let requests: Vec<(String, &RequestCount)> = report
        .nodes
        .iter()
        .flat_map(|node| {
            node.requests
                .iter()
                .map(|count| (format!("node=\"{}\",", label(&node.id)), count))
        })
        .collect();
    write_requests(text, &STORE_NAMES, &requests);
    let s3: Vec<(String, &RequestCount)> = report.s3.iter().map(|count| (String::new(), count)).collect();
    if !s3.is_empty() {
        write_requests(text, &S3_NAMES, &s3);
    }
    if let Some(census) = &report.census {
        write_census(text, census);
    }
}

/// Name, help and value of a figure that every volume has.
type VolumeFigure = (&'static str, &'static str, fn(&VolumeReport) -> f64);

const VOLUME_FIGURES: [VolumeFigure; 9] = [
    (
        STORE_VOLUME_UP,
        "Whether a volume takes part in reads and writes.",
        |v| f64::from(u8::from(!matches!(v.state.as_str(), "out" | "unreachable"))),
    ),
    (
        STORE_VOLUME_CAPACITY_BYTES,
        "Size of a volume's file system.",
        |v| v.capacity_bytes as f64,
    ),
    (STORE_VOLUME_FREE_BYTES, "Free on a volume's file system.", |v| {
        v.free_bytes as f64
    }),
    (
        STORE_VOLUME_SHARE,
        "Share of all replicas that the layout gives a volume.",
        |v| v.share,
    ),
    (STORE_VOLUME_REPLICAS, "Live replicas on a volume.", |v| {
        v.replicas as f64
    }),
    (
        STORE_VOLUME_REPLICA_BYTES,
        "Content bytes of the replicas on a volume.",
        |v| v.replica_bytes as f64,
    ),
    (STORE_VOLUME_TOMBSTONES, "Tombstones on a volume.", |v| {
        v.tombstones as f64
    }),
    (
        STORE_VOLUME_BAD_REPLICAS,
        "Replicas known to be bad on a volume.",
        |v| v.bad as f64,
    ),
    (STORE_VOLUME_UPLOADS, "Uploads under way on a volume.", |v| {
        v.staged as f64
    }),
];

fn write_volumes(text: &mut Text, volumes: &[VolumeReport]) {
    for (name, help, value) in VOLUME_FIGURES {
        text.head(name, "gauge", help);
        for volume in volumes {
            let labels = format!(
                "volume=\"{}\",zone=\"{}\"",
                label(&volume.id),
                label(&volume.zone)
            );
            text.line(name, &labels, value(volume));
        }
    }
}

/// Name, kind, help and value of a figure that every worker has.
type WorkerFigure = (
    &'static str,
    &'static str,
    &'static str,
    fn(&store::WorkerStatus) -> f64,
);

const WORKER_FIGURES: [WorkerFigure; 5] = [
    (
        STORE_WORKER_DONE,
        "gauge",
        "Items that a worker has done in its present pass.",
        |w| w.done as f64,
    ),
    (
        STORE_WORKER_BYTES,
        "counter",
        "Bytes that a worker has read.",
        |w| w.bytes as f64,
    ),
    (
        STORE_WORKER_FOUND,
        "counter",
        "Bad or missing things that a worker has found.",
        |w| w.found as f64,
    ),
    (STORE_WORKER_REPAIRED, "counter", "Of these, put right.", |w| {
        w.repaired as f64
    }),
    (
        STORE_WORKER_LAST_PASS,
        "gauge",
        "End of a worker's last whole pass; 0 before the first.",
        |w| w.last_pass_ms.unwrap_or(0) as f64 / 1000.0,
    ),
];

fn write_workers(text: &mut Text, nodes: &[NodeReport]) {
    for (name, kind, help, value) in WORKER_FIGURES {
        text.head(name, kind, help);
        for node in nodes {
            for worker in &node.workers {
                let labels = format!("node=\"{}\",worker=\"{}\"", label(&node.id), label(&worker.name));
                text.line(name, &labels, value(worker));
            }
        }
    }
}

/// Names of the figures that requests have: all, failures, bytes in, bytes out, answer times.
type RequestNames = [&'static str; 5];

const STORE_NAMES: RequestNames = [
    STORE_REQUESTS,
    STORE_REQUEST_FAILURES,
    STORE_BYTES_IN,
    STORE_BYTES_OUT,
    STORE_SECONDS,
];
const S3_NAMES: RequestNames = [
    S3_REQUESTS,
    S3_REQUEST_FAILURES,
    S3_BYTES_IN,
    S3_BYTES_OUT,
    S3_SECONDS,
];

/// Name, help and value of a figure that every operation has.
type RequestFigure = (&'static str, &'static str, fn(&RequestCount) -> u64);

fn write_requests(text: &mut Text, names: &RequestNames, counts: &[(String, &RequestCount)]) {
    let [all, failures, bytes_in, bytes_out, seconds] = *names;
    let figures: [RequestFigure; 4] = [
        (all, "Requests answered, by operation.", |r| r.count),
        (
            failures,
            "Requests that failed through no fault of the asker.",
            |r| r.failures,
        ),
        (bytes_in, "Content bytes received, by operation.", |r| r.bytes_in),
        (bytes_out, "Content bytes sent, by operation.", |r| r.bytes_out),
    ];
    for (name, help, value) in figures {
        text.head(name, "counter", help);
        for (labels, count) in counts {
            text.line(
                name,
                &format!("{labels}operation=\"{}\"", label(&count.operation)),
                value(count),
            );
        }
    }
    text.head(
        seconds,
        "histogram",
        "Time to the end of the answer, by operation.",
    );
    for (labels, count) in counts {
        write_times(
            text,
            seconds,
            &format!("{labels}operation=\"{}\"", label(&count.operation)),
            count,
        );
    }
}

fn write_times(text: &mut Text, name: &str, labels: &str, count: &RequestCount) {
    let mut within = 0;
    for (bound, n) in LATENCY_MICROS.iter().zip(&count.buckets) {
        within += n;
        let bound = *bound as f64 / 1e6;
        text.line(
            &format!("{name}_bucket"),
            &format!("{labels},le=\"{bound}\""),
            within,
        );
    }
    let all: u64 = count.buckets.iter().sum();
    text.line(&format!("{name}_bucket"), &format!("{labels},le=\"+Inf\""), all);
    text.line(&format!("{name}_sum"), labels, count.micros as f64 / 1e6);
    text.line(&format!("{name}_count"), labels, all);
}

fn write_census(text: &mut Text, census: &Census) {
    let seconds = census.time_ms as f64 / 1000.0;
    text.one(STORE_CENSUS_TIME, "gauge", "End of the last census.", "", seconds);
    text.one(
        STORE_CENSUS_OBJECTS,
        "gauge",
        "Objects at the last census.",
        "",
        census.objects,
    );
    text.head(
        STORE_CENSUS_REPLICAS,
        "gauge",
        "Replicas at the last census, by state.",
    );
    let states = [
        ("expected", census.replicas_expected),
        ("good", census.replicas_good),
        ("bad", census.replicas_bad),
        ("missing", census.replicas_missing),
        ("surplus", census.replicas_surplus),
    ];
    for (state, count) in states {
        text.line(STORE_CENSUS_REPLICAS, &format!("state=\"{state}\""), count);
    }
    text.one(
        STORE_CENSUS_LOST,
        "gauge",
        "Objects without any good replica at the last census.",
        "",
        census.objects_lost,
    );
    text.one(
        STORE_CENSUS_WHOLE,
        "gauge",
        "Whether everything was as it must be at the last census.",
        "",
        u8::from(census.is_whole()),
    );
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
        write_requests(&mut text, &S3_NAMES, &[(String::new(), &count)]);
        for line in [
            "weft_s3_requests_total{operation=\"put\"} 7",
            "weft_s3_request_seconds_bucket{operation=\"put\",le=\"0.0001\"} 2",
            "weft_s3_request_seconds_bucket{operation=\"put\",le=\"0.001\"} 3",
            "weft_s3_request_seconds_bucket{operation=\"put\",le=\"50\"} 3",
            "weft_s3_request_seconds_bucket{operation=\"put\",le=\"+Inf\"} 7",
            "weft_s3_request_seconds_sum{operation=\"put\"} 1.5",
        ] {
            assert!(
                text.as_str().lines().any(|l| l == line),
                "{line} is not in\n{}",
                text.as_str()
            );
        }
    }
}
