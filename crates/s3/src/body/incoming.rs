//! A request's body as received from the connection, before it is interpreted.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use s3s::StdError;
use tokio::time::Sleep;

use crate::chunks::Chunks;
use crate::exchange::Exchange;

/// A request's body as received from the connection. It is counted, limited in length, and compared
/// with its declared digests. Reading fails if the client sends nothing for too long.
pub(crate) struct Incoming {
    /// `None` only during drop.
    inner: Option<hyper::body::Incoming>,
    exchange: Arc<Exchange>,
    idle_max: Duration,
    left: u64,
    silence: Option<Pin<Box<Sleep>>>,
    /// Follows the framing of a chunked body.
    chunks: Option<Chunks>,
}

impl Incoming {
    /// Wraps a body of at most `bytes_max` that fails after `idle_max` without a byte. `chunks` is
    /// given if the body is chunked.
    pub(crate) fn new(
        inner: hyper::body::Incoming,
        exchange: Arc<Exchange>,
        (idle_max, bytes_max): (Duration, u64),
        chunks: Option<Chunks>,
    ) -> Self {
        if inner.is_end_stream() {
            exchange.body.set_ended();
        }
        Self {
            inner: Some(inner),
            exchange,
            idle_max,
            left: bytes_max,
            silence: None,
            chunks,
        }
    }

    fn waited_too_long(&mut self, cx: &mut Context<'_>) -> bool {
        let idle_max = self.idle_max;
        let silence = self
            .silence
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(idle_max)));
        silence.as_mut().poll(cx).is_ready()
    }

    /// Counts and checks more bytes, and returns the bytes to pass on instead.
    fn take(&mut self, bytes: Bytes) -> Result<Bytes, StdError> {
        self.exchange.received(bytes.len());
        self.exchange.body.digest(&bytes);
        let Some(left) = self.left.checked_sub(bytes.len() as u64) else {
            self.exchange.set_too_large();
            return Err("the body is longer than allowed".into());
        };
        self.left = left;
        match &mut self.chunks {
            Some(chunks) => Ok(chunks.pass(bytes)?),
            None => Ok(bytes),
        }
    }

    /// Checks the body at its end.
    fn end(&mut self) -> Result<(), StdError> {
        self.exchange.body.set_ended();
        if self.chunks.as_ref().is_some_and(|chunks| !chunks.has_ended()) {
            return Err("the last chunk is missing".into());
        }
        if self.exchange.body.compare() {
            Ok(())
        } else {
            Err("the body differs from its digest".into())
        }
    }
}

impl Body for Incoming {
    type Data = Bytes;
    type Error = StdError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StdError>>> {
        let this = &mut *self;
        let Some(inner) = &mut this.inner else {
            return Poll::Ready(None);
        };
        let Poll::Ready(frame) = Pin::new(inner).poll_frame(cx) else {
            if this.waited_too_long(cx) {
                this.exchange.set_timed_out();
                return Poll::Ready(Some(Err("the client was silent for too long".into())));
            }
            return Poll::Pending;
        };
        this.silence = None;
        let outcome = match frame {
            None => return Poll::Ready(this.end().err().map(Err)),
            Some(Err(error)) => Err(error.into()),
            Some(Ok(frame)) => match frame.into_data() {
                Ok(bytes) => this.take(bytes).map(Frame::data),
                Err(frame) => Ok(frame),
            },
        };
        // hyper does not poll for the end of a body of known length after its last byte.
        let ended = this.inner.as_ref().is_some_and(Body::is_end_stream);
        let outcome = match outcome {
            Ok(frame) if ended => this.end().map(|()| frame),
            outcome => outcome,
        };
        Poll::Ready(Some(outcome))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.chunks {
            // The body may be passed on in more chunks than it arrives in.
            Some(_) => SizeHint::default(),
            None => self.inner.as_ref().map(Body::size_hint).unwrap_or_default(),
        }
    }
}

impl Drop for Incoming {
    /// Passes the unread rest to the exchange, which may drain it.
    fn drop(&mut self) {
        if let Some(inner) = self.inner.take() {
            self.exchange.body.leave(inner);
        }
    }
}
