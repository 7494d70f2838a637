//! Accepting connections within limits, and ending those that say nothing.
//!
//! An accept loop asks [`Door::accept`] for the next connection and gives its [`Pass`] to the task that serves it:
//!
//! ```no_run
//! # use std::{sync::Arc, time::Duration};
//! # async fn serve(_: tokio::net::TcpStream, _: door::Pass) {}
//! # async fn all(listener: tokio::net::TcpListener, limits: door::Limits) {
//! let door = door::Door::new(limits);
//! loop {
//!     let (stream, _peer, pass) = door.accept(&listener).await;
//!     tokio::spawn(async move {
//!         tokio::select! {
//!             () = serve(stream, pass.clone()) => {} // calls pass.heard() for each request
//!             () = pass.silent(Duration::from_secs(10)) => {}
//!         }
//!     });
//! }
//! # }
//! ```

use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::book::{Book, Limits, Network, Standing};

/// Pause after the system refused to accept (out of file descriptors, say).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The door of one port.
pub struct Door {
    places: Arc<Semaphore>,
    book: Mutex<Book>,
    refused: AtomicU64,
}

impl Door {
    /// A door that nobody has come through.
    pub fn new(limits: Limits) -> Arc<Door> {
        Arc::new(Door {
            places: Arc::new(Semaphore::new(limits.connections_max.max(1))),
            book: Mutex::new(Book::new(limits)),
            refused: AtomicU64::new(0),
        })
    }

    /// The next connection that may come in. Connections that may not are closed on the way.
    ///
    /// It may be dropped at any time: no place is lost then, and no connection that was let in.
    pub async fn accept(self: &Arc<Self>, listener: &TcpListener) -> (TcpStream, SocketAddr, Pass) {
        loop {
            // A place first, so that what cannot be held stays in the system's queue. Nobody closes the semaphore.
            let place = Arc::clone(&self.places).acquire_owned().await.ok();
            match listener.accept().await {
                Ok((stream, peer)) => {
                    if let Some(pass) = self.admit(peer, place) {
                        return (stream, peer, pass);
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// Connections closed as soon as they came, since the start.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    fn admit(self: &Arc<Self>, peer: SocketAddr, place: Option<OwnedSemaphorePermit>) -> Option<Pass> {
        let network = Network::of(peer.ip());
        if let Err(refusal) = self.book.lock().enter(network, Instant::now()) {
            self.refused.fetch_add(1, Ordering::Relaxed);
            tracing::debug!(%peer, ?refusal, "refused a connection");
            return None;
        }
        Some(Pass(Arc::new(Inside {
            door: Arc::clone(self),
            network,
            standing: Mutex::new(Standing::Stranger),
            heard: Notify::new(),
            _place: place,
        })))
    }
}

/// The right of one connection to be held. Its place is free when the last clone is dropped.
#[derive(Clone)]
pub struct Pass(Arc<Inside>);

struct Inside {
    door: Arc<Door>,
    network: Network,
    standing: Mutex<Standing>,
    /// Holds a permit once anything was heard.
    heard: Notify,
    _place: Option<OwnedSemaphorePermit>,
}

impl Pass {
    /// A request has arrived whole.
    pub fn heard(&self) {
        self.0.heard.notify_one();
    }

    /// A request came whose signature is good: the connection counts no longer against its address, and the reserve is
    /// open to its network for some minutes.
    pub fn trust(&self) {
        self.heard();
        let mut standing = self.0.standing.lock();
        if *standing == Standing::Stranger {
            self.0.door.book.lock().trust(self.0.network, Instant::now());
            *standing = Standing::Trusted;
        }
    }

    /// Returns when nothing was heard for `max` from now on; never, once something was. For one caller at a time.
    pub async fn silent(&self, max: Duration) {
        if tokio::time::timeout(max, self.0.heard.notified()).await.is_ok() {
            pending::<()>().await;
        }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let standing = *self.standing.get_mut();
        self.door
            .book
            .lock()
            .leave(self.network, standing, Instant::now());
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
        let door = Door::new(Limits {
            connections_max: 8,
            per_address_max: 2,
            reserve: 0,
        });
        let mut clients = Vec::new();
        for _ in 0..3 {
            clients.push(TcpStream::connect(address).await.unwrap());
        }
        let (_first, _, pass) = door.accept(&listener).await;
        let (_second, _, _other) = door.accept(&listener).await;
        let trying = {
            let door = Arc::clone(&door);
            tokio::spawn(async move { door.accept(&listener).await.2 })
        };
        assert_eq!(clients[2].read(&mut [0; 1]).await.unwrap_or(0), 0, "closed");
        assert_eq!(door.refused(), 1);
        drop(pass);
        let _fourth = TcpStream::connect(address).await.unwrap();
        trying.await.unwrap();
        assert_eq!(door.places.available_permits(), 7);
    }

    #[tokio::test]
    async fn who_says_nothing_is_ended_and_who_spoke_is_not() {
        let (listener, address) = listener().await;
        let door = Door::new(Limits {
            connections_max: 8,
            per_address_max: 8,
            reserve: 0,
        });
        let _client = TcpStream::connect(address).await.unwrap();
        let (_stream, _, pass) = door.accept(&listener).await;
        pass.silent(Duration::from_millis(1)).await;
        pass.trust();
        pass.trust();
        let silent = pass.silent(Duration::from_millis(1));
        assert!(
            tokio::time::timeout(Duration::from_millis(50), silent)
                .await
                .is_err()
        );
    }
}
