//! What is known of a connection: its other end, whether that has signed, and how long it has asked for nothing.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use door::Pass;
use parking_lot::Mutex;

use crate::access::Peer;

/// A connection, shared by its requests.
pub(crate) struct Wire {
    pub(crate) peer: Peer,
    /// Version and cipher of its TLS, in the words of S3's access log.
    pub(crate) tls: Option<(String, String)>,
    /// Whether the connection ends with bytes that nobody has read.
    pub(crate) unread: Arc<AtomicBool>,
    pass: Pass,
    trusted: AtomicBool,
    activity: Mutex<Activity>,
}

struct Activity {
    /// Requests under way.
    open: usize,
    /// When the last one ended, or the connection came.
    since: Instant,
}

impl Wire {
    pub(crate) fn new(
        peer: Peer,
        tls: Option<(String, String)>,
        unread: Arc<AtomicBool>,
        pass: Pass,
    ) -> Arc<Self> {
        Arc::new(Self {
            peer,
            tls,
            unread,
            pass,
            trusted: AtomicBool::new(false),
            activity: Mutex::new(Activity {
                open: 0,
                since: Instant::now(),
            }),
        })
    }

    /// A request has arrived.
    pub(crate) fn begin(&self) {
        self.activity.lock().open += 1;
    }

    /// It was answered.
    pub(crate) fn end(&self) {
        let mut activity = self.activity.lock();
        debug_assert!(activity.open > 0);
        activity.open = activity.open.saturating_sub(1);
        activity.since = Instant::now();
    }

    /// A signature was good.
    pub(crate) fn trust(&self) {
        // Every request of a connection comes here; the door needs to be told once.
        if !self.trusted.swap(true, Ordering::Relaxed) {
            self.pass.trust();
        }
    }

    /// Returns when nobody has signed anything and nothing was under way for `max`; never, once somebody has signed.
    pub(crate) async fn estranged(&self, max: Duration) {
        loop {
            if self.trusted.load(Ordering::Relaxed) {
                pending::<()>().await;
            }
            let idle = {
                let activity = self.activity.lock();
                if activity.open > 0 {
                    Duration::ZERO
                } else {
                    activity.since.elapsed()
                }
            };
            match max.checked_sub(idle) {
                Some(left) if !left.is_zero() => tokio::time::sleep(left).await,
                _ => return,
            }
        }
    }
}
