//! Follows the framing of a chunked body (`aws-chunked`) while the body is streamed.
//!
//! s3s verifies the chunks. This module closes two gaps in s3s:
//!  - s3s accepts a body that ends after any chunk. A chunk's signature does not cover the chunks
//!    after it, so an attacker could truncate a body. Here a body must end with the empty chunk.
//!  - s3s holds each chunk in memory until it is complete, and a chunk may be as long as the
//!    object. Here the length of a signed chunk is limited. Unsigned chunks are split: each piece
//!    of the body is passed on as a chunk when it arrives.
//!
//! Chunk sizes are parsed exactly as s3s parses them, or refused: both parsers must agree on where
//! a chunk ends.

use std::io::Write as _;

use bytes::Bytes;

/// Longest signed chunk in bytes; clients send 64 KiB to 1 MiB. s3s holds a chunk until its
/// signature is checked, so each request can use this much memory.
const SIGNED_BYTES_MAX: u32 = 16 << 20;

/// Most digits of a chunk size; s3s ignores further digits.
const DIGITS_MAX: u8 = 8;

/// Why a chunked body is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ChunkError {
    /// The framing cannot be parsed.
    #[error("a chunk is malformed")]
    Malformed,
    /// A signed chunk is too long to be held in memory.
    #[error("a signed chunk has {0} bytes, at most {SIGNED_BYTES_MAX} are allowed")]
    TooLong(u32),
}

/// Parser state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// In the size of a chunk: the value so far, and its number of digits.
    Size(u32, u8),
    /// In the rest of the size line; holds the chunk's size.
    Line(u32),
    /// In the chunk's bytes; holds the number left.
    Bytes(u32),
    /// Before the CR LF after a chunk's bytes.
    End,
    /// Between that CR and LF.
    EndLine,
    /// After the line of the empty chunk, in the trailers.
    Last,
}

/// A parser that follows the framing of one body.
#[derive(Debug)]
pub(crate) struct Chunks {
    at: At,
    signed: bool,
}

impl Chunks {
    /// Creates a parser at the beginning of a body with signed or unsigned chunks.
    pub(crate) fn new(signed: bool) -> Self {
        let at = At::Size(0, 0);
        Self { at, signed }
    }

    /// Parses more of the body and returns the bytes to pass on instead.
    pub(crate) fn pass(&mut self, bytes: Bytes) -> Result<Bytes, ChunkError> {
        let mut framed = Vec::with_capacity(if self.signed { 0 } else { bytes.len() + 32 });
        let mut rest = &bytes[..];
        while let Some((first, after)) = rest.split_first() {
            let taken = match self.at {
                At::Bytes(left) => {
                    let here = rest.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    if !self.signed {
                        frame(&mut framed, &rest[..here]);
                    }
                    let left = left - here as u32;
                    self.at = if left == 0 { At::End } else { At::Bytes(left) };
                    here
                }
                At::Last => {
                    if !self.signed {
                        framed.extend_from_slice(rest);
                    }
                    rest.len()
                }
                at => {
                    self.at = at.after(*first, self.signed)?;
                    if self.at == At::Last && !self.signed {
                        // The empty chunk ends the content; the trailers are passed on unchanged.
                        framed.extend_from_slice(b"0\r\n");
                    }
                    rest.len() - after.len()
                }
            };
            rest = &rest[taken..];
        }
        Ok(if self.signed { bytes } else { framed.into() })
    }

    /// Reports whether the last chunk has arrived.
    pub(crate) fn has_ended(&self) -> bool {
        self.at == At::Last
    }
}

impl At {
    /// Returns the state after a framing byte.
    fn after(self, byte: u8, signed: bool) -> Result<Self, ChunkError> {
        let digit = char::from(byte).to_digit(16);
        match (self, byte) {
            (Self::Size(size, digits), _) if digits < DIGITS_MAX && digit.is_some() => {
                Ok(Self::Size(size << 4 | digit.unwrap_or_default(), digits + 1))
            }
            (Self::Size(size, 1..), b'\r') => Ok(Self::Line(size)),
            (Self::Size(size, 1..), b';') if signed => Ok(Self::Line(size)),
            (Self::Line(0), b'\n') => Ok(Self::Last),
            (Self::Line(size), b'\n') if signed && size > SIGNED_BYTES_MAX => Err(ChunkError::TooLong(size)),
            (Self::Line(size), b'\n') => Ok(Self::Bytes(size)),
            (Self::Line(size), _) if signed => Ok(Self::Line(size)),
            (Self::End, b'\r') => Ok(Self::EndLine),
            (Self::EndLine, b'\n') => Ok(Self::Size(0, 0)),
            _ => Err(ChunkError::Malformed),
        }
    }
}

