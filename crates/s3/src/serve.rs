//! The face on a socket: connections, their limits, TLS, and the end.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use door::Patient;
use http::{HeaderValue, Request, Response, StatusCode, header};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use s3s::config::{S3Config, StaticConfigProvider};
use s3s::service::{S3Service, S3ServiceBuilder};
use store::node::Counters;
use store::store::Store;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::access::{Access, Peer, Secrets};
use crate::body::{Incoming, Outgoing};
use crate::cors;
use crate::exchange::Exchange;
use crate::face::Face;
use crate::keys::{KeyPair, Keys, KeysError};
use crate::metrics::Metrics;
use crate::tls::{self, TlsError};

/// How long connections may finish what they are at when the face ends.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(10);

/// How long it waits after a connection could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Name of browsers' questions among the operations counted.
const PREFLIGHT: &str = "Preflight";

/// Longest XML body in bytes: a thousand keys to delete of a thousand bytes, each byte escaped.
const XML_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Longest object in a browser's form in bytes: s3s holds it in memory.
const FORM_FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Longest field of a browser's form in bytes, and of all its fields.
const FORM_FIELD_BYTES_MAX: usize = 64 * 1024;

/// Most fields of a browser's form.
const FORM_PARTS_MAX: usize = 100;

/// What the face is told before it starts.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where it listens; port 0 for a free one.
    pub listen: SocketAddr,
    /// Certificate chain and private key, PEM files; plain HTTP without.
    pub tls: Option<TlsFiles>,
    /// The keys file, made when absent.
    pub keys: PathBuf,
    /// What clients may ask of it.
    pub limits: Limits,
    /// The node beside it, whose background workers make way for the requests of the face.
    pub node: Option<Arc<Counters>>,
}

/// Files for TLS.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// Certificate chain, PEM.
    pub certificates: PathBuf,
    /// Private key, PEM.
    pub key: PathBuf,
}

/// What clients may ask of it.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Connections at a time; others wait in the system's queue.
    pub connections_max: usize,
    /// Request line and headers together, in bytes.
    pub header_bytes_max: usize,
    /// Content of a request, in bytes.
    pub body_bytes_max: u64,
    /// How long a connection may take to send its headers, or stay idle between requests.
    pub header_time_max: Duration,
    /// How long a client may neither send its body nor read its answer.
    pub idle_time_max: Duration,
}

impl Default for Limits {
    /// 5 GiB is S3's own limit for one put; S3's headers have at most 8 KB, its presigned addresses some more.
    fn default() -> Self {
        Self {
            connections_max: 1024,
            header_bytes_max: 32 * 1024,
            body_bytes_max: 5 * 1024 * 1024 * 1024,
            header_time_max: Duration::from_secs(30),
            idle_time_max: Duration::from_secs(60),
        }
    }
}

/// Why the face does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is taken or not this machine's.
    #[error("listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What failed.
        source: io::Error,
    },
    /// The keys file.
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// The certificate or its key.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// The face, serving until it is shut down.
pub struct Running {
    address: SocketAddr,
    new_key: Option<KeyPair>,
    metrics: Arc<Metrics>,
    closing: watch::Sender<bool>,
    accepting: JoinHandle<()>,
}

impl Running {
    /// Where it listens, with the real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The key pair made because there was no keys file; to be shown once.
    pub fn new_key(&self) -> Option<&KeyPair> {
        self.new_key.as_ref()
    }

    /// What it has counted.
    pub fn metrics(&self) -> Arc<Metrics> {
        self.metrics.clone()
    }

    /// Stops listening and lets requests under way finish, for some seconds at most.
    pub async fn shutdown(self) {
        // Fails only where no connection is left, and then there is nobody to tell.
        let _ = self.closing.send(true);
        // The task ends by itself; that it could have panicked changes nothing here.
        let _ = self.accepting.await;
        if tokio::time::timeout(SHUTDOWN_GRACE, self.closing.closed())
            .await
            .is_err()
        {
            tracing::warn!(
                connections = self.closing.receiver_count(),
                "left connections that did not finish"
            );
        }
    }
}

/// Everything that a connection needs.
#[derive(Clone)]
struct Serving {
    service: S3Service,
    store: Store,
    tls: Option<TlsAcceptor>,
    limits: Limits,
    metrics: Arc<Metrics>,
    node: Option<Arc<Counters>>,
}

/// Serves a store.
///
/// # Errors
/// [`ServeError`]; nothing is left running then.
pub async fn serve(settings: Settings, store: Store) -> Result<Running, ServeError> {
    let tls = settings.tls.as_ref().map(tls::acceptor).transpose()?;
    let failed = |source| ServeError::Listen {
        address: settings.listen,
        source,
    };
    let listener = TcpListener::bind(settings.listen).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let (keys, new_key) = Keys::open(&settings.keys)?;
    let metrics = Arc::new(Metrics::default());
    let serving = Serving {
        service: service(store.clone(), Arc::new(keys), settings.limits.body_bytes_max),
        store,
        tls,
        limits: settings.limits,
        metrics: metrics.clone(),
        node: settings.node,
    };
    let (closing, closed) = watch::channel(false);
    let accepting = tokio::spawn(accept_all(listener, serving, closed));
    tracing::info!(%address, "the S3 face listens");
    Ok(Running {
        address,
        new_key,
        metrics,
        closing,
        accepting,
    })
}

