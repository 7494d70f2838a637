//! Runs the server on its port: limits on connections, background tasks, and shutdown.
//!
//! Invariants: at most `connections_max` connections are open, and a limited number for each
//! address, each with one task. After shutdown no connection is accepted, and open ones may finish
//! their current request within [`SHUTDOWN_GRACE`].

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::http::Request;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use listen::IdleLimit;
use listen::{Connection, Port, PortSettings, Security};
use tokio::sync::oneshot;

use crate::local_owner::OwnersPort;
use crate::peer::Peer;
use crate::replay_origin::{ReplayOrigin, new_key};
use crate::settings::{ReplaySettings, ServerSettings};
use crate::state::{Common, ServerParts};

/// Time that requests in progress get to finish after shutdown was requested.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

/// Reasons why the server cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address is in use, does not belong to this machine, or is not allowed.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The requested address.
        address: SocketAddr,
        /// The system's error.
        source: std::io::Error,
    },
}

/// A server that is bound but does not accept connections yet.
pub struct Server {
    port: Port,
    /// The replay origin, if there is one.
    replay: Option<Port>,
    state: Arc<Common>,
}

impl Server {
    /// Binds `settings.listen`, and the port of `settings.replay`.
    ///
    /// # Errors
    /// [`ServeError::Bind`] if an address cannot be bound.
    pub async fn bind(
        served: impl Into<ServerParts>,
        settings: ServerSettings,
    ) -> Result<Server, ServeError> {
        let address = settings.listen;
        let failed = |source| ServeError::Bind { address, source };
        let state = Common::new(served.into(), settings);
        let port = Port::bind(address, Arc::clone(&state.door))
            .await
            .map_err(failed)?;
        let replay = match state.settings.replay.clone() {
            Some(settings) => Some(bind_replay(&state, settings, port.address().port()).await?),
            None => None,
        };
        Ok(Server { port, replay, state })
    }

    /// Returns the bound address of the replay origin, if there is one.
    pub fn replay_address(&self) -> Option<SocketAddr> {
        self.replay.as_ref().map(Port::address)
    }

    /// Returns the bound address, with the real port if port 0 was requested.
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// Serves until `shutdown` is ready, then lets requests in progress finish.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let (end_replay, replay_ended) = oneshot::channel::<()>();
        let replay = self
            .replay
            .map(|port| tokio::spawn(run_replay(port, Arc::clone(&self.state), replay_ended)));
        let sampler = tokio::spawn(watch_archive(Arc::clone(&self.state)));
        let watcher = tokio::spawn(watch_store(Arc::clone(&self.state)));
        let routes = TowerToHyperService::new(crate::routes::router(Arc::clone(&self.state)));
        let answer = move |mut request: Request<Incoming>, connection: Arc<Connection>| {
            request.extensions_mut().insert(Peer(connection.peer()));
            request.extensions_mut().insert(OwnersPort(connection));
            routes.call(request)
        };
        let terms = terms(&self.state.settings);
        let shutdown = async {
            shutdown.await;
            // Both ports end at the same time.
            drop(end_replay);
        };
        self.port.serve(terms, answer, shutdown).await;
        if let Some(replay) = replay
            && let Err(error) = replay.await
        {
            tracing::error!(%error, "the replay server failed");
        }
        // These tasks never end by themselves.
        sampler.abort();
        watcher.abort();
    }
}

/// Binds, logs the address and serves until `shutdown` is ready. [`Server`] offers these steps
/// separately.
///
/// # Errors
/// [`ServeError::Bind`] if the address cannot be bound.
pub async fn serve(
    served: impl Into<ServerParts>,
    settings: ServerSettings,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let server = Server::bind(served, settings).await?;
    tracing::info!(address = %server.address(), "listening");
    server.run(shutdown).await;
    Ok(())
}

async fn bind_replay(
    state: &Arc<Common>,
    settings: ReplaySettings,
    main_port: u16,
) -> Result<Port, ServeError> {
    let mut port = Port::bind(settings.listen, Arc::clone(&state.door)).await;
    if port.is_err() && settings.any_port {
        let any = SocketAddr::new(settings.listen.ip(), 0);
        port = Port::bind(any, Arc::clone(&state.door)).await;
    }
    let port = port.map_err(|source| ServeError::Bind {
        address: settings.listen,
        source,
    })?;
    state.set_replay_origin(ReplayOrigin {
        address: port.address(),
        main_port,
        key: new_key(),
        digests: Arc::default(),
        settings,
    });
    Ok(port)
}

/// Serves the replay origin until the sender of `ended` is dropped.
async fn run_replay(port: Port, state: Arc<Common>, ended: oneshot::Receiver<()>) {
    let terms = terms(&state.settings);
    let routes = TowerToHyperService::new(crate::replay::router(state));
    let answer = move |mut request: Request<Incoming>, connection: Arc<Connection>| {
        // `OwnersPort` is not set, because scripts of archived pages can send requests here.
        request.extensions_mut().insert(Peer(connection.peer()));
        routes.call(request)
    };
    let shutdown = async {
        // An error means that the sender was dropped, which is the signal.
        let _ = ended.await;
    };
    port.serve(terms, answer, shutdown).await;
}

async fn watch_archive(state: Arc<Common>) {
    let interval = state.settings.sample_interval;
    let sampling = state
        .history
        .sample_forever(state.owner(), &state.counters, interval);
    sampling.await;
}

async fn watch_store(state: Arc<Common>) {
    if let Some(store) = &state.store {
        store.sample_forever(state.settings.sample_interval).await;
    }
}

/// Returns the limits and rules for connections.
fn terms(settings: &ServerSettings) -> PortSettings {
    PortSettings {
        // A public server is behind a proxy that has the certificates.
        security: Security::Plain,
        handshake_time_max: settings.first_request_max,
        head_bytes_max: settings.header_bytes_max,
        head_time_max: settings.idle_max,
        // Requests are short, and answers are made in pieces. With hyper's default buffers a
        // thousand idle browsers would cost 400 MB.
        buffer_bytes_max: Some(settings.header_bytes_max.max(64 * 1024)),
        write_idle_max: Some(settings.idle_max),
        // Requests are not signed here, so any request counts.
        idle_limit: IdleLimit::FirstRequest(settings.first_request_max),
        grace: SHUTDOWN_GRACE,
    }
}
