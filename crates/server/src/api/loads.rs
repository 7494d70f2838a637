//! Starts and cancels loads over HTTP.
//!
//! A load reads any file that the server may read. So the settings must allow it, and the client
//! must be an administrator, which `admit` checks before any handler. The body must be JSON,
//! because a form of another site can send other types without a preflight request.

use std::path::Path;

use archive::question::{Answer, Cancel, LoadRequest};
use axum::extract::Request;
use axum::http::{StatusCode, header};

use crate::failure::{Code, Failure};
use crate::sites;
use crate::state::State;

/// Handles `POST /api/v1/loads`.
pub(crate) async fn begin(state: &State, request: Request) -> Result<Answer, Failure> {
    // Before the body is read: a client that is refused must not make the server read it.
    allow(state, &request)?;
    let json = request
        .headers()
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.split(';').next().unwrap_or("").trim() == "application/json");
    if !json {
        return Err(Failure::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Code::UnsupportedMediaType,
            "the body must be application/json",
        ));
    }
    let body = axum::body::to_bytes(request.into_body(), state.settings.body_bytes_max)
        .await
        .map_err(|_| {
            Failure::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                Code::TooLarge,
                "the body is too large",
            )
        })?;
    let load: LoadRequest = serde_json::from_slice(&body)
        .map_err(|error| Failure::bad_request(format!("the body is not a load request: {error}")))?;
    check(&load)?;
    state.archive.ask(load).await.map(Answer::any)
}

/// Handles `POST /api/v1/jobs/{id}/cancel`.
pub(crate) async fn cancel(state: &State, id: u64, request: Request) -> Result<Answer, Failure> {
    allow(state, &request)?;
    state.archive.ask(Cancel { id }).await.map(Answer::any)
}

fn check(load: &LoadRequest) -> Result<(), Failure> {
    if load.inputs.is_empty() {
        return Err(Failure::bad_request("inputs is empty: nothing to load"));
    }
    if !load.allow_elsewhere.is_empty() {
        return Err(Failure::forbidden(
            "over HTTP, lists of packages may refer only to their own directory; use weft load \
             --allow-elsewhere HOST on the server's machine",
        ));
    }
    match load
        .inputs
        .iter()
        .find(|input| !Path::new(&input.path).is_absolute())
    {
        Some(input) => Err(Failure::bad_request(format!(
            "path {:?} is not absolute",
            input.path
        ))),
        None => Ok(()),
    }
}

fn allow(state: &State, request: &Request) -> Result<(), Failure> {
    if !state.settings.loads_over_http {
        return Err(Failure::forbidden(
            "loads over HTTP are disabled; run weft load INPUT on the server's machine",
        ));
    }
    if sites::is_cross_site(request.headers()) {
        return Err(Failure::forbidden("cross-site requests must not start loads"));
    }
    Ok(())
}
