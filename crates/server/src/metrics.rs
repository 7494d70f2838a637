//! Metrics: the server's own counters, and the archive's figures, in Prometheus text format.
//!
//! Names are constants with their units. What the archive counts is read from it when asked for, so the two
//! cannot differ.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use archive::question::{Body, Question, StageRow, StatusBody};
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::state::State;

/// Program and its version; always 1.
pub const BUILD_INFO: &str = "weft_build_info";
/// Time since the server was made, in seconds.
pub const UP_SECONDS: &str = "weft_up_seconds";
/// Last epoch applied.
pub const EPOCH: &str = "weft_epoch";
/// Inputs in the ledger, by state.
pub const INPUTS: &str = "weft_inputs";
/// Records read and accounted for.
pub const RECORDS: &str = "weft_records";
/// Captures held.
pub const CAPTURES: &str = "weft_captures";
/// URLs whose current version is a page.
pub const PAGES: &str = "weft_pages";
/// Links from current versions.
pub const LINKS: &str = "weft_links";
/// URL keys known.
pub const URIS: &str = "weft_uris";
/// Registered domains known.
pub const DOMAINS: &str = "weft_domains";
/// Records in quarantine.
pub const QUARANTINED: &str = "weft_quarantined_records";
/// Epoch that search covers.
pub const SEARCH_EPOCH: &str = "weft_search_epoch";
/// Documents in the search index.
pub const SEARCH_DOCUMENTS: &str = "weft_search_documents";
/// Bytes on disk.
pub const DISK_BYTES: &str = "weft_disk_bytes";
/// Resident memory of the process.
pub const MEMORY_BYTES: &str = "weft_memory_bytes";
/// Threads of a stage.
pub const STAGE_THREADS: &str = "weft_stage_threads";
/// Items waiting before a stage.
pub const STAGE_WAITING: &str = "weft_stage_items_waiting";
/// Items a stage is working on.
pub const STAGE_RUNNING: &str = "weft_stage_items_running";
/// Items a stage has done.
pub const STAGE_DONE: &str = "weft_stage_items_done";
/// Mean time of an item in a stage, in seconds.
pub const STAGE_ITEM_SECONDS: &str = "weft_stage_item_seconds_mean";
/// Requests answered, by route and status.
pub const HTTP_REQUESTS: &str = "weft_http_requests_total";
/// Requests under way.
pub const HTTP_IN_FLIGHT: &str = "weft_http_requests_in_flight";
/// Connections closed as they came, because their address had too many.
pub const HTTP_REFUSED: &str = "weft_http_connections_refused_total";
/// Time to the head of the answer, in seconds, by route.
pub const HTTP_SECONDS: &str = "weft_http_request_seconds";
/// Time of a search within the archive, in seconds.
pub const SEARCH_SECONDS: &str = "weft_search_seconds";

/// Upper bounds of the histograms' buckets, in seconds.
const BUCKETS: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

/// The server's own counters.
pub(crate) struct Metrics {
    started: Instant,
    in_flight: AtomicU64,
    answered: AtomicU64,
    search: Mutex<Histogram>,
    routes: Mutex<BTreeMap<String, Route>>,
}

#[derive(Default)]
struct Route {
    seconds: Histogram,
    by_status: BTreeMap<u16, u64>,
}

#[derive(Default, Clone)]
struct Histogram {
    /// Observations in each bucket alone; the last is for those above all bounds.
    counts: [u64; BUCKETS.len() + 1],
    sum: f64,
}

impl Histogram {
    fn observe(&mut self, took: Duration) {
        let seconds = took.as_secs_f64();
        let bucket = BUCKETS
            .iter()
            .position(|bound| seconds <= *bound)
            .unwrap_or(BUCKETS.len());
        self.counts[bucket] += 1;
        self.sum += seconds;
    }

