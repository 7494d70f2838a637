//! A client's content on its way to the upstream.
//!
//! Invariant: the last piece is sent only after the whole content was checked (its signature, its
//! digest, the checksum in its trailer). If a check fails, the request to the upstream is broken
//! off, so content that differs from its declarations never becomes an object.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use s3s::dto::Checksum;
use s3s::{S3Error, S3Result, StdError, TrailingHeaders};

use crate::body::{Faults, explain};
use crate::checksum::{Declared, Hasher, compare};
use crate::error::fault;
use crate::exchange::Exchange;

/// The content of a request while it is forwarded.
pub(crate) struct Upload {
    inner: s3s::Body,
    /// The last received piece, held back until the next one or the end arrives.
    held: Option<Bytes>,
    /// Length in bytes, if it was declared.
    length: Option<u64>,
    /// Number of bytes received.
    received: u64,
    trailer: Option<Trailer>,
    faults: Faults,
    exchange: Option<Arc<Exchange>>,
    ended: bool,
}

/// The checksum that follows the content.
struct Trailer {
    hasher: Hasher,
    declared: Declared,
    found: TrailingHeaders,
}

impl Trailer {
    fn of(headers: &HeaderMap, found: Option<TrailingHeaders>) -> S3Result<Option<Self>> {
        let Some(found) = found else { return Ok(None) };
        if !headers.contains_key("x-amz-trailer") {
            return Ok(None);
        }
        let declared = Declared::of(&Checksum::default(), headers)?;
        Ok(declared.map(|declared| Self {
            hasher: Hasher::new(declared.algorithm),
            declared,
            found,
        }))
    }

    fn compare(self) -> S3Result<()> {
        compare(&self.declared, Some(&self.found), &self.hasher.finish())
    }
}

impl Upload {
    /// Wraps content of a request with these headers. An error that breaks it off is stored in
    /// `faults`.
    ///
    /// # Errors
    /// If the trailer has an unknown checksum.
    pub(crate) fn new(
        inner: s3s::Body,
        headers: &HeaderMap,
        trailers: Option<TrailingHeaders>,
        exchange: Option<Arc<Exchange>>,
        faults: Faults,
    ) -> S3Result<Self> {
        let length = headers.get(http::header::CONTENT_LENGTH);
        Ok(Self {
            inner,
            held: None,
            length: length
                .and_then(|length| length.to_str().ok())
                .and_then(|length| length.parse().ok()),
            trailer: Trailer::of(headers, trailers)?,
            received: 0,
            faults,
            exchange,
            ended: false,
        })
    }

    fn fails(&mut self, fault: S3Error) -> StdError {
        let text = fault.message().unwrap_or_default().to_owned();
        self.faults.note(fault);
        self.ended = true;
        self.held = None;
        text.into()
    }

    /// Holds back a piece and returns the one before it.
    fn take(&mut self, piece: Bytes) -> Option<Bytes> {
        self.received += piece.len() as u64;
        if let Some(trailer) = &mut self.trailer {
            trailer.hasher.update(&piece);
        }
        if piece.is_empty() {
            None
        } else {
            self.held.replace(piece)
        }
    }

    /// Returns the last piece, after the checks.
    fn end(&mut self) -> Option<Result<Bytes, StdError>> {
        self.ended = true;
        if let Some(length) = self.length.filter(|length| *length != self.received) {
            let detail = format!("the body has {} bytes, {length} were declared", self.received);
            return Some(Err(self.fails(fault("IncompleteBody", detail))));
        }
        if let Some(Err(fault)) = self.trailer.take().map(Trailer::compare) {
            return Some(Err(self.fails(fault)));
        }
        self.held.take().map(Ok)
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = StdError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StdError>>> {
        let this = &mut *self;
        while !this.ended {
            let Poll::Ready(frame) = Pin::new(&mut this.inner).poll_frame(cx) else {
                return Poll::Pending;
            };
            let piece = match frame {
                None => this.end(),
                Some(Ok(frame)) => frame.into_data().ok().and_then(|piece| this.take(piece)).map(Ok),
                Some(Err(error)) => {
                    let fault = explain(&error, this.exchange.as_deref());
                    Some(Err(this.fails(fault)))
                }
            };
            if let Some(piece) = piece {
                return Poll::Ready(Some(piece.map(Frame::data)));
            }
        }
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.ended && self.held.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.length.map(SizeHint::with_exact).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{StreamExt as _, stream};
    use http_body_util::{BodyExt as _, StreamBody};

    async fn sent(pieces: Vec<Result<&'static str, &'static str>>) -> (String, Option<S3Error>) {
        let pieces = pieces.into_iter().map(|piece| match piece {
            Ok(text) => Ok(Frame::data(Bytes::from(text))),
            Err(error) => Err(StdError::from(error)),
        });
        let body = s3s::Body::http_body(StreamBody::new(stream::iter(pieces)));
        let faults = Faults::default();
        let upload = Upload::new(body, &HeaderMap::new(), None, None, faults.clone()).unwrap();
        let mut frames = upload.into_data_stream();
        let mut sent = String::new();
        while let Some(Ok(bytes)) = frames.next().await {
            sent.push_str(std::str::from_utf8(&bytes).unwrap());
        }
        (sent, faults.take())
    }

    /// The digest of the whole is compared at the end, when all pieces except the last have been
    /// sent.
    #[tokio::test]
    async fn content_that_turns_out_wrong_is_not_sent_to_its_end() {
        let (whole, fault) = sent(vec![Ok("ab"), Ok(""), Ok("cd")]).await;
        assert_eq!((whole.as_str(), fault.is_none()), ("abcd", true));
        let mismatch = "UploadStreamError: Sha256Mismatch";
        let (part, fault) = sent(vec![Ok("ab"), Ok("cd"), Err(mismatch)]).await;
        assert_eq!(part, "ab");
        assert_eq!(fault.unwrap().code().as_str(), "XAmzContentSHA256Mismatch");
    }
}
