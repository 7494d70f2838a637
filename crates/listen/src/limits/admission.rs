//! Accepts connections within limits, and closes those that ask for nothing.
//!
//! An accept loop asks [`ConnectionLimiter::accept`] for the next connection and gives its [`ConnectionPermit`]
//! to the task that serves it:
//!
//! ```no_run
//! # use std::{sync::Arc, time::Duration};
//! # use listen::IdleLimit;
//! # async fn serve(_: tokio::net::TcpStream, _: listen::ConnectionPermit) {}
//! # async fn all(listener: tokio::net::TcpListener, limits: listen::Limits) {
//! let limiter = listen::ConnectionLimiter::new(limits);
//! loop {
//!     let (stream, _peer, permit) = limiter.accept(&listener).await;
//!     tokio::spawn(async move {
//!         tokio::select! {
//!             // Calls `permit.note_request()` for each request.
//!             () = serve(stream, permit.clone()) => {}
//!             () = permit.wait_until_idle(IdleLimit::FirstRequest(Duration::from_secs(10))) => {}
//!         }
//!     });
//! }
//! # }
//! ```

use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::connection_table::{ConnectionTable, Limits, Network, Standing};
use super::idle_limit::{Activity, IdleLimit};

/// Pause after the system refused to accept a connection, for example because file descriptors ran
/// out. Without it the accept loop would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Admits the connections of one port.
pub struct ConnectionLimiter {
    permits: Arc<Semaphore>,
    table: Mutex<ConnectionTable>,
    open: AtomicU64,
    refused: AtomicU64,
}

impl ConnectionLimiter {
    /// Creates a limiter without connections.
    pub fn new(limits: Limits) -> Arc<ConnectionLimiter> {
        Arc::new(ConnectionLimiter {
            permits: Arc::new(Semaphore::new(limits.connections_max.max(1))),
            table: Mutex::new(ConnectionTable::new(limits)),
            open: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        })
    }

