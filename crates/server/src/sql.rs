//! Statements in SQL: passed on to the program that answers them.
//!
//! The engine is a process of its own (`weft-sql serve`), because it is too large to be part of this one. What comes to its paths is
//! sent there over a private socket, and its answers come back as they are: one address, one navigation, one set of limits for
//! connections.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;

use crate::failure::Failure;
use crate::pages::PageFailure;
use crate::state::{Common, Context, State};

/// The page.
const PAGE: &str = "/sql";

/// The paths of programs.
const API: [&str; 2] = ["/api/v1/sql", "/api/v1/sql/tables"];

/// Longest time until an answer begins: a little more than a statement has there.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(65);

/// How long an answer at this path may take to begin, if it is passed on.
pub(crate) fn time_max(path: &str) -> Option<Duration> {
    (path == PAGE || API.contains(&path)).then_some(ANSWER_TIME_MAX)
}

/// Headers of one connection, which the next does not get (RFC 9110, section 7.6.1).
const OF_CONNECTION: [HeaderName; 6] = [
    header::CONNECTION,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::TE,
    header::TRAILER,
    HeaderName::from_static("keep-alive"),
];

/// Says to the other program how it shows names of files. It is set for each request, whatever a client sends.
const NAMES: HeaderName = HeaderName::from_static("weft-names");

/// The program that answers statements.
#[async_trait]
pub trait SqlServer: Send + Sync + 'static {
    /// A new connection to it. Starts it where it does not run.
    ///
    /// # Errors
    /// If it cannot be started, or does not answer.
    async fn connect(&self) -> io::Result<UnixStream>;
}

/// The routes that are passed on.
pub(crate) fn routes() -> Router<Arc<Common>> {
    let router = Router::new().route(PAGE, get(page));
    API.iter()
        .fold(router, |router, path| router.route(path, get(api).post(api)))
}

async fn page(Context(state): Context, request: Request) -> Response {
    let answer = pass_on(&state, request).await;
    answer.unwrap_or_else(|failure| PageFailure::from(failure).into_response())
}

async fn api(Context(state): Context, request: Request) -> Response {
    let answer = pass_on(&state, request).await;
    answer.unwrap_or_else(IntoResponse::into_response)
}

async fn pass_on(state: &State, mut request: Request) -> Result<Response, Failure> {
    let Some(server) = &state.sql else {
        return Err(Failure::not_found(
            "this server answers no SQL: the program weft-sql is not here (make sql builds it)",
        ));
    };
    let failed = |error: &dyn std::error::Error| {
        tracing::error!(%error, "weft-sql does not answer");
        Failure::unavailable("the program that answers SQL does not answer; the server's log says why")
    };
    let stream = server.connect().await.map_err(|error| failed(&error))?;
    let connected = http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = connected.map_err(|error| failed(&error))?;
    // Ends when the answer is read or dropped; then the other side stops working on it.
    tokio::spawn(connection);
    let target = request
        .uri()
        .path_and_query()
        .map_or(PAGE, |target| target.as_str());
    *request.uri_mut() = target.parse::<Uri>().map_err(|error| failed(&error))?;
    let headers = request.headers_mut();
    OF_CONNECTION.iter().for_each(|name| drop(headers.remove(name)));
    // Who asks was found out; the other program has no use for what they came with.
    [header::AUTHORIZATION, header::COOKIE]
        .iter()
        .for_each(|name| drop(headers.remove(name)));
    // The folders of files are for those who administer the archive.
    let names = match state.is_admin() {
        true => "whole",
        false => "base",
    };
    headers.insert(NAMES, HeaderValue::from_static(names));
    // Whether the name is ours was checked.
    headers.insert(header::HOST, HeaderValue::from_static("localhost"));
    let mut response = sender
        .send_request(request)
        .await
        .map_err(|error| failed(&error))?;
    let headers = response.headers_mut();
    OF_CONNECTION.iter().for_each(|name| drop(headers.remove(name)));
    Ok(response.map(Body::new))
}