fn service(store: Store, keys: Arc<Keys>, body_bytes_max: u64) -> S3Service {
    let mut config = S3Config::default();
    config.xml_max_body_size = XML_BYTES_MAX;
    config.post_object_max_file_size = FORM_FILE_BYTES_MAX;
    config.form_max_field_size = FORM_FIELD_BYTES_MAX;
    config.form_max_fields_size = FORM_FIELD_BYTES_MAX;
    config.form_max_parts = FORM_PARTS_MAX;
    let access = Access {
        keys: keys.clone(),
        store: store.clone(),
    };
    let face = Face {
        store,
        keys: keys.clone(),
        body_bytes_max,
        changing: tokio::sync::Mutex::default(),
    };
    let mut builder = S3ServiceBuilder::new(face);
    builder.set_auth(Secrets(keys));
    builder.set_access(access);
    builder.set_config(Arc::new(StaticConfigProvider::new(Arc::new(config))));
    builder.build()
}

async fn accept_all(listener: TcpListener, serving: Serving, mut closed: watch::Receiver<bool>) {
    let slots = Arc::new(Semaphore::new(serving.limits.connections_max.max(1)));
    loop {
        let (stream, peer, slot) = tokio::select! {
            accepted = accept(&listener, &slots) => accepted,
            _ = closed.wait_for(|closing| *closing) => return,
        };
        tokio::spawn(hold(stream, peer, slot, serving.clone(), closed.clone()));
    }
}

/// A slot first, so that what cannot be held stays in the system's queue.
async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> (TcpStream, IpAddr, Option<OwnedSemaphorePermit>) {
    let slot = Arc::clone(slots).acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => return (stream, peer.ip(), slot),
            Err(error) => {
                tracing::warn!(%error, "accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn hold(
    stream: TcpStream,
    address: IpAddr,
    slot: Option<OwnedSemaphorePermit>,
    serving: Serving,
    closed: watch::Receiver<bool>,
) {
    let _slot = slot;
    let _open = serving.metrics.open();
    // Without it small answers wait for the acknowledgement of the one before.
    let _ = stream.set_nodelay(true);
    let stream = Patient::new(stream, serving.limits.idle_time_max);
    let secure = serving.tls.is_some();
    let peer = Peer { address, secure };
    let ended = match serving.tls.clone() {
        None => talk(stream, peer, &serving, closed).await,
        Some(tls) => match tokio::time::timeout(serving.limits.header_time_max, tls.accept(stream)).await {
            Ok(Ok(stream)) => talk(stream, peer, &serving, closed).await,
            Ok(Err(error)) => {
                tracing::debug!(%error, "a connection without TLS");
                Ok(())
            }
            Err(_) => Ok(()),
        },
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

async fn talk<S>(
    stream: S,
    peer: Peer,
    serving: &Serving,
    mut closed: watch::Receiver<bool>,
) -> Result<(), hyper::Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let answering = service_fn(|request| answer(request, peer, serving));
    let limits = &serving.limits;
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time_max)
        .max_header_size(limits.header_bytes_max)
        .serve_connection(TokioIo::new(stream), answering);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => return ended,
        _ = closed.wait_for(|closing| *closing) => connection.as_mut().graceful_shutdown(),
    }
    connection.await
}

async fn answer(
    request: Request<hyper::body::Incoming>,
    peer: Peer,
    serving: &Serving,
) -> Result<Response<Outgoing>, Infallible> {
    let exchange = Exchange::begin(serving.metrics.clone(), serving.node.as_ref());
    if let Some(response) = cors::preflight(&serving.store, &request).await {
        exchange.name(PREFLIGHT);
        exchange.answer(response.status().as_u16());
        return Ok(response.map(|body| Outgoing::new(body, exchange)));
    }
    let told = cors::told(&serving.store, &request).await;
    let limits = &serving.limits;
    // What frames the content (chunks with their signatures) is not counted as content by the face.
    let bytes_max = limits
        .body_bytes_max
        .saturating_add(limits.body_bytes_max / 16)
        .saturating_add(64 * 1024);
    let mut request = request.map(|body| {
        s3s::Body::http_body(Incoming::new(
            body,
            exchange.clone(),
            limits.idle_time_max,
            bytes_max,
        ))
    });
    request.extensions_mut().insert(exchange.clone());
    request.extensions_mut().insert(peer);
    let expects = request.headers().contains_key(header::EXPECT);
    let mut response = serving.service.call(request).await.unwrap_or_else(|error| {
        let error: s3s::StdError = error.into();
        tracing::error!(%error, "a request could not be answered");
        let mut response = Response::new(s3s::Body::empty());
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response
    });
    // The client has been told nothing of its body, and may or may not send it: what comes next on this connection could be
    // the body or another request.
    if expects && !exchange.has_received() {
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response.headers_mut().extend(told);
    exchange.answer(response.status().as_u16());
    Ok(response.map(|body| Outgoing::new(body, exchange)))
}