    /// Returns the next admitted connection. Connections that are not admitted are closed.
    ///
    /// The future may be dropped at any time without losing a permit or an admitted connection.
    pub async fn accept(
        self: &Arc<Self>,
        listener: &TcpListener,
    ) -> (TcpStream, SocketAddr, ConnectionPermit) {
        loop {
            // Acquire a permit before accepting: connections beyond the limit then stay in the
            // system's queue. The semaphore is never closed, so this cannot fail.
            let permit = Arc::clone(&self.permits).acquire_owned().await.ok();
            match listener.accept().await {
                Ok((stream, peer)) => {
                    if let Some(permit) = self.admit(peer, permit) {
                        return (stream, peer, permit);
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// Returns the number of open connections.
    pub fn open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// Returns the number of connections closed on arrival since the start.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    fn admit(
        self: &Arc<Self>,
        peer: SocketAddr,
        permit: Option<OwnedSemaphorePermit>,
    ) -> Option<ConnectionPermit> {
        let network = Network::of(peer.ip());
        if let Err(refusal) = self.table.lock().admit(network, system::now()) {
            self.refused.fetch_add(1, Ordering::Relaxed);
            tracing::debug!(%peer, ?refusal, "refused a connection");
            return None;
        }
        self.open.fetch_add(1, Ordering::Relaxed);
        Some(ConnectionPermit(Arc::new(AdmittedConnection {
            limiter: Arc::clone(self),
            network,
            activity: Mutex::new(Activity::new(system::now())),
            _permit: permit,
        })))
    }
}

/// The right of one connection to stay open. Its permit is released when the last clone is dropped.
#[derive(Clone)]
pub struct ConnectionPermit(Arc<AdmittedConnection>);

struct AdmittedConnection {
    limiter: Arc<ConnectionLimiter>,
    network: Network,
    activity: Mutex<Activity>,
    _permit: Option<OwnedSemaphorePermit>,
}

/// A request in progress, until it is dropped.
pub struct RequestInProgress(ConnectionPermit);

impl ConnectionPermit {
    /// Notes that a complete request has arrived.
    pub fn note_request(&self) {
        self.0.activity.lock().has_request = true;
    }

    /// Notes that a request begins. It is in progress until the result is dropped.
    pub fn begin(&self) -> RequestInProgress {
        self.0.activity.lock().under_way += 1;
        RequestInProgress(self.clone())
    }

    /// Notes that a request had a valid signature. The connection no longer counts against its
    /// address, and its network may use the reserve for some minutes.
    pub fn trust(&self) {
        // Lock order: `activity`, then `table`. Holding `activity` makes sure that a connection is
        // trusted only once.
        let mut activity = self.0.activity.lock();
        if activity.standing == Standing::Stranger {
            self.0.limiter.table.lock().trust(self.0.network, system::now());
            activity.standing = Standing::Trusted;
        }
    }

    /// Returns once the connection has been idle for longer than `patience` allows, counted from
    /// now on. It never returns once the client has done what `patience` waits for.
    pub async fn wait_until_idle(&self, patience: IdleLimit) {
        self.0.activity.lock().set_usable(system::now());
        loop {
            let left = self.0.activity.lock().left(patience, system::now());
            match left {
                None => pending::<()>().await,
                Some(Duration::ZERO) => return,
                // Changes are noticed at the end of the sleep. So no connection is closed too
                // early, and requests need not wake this task.
                Some(left) => tokio::time::sleep(left).await,
            }
        }
    }
}

impl Drop for RequestInProgress {
    fn drop(&mut self) {
        self.0.0.activity.lock().end(system::now());
    }
}

impl Drop for AdmittedConnection {
    fn drop(&mut self) {
        let standing = self.activity.get_mut().standing;
        self.limiter.open.fetch_sub(1, Ordering::Relaxed);
        self.limiter
            .table
            .lock()
            .release(self.network, standing, system::now());
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    async fn listener() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    #[tokio::test]
    async fn a_connection_too_many_of_one_address_is_closed_and_a_place_comes_free() {
        let (listener, address) = listener().await;
        let limiter = ConnectionLimiter::new(Limits {
            connections_max: 8,
            per_address_max: 2,
            reserve: 0,
        });
        let mut clients = Vec::new();
        for _ in 0..3 {
            clients.push(TcpStream::connect(address).await.unwrap());
        }
        let (_first, _, permit) = limiter.accept(&listener).await;
        let (_second, _, _other) = limiter.accept(&listener).await;
        let trying = {
            let limiter = Arc::clone(&limiter);
            tokio::spawn(async move { limiter.accept(&listener).await.2 })
        };
        assert_eq!(clients[2].read(&mut [0; 1]).await.unwrap_or(0), 0, "closed");
        assert_eq!(limiter.refused(), 1);
        drop(permit);
        let _fourth = TcpStream::connect(address).await.unwrap();
        trying.await.unwrap();
        assert_eq!(limiter.permits.available_permits(), 7);
    }

    #[tokio::test]
    async fn who_says_nothing_is_ended_and_who_spoke_is_not() {
        let (listener, address) = listener().await;
        let limiter = ConnectionLimiter::new(Limits {
            connections_max: 8,
            per_address_max: 8,
            reserve: 0,
        });
        let _client = TcpStream::connect(address).await.unwrap();
        let (_stream, _, permit) = limiter.accept(&listener).await;
        assert_eq!(limiter.open(), 1);
        let patience = IdleLimit::FirstSignature(Duration::from_millis(1));
        permit.wait_until_idle(patience).await;
        permit.note_request();
        permit.wait_until_idle(patience).await;
        permit.trust();
        permit.trust();
        let silent = permit.wait_until_idle(patience);
        assert!(
            tokio::time::timeout(Duration::from_millis(50), silent)
                .await
                .is_err()
        );
        drop(permit);
        assert_eq!(limiter.open(), 0);
    }
}
