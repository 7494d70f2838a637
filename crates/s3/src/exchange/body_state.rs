//! The state of a request's body while it passes: how much was read, whether it matches its digests, and what
//! is left of it when the request is answered early.

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::digests::Digests;
use crate::refusal::Refusal;

/// Longest unread rest of a body in bytes that is drained after the response, so that the connection can be
/// used again. To drain this much is quicker than a new connection with its handshake; more would be content
/// that nobody wants.
const REST_BYTES_MAX: u64 = 64 * 1024;

/// How long draining may take. A client that goes on slowly must not keep the connection's task for longer
/// than a new connection takes.
const REST_TIME_MAX: Duration = Duration::from_secs(1);

/// The state of a request's body.
#[derive(Default)]
pub(crate) struct BodyState {
    /// Whether the body has ended.
    ended: AtomicBool,
    /// Whether digests are being compared. Kept apart so that content without digests needs no lock.
    compared: AtomicBool,
    digests: Mutex<Option<Digests>>,
    refusal: Mutex<Option<Refusal>>,
    rest: Mutex<Option<Incoming>>,
}

impl BodyState {
    /// Starts to compare the bytes with these digests.
    pub(crate) fn expect(&self, digests: Digests) {
        *self.digests.lock() = Some(digests);
        self.compared.store(true, Ordering::Release);
    }

    /// Hashes more bytes.
    pub(crate) fn digest(&self, bytes: &[u8]) {
        // Objects' content is not compared here, and there is much of it: avoid the lock.
        if self.compared.load(Ordering::Acquire)
            && let Some(digests) = self.digests.lock().as_mut()
        {
            digests.update(bytes);
        }
    }

    /// Compares at the end of the body. Returns false if it differs; [`BodyState::refusal`] says how.
    pub(crate) fn compare(&self) -> bool {
        let digests = self.digests.lock().take();
        let Some(Err(refusal)) = digests.map(Digests::compare) else {
            return true;
        };
        *self.refusal.lock() = Some(refusal);
        false
    }

    /// The error of the comparison.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.refusal.lock().take()
    }

    /// Notes that the body has ended.
    pub(crate) fn set_ended(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Takes the unread rest of a body.
    pub(crate) fn leave(&self, rest: Incoming) {
        *self.rest.lock() = Some(rest);
    }

    /// Drains the rest if it is short. Returns whether nothing is left: only then can another request follow.
    pub(crate) async fn finish(&self) -> bool {
        if self.ended.load(Ordering::Relaxed) {
            return true;
        }
        let rest = self.rest.lock().take();
        let Some(rest) = rest.filter(|rest| rest.size_hint().lower() <= REST_BYTES_MAX) else {
            return false;
        };
        tokio::time::timeout(REST_TIME_MAX, read_on(rest))
            .await
            .unwrap_or(false)
    }
}

async fn read_on(mut rest: Incoming) -> bool {
    let mut left = REST_BYTES_MAX;
    while let Some(frame) = rest.frame().await {
        let bytes = frame
            .ok()
            .map(|frame| frame.data_ref().map_or(0, Bytes::len) as u64);
        match bytes.and_then(|bytes| left.checked_sub(bytes)) {
            Some(less) => left = less,
            None => return false,
        }
    }
    true
}
