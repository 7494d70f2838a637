//! The JSON API: each route asks its question and returns the answer unchanged.

mod atom;
pub(crate) mod cdx;
mod cdx_parameters;
mod export;
mod files;
mod list;
pub(crate) mod loads;
mod openapi;
mod parameters;
mod schemas;
mod statements;
mod store;

pub(crate) mod table;
pub(crate) mod upload;
mod xml;

use std::sync::Arc;

use archive::question::{Answer, Body, JobsBody, LedgerBody, RecordBody};
use axum::Json;
use axum::extract::{RawPathParams, RawQuery, Request};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, on};

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::link;
use crate::state::{Common, Context};
pub(crate) use parameters::search_order;
use table::{Endpoint, Serves};

/// Returns the handler of one row of the table.
pub(crate) fn handler(endpoint: &'static Endpoint) -> MethodRouter<Arc<Common>> {
    let arguments = move |query: RawQuery, path: RawPathParams| {
        let path: Vec<(&str, &str)> = path.iter().collect();
        Arguments::parse(endpoint.parameters, query.0.as_deref().unwrap_or(""), &path)
    };
    match &endpoint.serves {
        Serves::Answer { question, .. } => get(
            move |state: Context, path: RawPathParams, query: RawQuery| async move {
                let arguments = arguments(query, path)?;
                let question = question(&arguments)?;
                match arguments.text("format") {
                    Some(format) => list::file(&state.archive, question, format).await,
                    None => state.archive.ask(question).await.map(json),
                }
            },
        ),
        Serves::Cdx(server) => get(
            move |state: Context, path: RawPathParams, request: Request| async move {
                let path: Vec<(&str, &str)> = path.iter().collect();
                cdx::lines(
                    &state,
                    *server,
                    endpoint.parameters,
                    &path,
                    &request.into_parts().0,
                )
                .await
            },
        ),
        Serves::Post(posting) => on(
            axum::routing::MethodFilter::POST,
            move |state: Context, path: RawPathParams, request: Request| async move {
                let path: Vec<(&str, &str)> = path.iter().collect();
                let query = request.uri().query().unwrap_or("");
                // OutbackCDX clients send parameters that only OutbackCDX knows.
                let arguments = Arguments::parse_known(endpoint.parameters, query, &path)?;
                cdx::post::lines(&state, *posting, &arguments, request).await
            },
        ),
        Serves::Collections => get(
            move |state: Context, path: RawPathParams, query: RawQuery, asked: HeaderMap| async move {
                arguments(query, path)?;
                cdx::collections::list(&state, &asked).await
            },
        ),
        Serves::Export => get(
            move |state: Context, path: RawPathParams, query: RawQuery| async move {
                export::file(&state.archive, &arguments(query, path)?)
            },
        ),
        Serves::Atom => get(
            move |state: Context, path: RawPathParams, query: RawQuery, asked: HeaderMap| async move {
                let host = asked.get(header::HOST).and_then(|host| host.to_str().ok());
                atom::feed(&state.archive, &arguments(query, path)?, host.unwrap_or_default()).await
            },
        ),
        Serves::Record => get(
            move |state: Context, path: RawPathParams, query: RawQuery, asked: HeaderMap| async move {
                crate::record::download(&state.archive, &arguments(query, path)?, &asked).await
            },
        ),
        Serves::Stored => get(
            move |state: Context, path: RawPathParams, query: RawQuery, asked: HeaderMap| async move {
                crate::stored::download(&state, &arguments(query, path)?, &asked).await
            },
        ),
        Serves::Metrics => get(
            move |state: Context, path: RawPathParams, query: RawQuery| async move {
                // There are no parameters, but a mistyped one is refused as at every other route.
                arguments(query, path)?;
                Ok::<_, Failure>(crate::metrics::page(&state).await)
            },
        ),
        Serves::Store => get(
            move |state: Context, path: RawPathParams, query: RawQuery| async move {
                arguments(query, path)?;
                store::answer(&state).await
            },
        ),
        Serves::Files => get(
            move |state: Context, path: RawPathParams, query: RawQuery| async move {
                arguments(query, path)?;
                files::overview(&state).await
            },
        ),
        Serves::FilesTree => get(
            move |state: Context, path: RawPathParams, RawQuery(query): RawQuery| async move {
                let query = query.unwrap_or_default();
                let arguments = arguments(RawQuery(Some(query.clone())), path)?;
                files::tree(&state, &arguments, &query).await
            },
        ),
        Serves::Load => on(
            axum::routing::MethodFilter::POST,
            move |state: Context, request: axum::extract::Request| async move {
                loads::begin(&state, request).await.map(json)
            },
        ),
        Serves::Upload => on(
            axum::routing::MethodFilter::POST,
            move |state: Context, path: RawPathParams, query: RawQuery, request: axum::extract::Request| async move {
                let arguments = arguments(query, path)?;
                Ok::<_, Failure>(upload::receive(&state, &arguments, request).await)
            },
        ),
        Serves::Cancel => on(
            axum::routing::MethodFilter::POST,
            move |state: Context, path: RawPathParams, query: RawQuery, request: axum::extract::Request| async move {
                let id = arguments(query, path)?.number("id");
                loads::cancel(&state, id, request).await.map(json)
            },
        ),
    }
}

/// Returns an answer as JSON. Clients must not learn where files are on the server's disks. So the
/// location of a record is replaced by the address to fetch it from, and locations of inputs are
/// removed.
pub(crate) fn json(mut answer: Answer) -> Response {
    match &mut answer.body {
        Body::Record(record) => hide_place(record),
        Body::Ledger(LedgerBody { rows, .. }) => rows.iter_mut().for_each(|row| row.location.clear()),
        // A job lists rows of the ledger among its problems, so its locations must be removed too.
        Body::Job(job) => job.problems.iter_mut().for_each(|row| row.location.clear()),
        Body::Jobs(JobsBody { rows }) => {
            let problems = rows.iter_mut().flat_map(|job| &mut job.problems);
            problems.for_each(|row| row.location.clear());
        }
        _ => {}
    }
    let mut response = Json(&answer).into_response();
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

fn hide_place(record: &mut RecordBody) {
    record.location = link::record(&record.capture.url, Some(&link::At::exactly(&record.capture)));
    if let Some(original) = &mut record.original {
        hide_place(original);
    }
}

/// Handles `/api/v1/openapi.json`.
pub(crate) async fn openapi() -> Json<serde_json::Value> {
    Json(openapi::document())
}
