//! The face on a socket: connections, their limits, TLS, and the end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use door::{Door, Hosts, Pass, Patient};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use s3s::config::{S3Config, StaticConfigProvider};
use s3s::service::{S3Service, S3ServiceBuilder};
use store::node::Counters;
use store::store::Store;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::access::{Access, Peer, Secrets};
use crate::answer::answer;
use crate::connection::Wire;
use crate::face::Face;
use crate::keys::{KeyPair, Keys};
use crate::linger::Lingering;
use crate::log::{Log, RunningLog};
use crate::metrics::Metrics;
use crate::options::{Limits, ServeError, Settings};
use crate::tls;

/// How long connections may finish what they are at when the face ends.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(10);

/// Longest XML body in bytes: a thousand keys to delete of a thousand bytes, each byte escaped.
const XML_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Longest object in a browser's form in bytes: s3s holds it in memory.
const FORM_FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Longest field of a browser's form in bytes, and of all its fields.
const FORM_FIELD_BYTES_MAX: usize = 64 * 1024;

/// Most fields of a browser's form.
const FORM_PARTS_MAX: usize = 100;

/// The face, serving until it is shut down.
pub struct Running {
    address: SocketAddr,
    new_key: Option<KeyPair>,
    metrics: Arc<Metrics>,
    closing: watch::Sender<bool>,
    accepting: JoinHandle<()>,
    log: Option<RunningLog>,
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
        if let Some(log) = self.log {
            log.end().await;
        }
    }
}

/// Everything that a connection needs.
#[derive(Clone)]
pub(crate) struct Serving {
    pub(crate) service: S3Service,
    pub(crate) store: Store,
    tls: Option<TlsAcceptor>,
    pub(crate) limits: Limits,
    pub(crate) hosts: Arc<Hosts>,
    pub(crate) version_2: bool,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) node: Option<Arc<Counters>>,
    pub(crate) log: Option<Log>,
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
    let log = match settings.log {
        None => None,
        Some(log) => Some(
            RunningLog::start(log, store.clone())
                .await
                .map_err(ServeError::Log)?,
        ),
    };
    let metrics = Arc::new(Metrics::default());
    let keys = Arc::new(keys);
    let serving = Serving {
        service: service(
            store.clone(),
            keys,
            settings.limits.body_bytes_max,
            settings.version_2,
        ),
        store,
        tls,
        limits: settings.limits,
        hosts: Arc::new(Hosts::new(address, settings.hosts)),
        version_2: settings.version_2,
        metrics: metrics.clone(),
        node: settings.node,
        log: log.as_ref().map(|log| log.log.clone()),
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
        log,
    })
}

fn service(store: Store, keys: Arc<Keys>, body_bytes_max: u64, version_2: bool) -> S3Service {
    let mut config = S3Config::default();
    config.xml_max_body_size = XML_BYTES_MAX;
    config.post_object_max_file_size = FORM_FILE_BYTES_MAX;
    config.form_max_field_size = FORM_FIELD_BYTES_MAX;
    config.form_max_fields_size = FORM_FIELD_BYTES_MAX;
    config.form_max_parts = FORM_PARTS_MAX;
    let access = Access {
        keys: keys.clone(),
        store: store.clone(),
        version_2,
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
    let limits = &serving.limits;
    let door = Door::new(door::Limits {
        connections_max: limits.connections_max,
        per_address_max: limits.per_address_max,
        reserve: limits.reserve,
    });
    loop {
        let (stream, peer, pass) = tokio::select! {
            accepted = door.accept(&listener) => accepted,
            _ = closed.wait_for(|closing| *closing) => return,
        };
        tokio::spawn(hold(stream, peer, pass, serving.clone(), closed.clone()));
    }
}

async fn hold(
    stream: TcpStream,
    peer: SocketAddr,
    pass: Pass,
    serving: Serving,
    closed: watch::Receiver<bool>,
) {
    let _open = serving.metrics.open();
    // Without it small answers wait for the acknowledgement of the one before.
    let _ = stream.set_nodelay(true);
    let unread = Arc::new(AtomicBool::new(false));
    let stream = Patient::new(stream, serving.limits.idle_time_max);
    let stream = Lingering::new(stream, unread.clone());
    let peer = Peer {
        address: peer.ip(),
        secure: serving.tls.is_some(),
    };
    let wire = |tls| Wire::new(peer, tls, unread, pass);
    let ended = match serving.tls.clone() {
        None => talk(stream, wire(None), &serving, closed).await,
        Some(tls) => match tokio::time::timeout(serving.limits.stranger_time_max, tls.accept(stream)).await {
            Ok(Ok(stream)) => {
                let wire = wire(agreed(&stream));
                talk(stream, wire, &serving, closed).await
            }
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

/// Version and cipher of a connection's TLS.
fn agreed<S>(stream: &TlsStream<S>) -> Option<(String, String)> {
    let (_, tls) = stream.get_ref();
    let version = format!("{:?}", tls.protocol_version()?).replace('_', ".");
    let cipher = format!("{:?}", tls.negotiated_cipher_suite()?.suite());
    Some((version, cipher))
}

async fn talk<S>(
    stream: S,
    wire: Arc<Wire>,
    serving: &Serving,
    mut closed: watch::Receiver<bool>,
) -> Result<(), hyper::Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let answering = service_fn(|request| answer(request, &wire, serving));
    let limits = &serving.limits;
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time_max)
        .max_header_size(limits.header_bytes_max)
        .serve_connection(TokioIo::new(stream), answering);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => return ended,
        () = wire.estranged(limits.stranger_time_max) => return Ok(()),
        _ = closed.wait_for(|closing| *closing) => connection.as_mut().graceful_shutdown(),
    }
    connection.await
}
