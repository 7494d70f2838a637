//! All routes, and what every request passes through: counting, the time limit, and headers that hold for
//! every answer.

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{DefaultBodyLimit, MatchedPath, Request, State as Shared};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::api;
use crate::api::table::ENDPOINTS;
use crate::failure::Failure;
use crate::pages::{self, PageFailure};
use crate::sandbox;
use crate::state::State;

/// Paths whose failures are JSON; all others are for readers.
const FOR_PROGRAMS: [&str; 4] = ["/api", "/cdx", "/record", "/metrics"];

/// Headers of every answer. Archived content and its interpretation stay where they are put.
const HEADERS: [(HeaderName, &str); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
];

/// The whole server as one service.
pub(crate) fn router(state: Arc<State>) -> Router {
    let mut router = pages::routes()
        .route("/api/v1/openapi.json", get(api::openapi))
        .route("/sandbox/content", get(sandbox::content));
    for endpoint in ENDPOINTS {
        router = router.route(endpoint.path, api::handler(endpoint));
    }
    router
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method)
        .layer(DefaultBodyLimit::max(state.settings.body_bytes_max))
        .layer(from_fn_with_state(Arc::clone(&state), around))
        .with_state(state)
}

async fn around(Shared(state): Shared<Arc<State>>, request: Request, next: Next) -> Response {
    let _in_flight = state.metrics.begin();
    let begun = Instant::now();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let for_programs = is_for_programs(request.uri().path());
    let mut response = match tokio::time::timeout(state.settings.request_timeout, next.run(request)).await {
        Ok(response) => response,
        Err(_) => failed(
            Failure::unavailable("this took too long; the server may be busy"),
            for_programs,
        ),
    };
    if let Some(failure) = response.extensions_mut().remove::<Failure>() {
        response = pages::failure::page(&failure, state.has_store()).into_response();
    }
    for (name, value) in HEADERS {
        response
            .headers_mut()
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
    let route = route.as_ref().map_or("none", MatchedPath::as_str);
    let took = begun.elapsed();
    state.metrics.answered(route, response.status().as_u16(), took);
    tracing::debug!(
        route,
        status = response.status().as_u16(),
        ms = took.as_secs_f64() * 1e3,
        "answered"
    );
    response
}

async fn unknown(request: Request) -> Response {
    failed(
        Failure::not_found("there is nothing at this address"),
        is_for_programs(request.uri().path()),
    )
}

async fn wrong_method(request: Request) -> Response {
    let failure = Failure::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        "this address does not take that method",
    );
    failed(failure, is_for_programs(request.uri().path()))
}

fn failed(failure: Failure, for_programs: bool) -> Response {
    match for_programs {
        true => failure.into_response(),
        false => PageFailure::from(failure).into_response(),
    }
}

fn is_for_programs(path: &str) -> bool {
    FOR_PROGRAMS.iter().any(|prefix| {
        path.strip_prefix(prefix)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}
