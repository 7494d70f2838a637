//! What becomes of a request's body while it passes: how much of it was read, whether it is what was declared, and what
//! is left of it when its request is answered early.

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::digests::Digests;
use crate::refusal::Refusal;

/// Longest rest of a body in bytes that is read although its request is answered already, so that the connection can be used
/// again.
const REST_BYTES_MAX: u64 = 64 * 1024;

/// How long that may take.
const REST_TIME_MAX: Duration = Duration::from_secs(1);

/// A request's body, beside its bytes.
#[derive(Default)]
pub(crate) struct BodyState {
    /// Nothing of it is left to come.
    ended: AtomicBool,
    /// Somebody compares it.
    compared: AtomicBool,
    digests: Mutex<Option<Digests>>,
    refusal: Mutex<Option<Refusal>>,
    rest: Mutex<Option<Incoming>>,
}

impl BodyState {
    /// From now on the bytes are compared with these.
    pub(crate) fn expect(&self, digests: Digests) {
        *self.digests.lock() = Some(digests);
        self.compared.store(true, Ordering::Release);
    }

    /// More bytes.
    pub(crate) fn digest(&self, bytes: &[u8]) {
        // Content of objects is not compared here, and there is much of it.
        if self.compared.load(Ordering::Acquire)
            && let Some(digests) = self.digests.lock().as_mut()
        {
            digests.update(bytes);
        }
    }

    /// The whole body has come: whether it is what was declared. If not, [`BodyState::refusal`] says so.
    pub(crate) fn compare(&self) -> bool {
        let digests = self.digests.lock().take();
        let Some(Err(refusal)) = digests.map(Digests::compare) else {
            return true;
        };
        *self.refusal.lock() = Some(refusal);
        false
    }

    /// What was wrong with it.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.refusal.lock().take()
    }

    /// Nothing of it is left to come.
    pub(crate) fn set_ended(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Nobody reads on.
    pub(crate) fn leave(&self, rest: Incoming) {
        *self.rest.lock() = Some(rest);
    }

    /// Reads what is left if that is little. Answers whether nothing is left: only then can another request follow.
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
