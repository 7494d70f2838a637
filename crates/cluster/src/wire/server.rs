//! The server of a node: accepts connections, checks signatures, and routes requests.
//!
//! | status | body |
//! |---|---|
//! | 200 | the response |
//! | 400 | the error in the request, as text |
//! | 401 | none: the request is not signed with the secret, too old, or was seen before |
//! | 409 | the `Layouts` that the node has in force: the request was made under another one |
//! | other | the `VolumeError` or `NodeError` as JSON |

use std::io;
use std::sync::Arc;

use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use listen::{Connection, Port, PortSettings, Security};
use listen::{ConnectionLimiter, IdleLimit};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Duration;
use tracing::Instrument as _;

use super::auth::{Gate, Signed};
use super::body::{self, Body};
use super::{ASK_BYTES_MAX, FAREWELL, HANDSHAKE_MAX, HEAD_BYTES_MAX, IDLE_MAX, SERVER_KEEPS};
use crate::ConnectionSettings;
use crate::local::LocalNode;
use crate::trust::{Tls, Trust};

/// A node with the gate that checks its requests.
pub(super) struct Service {
    pub(super) node: Arc<LocalNode>,
    pub(super) gate: Gate,
}

/// A request whose signature is good.
pub(super) struct Admitted {
    pub(super) signed: Signed,
    /// The path below `/v1/volume/` or `/v1/node/`.
    pub(super) rest: String,
    pub(super) query: String,
    pub(super) body: Incoming,
}

/// A running server of a node.
pub(crate) struct Serving {
    stop: watch::Sender<bool>,
    serving: JoinHandle<()>,
}

impl Serving {
    /// Starts to serve a node to processes that know the secret.
    pub(crate) fn start(
        port: Port,
        node: Arc<LocalNode>,
        trust: &Trust,
        connections: ConnectionSettings,
    ) -> Self {
        let service = Arc::new(Service {
            node,
            gate: Gate::new(trust.secret.clone()),
        });
        let terms = terms(trust, connections);
        let answer = move |request, connection| {
            let service = service.clone();
            async move { Ok(service.answer(request, connection).await) }
        };
        let (stop, mut stopped) = watch::channel(false);
        // An error means that the sender was dropped, which ends the serving too.
        let stopped = async move { drop(stopped.wait_for(|stop| *stop).await) };
        Self {
            stop,
            serving: tokio::spawn(port.serve(terms, answer, stopped)),
        }
    }

    /// Stops accepting requests, and waits some time for the responses in flight.
    pub(crate) async fn stop(self) {
        self.stop.send_replace(true);
        // It fails only if the runtime ends, which ends all connections too.
        let _ = self.serving.await;
    }
}

/// Returns the limits on who may connect.
pub(crate) fn door(connections: ConnectionSettings) -> Arc<ConnectionLimiter> {
    ConnectionLimiter::new(listen::Limits {
        connections_max: connections.max,
        per_address_max: connections.per_address,
        reserve: connections.reserved,
    })
}

/// Returns the limits and security of connections.
fn terms(trust: &Trust, connections: ConnectionSettings) -> PortSettings {
    let server = trust.keys.server.clone();
    PortSettings {
        security: match trust.tls {
            Tls::On => Security::Tls(server),
            Tls::Off => Security::Plain,
            Tls::Both => Security::Both(server),
        },
        handshake_time_max: HANDSHAKE_MAX,
        head_bytes_max: HEAD_BYTES_MAX,
        head_time_max: SERVER_KEEPS,
        // Replicas pass through: a smaller buffer would need more system calls per replica.
        buffer_bytes_max: None,
        // The caller has proved the secret, and both sides have their own limits for content that
        // stalls.
        write_idle_max: None,
        // Every request must be signed. An unsigned one gets a response, but does not keep the
        // connection open.
        idle_limit: IdleLimit::FirstSignature(Duration::from_secs(connections.stranger_seconds.into())),
        grace: FAREWELL,
    }
}

impl Service {
    async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        connection: Arc<Connection>,
    ) -> Response<Body> {
        let peer = connection.peer();
        let (parts, body) = request.into_parts();
        let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
        let Some(signed) = self.gate.check(&parts.method, target, &parts.headers) else {
            tracing::debug!(%peer, "request without a valid signature");
            return refused();
        };
        connection.trust();
        let path = parts.uri.path();
        let span = tracing::debug_span!("request", from = signed.caller, %peer, path);
        let admitted = |rest: &str| Admitted {
            signed,
            rest: rest.to_owned(),
            query: parts.uri.query().unwrap_or_default().to_owned(),
            body,
        };
        if parts.method == Method::GET && path == "/v1/ping" {
            return plain(StatusCode::OK, String::new());
        }
        if parts.method != Method::POST {
            return plain(StatusCode::METHOD_NOT_ALLOWED, format!("{} {path}", parts.method));
        }
        if let Some(rest) = path.strip_prefix("/v1/volume/") {
            return self.answer_volume(admitted(rest)).instrument(span).await;
        }
        if let Some(rest) = path.strip_prefix("/v1/node/") {
            return self.answer_node(admitted(rest)).instrument(span).await;
        }
        plain(StatusCode::NOT_FOUND, format!("nothing was found at {path}"))
    }

    /// Returns the response to a request made under another layout than the one in force, or `None`
    /// if the layout is the same.
    pub(super) async fn other_layout(&self, signed: &Signed) -> Option<Response<Body>> {
        if signed.under == self.node.layout_log.tag() {
            return None;
        }
        let layouts = self.node.layout_log.layouts().await;
        Some(json(StatusCode::CONFLICT, &layouts))
    }
}

/// Reads the JSON of a request. Returns the error response if it cannot be read or is not the
/// signed one.
pub(super) async fn read_ask<T: DeserializeOwned>(
    content: Incoming,
    signed: &Signed,
) -> Result<T, Response<Body>> {
    let text = body::whole(content, ASK_BYTES_MAX, IDLE_MAX)
        .await
        .map_err(|error| bad(&error))?;
    if *blake3::hash(&text).as_bytes() != signed.ask {
        return Err(refused());
    }
    serde_json::from_slice(&text).map_err(|error| bad(&error.into()))
}

/// Returns 404 for an operation that does not exist or does not match the request.
pub(super) fn unknown(operation: &str) -> Response<Body> {
    plain(StatusCode::NOT_FOUND, format!("unknown operation {operation:?}"))
}

/// Returns 401 without a body, so that strangers learn nothing.
pub(super) fn refused() -> Response<Body> {
    plain(StatusCode::UNAUTHORIZED, String::new())
}

/// Returns a response with a text for people.
pub(super) fn plain(status: StatusCode, text: String) -> Response<Body> {
    with_body(status, body::full(text))
}

/// Returns a JSON response.
pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Response<Body> {
    match serde_json::to_vec(value) {
        Ok(text) => with_body(status, body::full(text)),
        Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}

/// Returns 400 with a text that describes the error in the request.
pub(super) fn bad(error: &io::Error) -> Response<Body> {
    plain(StatusCode::BAD_REQUEST, error.to_string())
}

pub(super) fn with_body(status: StatusCode, body: Body) -> Response<Body> {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer
}
