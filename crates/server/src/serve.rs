//! Runs the server on its port: the limits of its connections, the tasks beside it, and the shutdown.
//!
//! Invariants: at most `connections_max` connections are open, and a limited number for each address, each
//! with one task; after shutdown no connection is accepted, and open ones may finish their current request
//! within [`SHUTDOWN_GRACE`].

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::http::Request;
use door::Patience;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use listen::{Connection, Port, Security, Terms};

use crate::settings::ServerSettings;
use crate::state::{Common, Peer, Served};

/// How long requests under way may go on after shutdown was asked for.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

/// Why the server cannot begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address is in use, does not belong to this machine, or is not allowed.
    #[error("listen on {address}: {source}")]
    Bind {
        /// The address asked for.
        address: SocketAddr,
        /// The system's error.
        source: std::io::Error,
    },
}

/// A server that is bound but does not accept yet.
pub struct Server {
    port: Port,
    state: Arc<Common>,
}

impl Server {
    /// Binds `settings.listen`.
    ///
    /// # Errors
    /// [`ServeError::Bind`] if the address cannot be bound.
    pub async fn bind(served: impl Into<Served>, settings: ServerSettings) -> Result<Server, ServeError> {
        let address = settings.listen;
        let failed = |source| ServeError::Bind { address, source };
        let state = Common::new(served.into(), settings);
        let port = Port::bind(address, Arc::clone(&state.door))
            .await
            .map_err(failed)?;
        Ok(Server { port, state })
    }

    /// The bound address, with the real port if port 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// Serves until `shutdown` is ready, then lets the requests under way finish.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let sampler = tokio::spawn(watch_archive(Arc::clone(&self.state)));
        let watcher = tokio::spawn(watch_store(Arc::clone(&self.state)));
        let routes = TowerToHyperService::new(crate::routes::router(Arc::clone(&self.state)));
        let answer = move |mut request: Request<Incoming>, connection: Arc<Connection>| {
            request.extensions_mut().insert(Peer(connection.peer()));
            routes.call(request)
        };
        let terms = terms(&self.state.settings);
        self.port.serve(terms, answer, shutdown).await;
        // These tasks never end by themselves.
        sampler.abort();
        watcher.abort();
    }
}

/// Binds, logs the address and serves until `shutdown` is ready. [`Server`] has these steps one by one.
///
/// # Errors
/// [`ServeError::Bind`] if the address cannot be bound.
pub async fn serve(
    served: impl Into<Served>,
    settings: ServerSettings,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let server = Server::bind(served, settings).await?;
    tracing::info!(address = %server.address(), "listening");
    server.run(shutdown).await;
    Ok(())
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

/// Limits and rules for connections.
fn terms(settings: &ServerSettings) -> Terms {
    Terms {
        // A public server has a proxy in front of it that has the certificates.
        security: Security::Plain,
        handshake_time_max: settings.first_request_max,
        head_bytes_max: settings.header_bytes_max,
        head_time_max: settings.idle_max,
        // Requests are short, and answers are made in pieces. With hyper's own buffers a thousand idle
        // browsers would cost 400 MB.
        buffer_bytes_max: Some(settings.header_bytes_max.max(64 * 1024)),
        write_idle_max: Some(settings.idle_max),
        // Requests are not signed here, so any request counts.
        patience: Patience::FirstRequest(settings.first_request_max),
        grace: SHUTDOWN_GRACE,
    }
}
