//! The serving side: connections, who is let in, and what goes where.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use door::{Door, Pass, Patience};
use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Serialize;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Duration, timeout};
use tracing::Instrument as _;

use super::auth::{Gate, Signed};
use super::body::{self, Body};
use super::secure::{Connection, Handshakes};
use super::{FAREWELL, HEAD_BYTES_MAX, SERVER_KEEPS};
use crate::node::ConnectionSettings;
use crate::node::local::LocalNode;
use crate::node::trust::Trust;

/// A node as it is served.
pub(super) struct Service {
    pub(super) node: Arc<LocalNode>,
    pub(super) gate: Gate,
    handshakes: Handshakes,
    /// How long a connection may go without a good signature.
    stranger_max: Duration,
}

/// A request that was let in.
pub(super) struct Admitted {
    pub(super) signed: Signed,
    /// The path below `/v1/volume/` or `/v1/node/`.
    pub(super) rest: String,
    pub(super) query: String,
    pub(super) body: Incoming,
}

/// Serves until it is stopped.
pub(crate) struct Serving {
    stop: watch::Sender<bool>,
    accepting: JoinHandle<()>,
}

impl Serving {
    /// Begins to serve a node to those who know the secret.
    pub(crate) fn start(
        listener: TcpListener,
        node: Arc<LocalNode>,
        trust: &Trust,
        connections: ConnectionSettings,
    ) -> Self {
        let service = Arc::new(Service {
            node,
            gate: Gate::new(trust.secret.clone()),
            handshakes: Handshakes::new(trust),
            stranger_max: Duration::from_secs(connections.stranger_seconds.into()),
        });
        let door = Door::new(door::Limits {
            connections_max: connections.max,
            per_address_max: connections.per_address,
            reserve: connections.reserved,
        });
        let (stop, stopped) = watch::channel(false);
        Self {
            stop,
            accepting: tokio::spawn(accept(listener, door, service, stopped)),
        }
    }

    /// Takes no new requests, and waits some time for the answers in flight.
    pub(crate) async fn stop(self) {
        self.stop.send_replace(true);
        // It only fails when the runtime ends, and with it all connections.
        let _ = self.accepting.await;
    }
}

async fn accept(
    listener: TcpListener,
    door: Arc<Door>,
    service: Arc<Service>,
    stopped: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    let mut stop = stopped.clone();
    loop {
        tokio::select! {
            () = asked(&mut stop) => break,
            Some(_) = connections.join_next() => {}
            (stream, peer, pass) = door.accept(&listener) => {
                connections.spawn(serve(stream, peer, pass, service.clone(), stopped.clone()));
            }
        }
    }
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    if timeout(FAREWELL, all).await.is_err() {
        tracing::warn!("answers in flight took too long and were broken off");
    }
}

/// Returns when the end is asked for, or nobody is left who could ask.
async fn asked(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

async fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    pass: Pass,
    service: Arc<Service>,
    stopped: watch::Receiver<bool>,
) {
    // Without it small answers wait for the acknowledgement of the one before; slower, but no error.
    let _ = stream.set_nodelay(true);
    match service.handshakes.enter(stream).await {
        Ok(Connection::Plain(stream)) => converse(stream, peer, pass, service, stopped).await,
        Ok(Connection::Secure(stream)) => converse(*stream, peer, pass, service, stopped).await,
        Err(error) => tracing::debug!(%peer, %error, "a connection was refused"),
    }
}

/// Answers the requests of one connection.
async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: SocketAddr,
    pass: Pass,
    service: Arc<Service>,
    mut stopped: watch::Receiver<bool>,
) {
    let stranger_max = service.stranger_max;
    let answer = service_fn(|request| {
        let (service, pass) = (service.clone(), pass.clone());
        async move { Ok::<_, std::convert::Infallible>(service.answer(request, peer, &pass).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(SERVER_KEEPS)
        .max_header_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), answer);
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        // Requests that are not signed are answered, but are not heard: who sends nothing else is cut all the same.
        () = pass.outstayed(Patience::FirstSignature(stranger_max)) => return,
        () = asked(&mut stopped) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%peer, %error, "connection ended");
    }
}

impl Service {
    async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        peer: SocketAddr,
        pass: &Pass,
    ) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
        let Some(signed) = self.gate.check(&parts.method, target, &parts.headers) else {
            tracing::debug!(%peer, "request without a good signature");
            return refused();
        };
        pass.trust();
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
        plain(StatusCode::NOT_FOUND, format!("nothing is at {path}"))
    }

    /// The answer to a request that was made under another layout than the one in force; `None` if it was not.
    pub(super) async fn other_layout(&self, signed: &Signed) -> Option<Response<Body>> {
        if signed.under == self.node.keeper.tag() {
            return None;
        }
        let layouts = self.node.keeper.layouts().await;
        Some(json(StatusCode::CONFLICT, &layouts))
    }
}

/// 401, without a word.
pub(super) fn refused() -> Response<Body> {
    plain(StatusCode::UNAUTHORIZED, String::new())
}

/// A text for people.
pub(super) fn plain(status: StatusCode, text: String) -> Response<Body> {
    with_body(status, body::full(text))
}

/// A JSON answer.
pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Response<Body> {
    match serde_json::to_vec(value) {
        Ok(text) => with_body(status, body::full(text)),
        Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}

/// What is wrong with a request.
pub(super) fn bad(error: &io::Error) -> Response<Body> {
    plain(StatusCode::BAD_REQUEST, error.to_string())
}

pub(super) fn with_body(status: StatusCode, body: Body) -> Response<Body> {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer
}