/// Appends a chunk without signature.
fn frame(framed: &mut Vec<u8>, content: &[u8]) {
    // Writing into memory does not fail.
    let _ = write!(framed, "{:x}\r\n", content.len());
    framed.extend_from_slice(content);
    framed.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(chunks: &mut Chunks, body: &[u8], step: usize) -> Result<Vec<u8>, ChunkError> {
        let mut handed_on = Vec::new();
        for piece in body.chunks(step) {
            handed_on.extend_from_slice(&chunks.pass(Bytes::copy_from_slice(piece))?);
        }
        Ok(handed_on)
    }

    #[test]
    fn the_last_chunk_is_found_however_the_body_is_cut() {
        let signature = ";chunk-signature=00";
        let whole = format!(
            "a{signature}\r\n0\r\n45\r\n789\r\n1F{signature}\r\n{}\r\n0{signature}\r\n",
            "z".repeat(31)
        );
        for end in 0..=whole.len() {
            for step in [1, 3, 1000] {
                let mut chunks = Chunks::new(true);
                let body = &whole.as_bytes()[..end];
                assert_eq!(pass(&mut chunks, body, step).unwrap(), body);
                assert_eq!(chunks.has_ended(), end == whole.len(), "{end} {step}");
            }
        }
    }

    /// Without this, s3s would hold a chunk as long as an object in memory.
    #[test]
    fn unsigned_chunks_are_handed_on_as_they_arrive() {
        let trailer = "x-amz-checksum-crc32:AAAAAA==\r\n\r\n";
        let whole = format!("B\r\nhello world\r\n0\r\n{trailer}");
        for (step, expected) in [
            (1000, format!("b\r\nhello world\r\n0\r\n{trailer}")),
            (8, format!("5\r\nhello\r\n6\r\n world\r\n0\r\n{trailer}")),
        ] {
            let mut chunks = Chunks::new(false);
            let handed_on = pass(&mut chunks, whole.as_bytes(), step).unwrap();
            assert_eq!(String::from_utf8(handed_on).unwrap(), expected);
            assert!(chunks.has_ended());
        }
        let begun = pass(&mut Chunks::new(false), b"ffffffff\r\nhel", 1000).unwrap();
        assert_eq!(begun, b"3\r\nhel\r\n");
    }

    #[test]
    fn signed_chunks_have_a_longest_length() {
        let longest = format!("{SIGNED_BYTES_MAX:x};chunk-signature=00\r\n");
        assert!(pass(&mut Chunks::new(true), longest.as_bytes(), 5).is_ok());
        let longer = format!("{:x};chunk-signature=00\r\n", SIGNED_BYTES_MAX + 1);
        let refused = pass(&mut Chunks::new(true), longer.as_bytes(), 5);
        assert_eq!(refused, Err(ChunkError::TooLong(SIGNED_BYTES_MAX + 1)));
    }

    /// s3s reads only the first eight digits of `000000005`: an empty chunk.
    #[test]
    fn sizes_that_s3s_reads_otherwise_are_refused() {
        for signed in [true, false] {
            for body in [
                "000000005\r\n",
                "5x\r\n",
                "\r\n",
                "+5\r\n",
                " 5\r\n",
                ";\r\n",
                "2\r\nabc\r\n",
                "2\r\nab\n\r",
            ] {
                let refused = pass(&mut Chunks::new(signed), body.as_bytes(), 3);
                assert_eq!(refused, Err(ChunkError::Malformed), "{body:?}");
            }
        }
        let with_signature = pass(&mut Chunks::new(false), b"2;chunk-signature=00\r\n", 3);
        assert_eq!(with_signature, Err(ChunkError::Malformed));
    }
}
