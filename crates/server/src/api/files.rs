//! `GET /api/v1/files` and `GET /api/v1/files/tree`: the catalogue of files, with the epoch of the
//! archive that every answer names.

use ::catalogue::ChildOrder;
use archive::question::Status;
use axum::Json;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

use crate::arguments::{Arguments, LIMIT_MAX};
use crate::catalogue::{Listing, Overview, path_in_query, tidy};
use crate::failure::Failure;
use crate::state::State;

/// Values of `by`. The first is the default.
pub(super) const ORDERS: &[&str] = &["size", "entries"];

/// The catalogue of files: its trees, sums over all of them, growth, and the last scans.
#[derive(Serialize, JsonSchema)]
pub(super) struct FilesAnswer<'a> {
    /// Number of the archive's epoch.
    epoch: u64,
    #[schemars(extend("const" = "files"))]
    answer: &'static str,
    /// Whether a scan was using the catalogue. In that case the figures are the last ones read, as
    /// of `time_ms`.
    in_use: bool,
    #[serde(flatten)]
    overview: &'a Overview,
}

/// A directory of the catalogue, and its direct children.
#[derive(Serialize, JsonSchema)]
pub(super) struct FilesTreeAnswer<'a> {
    /// Number of the archive's epoch.
    epoch: u64,
    #[schemars(extend("const" = "files_tree"))]
    answer: &'static str,
    #[serde(flatten)]
    listing: &'a Listing,
}

pub(super) async fn overview(state: &State) -> Result<Response, Failure> {
    let files = state.catalogued_files()?;
    let epoch = state.archive.ask(Status {}).await?.epoch;
    let latest = files.overview().await?;
    Ok(json(&FilesAnswer {
        epoch,
        answer: "files",
        in_use: latest.in_use,
        overview: &latest.overview,
    }))
}

/// Handles a request for a directory. `query` is the raw query of the address, because a path is
/// bytes that need not be valid text.
pub(super) async fn tree(state: &State, arguments: &Arguments, query: &str) -> Result<Response, Failure> {
    let files = state.catalogued_files()?;
    let path = tidy(&path_in_query(query).unwrap_or_default());
    let by = match arguments.text("by") {
        Some("entries") => ChildOrder::Entries,
        _ => ChildOrder::Size,
    };
    let count = arguments.limit("limit").unwrap_or(LIMIT_MAX);
    let epoch = state.archive.ask(Status {}).await?.epoch;
    let listing = files.listing(path, by, count).await?;
    Ok(json(&FilesTreeAnswer {
        epoch,
        answer: "files_tree",
        listing: &listing,
    }))
}

fn json(answer: &impl Serialize) -> Response {
    let headers = [(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"))];
    (headers, Json(answer)).into_response()
}
