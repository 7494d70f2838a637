//! A response body that is made while it is sent.
//!
//! The source is read in its own task and is at most [`PIECES_AHEAD_MAX`] pieces ahead of the
//! reader. If the reader disconnects, sending fails and the task stops. An error cuts the body off,
//! so that the client can see that it is incomplete.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use archive::Interrupt;
use axum::body::{Body, Bytes};
use http_body::Frame;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::archive_client::ArchiveClient;

/// Maximum number of pieces that are made but not yet sent.
const PIECES_AHEAD_MAX: usize = 2;

/// Reason why a body ends early.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Cut(pub(crate) String);

/// Sending end of the channel for pieces.
pub(crate) type Sender = mpsc::Sender<Result<Bytes, Cut>>;

/// Returns a body and the sender that fills it.
pub(crate) fn channel() -> (Sender, Body) {
    let (sender, receiver) = mpsc::channel(PIECES_AHEAD_MAX);
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
pub(crate) trait BodySource: Send + 'static {
    /// Returns the next piece, which may be empty, or `None` at the end.
    ///
    /// # Errors
    /// The input's error if the rest cannot be read.
    fn next(&mut self) -> std::io::Result<Option<Bytes>>;
}

/// Interrupts the reading when it is dropped, because nobody waits for the result any more.
pub(crate) struct CancelOnDrop(pub(crate) Interrupt);

impl CancelOnDrop {
    pub(crate) fn new() -> CancelOnDrop {
        CancelOnDrop(Interrupt::new())
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.ask();
    }
}

/// Time limit of a whole body. `None`: no limit while its reader keeps reading.
pub(crate) type TimeLimit = Option<Duration>;

/// Returns a body with all pieces of `source`. Each piece is made on a blocking thread, within the
/// limit on questions, so that no thread waits for a slow reader.
pub(crate) fn body(
    archive: ArchiveClient,
    source: impl BodySource,
    cancel: CancelOnDrop,
    time_max: TimeLimit,
) -> Body {
    let (sender, body) = channel();
    let until = time_max.map(|time_max| Instant::now() + time_max);
    tokio::spawn(async move {
        // Dropped whenever this task ends. That interrupts a piece that is still being made.
        let _cancel = cancel;
        let sending = send_all(archive, source, &sender);
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
const PREFETCHED_PIECES_MAX: usize = 4;

/// Number of bytes made before an answer begins. It can be exceeded by one piece.
const PREFETCHED_BYTES_MAX: usize = 1 << 20;

/// The beginning of a body, and the source of the rest.
pub(crate) struct Prefetched<M> {
    pieces: Vec<Bytes>,
    rest: Rest<M>,
}

enum Rest<M> {
    Nothing,
    Source(M),
    Failed(std::io::Error),
}

/// Makes the beginning of a body. May block.
pub(crate) fn prefetch<M: BodySource>(mut source: M) -> Prefetched<M> {
    let mut pieces = Vec::new();
    let rest = loop {
        let bytes: usize = pieces.iter().map(Bytes::len).sum();
        if pieces.len() == PREFETCHED_PIECES_MAX || bytes > PREFETCHED_BYTES_MAX {
            break Rest::Source(source);
        }
        match source.next() {
            Ok(Some(piece)) => pieces.push(piece),
            Ok(None) => break Rest::Nothing,
            Err(error) => break Rest::Failed(error),
        }
    };
    Prefetched { pieces, rest }
}

/// Returns a body with the pieces made so far, followed by the rest as in [`body`].
pub(crate) fn body_after<M: BodySource>(
    archive: ArchiveClient,
    start: Prefetched<M>,
    cancel: CancelOnDrop,
    time_max: TimeLimit,
) -> Body {
    let Prefetched { mut pieces, rest } = start;
    let source = match rest {
        Rest::Nothing if pieces.len() == 1 => return Body::from(pieces.remove(0)),
        Rest::Nothing => return Body::from(pieces.concat()),
        Rest::Source(source) => Ok(source),
        Rest::Failed(error) => Err(Some(error)),
    };
    let pieces = VecDeque::from(pieces);
    body(archive, Continued { pieces, source }, cancel, time_max)
}

/// Pieces made so far, then those of a source, or its error.
struct Continued<M> {
    pieces: VecDeque<Bytes>,
    source: Result<M, Option<std::io::Error>>,
}

impl<M: BodySource> BodySource for Continued<M> {
    fn next(&mut self) -> std::io::Result<Option<Bytes>> {
        match (self.pieces.pop_front(), &mut self.source) {
            (Some(piece), _) => Ok(Some(piece)),
            (None, Ok(source)) => source.next(),
            (None, Err(error)) => error.take().map_or(Ok(None), Err),
        }
    }
}

async fn send_all(archive: ArchiveClient, mut source: impl BodySource, sender: &Sender) {
    loop {
        let making = archive.blocking(move |_| {
            let piece = source.next();
            (source, piece)
        });
        let made = tokio::select! {
            made = making => made,
            () = sender.closed() => return,
        };
        let piece = match made {
            Ok((rest, piece)) => {
                source = rest;
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
