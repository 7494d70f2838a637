//! A response body that is made while it is sent.
//!
//! The maker runs in a task of its own and is at most [`AHEAD`] pieces ahead of the reader; when the reader
//! goes away, sending fails and the maker stops. An error cuts the body off, so that the other end can see
//! that it is not whole.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use http_body::Frame;
use tokio::sync::mpsc;

/// Pieces made but not yet sent.
const AHEAD: usize = 2;

/// Why a body ends early.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Cut(pub(crate) String);

/// Where the maker puts pieces.
pub(crate) type Sender = mpsc::Sender<Result<Bytes, Cut>>;

/// A body and the sender that fills it.
pub(crate) fn channel() -> (Sender, Body) {
    let (sender, receiver) = mpsc::channel(AHEAD);
    (sender, Body::new(Pieces(receiver)))
}

struct Pieces(mpsc::Receiver<Result<Bytes, Cut>>);

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        self.0
            .poll_recv(context)
            .map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}
