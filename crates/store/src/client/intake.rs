//! Reads a client's content in one pass: cuts it into pieces, counts it, and hands it to every
//! reader.
//!
//! Memory is bounded. Content up to [`WHOLE_BYTES_MAX`] is collected, at most
//! [`super::budget::COLLECTED_BYTES_MAX`] for all writes together. Longer content passes through
//! channels of at most [`SINK_PIECES`] pieces of at most [`PIECE_BYTES_MAX`], shared by all
//! readers. The slowest reader sets the pace of the client. A volume that takes no piece for too
//! long is dropped, and the others continue. The caller limits how long a client may be silent.

use std::io;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::stream::{self, StreamExt};
use store_protocol::{ByteStream, Key};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::time::timeout;

use super::budget::Budget;
use super::error::{StoreError, declared};

/// Content up to this length is collected before it is written, and is sent to each volume in one
/// request.
pub(super) const WHOLE_BYTES_MAX: usize = 1024 * 1024;

/// Longest piece passed on, in bytes. It equals the length of a block, which volumes hash and write
/// at a time; longer pieces would only take more memory.
const PIECE_BYTES_MAX: usize = 256 * 1024;

/// Shorter pieces are joined, because passing a piece on costs about as much as copying most of its
/// bytes.
const PIECE_BYTES_MIN: usize = 64 * 1024;

/// Pieces that may wait for one reader. With fewer, the client would wait for every single write of
/// the slowest volume. Each costs [`PIECE_BYTES_MAX`] for every reader of every upload.
pub(super) const SINK_PIECES: usize = 4;

/// Collected content. Its share of the budget is released when the last of its bytes is freed.
struct Collected {
    bytes: Bytes,
    _taken: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Collected {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The beginning of a client's content, which decides how it is written.
pub(super) enum IncomingContent {
    /// The whole content.
    Whole(Bytes),
    /// More than the limit or the free memory allows: the whole stream, with the bytes already read
    /// put back in front.
    Streamed(ByteStream),
}

/// The sending end of one reader's channel.
pub(super) struct Sink {
    /// `None` marks a complete end. If the channel closes without it, the reader knows that the
    /// content is incomplete.
    pieces: mpsc::Sender<Option<Bytes>>,
    /// Set for a reader that the write can do without.
    stall: Option<Stall>,
}

/// When a reader is dropped.
struct Stall {
    /// How long the reader may take no piece.
    time_max: Duration,
    given_up: oneshot::Sender<()>,
}

impl Sink {
    /// Sends a piece. Returns whether the reader took it or will take it.
    async fn send(&mut self, piece: Option<Bytes>) -> bool {
        let sending = self.pieces.send(piece);
        let Some(stall) = &self.stall else {
            return sending.await.is_ok();
        };
        if let Ok(sent) = timeout(stall.time_max, sending).await {
            return sent.is_ok();
        }
        if let Some(stall) = self.stall.take() {
            // The send fails only if nobody waits for this reader any longer.
            let _ = stall.given_up.send(());
        }
        false
    }
}

/// Reads the beginning of a client's content.
///
/// # Errors
/// `Body` if the content is cut short; if it is read from this store, the error of that read.
pub(super) async fn read_beginning(
    key: &Key,
    mut body: ByteStream,
    budget: &Budget,
) -> Result<IncomingContent, StoreError> {
    let Some(first) = body.next().await else {
        return Ok(IncomingContent::Whole(Bytes::new()));
    };
    let mut beginning = Beginning {
        first: first.map_err(|error| cut_short(key, error))?,
        joined: BytesMut::new(),
    };
    let mut taken = budget.take(beginning.len());
    while taken.is_some() && beginning.len() <= WHOLE_BYTES_MAX {
        let Some(piece) = body.next().await else {
            return Ok(IncomingContent::Whole(beginning.collected(taken)));
        };
        let piece = piece.map_err(|error| cut_short(key, error))?;
        let more = budget.take(piece.len());
        beginning.add(piece);
        taken = match (taken, more) {
            (Some(mut taken), Some(more)) => {
                taken.merge(more);
                Some(taken)
            }
            _ => None,
        };
    }
    let beginning = stream::iter([Ok(beginning.bytes())]);
    Ok(IncomingContent::Streamed(Box::pin(beginning.chain(body))))
}

/// The content received so far. Pieces are joined as they arrive, so that a client that sends
/// single bytes does not cost the bookkeeping of a piece for each.
struct Beginning {
    first: Bytes,
    /// `first` and everything after it; empty until something follows `first`.
    joined: BytesMut,
}

impl Beginning {
    fn len(&self) -> usize {
        self.joined.len().max(self.first.len())
    }

    fn add(&mut self, piece: Bytes) {
        if self.joined.is_empty() {
            self.joined.extend_from_slice(&self.first);
            self.first = Bytes::new();
        }
        self.joined.extend_from_slice(&piece);
    }

    fn bytes(self) -> Bytes {
        if self.joined.is_empty() {
            return self.first;
        }
        self.joined.freeze()
    }

    /// Returns the content, which holds its share of the budget.
    fn collected(self, taken: Option<OwnedSemaphorePermit>) -> Bytes {
        let bytes = self.bytes();
        match taken {
            None => bytes,
            Some(taken) => Bytes::from_owner(Collected { bytes, _taken: taken }),
        }
    }
}

/// Returns a channel and the content that comes out of it.
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
    let sink = Sink {
        pieces: sink,
        stall: None,
    };
    // Readers may poll once more after the end, and an unfolded stream would panic.
    (sink, Box::pin(body.fuse()))
}

/// Like [`channel`], for a reader that the write can do without. If it takes no piece for `stall`,
/// it is dropped and the receiver gets a message; otherwise the receiver gets none.
pub(super) fn channel_with_stall(stall: Duration) -> (Sink, ByteStream, oneshot::Receiver<()>) {
    let (mut sink, content) = channel();
    let (given_up, stalled) = oneshot::channel();
    sink.stall = Some(Stall {
        time_max: stall,
        given_up,
    });
    (sink, content, stalled)
}

/// Sends content to all sinks and returns its length. A sink whose reader has gone or was dropped
/// is skipped from then on. Once the first `needed` sinks are all gone, the rest of the content is
/// not read.
///
/// # Errors
/// `Body` if the content is cut short; `Declared` once it is longer than `size_max`. The readers
/// then see that the content is incomplete.
pub(super) async fn feed_sinks(
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
        let piece = piece.map_err(|error| cut_short(key, error))?;
        size += piece.len() as u64;
        if let Some(max) = size_max.filter(|max| size > *max) {
            return Err(declared(key, "length", format!("more than {max}"), max));
        }
        fan.take(piece).await;
        if fan.sinks.iter().take(needed).all(Option::is_none) {
            break;
        }
    }
    fan.flush().await;
    fan.send(None).await;
    Ok(size)
}

