//! The body of an upstream response on its way to a client.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use s3s::StdError;
use tokio::time::Sleep;

/// How long the upstream may pause within a response; the same as for clients within a request.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// The body of a response. Reading fails if the upstream sends nothing for too long.
pub(crate) struct Download {
    inner: Incoming,
    silence: Option<Pin<Box<Sleep>>>,
}

impl Download {
    pub(crate) fn new(inner: Incoming) -> Self {
        Self { inner, silence: None }
    }
}

impl Body for Download {
    type Data = Bytes;
    type Error = StdError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StdError>>> {
        let this = &mut *self;
        if let Poll::Ready(frame) = Pin::new(&mut this.inner).poll_frame(cx) {
            this.silence = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let silence = this
            .silence
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(SILENCE_MAX)));
        match silence.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Some(Err("the upstream was silent for too long".into()))),
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
