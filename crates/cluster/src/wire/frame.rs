//! Head frames: JSON metadata in front of raw content.
//!
//! | bytes | what |
//! |---|---|
//! | 4 | length of the metadata, big-endian |
//! | n | the metadata, JSON |
//! | rest | content |

use std::io;

use bytes::{Buf as _, Bytes, BytesMut};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use store_protocol::ByteStream;

/// Longest metadata: a key, attributes of some kilobytes, digests.
pub(crate) const HEAD_BYTES_MAX: usize = 1 << 20;

/// Makes the head frame of JSON metadata.
pub(crate) fn head(json: &[u8]) -> io::Result<Bytes> {
    let length = u32::try_from(json.len())
        .ok()
        .filter(|_| json.len() <= HEAD_BYTES_MAX);
    let length = length.ok_or_else(|| invalid(format!("metadata of {} bytes is too long", json.len())))?;
    let mut frame = BytesMut::with_capacity(4 + json.len());
    frame.extend_from_slice(&length.to_be_bytes());
    frame.extend_from_slice(json);
    Ok(frame.freeze())
}

/// Splits a body in memory into metadata and content.
pub(crate) fn split(mut whole: Bytes) -> io::Result<(Bytes, Bytes)> {
    if whole.len() < 4 {
        return Err(cut_short(4, whole.len() as u64));
    }
    let length = head_length(whole.get_u32())?;
    if whole.len() < length {
        return Err(cut_short(length as u64, whole.len() as u64));
    }
    let head = whole.split_to(length);
    Ok((head, whole))
}

/// Content read in exact lengths.
pub(crate) struct Pieces {
    stream: ByteStream,
    /// Bytes that have arrived and were not taken yet.
    left: Bytes,
}

impl Pieces {
    /// Reads from this content.
    pub(crate) fn new(stream: ByteStream) -> Self {
        Self {
            stream,
            left: Bytes::new(),
        }
    }

    /// Returns the metadata of a head frame.
    pub(crate) async fn head(&mut self) -> io::Result<Bytes> {
        let length = head_length(self.take(4).await?.get_u32())?;
        self.take(length).await
    }

    /// Returns the next `length` bytes. Fails if the content ends before.
    pub(crate) async fn take(&mut self, length: usize) -> io::Result<Bytes> {
        while self.left.is_empty() && length > 0 {
            self.left = self.more(length).await?;
        }
        if self.left.len() >= length {
            return Ok(self.left.split_to(length));
        }
        let mut joined = BytesMut::from(std::mem::take(&mut self.left));
        while joined.len() < length {
            let mut piece = self.more(length - joined.len()).await?;
            joined.extend_from_slice(&piece.split_to(piece.len().min(length - joined.len())));
            self.left = piece;
        }
        Ok(joined.freeze())
    }

    /// Returns the rest of the content, which must be `length` bytes. Fewer or more end the stream
    /// with an error.
    pub(crate) fn rest(self, length: u64) -> ByteStream {
        let left = stream::iter((!self.left.is_empty()).then_some(Ok(self.left)));
        exactly(Box::pin(left.chain(self.stream)), length)
    }

    async fn more(&mut self, missing: usize) -> io::Result<Bytes> {
        self.stream
            .try_next()
            .await?
            .ok_or_else(|| cut_short(missing as u64, 0))
    }
}

/// Returns the same content, with an error if it ends before or continues after `length` bytes.
fn exactly(content: ByteStream, length: u64) -> ByteStream {
    Box::pin(stream::try_unfold(
        (content, 0),
        move |(mut content, seen)| async move {
            let Some(piece) = content.try_next().await? else {
                return if seen == length {
                    Ok(None)
                } else {
                    Err(cut_short(length, seen))
                };
            };
            let seen = seen + piece.len() as u64;
            if seen > length {
                return Err(invalid(format!("received more than the expected {length} bytes")));
            }
            Ok(Some((piece, (content, seen))))
        },
    ))
}

fn head_length(length: u32) -> io::Result<usize> {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if length > HEAD_BYTES_MAX {
        return Err(invalid(format!("metadata of {length} bytes is too long")));
    }
    Ok(length)
}

fn cut_short(expected: u64, found: u64) -> io::Error {
    io::Error::new(
        io::ErrorKind::UnexpectedEof,
        format!("the content ended after {found} of {expected} bytes"),
    )
}

fn invalid(detail: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(bytes: &[u8], piece: usize) -> ByteStream {
        let pieces: Vec<_> = bytes
            .chunks(piece)
            .map(|piece| Ok(Bytes::copy_from_slice(piece)))
            .collect();
        Box::pin(stream::iter(pieces))
    }

    async fn read(bytes: &[u8], piece: usize) -> io::Result<(Bytes, Bytes, Vec<Bytes>)> {
        let mut pieces = Pieces::new(content(bytes, piece));
        let head = pieces.head().await?;
        let table = pieces.take(3).await?;
        Ok((head, table, pieces.rest(5).try_collect().await?))
    }

    #[tokio::test]
    async fn frames_come_apart_as_they_were_joined_whatever_the_pieces() {
        let joined = [head(b"{\"x\":1}").unwrap().as_ref(), b"abc", b"12345"].concat();
        for piece in 1..=joined.len() {
            let (head, table, rest) = read(&joined, piece).await.unwrap();
            assert_eq!(
                (&head[..], &table[..], &rest.concat()[..]),
                (&b"{\"x\":1}"[..], &b"abc"[..], &b"12345"[..])
            );
            for length in 0..joined.len() {
                let cut = read(&joined[..length], piece).await.unwrap_err();
                assert_eq!(cut.kind(), io::ErrorKind::UnexpectedEof, "cut to {length}");
            }
            let more = [joined.as_slice(), b"!"].concat();
            assert_eq!(
                read(&more, piece).await.unwrap_err().kind(),
                io::ErrorKind::InvalidData
            );
        }
        let (head, rest) = split(joined.clone().into()).unwrap();
        assert_eq!((&head[..], &rest[..]), (&b"{\"x\":1}"[..], &b"abc12345"[..]));
        for length in 0..11 {
            assert!(split(Bytes::copy_from_slice(&joined[..length])).is_err());
        }
    }

    #[tokio::test]
    async fn absurd_lengths_are_refused_before_anything_is_kept() {
        let mut pieces = Pieces::new(content(&[255, 255, 255, 255, 0], 5));
        assert_eq!(
            pieces.head().await.unwrap_err().kind(),
            io::ErrorKind::InvalidData
        );
        assert!(split(Bytes::from_static(&[255, 255, 255, 255, 0])).is_err());
    }
}
