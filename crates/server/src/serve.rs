//! Binding, accepting, limits of a connection, and the orderly end.
//!
//! Invariants: at most `connections_max` connections are held, and so many of one address, each with one task; a
//! header that is too long or too slow ends its connection, as does a client that takes nothing of its answer; after shutdown no connection is accepted and those held may finish
//! the request they are in, for at most [`SHUTDOWN_GRACE`].

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::Request;
use door::{Pass, Patient};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::history;
use crate::settings::ServerSettings;
use crate::state::{Served, State};

/// Time for requests under way to finish after shutdown was asked for.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

/// Why serving could not begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address is taken, not ours, or not allowed.
    #[error("listen on {address}: {source}")]
    Bind {
        /// The address asked for.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
}

/// The other end of the connection a request came on. Absent where there is no TCP connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// A server that is bound but does not accept yet.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    settings: ServerSettings,
    state: Arc<State>,
}

impl Server {
    /// Binds `settings.listen`.
    ///
    /// # Errors
    /// [`ServeError::Bind`] where that is not possible.
    pub async fn bind(served: impl Into<Served>, settings: ServerSettings) -> Result<Server, ServeError> {
        let failed = |source| ServeError::Bind {
            address: settings.listen,
            source,
        };
        let listener = TcpListener::bind(settings.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let state = State::new(served.into(), settings.clone());
        Ok(Server {
            listener,
            address,
            settings,
            state,
        })
    }

    /// The address bound: with the real port where 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `shutdown` is ready, then lets the requests under way finish.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let sampler = tokio::spawn(history::sample_forever(Arc::clone(&self.state)));
        let watcher = tokio::spawn(watch_store(Arc::clone(&self.state)));
        let router = crate::routes::router(Arc::clone(&self.state));
        let (closing, closed) = watch::channel(false);
        let door = Arc::clone(&self.state.door);
        let mut shutdown = std::pin::pin!(shutdown);
        loop {
            let (stream, peer, pass) = tokio::select! {
                accepted = door.accept(&self.listener) => accepted,
                () = &mut shutdown => break,
            };
            let service = router.clone();
            tokio::spawn(hold(
                stream,
                peer,
                pass,
                service,
                closed.clone(),
                self.settings.clone(),
            ));
        }
        drop(self.listener);
        sampler.abort();
        watcher.abort();
        drop(closed);
        // A send fails only where no connection is left, and then there is nobody to tell.
        let _ = closing.send(true);
        if tokio::time::timeout(SHUTDOWN_GRACE, closing.closed())
            .await
            .is_err()
        {
            tracing::warn!(
                connections = closing.receiver_count(),
                "left connections that did not finish"
            );
        }
    }
}

/// Binds, logs the address and serves until `shutdown` is ready. [`Server`] has the steps apart.
///
/// # Errors
/// [`ServeError::Bind`] where the address cannot be bound.
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

async fn watch_store(state: Arc<State>) {
    if let Some(store) = &state.store {
        store.sample_forever(state.settings.sample_interval).await;
    }
}

async fn hold(
    stream: TcpStream,
    peer: SocketAddr,
    pass: Pass,
    router: Router,
    mut closed: watch::Receiver<bool>,
    settings: ServerSettings,
) {
    // Without it small answers wait for the acknowledgement of the one before.
    let _ = stream.set_nodelay(true);
    let stream = Patient::new(stream, settings.idle_max);
    let routes = TowerToHyperService::new(router);
    let inside = pass.clone();
    let service = service_fn(move |mut request: Request<Incoming>| {
        inside.heard();
        request.extensions_mut().insert(Peer(peer));
        routes.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(settings.idle_max)
        .max_header_size(settings.header_bytes_max)
        .max_buf_size(settings.header_bytes_max.max(64 * 1024))
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => return trace_end(ended),
        () = pass.silent(settings.first_request_max) => return tracing::debug!(%peer, "a connection said nothing"),
        _ = closed.wait_for(|closing| *closing) => connection.as_mut().graceful_shutdown(),
    }
    trace_end(connection.await);
}

fn trace_end(ended: Result<(), hyper::Error>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
