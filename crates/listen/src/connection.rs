//! What a request can learn about its connection, and what it can tell it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use door::{Pass, UnderWay};

use crate::tls::Agreed;

/// One connection. All requests on it share this value.
pub struct Connection {
    peer: SocketAddr,
    tls: Option<Agreed>,
    pub(crate) pass: Pass,
    unread: Arc<AtomicBool>,
}

impl Connection {
    pub(crate) fn new(peer: SocketAddr, tls: Option<Agreed>, pass: Pass, unread: Arc<AtomicBool>) -> Self {
        Self {
            peer,
            tls,
            pass,
            unread,
        }
    }

    /// Address of the client.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Version and cipher that TLS agreed on; `None` without TLS.
    pub fn tls(&self) -> Option<&Agreed> {
        self.tls.as_ref()
    }

    /// Notes that a request begins. The request is under way until the result is dropped. Only
    /// [`door::Patience::IdleStranger`] needs this.
    pub fn begin(&self) -> UnderWay {
        self.pass.begin()
    }

    /// Notes that the signature of a request is valid. The connection no longer counts as a stranger's.
    pub fn trust(&self) {
        self.pass.trust();
    }

    /// Notes that a request was answered before its body was read to the end. The answer must say
    /// `Connection: close`. What the client still sends is then read for a moment, so that the client sees
    /// the answer and not a reset.
    pub fn leave_unread(&self) {
        self.unread.store(true, Ordering::Relaxed);
    }
}