/// Several sinks, and short pieces waiting to be joined.
struct Fan {
    /// `None` once the reader has gone or was dropped.
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
            self.send(Some(cut)).await;
        }
    }

    async fn flush(&mut self) {
        if !self.short.is_empty() {
            let joined = self.short.split().freeze();
            self.send(Some(joined)).await;
        }
    }

    async fn send(&mut self, piece: Option<Bytes>) {
        for place in &mut self.sinks {
            if let Some(sink) = place
                && !sink.send(piece.clone()).await
            {
                *place = None;
            }
        }
    }
}

/// Returns the error for content that was cut short, or the error of the read if it was read from
/// this store.
fn cut_short(key: &Key, error: io::Error) -> StoreError {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(lengths: &[usize]) -> ByteStream {
        let pieces: Vec<_> = lengths
            .iter()
            .map(|length| Ok(Bytes::from(vec![7; *length])))
            .collect();
        Box::pin(stream::iter(pieces))
    }

    async fn whole(lengths: &[usize], budget: &Budget) -> Option<Bytes> {
        match read_beginning(&Key::new("bucket", "k").unwrap(), pieces(lengths), budget)
            .await
            .unwrap()
        {
            IncomingContent::Whole(bytes) => Some(bytes),
            IncomingContent::Streamed(body) => {
                let all: Vec<_> = body.collect().await;
                let length: usize = all.into_iter().map(|piece| piece.unwrap().len()).sum();
                assert_eq!(length, lengths.iter().sum::<usize>());
                None
            }
        }
    }

    /// A thousand clients that stop sending just before the end of a small object.
    #[tokio::test]
    async fn stalled_uploads_hold_no_more_than_the_budget() {
        let budget = Budget::new(1_000_000);
        let mut stalled = Vec::new();
        for _ in 0..20 {
            let before = stream::iter([
                Ok(Bytes::from(vec![7; 100_000])),
                Ok(Bytes::from(vec![7; 100_000])),
            ]);
            let body: ByteStream = Box::pin(before.chain(stream::pending()));
            let key = Key::new("bucket", "k").unwrap();
            let mut opening = Box::pin({
                let budget = budget.clone();
                async move {
                    read_beginning(&key, body, &budget)
                        .await
                        .map(|opening| matches!(opening, IncomingContent::Streamed(_)))
                }
            });
            let opened = futures_util::poll!(&mut opening);
            stalled.push((opening, opened));
        }
        let waiting = stalled.iter().filter(|(_, opened)| opened.is_pending()).count();
        assert_eq!(
            waiting, 5,
            "small pieces must be collected, the others passed through"
        );
        assert!(whole(&[10], &budget).await.is_none());
        drop(stalled);
        assert!(whole(&[10], &budget).await.is_some());
        assert_eq!(budget.0.available_permits(), 1_000_000);
    }

    #[tokio::test]
    async fn what_is_collected_is_given_back_with_its_last_bytes() {
        let budget = Budget::new(3 << 20);
        let content = whole(&[5, 300_000, 1, 0], &budget).await.unwrap();
        assert_eq!((content.len(), content[300_005]), (300_006, 7));
        let part = content.slice(10..20);
        drop(content);
        assert_eq!(budget.0.available_permits(), (3 << 20) - 300_006);
        drop(part);
        assert_eq!(budget.0.available_permits(), 3 << 20);
        assert!(whole(&[], &budget).await.unwrap().is_empty());
        assert!(whole(&[WHOLE_BYTES_MAX], &budget).await.is_some());
        assert!(whole(&[WHOLE_BYTES_MAX, 1], &budget).await.is_none());
        assert!(whole(&[4 << 20], &budget).await.is_none());
        assert_eq!(budget.0.available_permits(), 3 << 20);
    }
}
