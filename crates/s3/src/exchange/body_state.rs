//! The state of a request's body: whether it was read to the end, whether it matches its digests,
//! and the unread rest if the response came early.

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::digests::Digests;
use crate::refusal::Refusal;

/// Longest unread rest of a body in bytes that is drained after the response, so that the
/// connection can be reused. Draining this much is faster than a new connection with its handshake;
/// a longer rest is likely unwanted content.
const REST_BYTES_MAX: u64 = 64 * 1024;

/// How long draining may take. A slow client must not occupy the connection's task for longer than
/// a new connection takes.
const REST_TIME_MAX: Duration = Duration::from_secs(1);

/// The state of a request's body.
#[derive(Default)]
pub(crate) struct BodyState {
    /// Whether the body has ended.
    ended: AtomicBool,
    /// Whether digests are being compared. A separate flag, so that content without digests needs
    /// no lock.
    compared: AtomicBool,
    digests: Mutex<Option<Digests>>,
    refusal: Mutex<Option<Refusal>>,
    rest: Mutex<Option<Incoming>>,
}

impl BodyState {
    /// Starts to compare the body with these digests.
    pub(crate) fn expect(&self, digests: Digests) {
        *self.digests.lock() = Some(digests);
        self.compared.store(true, Ordering::Release);
    }

    /// Hashes more bytes.
    pub(crate) fn digest(&self, bytes: &[u8]) {
        // The content of objects, which is most of the traffic, is not compared here and avoids the
        // lock.
        if self.compared.load(Ordering::Acquire)
            && let Some(digests) = self.digests.lock().as_mut()
        {
            digests.update(bytes);
        }
    }

    /// Compares the digests at the end of the body. Returns false if they differ;
    /// [`BodyState::refusal`] then has the error.
    pub(crate) fn compare(&self) -> bool {
        let digests = self.digests.lock().take();
        let Some(Err(refusal)) = digests.map(Digests::compare) else {
            return true;
        };
        *self.refusal.lock() = Some(refusal);
        false
    }

    /// Takes the error of the comparison.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.refusal.lock().take()
    }

    /// Records that the body has ended.
    pub(crate) fn set_ended(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Stores the unread rest of a body.
    pub(crate) fn leave(&self, rest: Incoming) {
        *self.rest.lock() = Some(rest);
    }

    /// Drains the rest if it is short. Returns whether nothing is left: only then can another
    /// request follow.
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