    fn write(&self, text: &mut Text, name: &str, label: &str) {
        let comma = if label.is_empty() { "" } else { "," };
        let mut count = 0;
        for (bound, n) in BUCKETS.iter().zip(self.counts) {
            count += n;
            text.line(
                &format!("{name}_bucket"),
                &format!("{label}{comma}le=\"{bound}\""),
                count,
            );
        }
        count += self.counts[BUCKETS.len()];
        text.line(
            &format!("{name}_bucket"),
            &format!("{label}{comma}le=\"+Inf\""),
            count,
        );
        text.line(&format!("{name}_sum"), label, self.sum);
        text.line(&format!("{name}_count"), label, count);
    }
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        Metrics {
            started: Instant::now(),
            in_flight: AtomicU64::new(0),
            answered: AtomicU64::new(0),
            search: Mutex::default(),
            routes: Mutex::default(),
        }
    }

    /// Counts a request as under way until the guard is dropped.
    pub(crate) fn begin(&self) -> InFlight<'_> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(&self.in_flight)
    }

    /// Requests under way.
    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Requests answered so far.
    pub(crate) fn answered_total(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    /// A request was answered. `route` is a pattern of the router, never a path as asked for.
    pub(crate) fn answered(&self, route: &str, status: u16, took: Duration) {
        self.answered.fetch_add(1, Ordering::Relaxed);
        let mut routes = lock(&self.routes);
        let entry = match routes.get_mut(route) {
            Some(entry) => entry,
            None => routes.entry(route.to_owned()).or_default(),
        };
        entry.seconds.observe(took);
        *entry.by_status.entry(status).or_default() += 1;
    }

    /// A search was answered.
    pub(crate) fn search_took(&self, took: Duration) {
        lock(&self.search).observe(took);
    }

    fn write(&self, text: &mut Text) {
        text.one(
            BUILD_INFO,
            "gauge",
            "Program and version.",
            &format!("version=\"{}\"", env!("CARGO_PKG_VERSION")),
            1,
        );
        text.one(
            UP_SECONDS,
            "gauge",
            "Time since the server began.",
            "",
            self.started.elapsed().as_secs(),
        );
        text.one(
            HTTP_IN_FLIGHT,
            "gauge",
            "Requests under way.",
            "",
            self.in_flight(),
        );
        let routes = lock(&self.routes);
        text.head(
            HTTP_REQUESTS,
            "counter",
            "Requests answered, by route and status.",
        );
        for (route, of_route) in routes.iter() {
            for (status, count) in &of_route.by_status {
                text.line(
                    HTTP_REQUESTS,
                    &format!("route=\"{}\",status=\"{status}\"", label(route)),
                    *count,
                );
            }
        }
        text.head(
            HTTP_SECONDS,
            "histogram",
            "Time to the head of the answer, by route.",
        );
        for (route, of_route) in routes.iter() {
            of_route
                .seconds
                .write(text, HTTP_SECONDS, &format!("route=\"{}\"", label(route)));
        }
        text.head(
            SEARCH_SECONDS,
            "histogram",
            "Time of a search within the archive.",
        );
        lock(&self.search).write(text, SEARCH_SECONDS, "");
    }
}

