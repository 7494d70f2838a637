//! The one pass over a client's content: cut into pieces, counted, and given to everyone who needs the bytes.
//!
//! Memory is bounded: content up to [`WHOLE_BYTES_MAX`] is collected, anything longer passes through channels that
//! hold at most [`SINK_PIECES`] pieces of at most [`PIECE_BYTES_MAX`], shared between all who read them. The slowest
//! reader sets the pace of the client.

use std::io;

use bytes::{Bytes, BytesMut};
use futures_util::stream::{self, StreamExt};
use tokio::sync::mpsc;

use super::StoreError;
use crate::key::Key;
use crate::volume::ByteStream;

/// Content up to this length is collected before it is written, and goes to each volume in one request.
pub(super) const WHOLE_BYTES_MAX: usize = 1024 * 1024;

/// Longest piece passed on.
const PIECE_BYTES_MAX: usize = 256 * 1024;

/// Pieces shorter than this are joined: passing one on costs as much as copying a good part of it.
const PIECE_BYTES_MIN: usize = 64 * 1024;

/// Pieces that wait for one reader.
pub(super) const SINK_PIECES: usize = 4;

/// The beginning of a content, looked at to choose how it is written.
pub(super) enum Opening {
    /// All of it.
    Whole(Bytes),
    /// More than fits: the whole stream, with what was read of it put back.
    Long(ByteStream),
}

/// Where pieces go; `None` says that the content ended well. A reader that sees the channel closed without it knows
/// that the content broke off.
pub(super) type Sink = mpsc::Sender<Option<Bytes>>;

/// Reads the beginning.
///
/// # Errors
/// `Body` when the content breaks off, or whatever the reader of this store said that it came from.
pub(super) async fn open(key: &Key, mut body: ByteStream) -> Result<Opening, StoreError> {
    let mut pieces = Vec::new();
    let mut size = 0;
    while let Some(piece) = body.next().await {
        let piece = piece.map_err(|error| broke_off(key, error))?;
        size += piece.len();
        pieces.push(piece);
        if size > WHOLE_BYTES_MAX {
            let beginning = stream::iter(pieces.into_iter().map(Ok));
            return Ok(Opening::Long(Box::pin(beginning.chain(body))));
        }
    }
    Ok(Opening::Whole(match pieces.len() {
        0 => Bytes::new(),
        1 => pieces.swap_remove(0),
        _ => pieces.concat().into(),
    }))
}

/// A channel and the content that comes out of it.
pub(super) fn channel() -> (Sink, ByteStream) {
    let (sink, pieces) = mpsc::channel(SINK_PIECES);
    let body = stream::unfold(Some(pieces), |pieces| async move {
        let mut pieces: mpsc::Receiver<Option<Bytes>> = pieces?;
        match pieces.recv().await {
            Some(Some(piece)) => Some((Ok(piece), Some(pieces))),
            Some(None) => None,
            None => Some((Err(io::ErrorKind::UnexpectedEof.into()), None)),
        }
    });
    // Readers may ask once more after the end, which an unfolded stream does not bear.
    (sink, Box::pin(body.fuse()))
}

/// Gives a content to all sinks and answers its length. A sink whose reader has gone is left out from then on; with
/// none of the first `needed` left, the rest of the content is not read.
///
/// # Errors
/// `Body` when the content breaks off; `Declared` as soon as it is longer than `size_max`. The sinks' readers see that
/// it did not end well.
pub(super) async fn pour(
    key: &Key,
    mut body: ByteStream,
    sinks: Vec<Sink>,
    needed: usize,
    size_max: Option<u64>,
) -> Result<u64, StoreError> {
    let mut fan = Fan {
        sinks: sinks.into_iter().map(Some).collect(),
        short: BytesMut::new(),
    };
    let mut size = 0;
    while let Some(piece) = body.next().await {
        let piece = piece.map_err(|error| broke_off(key, error))?;
        size += piece.len() as u64;
        if let Some(max) = size_max.filter(|max| size > *max) {
            return Err(super::put::declared(
                key,
                "length",
                format!("more than {max}"),
                max,
            ));
        }
        fan.take(piece).await;
        if fan.sinks.iter().take(needed).all(Option::is_none) {
            break;
        }
    }
    fan.flush().await;
    fan.give(None).await;
    Ok(size)
}

/// Several sinks, and short pieces waiting to be joined.
struct Fan {
    /// `None` once the reader has gone.
    sinks: Vec<Option<Sink>>,
    short: BytesMut,
}

impl Fan {
    async fn take(&mut self, mut piece: Bytes) {
        if piece.len() < PIECE_BYTES_MIN {
            self.short.extend_from_slice(&piece);
            if self.short.len() >= PIECE_BYTES_MIN {
                self.flush().await;
            }
            return;
        }
        self.flush().await;
        while !piece.is_empty() {
            let cut = piece.split_to(piece.len().min(PIECE_BYTES_MAX));
            self.give(Some(cut)).await;
        }
    }

    async fn flush(&mut self) {
        if !self.short.is_empty() {
            let joined = self.short.split().freeze();
            self.give(Some(joined)).await;
        }
    }

    async fn give(&mut self, piece: Option<Bytes>) {
        for place in &mut self.sinks {
            let gone = match place {
                Some(sink) => sink.send(piece.clone()).await.is_err(),
                None => false,
            };
            if gone {
                *place = None;
            }
        }
    }
}

/// Why a content broke off; if it was read from this store, the reader's error as it is.
fn broke_off(key: &Key, error: io::Error) -> StoreError {
    let detail = error.to_string();
    let inner = error
        .into_inner()
        .and_then(|inner| inner.downcast::<StoreError>().ok());
    inner.map_or_else(
        || StoreError::Body {
            key: key.to_string(),
            detail,
        },
        |ours| *ours,
    )
}
