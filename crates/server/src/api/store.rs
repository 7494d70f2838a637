//! `GET /api/v1/store`: the report of the attached store, with the epoch that every answer names.

use archive::question::Status;
use axum::Json;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

use crate::failure::Failure;
use crate::state::State;
use crate::storage::StoreReport;

/// The attached store: its nodes, volumes and workers, and the last census.
#[derive(Serialize, JsonSchema)]
pub(super) struct StoreAnswer<'a> {
    /// Number of the archive's epoch.
    epoch: u64,
    #[schemars(extend("const" = "store"))]
    answer: &'static str,
    #[serde(flatten)]
    report: &'a StoreReport,
}

/// Handles a request for the report. The directories of volumes are removed, because clients must
/// not learn where volumes are on the nodes' disks.
pub(super) async fn answer(state: &State) -> Result<Response, Failure> {
    let watch = state.attached_store()?;
    let epoch = state.archive.ask(Status {}).await?.epoch;
    let mut report = StoreReport::clone(&*watch.report().await);
    report.volumes.iter_mut().for_each(|volume| volume.path.clear());
    let answer = StoreAnswer {
        epoch,
        answer: "store",
        report: &report,
    };
    let headers = [(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"))];
    Ok((headers, Json(answer)).into_response())
}
