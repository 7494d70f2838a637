//! Information about a connection for its requests, and signals from them.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::{ConnectionPermit, RequestInProgress};

use crate::tls::TlsSession;

/// One connection. All requests on it share this value.
pub struct Connection {
    peer: SocketAddr,
    local: Option<SocketAddr>,
    /// The user at the other end, once known.
    user: OnceLock<u32>,
    tls: Option<TlsSession>,
    pub(crate) permit: ConnectionPermit,
    unread: Arc<AtomicBool>,
}

impl Connection {
    pub(crate) fn new(
        peer: SocketAddr,
        local: Option<SocketAddr>,
        tls: Option<TlsSession>,
        permit: ConnectionPermit,
        unread: Arc<AtomicBool>,
    ) -> Self {
        Self {
            peer,
            local,
            user: OnceLock::new(),
            tls,
            permit,
            unread,
        }
    }

    /// Returns the address of the client.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Returns the id of the user whose process is at the other end, if it is on this machine and
    /// the system reports it (Linux does). It distinguishes other users of the machine, and a proxy
    /// that runs as another user.
    pub fn peer_user(&self) -> Option<u32> {
        if let Some(user) = self.user.get() {
            return Some(*user);
        }
        let user = crate::peer_user::user_of(self.peer, self.local?)?;
        Some(*self.user.get_or_init(|| user))
    }

    /// Returns version and cipher of TLS, or `None` without TLS.
    pub fn tls(&self) -> Option<&TlsSession> {
        self.tls.as_ref()
    }

    /// Notes that a request begins. The request is in progress until the result is dropped. Only
    /// [`crate::IdleLimit::IdleStranger`] needs this.
    pub fn begin(&self) -> RequestInProgress {
        self.permit.begin()
    }

    /// Notes that the signature of a request is valid. The connection no longer counts as a
    /// stranger's.
    pub fn trust(&self) {
        self.permit.trust();
    }

    /// Notes that a request was answered before its body was read to the end. The response must say
    /// `Connection: close`. Further data of the client is then read for a moment, so that the
    /// client sees the response and not a reset.
    pub fn mark_body_unread(&self) {
        self.unread.store(true, Ordering::Relaxed);
    }
}
