//! Streams of content in both directions. Memory is bounded by one piece of the stream.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http_body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use s3s::dto::StreamingBlob;
use s3s::stream::{ByteStream as SizedStream, RemainingLength};
use s3s::{S3Error, StdError};
use store::ByteStream;

use crate::checksum::Summing;
use crate::error::fault;
use crate::exchange::Exchange;
use crate::xml;

mod incoming;

pub(crate) use incoming::Incoming;

/// The body of a response, counted while it is sent.
pub(crate) struct Outgoing {
    inner: s3s::Body,
    exchange: Arc<Exchange>,
    /// Whether this is XML generated while it is sent. No length is announced, so the text can be
    /// cleaned.
    is_live_xml: bool,
}

impl Outgoing {
    /// Wraps a body. Holds the exchange until the last byte is sent or the body is dropped.
    pub(crate) fn new(inner: s3s::Body, exchange: Arc<Exchange>, is_xml: bool) -> Self {
        let is_live_xml = is_xml && Body::size_hint(&inner).exact().is_none();
        Self {
            inner,
            exchange,
            is_live_xml,
        }
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = StdError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StdError>>> {
        let mut frame = Pin::new(&mut self.inner).poll_frame(cx);
        if self.is_live_xml {
            frame = frame.map_ok(|frame| frame.map_data(xml::clean));
        }
        if let Poll::Ready(Some(Ok(frame))) = &frame {
            self.exchange.sent(frame.data_ref().map_or(0, Bytes::len));
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        Body::size_hint(&self.inner)
    }
}

/// The first error in content streamed to the store, as an S3 error. The store itself knows only
/// that the content broke off or was refused.
#[derive(Clone, Default)]
pub(crate) struct Faults(Arc<Mutex<Option<S3Error>>>);

impl Faults {
    /// Stores an error, unless one is stored already.
    pub(crate) fn note(&self, error: S3Error) {
        self.0.lock().get_or_insert(error);
    }

    /// Takes the error.
    pub(crate) fn take(&self) -> Option<S3Error> {
        self.0.lock().take()
    }
}

/// Returns the content of a request for the store, and computes its checksum while it is streamed.
pub(crate) fn to_store(
    body: Option<StreamingBlob>,
    summing: Option<Summing>,
    faults: Faults,
    exchange: Option<Arc<Exchange>>,
) -> ByteStream {
    let Some(body) = body else {
        return stream::empty().boxed();
    };
    let pieces = body.fuse().map(move |piece| match piece {
        Ok(bytes) => {
            if let Some(summing) = &summing {
                summing.update(&bytes);
            }
            Ok(bytes)
        }
        Err(error) => {
            let fault = explain(&error, exchange.as_deref());
            let text = fault.message().unwrap_or_default().to_owned();
            faults.note(fault);
            Err(io::Error::new(io::ErrorKind::UnexpectedEof, text))
        }
    });
    pieces.boxed()
}

/// Returns content read from the store for writing it again, and computes its checksum while it is
/// streamed.
pub(crate) fn summed(body: ByteStream, summing: Option<Summing>) -> ByteStream {
    let Some(summing) = summing else {
        return body.fuse().boxed();
    };
    let pieces = body.fuse().inspect(move |piece| {
        if let Ok(bytes) = piece {
            summing.update(bytes);
        }
    });
    pieces.boxed()
}

/// Returns the reason why content broke off. The errors of s3s's streams have no public types, so
/// they are recognized by their texts.
pub(crate) fn explain(error: &StdError, exchange: Option<&Exchange>) -> S3Error {
    let text = error.to_string();
    if exchange.is_some_and(Exchange::timed_out) {
        return fault(
            "RequestTimeout",
            "no data was received on the connection for too long",
        );
    }
    if exchange.is_some_and(Exchange::too_large) {
        return fault("EntityTooLarge", "the body is longer than allowed");
    }
    if text.contains("Sha256Mismatch") {
        return fault(
            "XAmzContentSHA256Mismatch",
            "the body does not match x-amz-content-sha256",
        );
    }
    if text.contains("SignatureMismatch") {
        return fault(
            "SignatureDoesNotMatch",
            "a chunk of the body does not match its signature",
        );
    }
    fault("IncompleteBody", format!("the body was cut short: {text}"))
}

/// Content from the store as the body of a response.
struct FromStore {
    // s3s needs `Sync`, which a stream of the store may lack. The lock is never contended: the
    // stream is polled only through `&mut`.
    inner: Mutex<ByteStream>,
    left: u64,
}

/// Returns content of `bytes` bytes as the body of a response.
pub(crate) fn from_store(body: ByteStream, bytes: u64) -> StreamingBlob {
    StreamingBlob::new(FromStore {
        // A reader may poll once more after the end.
        inner: Mutex::new(body.fuse().boxed()),
        left: bytes,
    })
}

impl Stream for FromStore {
    type Item = Result<Bytes, StdError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let piece = self.inner.get_mut().as_mut().poll_next(cx);
        if let Poll::Ready(Some(Ok(bytes))) = &piece {
            self.left = self.left.saturating_sub(bytes.len() as u64);
        }
        if let Poll::Ready(Some(Err(error))) = &piece {
            // The status is sent already. The connection is cut, which no client takes for the end.
            tracing::error!(%error, "a response was cut short");
        }
        piece.map(|piece| piece.map(|piece| piece.map_err(Into::into)))
    }
}

impl SizedStream for FromStore {
    fn remaining_length(&self) -> RemainingLength {
        usize::try_from(self.left).map_or_else(|_| RemainingLength::unknown(), RemainingLength::new_exact)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error texts of s3s that [`explain`] recognizes.
    #[test]
    fn what_broke_off_is_told_apart() {
        for (text, code) in [
            ("UploadStreamError: Sha256Mismatch", "XAmzContentSHA256Mismatch"),
            (
                "AwsChunkedStreamError: SignatureMismatch",
                "SignatureDoesNotMatch",
            ),
            ("AwsChunkedStreamError: Incomplete", "IncompleteBody"),
            ("connection reset", "IncompleteBody"),
        ] {
            assert_eq!(explain(&text.into(), None).code().as_str(), code);
        }
    }
}
