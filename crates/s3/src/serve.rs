//! The S3 server on a port: startup, connection rules, shutdown. A [`StoreService`] or a
//! [`Gateway`] answers requests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use cache::Cache;
use listen::{ConnectionLimiter, Hosts, IdleLimit};
use listen::{Port, PortSettings, Security};
use metrics::Operations;
use s3s::config::{S3Config, StaticConfigProvider};
use s3s::service::{S3Service, S3ServiceBuilder};
use store::Store;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::access::{Access, Secrets};
use crate::answer::{Serving, answer};
use crate::gateway::{Gateway, GatewayError, GatewaySettings, NoOperations};
use crate::keys::{KeyPair, Keys};
use crate::log::RunningLog;
use crate::options::{Limits, ServeError, Settings, XML_BYTES_MAX};
use crate::service::StoreService;

/// How long connections may take to finish their requests at shutdown. A shorter time would break
/// off uploads; with a longer one, a stalled client delays a restart.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(10);

/// Longest object in bytes in a browser's form, because s3s holds it in memory.
const FORM_FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Longest field of a browser's form in bytes, and most bytes of all its fields. S3 allows 20 KB
/// for all fields before the file.
const FORM_FIELD_BYTES_MAX: usize = 64 * 1024;

/// Most fields of a browser's form. S3 defines about thirty; the others are the user's metadata.
const FORM_PARTS_MAX: usize = 100;

/// A running server.
pub struct Running {
    address: SocketAddr,
    new_key: Option<KeyPair>,
    requests: Arc<Operations>,
    door: Arc<ConnectionLimiter>,
    stop: watch::Sender<bool>,
    serving: JoinHandle<()>,
    log: Option<RunningLog>,
}

impl Running {
    /// Returns the address it listens on, with the actual port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the key pair generated if there was no keys file. The caller should show it once.
    pub fn new_key(&self) -> Option<&KeyPair> {
        self.new_key.as_ref()
    }

    /// Returns counters by S3's operation name. `Preflight` counts CORS preflights, and `Unknown`
    /// counts requests refused before the operation was known. A failure is a 5xx response; a
    /// broken connection counts as a request but not as a failure.
    pub fn requests(&self) -> Arc<Operations> {
        self.requests.clone()
    }

    /// Returns the open connections.
    pub fn door(&self) -> Arc<ConnectionLimiter> {
        self.door.clone()
    }

    /// Stops listening, and waits some seconds for requests in progress.
    pub async fn shutdown(self) {
        self.stop.send_replace(true);
        // The task ends by itself; a panic in it would change nothing here.
        let _ = self.serving.await;
        if let Some(log) = self.log {
            log.end().await;
        }
    }
}

/// Serves a store.
///
/// # Errors
/// [`ServeError`]; no task is left running then.
pub async fn serve(settings: Settings, store: Store) -> Result<Running, ServeError> {
    let (body_bytes_max, version_2) = (settings.limits.body_bytes_max, settings.version_2);
    let served_store = store.clone();
    let service = move |keys| Ok(store_service(served_store, keys, body_bytes_max, version_2));
    start(settings, Some(store), service).await
}

/// Serves a remote store: runs a gateway to its S3 interface, which reads through `cache`.
///
/// # Errors
/// [`ServeError`]; no task is left running then.
pub async fn serve_gateway(
    settings: Settings,
    gateway: GatewaySettings,
    cache: Cache,
) -> Result<Running, ServeError> {
    start(settings, None, move |keys| gateway_service(&gateway, cache, keys)).await
}

