//! `/metrics`: the server's own counters, and metrics of the archive and the store, in the
//! Prometheus text format.
//!
//! Values are read at each request, so they cannot differ from those of the pages.

use archive::question::{StageRow, Stages, Status, StatusBody};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use metrics::{Metric, Text};

use crate::state::State;

const BUILD_INFO: Metric = Metric::gauge("weft_build_info", "Program and version.");
const HTTP_REFUSED: Metric = Metric::counter(
    "weft_http_connections_refused_total",
    "Connections refused because their address had too many.",
);
const EPOCH: Metric = Metric::gauge("weft_epoch", "Last epoch applied.");
const INPUTS: Metric = Metric::gauge("weft_inputs", "Inputs in the ledger, by state.");

/// A metric of the archive.
type StatusFigure = (Metric, fn(&StatusBody) -> u64);

const STATUS_FIGURES: [StatusFigure; 11] = [
    (
        Metric::gauge("weft_records", "Records read and accounted for."),
        |s| s.records,
    ),
    (Metric::gauge("weft_captures", "Captures in the archive."), |s| {
        s.captures
    }),
    (
        Metric::gauge("weft_pages", "URLs whose current version is a page."),
        |s| s.pages,
    ),
    (Metric::gauge("weft_links", "Links from current versions."), |s| {
        s.links
    }),
    (Metric::gauge("weft_uris", "URL keys known."), |s| s.uris),
    (Metric::gauge("weft_domains", "Registered domains known."), |s| {
        s.domains
    }),
    (
        Metric::gauge("weft_quarantined_records", "Records in quarantine."),
        |s| s.quarantined,
    ),
    (
        Metric::gauge("weft_search_epoch", "Epoch that search covers."),
        |s| s.search_epoch,
    ),
    (
        Metric::gauge("weft_search_documents", "Documents in the search index."),
        |s| s.search_documents,
    ),
    (Metric::gauge("weft_disk_bytes", "Bytes on disk."), |s| {
        s.disk_bytes
    }),
    (
        Metric::gauge("weft_memory_bytes", "Resident memory of the process."),
        |s| s.memory_bytes,
    ),
];

/// A metric of each stage.
type StageFigure = (Metric, fn(&StageRow) -> f64);

const STAGE_FIGURES: [StageFigure; 5] = [
    (Metric::gauge("weft_stage_threads", "Threads of a stage."), |s| {
        s.threads as f64
    }),
    (
        Metric::gauge("weft_stage_items_waiting", "Items waiting before a stage."),
        |s| s.waiting as f64,
    ),
    (
        Metric::gauge("weft_stage_items_running", "Items a stage is working on."),
        |s| s.running as f64,
    ),
    (
        Metric::gauge("weft_stage_items_done", "Items a stage has done."),
        |s| s.done as f64,
    ),
    (
        Metric::gauge("weft_stage_item_seconds_mean", "Mean time of an item in a stage."),
        |s| s.ms_per_item / 1000.0,
    ),
];

/// Handles `/metrics`. Metrics that the archive cannot report now are left out.
pub(crate) async fn page(state: &State) -> Response {
    let mut text = Text::new();
    text.begin(&BUILD_INFO)
        .value(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    state.counters.write(&mut text);
    text.one(&HTTP_REFUSED, state.door.refused());
    // A monitor must still see that the server runs if the archive does not answer. So the
    // archive's metrics are left out, and the status is 200.
    if let Ok((status, stages)) = state.asker.ask_together((Status {}, Stages {})).await {
        if let Ok(answer) = status {
            text.one(&EPOCH, answer.epoch);
            write_status(&mut text, &answer.body);
        }
        if let Ok(answer) = stages {
            write_stages(&mut text, &answer.body.stages);
        }
    }
    if let Some(store) = &state.store {
        crate::storage::write(&mut text, &*store.report().await);
    }
    if let Some(cache) = &state.cache {
        crate::cache_metrics::write(&mut text, &cache.stats());
    }
    if let Some(gateway) = &state.gateway {
        let (requests, connections) = gateway();
        crate::storage::write_s3(&mut text, &requests, Some(&connections));
    }
    let kind = [(header::CONTENT_TYPE, Text::MEDIA_TYPE)];
    (kind, text.into_string()).into_response()
}

fn write_status(text: &mut Text, status: &StatusBody) {
    let rest = status.inputs_done + status.inputs_loading + status.inputs_failed;
    let states = [
        ("pending", status.inputs.saturating_sub(rest)),
        ("loading", status.inputs_loading),
        ("done", status.inputs_done),
        ("failed", status.inputs_failed),
    ];
    let mut inputs = text.begin(&INPUTS);
    for (state, count) in states {
        inputs.value(&[("state", state)], count);
    }
    for (metric, value) in &STATUS_FIGURES {
        text.one(metric, value(status));
    }
}

fn write_stages(text: &mut Text, stages: &[StageRow]) {
    for (metric, value) in &STAGE_FIGURES {
        let mut lines = text.begin(metric);
        for stage in stages {
            lines.value(&[("stage", &stage.stage)], value(stage));
        }
    }
}
