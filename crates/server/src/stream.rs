//! A response body that is made while it is sent.
//!
//! The maker runs in a task of its own and is at most [`AHEAD`] pieces ahead of the reader; when the reader
//! goes away, sending fails and the maker stops. An error cuts the body off, so that the other end can see
//! that it is not whole.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use archive::Interrupt;
use axum::body::{Body, Bytes};
use http_body::Frame;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::ask::Asker;

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

/// Something read from the archive piece by piece. Each piece takes bounded time and memory.
pub(crate) trait Maker: Send + 'static {
    /// The next piece, which may be empty; `None` at the end.
    ///
    /// # Errors
    /// Why the rest cannot be had.
    fn next(&mut self) -> std::io::Result<Option<Bytes>>;
}

/// Interrupts the reading when nobody waits for it any more: when it is dropped.
pub(crate) struct Wanted(pub(crate) Interrupt);

impl Drop for Wanted {
    fn drop(&mut self) {
        self.0.ask();
    }
}

/// How long a body may take altogether; `None` for as long as its reader goes on reading.
pub(crate) type Patience = Option<Duration>;

/// A body of all that `maker` gives. Each piece is made on a blocking thread, within the cap of questions, so that no
/// thread waits for a slow reader.
pub(crate) fn body(asker: Asker, maker: impl Maker, wanted: Wanted, patience: Patience) -> Body {
    let (sender, body) = channel();
    let until = patience.map(|patience| Instant::now() + patience);
    tokio::spawn(async move {
        // Dropped at the end, however that comes: it ends a piece that is still being made.
        let _wanted = wanted;
        let sending = send_all(asker, maker, &sender);
        let done = match until {
            Some(until) => tokio::time::timeout_at(until, sending).await.is_ok(),
            None => {
                sending.await;
                true
            }
        };
        if !done {
            cut(&sender, "it took too long");
        }
    });
    body
}

async fn send_all(asker: Asker, mut maker: impl Maker, sender: &Sender) {
    loop {
        let making = asker.blocking(move |_| {
            let piece = maker.next();
            (maker, piece)
        });
        let made = tokio::select! {
            made = making => made,
            () = sender.closed() => return,
        };
        let piece = match made {
            Ok((rest, piece)) => {
                maker = rest;
                piece
            }
            Err(failure) => return cut(sender, &failure.message),
        };
        match piece {
            Ok(Some(piece)) if piece.is_empty() => {}
            Ok(Some(piece)) => {
                if sender.send(Ok(piece)).await.is_err() {
                    return;
                }
            }
            Ok(None) => return,
            Err(error) => return cut(sender, &error.to_string()),
        }
    }
}

/// Cuts the body off after the pieces that were made. The error waits for its place in a task of its own, which holds
/// nothing else: if the sender were dropped instead, the body would seem whole.
fn cut(sender: &Sender, why: &str) {
    tracing::warn!(why, "an answer could not be sent whole");
    let (sender, why) = (sender.clone(), why.to_owned());
    tokio::spawn(async move {
        // Whether it can be told does not matter: a reader that is gone needs no telling.
        let _ = sender.send(Err(Cut(why))).await;
    });
}