/// Starts the server with the service that `service` creates from the keys. CORS follows the rules
/// of the buckets of `store`, if given.
async fn start(
    settings: Settings,
    store: Option<Store>,
    service: impl FnOnce(Arc<Keys>) -> Result<S3Service, GatewayError>,
) -> Result<Running, ServeError> {
    let security = match &settings.tls {
        None => Security::Plain,
        Some(files) => Security::of_files(files)?,
    };
    let terms = terms(security, &settings.limits);
    let door = ConnectionLimiter::new(listen::Limits {
        connections_max: settings.limits.connections_max,
        per_address_max: settings.limits.per_address_max,
        reserve: settings.limits.reserve,
    });
    let failed = |source| ServeError::Listen {
        address: settings.listen,
        source,
    };
    let port = Port::bind(settings.listen, door.clone()).await.map_err(failed)?;
    let address = port.address();
    let (keys, new_key) = Keys::open(&settings.keys)?;
    let service = service(Arc::new(keys))?;
    let log = match settings.log {
        None => None,
        Some(log) => Some(
            RunningLog::start(log, store.clone())
                .await
                .map_err(ServeError::Log)?,
        ),
    };
    let requests = Arc::new(Operations::default());
    let serving = Arc::new(Serving {
        service,
        store,
        limits: settings.limits,
        hosts: Hosts::new(address, settings.hosts),
        version_2: settings.version_2,
        requests: requests.clone(),
        node: settings.node,
        log: log.as_ref().map(|log| log.log.clone()),
    });
    let (stop, mut stopped) = watch::channel(false);
    // An error means that the sender is dropped, so that shutdown can no longer be requested: stop
    // as well.
    let stopped = async move { drop(stopped.wait_for(|stop| *stop).await) };
    let answer = move |request, connection| answer(request, connection, serving.clone());
    let serving = tokio::spawn(port.serve(terms, answer, stopped));
    tracing::info!(%address, "serving S3");
    Ok(Running {
        address,
        new_key,
        requests,
        door,
        stop,
        serving,
        log,
    })
}

fn store_service(store: Store, keys: Arc<Keys>, body_bytes_max: u64, version_2: bool) -> S3Service {
    let access = Access {
        keys: keys.clone(),
        store: store.clone(),
        version_2,
    };
    let service = StoreService {
        store,
        keys: keys.clone(),
        body_bytes_max,
        changing: tokio::sync::Mutex::default(),
    };
    let mut builder = S3ServiceBuilder::new(service);
    builder.set_access(access);
    build_service(builder, keys)
}

fn gateway_service(
    settings: &GatewaySettings,
    cache: Cache,
    keys: Arc<Keys>,
) -> Result<S3Service, GatewayError> {
    let gateway = Gateway::new(settings, cache, keys.clone(), XML_BYTES_MAX)?;
    let mut builder = S3ServiceBuilder::new(NoOperations);
    builder.set_route(gateway);
    Ok(build_service(builder, keys))
}

fn build_service(mut builder: S3ServiceBuilder, keys: Arc<Keys>) -> S3Service {
    let mut config = S3Config::default();
    config.xml_max_body_size = XML_BYTES_MAX;
    config.post_object_max_file_size = FORM_FILE_BYTES_MAX;
    config.form_max_field_size = FORM_FIELD_BYTES_MAX;
    config.form_max_fields_size = FORM_FIELD_BYTES_MAX;
    config.form_max_parts = FORM_PARTS_MAX;
    builder.set_auth(Secrets(keys));
    builder.set_config(Arc::new(StaticConfigProvider::new(Arc::new(config))));
    builder.build()
}

/// Returns the rules for connections.
fn terms(security: Security, limits: &Limits) -> PortSettings {
    PortSettings {
        security,
        // The handshake comes before any signed request, so it has the same limit as strangers.
        handshake_time_max: limits.stranger_time_max,
        head_bytes_max: limits.header_bytes_max,
        head_time_max: limits.header_time_max,
        // Objects are streamed: a smaller buffer means more system calls for each.
        buffer_bytes_max: None,
        write_idle_max: Some(limits.idle_time_max),
        // Objects may be public, so connections without a signature may send requests, and a long
        // response must not be cut. The limit therefore applies to idle time only.
        idle_limit: IdleLimit::IdleStranger(limits.stranger_time_max),
        grace: SHUTDOWN_GRACE,
    }
}