/// A poisoned lock only means that a counter may lack one observation.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A request under way.
pub(crate) struct InFlight<'a>(&'a AtomicU64);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// `/metrics`: what the archive cannot say at the moment is left out.
pub(crate) async fn page(state: &State) -> Response {
    let mut text = Text::new();
    state.metrics.write(&mut text);
    text.one(
        HTTP_REFUSED,
        "counter",
        "Connections closed as they came, because their address had too many.",
        "",
        state.door.refused(),
    );
    if let Ok([status, stages]) = state
        .asker
        .ask_together([Question::Status, Question::Stages])
        .await
    {
        if let Ok(answer) = status
            && let Body::Status(status) = answer.body
        {
            text.one(EPOCH, "gauge", "Last epoch applied.", "", answer.epoch);
            write_status(&mut text, &status);
        }
        if let Ok(answer) = stages
            && let Body::Stages { stages } = answer.body
        {
            write_stages(&mut text, &stages);
        }
    }
    if let Some(store) = &state.store {
        crate::storage::write(&mut text, &*store.report().await);
    }
    (
        [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")],
        text.0,
    )
        .into_response()
}

fn write_status(text: &mut Text, status: &StatusBody) {
    text.head(INPUTS, "gauge", "Inputs in the ledger, by state.");
    let rest = status.inputs_done + status.inputs_loading + status.inputs_failed;
    let states = [
        ("pending", status.inputs.saturating_sub(rest)),
        ("loading", status.inputs_loading),
        ("done", status.inputs_done),
        ("failed", status.inputs_failed),
    ];
    for (state, count) in states {
        text.line(INPUTS, &format!("state=\"{state}\""), count);
    }
    let gauges = [
        (RECORDS, "Records read and accounted for.", status.records),
        (CAPTURES, "Captures held.", status.captures),
        (PAGES, "URLs whose current version is a page.", status.pages),
        (LINKS, "Links from current versions.", status.links),
        (URIS, "URL keys known.", status.uris),
        (DOMAINS, "Registered domains known.", status.domains),
        (QUARANTINED, "Records in quarantine.", status.quarantined),
        (SEARCH_EPOCH, "Epoch that search covers.", status.search_epoch),
        (
            SEARCH_DOCUMENTS,
            "Documents in the search index.",
            status.search_documents,
        ),
        (DISK_BYTES, "Bytes on disk.", status.disk_bytes),
        (
            MEMORY_BYTES,
            "Resident memory of the process.",
            status.memory_bytes,
        ),
    ];
    for (name, help, value) in gauges {
        text.one(name, "gauge", help, "", value);
    }
}

/// Name, help and value of a figure that every stage has.
type StageFigure = (&'static str, &'static str, fn(&StageRow) -> f64);

fn write_stages(text: &mut Text, stages: &[StageRow]) {
    let figures: [StageFigure; 5] = [
        (STAGE_THREADS, "Threads of a stage.", |s| s.threads as f64),
        (STAGE_WAITING, "Items waiting before a stage.", |s| {
            s.waiting as f64
        }),
        (STAGE_RUNNING, "Items a stage is working on.", |s| {
            s.running as f64
        }),
        (STAGE_DONE, "Items a stage has done.", |s| s.done as f64),
        (STAGE_ITEM_SECONDS, "Mean time of an item in a stage.", |s| {
            s.ms_per_item / 1000.0
        }),
    ];
    for (name, help, value) in figures {
        text.head(name, "gauge", help);
        for stage in stages {
            text.line(name, &format!("stage=\"{}\"", label(&stage.stage)), value(stage));
        }
    }
}

/// Prometheus text under way. Writing to a string does not fail.
pub(crate) struct Text(String);

impl Text {
    pub(crate) fn new() -> Text {
        Text(String::with_capacity(8192))
    }

    pub(crate) fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    pub(crate) fn line(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let _ = match labels {
            "" => writeln!(self.0, "{name} {value}"),
            labels => writeln!(self.0, "{name}{{{labels}}} {value}"),
        };
    }

    #[cfg(test)]
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn one(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        labels: &str,
        value: impl std::fmt::Display,
    ) {
        self.head(name, kind, help);
        self.line(name, labels, value);
    }
}

/// A label's value, escaped.
pub(crate) fn label(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative_and_end_with_all() {
        let metrics = Metrics::new();
        for ms in [0, 1, 3, 40, 60_000] {
            metrics.answered("/page", 200, Duration::from_millis(ms));
        }
        let mut text = Text::new();
        metrics.write(&mut text);
        for line in [
            "weft_http_requests_total{route=\"/page\",status=\"200\"} 5",
            "weft_http_request_seconds_bucket{route=\"/page\",le=\"0.001\"} 2",
            "weft_http_request_seconds_bucket{route=\"/page\",le=\"30\"} 4",
            "weft_http_request_seconds_bucket{route=\"/page\",le=\"+Inf\"} 5",
            "weft_http_request_seconds_count{route=\"/page\"} 5",
            "weft_search_seconds_count 0",
        ] {
            assert!(text.0.lines().any(|l| l == line), "{line} is not in\n{}", text.0);
        }
    }

    #[test]
    fn labels_cannot_break_out() {
        assert_eq!(label("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
