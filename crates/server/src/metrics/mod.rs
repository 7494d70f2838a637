//! `/metrics`: the server's own counters, and metrics of the archive and the store, in the
//! Prometheus text format.
//!
//! Values are read at each request, so they cannot differ from those of the pages.

use archive::question::{StageRow, Stages, Status, StatusBody};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use metrics::{Measure, Metric, Text};

use crate::state::State;

pub(crate) mod cache;
mod store;

const BUILD_INFO: Metric = Metric::gauge("weft_build_info", "Program and version.");
const HTTP_REFUSED: Metric = Metric::counter(
    "weft_http_connections_refused_total",
    "Connections refused because their address had too many.",
);
const EPOCH: Metric = Metric::gauge("weft_epoch", "Last epoch applied.");
const INPUTS: Metric = Metric::gauge("weft_inputs", "Inputs in the ledger, by state.");

/// Metrics of the archive.
const ARCHIVE: &[Measure<StatusBody>] = &[
    Measure::gauge("weft_records", "Records read and accounted for.", |s| {
        s.records.into()
    }),
    Measure::gauge("weft_captures", "Captures in the archive.", |s| s.captures.into()),
    Measure::gauge("weft_pages", "URLs whose current version is a page.", |s| {
        s.pages.into()
    }),
    Measure::gauge("weft_links", "Links from current versions.", |s| s.links.into()),
    Measure::gauge("weft_uris", "URL keys known.", |s| s.uris.into()),
    Measure::gauge("weft_domains", "Registered domains known.", |s| s.domains.into()),
    Measure::gauge("weft_quarantined_records", "Records in quarantine.", |s| {
        s.quarantined.into()
    }),
    Measure::gauge("weft_search_epoch", "Epoch that search covers.", |s| {
        s.search_epoch.into()
    }),
    Measure::gauge("weft_search_documents", "Documents in the search index.", |s| {
        s.search_documents.into()
    }),
    Measure::gauge("weft_disk_bytes", "Bytes on disk.", |s| s.disk_bytes.into()),
    Measure::gauge("weft_memory_bytes", "Resident memory of the process.", |s| {
        s.memory_bytes.into()
    }),
];

/// Metrics of each stage of a load.
const STAGES: &[Measure<StageRow>] = &[
    Measure::gauge("weft_stage_threads", "Threads of a stage.", |s| s.threads.into()),
    Measure::gauge("weft_stage_items_waiting", "Items waiting before a stage.", |s| {
        s.waiting.into()
    }),
    Measure::gauge("weft_stage_items_running", "Items a stage is working on.", |s| {
        s.running.into()
    }),
    Measure::gauge("weft_stage_items_done", "Items a stage has done.", |s| {
        s.done.into()
    }),
    Measure::gauge(
        "weft_stage_item_seconds_mean",
        "Mean time of an item in a stage.",
        |s| (s.ms_per_item / 1000.0).into(),
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
    let asked = state
        .archive
        .ask_together(|together| (together.ask(Status {}), together.ask(Stages {})));
    if let Ok((status, stages)) = asked.await {
        if let Ok(answer) = status {
            text.one(&EPOCH, answer.epoch);
            write_status(&mut text, &answer.body);
        }
        if let Ok(answer) = stages {
            let stages = answer.body.stages.iter();
            let stages: Vec<_> = stages.map(|row| ([("stage", row.stage.as_str())], row)).collect();
            text.table(STAGES, &stages);
        }
    }
    if let Some(store) = &state.store {
        store::write(&mut text, &*store.report().await);
    }
    if let Some(cache) = &state.cache {
        cache::write(&mut text, &cache.stats());
    }
    if let Some(gateway) = &state.gateway {
        let (requests, connections) = gateway();
        store::write_s3(&mut text, &requests, Some(&connections));
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
    text.single(ARCHIVE, status);
}
