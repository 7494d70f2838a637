//! A response body that is made while it is sent.
//!
//! The maker runs in its own task and is at most [`AHEAD`] pieces ahead of the reader. If the
//! reader disconnects, sending fails and the maker stops. An error cuts the body off, so that the
//! client can see that it is incomplete.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use archive::Interrupt;
use axum::body::{Body, Bytes};
use http_body::Frame;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::ask::Asker;

/// Maximum number of pieces that are made but not yet sent.
const AHEAD: usize = 2;

/// Reason why a body ends early.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Cut(pub(crate) String);

/// Sending end of the channel for pieces.
pub(crate) type Sender = mpsc::Sender<Result<Bytes, Cut>>;

/// Returns a body and the sender that fills it.
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

/// A source of a body that is read piece by piece. Each piece takes bounded time and memory.
pub(crate) trait Maker: Send + 'static {
    /// Returns the next piece, which may be empty, or `None` at the end.
    ///
    /// # Errors
    /// The input's error if the rest cannot be read.
    fn next(&mut self) -> std::io::Result<Option<Bytes>>;
}

/// Interrupts the reading when it is dropped, because nobody waits for the result any more.
pub(crate) struct Wanted(pub(crate) Interrupt);

impl Wanted {
    pub(crate) fn new() -> Wanted {
        Wanted(Interrupt::new())
    }
}

impl Drop for Wanted {
    fn drop(&mut self) {
        self.0.ask();
    }
}

/// Time limit of a whole body. `None`: no limit while its reader keeps reading.
pub(crate) type Patience = Option<Duration>;

/// Returns a body with all pieces of `maker`. Each piece is made on a blocking thread, within the
/// limit on questions, so that no thread waits for a slow reader.
pub(crate) fn body(asker: Asker, maker: impl Maker, wanted: Wanted, patience: Patience) -> Body {
    let (sender, body) = channel();
    let until = patience.map(|patience| Instant::now() + patience);
    tokio::spawn(async move {
        // Dropped whenever this task ends. That interrupts a piece that is still being made.
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
            cut(&sender, "the time limit was exceeded");
        }
    });
    body
}

/// Maximum number of pieces made before an answer begins. A body that ends by then, as most do, is
/// sent whole: without a task, and with its length.
const BEGUN_PIECES_MAX: usize = 4;

/// Number of bytes made before an answer begins. It can be exceeded by one piece.
const BEGUN_BYTES_MAX: usize = 1 << 20;

/// The beginning of a body, and the maker of the rest.
pub(crate) struct Begun<M> {
    pieces: Vec<Bytes>,
    rest: Rest<M>,
}

enum Rest<M> {
    Nothing,
    Maker(M),
    Failed(std::io::Error),
}

/// Makes the beginning of a body. May block.
pub(crate) fn begin<M: Maker>(mut maker: M) -> Begun<M> {
    let mut pieces = Vec::new();
    let rest = loop {
        let bytes: usize = pieces.iter().map(Bytes::len).sum();
        if pieces.len() == BEGUN_PIECES_MAX || bytes > BEGUN_BYTES_MAX {
            break Rest::Maker(maker);
        }
        match maker.next() {
            Ok(Some(piece)) => pieces.push(piece),
            Ok(None) => break Rest::Nothing,
            Err(error) => break Rest::Failed(error),
        }
    };
    Begun { pieces, rest }
}

/// Returns a body with the pieces made so far, followed by the rest as in [`body`].
pub(crate) fn go_on<M: Maker>(asker: Asker, begun: Begun<M>, wanted: Wanted, patience: Patience) -> Body {
    let Begun { mut pieces, rest } = begun;
    let maker = match rest {
        Rest::Nothing if pieces.len() == 1 => return Body::from(pieces.remove(0)),
        Rest::Nothing => return Body::from(pieces.concat()),
        Rest::Maker(maker) => Ok(maker),
        Rest::Failed(error) => Err(Some(error)),
    };
    let pieces = VecDeque::from(pieces);
    body(asker, Continued { pieces, maker }, wanted, patience)
}

/// Pieces made so far, then those of a maker, or its error.
struct Continued<M> {
    pieces: VecDeque<Bytes>,
    maker: Result<M, Option<std::io::Error>>,
}

impl<M: Maker> Maker for Continued<M> {
    fn next(&mut self) -> std::io::Result<Option<Bytes>> {
        match (self.pieces.pop_front(), &mut self.maker) {
            (Some(piece), _) => Ok(Some(piece)),
            (None, Ok(maker)) => maker.next(),
            (None, Err(error)) => error.take().map_or(Ok(None), Err),
        }
    }
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

/// Cuts the body off after the pieces that were made. The error waits for its place in a separate
/// task, which holds no other resources. If the sender were dropped instead, the body would seem
/// complete.
fn cut(sender: &Sender, why: &str) {
    tracing::warn!(why, "a response was cut off");
    let (sender, why) = (sender.clone(), why.to_owned());
    tokio::spawn(async move {
        // This fails only if the reader is gone, and then nobody needs the error.
        let _ = sender.send(Err(Cut(why))).await;
    });
}
