//! Begins and cancels loads over HTTP.
//!
//! A load reads any file that the server may read, so all of these must hold: the setting allows it; the
//! connection comes from this machine; no proxy header says that the request is another client's; `Host` is a
//! name of this machine (a page of another site whose name resolves to this machine has another); and a
//! browser's `Origin`, if there is one, is this server. The body must be JSON, because a form of another site
//! can send other types without asking.

use std::net::IpAddr;
use std::path::Path;

use archive::question::{Answer, Cancel, LoadRequest};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};

use crate::failure::{Code, Failure};
use crate::state::{Peer, State};

/// Headers with which a proxy says that it passes on another client's request.
const PROXY_HEADERS: [&str; 6] = [
    "forwarded",
    "x-real-ip",
    "via",
    "cf-connecting-ip",
    "true-client-ip",
    "x-client-ip",
];

/// The beginning of others.
const PROXY_HEADERS_BEGIN: &str = "x-forwarded-";

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
    state.asker.ask(load).await.map(Answer::any)
}

/// Handles `POST /api/v1/jobs/{id}/cancel`.
pub(crate) async fn cancel(state: &State, id: u64, request: Request) -> Result<Answer, Failure> {
    allow(state, &request)?;
    state.asker.ask(Cancel { id }).await.map(Answer::any)
}

fn check(load: &LoadRequest) -> Result<(), Failure> {
    if load.inputs.is_empty() {
        return Err(Failure::bad_request("inputs is empty: nothing to load"));
    }
    if !load.allow_elsewhere.is_empty() {
        return Err(Failure::forbidden(
            "lists of packages lead to their own folder alone here; on the server's machine: weft load --allow-elsewhere HOST",
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
            "loads over HTTP are off; on the server's machine: weft load INPUT",
        ));
    }
    match is_from_here(request) {
        true => Ok(()),
        false => Err(Failure::forbidden(
            "loads are only begun from the server's own machine",
        )),
    }
}

/// Whether a request comes from this machine, as far as can be told.
pub(crate) fn is_from_here(request: &Request) -> bool {
    let peer = request
        .extensions()
        .get::<Peer>()
        .map(|peer| peer.0.ip().to_canonical());
    let headers = request.headers();
    peer.is_some_and(|ip| ip.is_loopback())
        && !headers.keys().any(is_of_proxy)
        && host_is_here(headers)
        && origin_is_here(headers)
}

fn is_of_proxy(name: &HeaderName) -> bool {
    PROXY_HEADERS.contains(&name.as_str()) || name.as_str().starts_with(PROXY_HEADERS_BEGIN)
}

fn host_is_here(headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|value| value.to_str().ok());
    host.is_some_and(|host| is_here(host_without_port(host)))
}

fn origin_is_here(headers: &HeaderMap) -> bool {
    // Browsers send `Origin` with every POST, other clients do not.
    let Some(origin) = headers.get(header::ORIGIN) else {
        return true;
    };
    let host = headers.get(header::HOST).map(|value| value.as_bytes());
    origin.as_bytes().strip_prefix(b"http://") == host
}

fn host_without_port(host: &str) -> &str {
    match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    }
}

fn is_here(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_here() {
        for host in [
            "localhost",
            "localhost:8080",
            "127.0.0.1:1",
            "[::1]:8080",
            "[::1]",
            "LOCALHOST:1",
        ] {
            assert!(is_here(host_without_port(host)), "{host}");
        }
        for host in [
            "example.com:8080",
            "",
            "localhost.example.com",
            "10.0.0.1:8080",
            "[::2]:1",
            "127.0.0.1.example.com",
        ] {
            assert!(!is_here(host_without_port(host)), "{host}");
        }
    }
}
