//! What a request can learn of the connection it came on, and tell it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use door::{Pass, UnderWay};

use crate::tls::Agreed;

/// A connection, shared by its requests.
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

    /// The other end.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// What both ends agreed on; `None` without TLS.
    pub fn tls(&self) -> Option<&Agreed> {
        self.tls.as_ref()
    }

    /// A request begins; it ends when the answer is dropped. Needed only for [`door::Patience::IdleStranger`].
    pub fn begin(&self) -> UnderWay {
        self.pass.begin()
    }

    /// The signature of a request is good.
    pub fn trust(&self) {
        self.pass.trust();
    }

    /// A request was answered before its body was read to the end. The answer has to say `Connection: close`; what still
    /// comes is then read for a moment, so that the client sees the answer and not a reset.
    pub fn leave_unread(&self) {
        self.unread.store(true, Ordering::Relaxed);
    }
}
