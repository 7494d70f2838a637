//! SQL statements: forwarded to the program that answers them.
//!
//! The engine is a separate process (`weft-sql serve`), because it is too large to be part of this
//! one. Requests for its paths are forwarded over a private socket, and its responses are returned
//! unchanged. So there is one address, one navigation and one set of connection limits.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;

use crate::failure::Failure;
use crate::pages::PageFailure;
use crate::state::{Common, Context, State};

/// Path of the page.
const PAGE: &str = "/sql";

/// Paths of the API.
const API: [&str; 2] = ["/api/v1/sql", "/api/v1/sql/tables"];

/// Maximum time until a response begins: slightly more than the limit of a statement in the engine.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(65);

/// Returns how long a response at this path may take to begin, if the path is forwarded.
pub(crate) fn time_max(path: &str) -> Option<Duration> {
    (path == PAGE || API.contains(&path)).then_some(ANSWER_TIME_MAX)
}

/// Headers of one connection, which are not forwarded (RFC 9110, section 7.6.1).
const OF_CONNECTION: [HeaderName; 6] = [
    header::CONNECTION,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::TE,
    header::TRAILER,
    HeaderName::from_static("keep-alive"),
];

/// Tells the engine how to show file names. It is set on each request, so a value sent by a client
/// is replaced.
const NAMES: HeaderName = HeaderName::from_static("weft-names");

/// Returns the routes that are forwarded.
pub(crate) fn routes() -> Router<Arc<Common>> {
    let router = Router::new().route(PAGE, get(page));
    API.iter()
        .fold(router, |router, path| router.route(path, get(api).post(api)))
}

async fn page(Context(state): Context, request: Request) -> Response {
    let answer = forward(&state, request).await;
    answer.unwrap_or_else(|failure| PageFailure::from(failure).into_response())
}

async fn api(Context(state): Context, request: Request) -> Response {
    let answer = forward(&state, request).await;
    answer.unwrap_or_else(IntoResponse::into_response)
}

async fn forward(state: &State, mut request: Request) -> Result<Response, Failure> {
    let Some(server) = &state.sql else {
        return Err(Failure::not_found(
            "SQL is not available: the program weft-sql is not installed \
             (pip install 'weft-archive[sql]', or make sql)",
        ));
    };
    let failed = |error: &dyn std::error::Error| {
        tracing::error!(%error, "weft-sql does not respond");
        Failure::unavailable("the program weft-sql does not respond; see the server's log")
    };
    let stream = server.connect().await.map_err(|error| failed(&error))?;
    let connected = http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = connected.map_err(|error| failed(&error))?;
    // Ends when the response is read or dropped. Then the other side stops working on it.
    tokio::spawn(connection);
    let target = request
        .uri()
        .path_and_query()
        .map_or(PAGE, |target| target.as_str());
    *request.uri_mut() = target.parse::<Uri>().map_err(|error| failed(&error))?;
    let headers = request.headers_mut();
    OF_CONNECTION.iter().for_each(|name| drop(headers.remove(name)));
    // The client is already identified, and the engine does not need its credentials.
    [header::AUTHORIZATION, header::COOKIE]
        .iter()
        .for_each(|name| drop(headers.remove(name)));
    // Only administrators may see folders of files.
    let names = if state.is_admin() { "whole" } else { "base" };
    headers.insert(NAMES, HeaderValue::from_static(names));
    // The host name is already checked.
    headers.insert(header::HOST, HeaderValue::from_static("localhost"));
    let mut response = sender
        .send_request(request)
        .await
        .map_err(|error| failed(&error))?;
    let headers = response.headers_mut();
    OF_CONNECTION.iter().for_each(|name| drop(headers.remove(name)));
    Ok(response.map(Body::new))
}
