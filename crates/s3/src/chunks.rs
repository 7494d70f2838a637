//! Whether a body framed in chunks (`aws-chunked`) has its last, empty chunk.
//!
//! s3s verifies the chunks that arrive and accepts a body that ends early. But each chunk's signature covers
//! only the chunks before it, so an attacker could cut a body off at any chunk. This walks over the framing
//! alone; s3s checks content and form of the chunks.

/// Position in the framing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// In the size of a chunk (hexadecimal digits); the value so far.
    Size(u64),
    /// In the rest of the size's line; the chunk's size.
    Line(u64),
    /// In the chunk's bytes and the line end after them; the number left.
    Bytes(u64),
    /// After the line of the empty chunk.
    Last,
}

/// Detects the last chunk as a body passes.
#[derive(Debug)]
pub(crate) struct LastChunk(At);

impl LastChunk {
    /// Starts at the beginning of a body.
    pub(crate) fn new() -> Self {
        Self(At::Size(0))
    }

    /// Reads more of the body.
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        while let Some((first, rest)) = bytes.split_first() {
            if let At::Bytes(left) = self.0 {
                let here = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                bytes = &bytes[here..];
                let left = left - here as u64;
                self.0 = if left == 0 { At::Size(0) } else { At::Bytes(left) };
                continue;
            }
            self.0 = self.0.after(*first);
            if self.0 == At::Last {
                return;
            }
            bytes = rest;
        }
    }

    /// Whether the last chunk has arrived.
    pub(crate) fn has_come(&self) -> bool {
        self.0 == At::Last
    }
}

impl At {
    fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Size(size) | Self::Line(size), b'\n') if size == 0 => Self::Last,
            // The chunk's bytes, and CR LF.
            (Self::Size(size) | Self::Line(size), b'\n') => Self::Bytes(size.saturating_add(2)),
            (Self::Size(size), byte) => match char::from(byte).to_digit(16) {
                Some(digit) => Self::Size(size.saturating_mul(16).saturating_add(u64::from(digit))),
                None => Self::Line(size),
            },
            (at, _) => at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_chunk_is_found_however_the_body_is_cut() {
        let signature = ";chunk-signature=00";
        let whole = format!(
            "a{signature}\r\n0\r\n45\r\n789\r\n1F{signature}\r\n{}\r\n0{signature}\r\n",
            "z".repeat(31)
        );
        for end in 0..=whole.len() {
            for step in [1, 3, 1000] {
                let mut chunk = LastChunk::new();
                for piece in whole.as_bytes()[..end].chunks(step) {
                    chunk.update(piece);
                }
                assert_eq!(chunk.has_come(), end == whole.len(), "{end} {step}");
            }
        }
        let mut chunk = LastChunk::new();
        chunk.update(b"0\r\nx-amz-checksum-crc32:AAAAAA==\r\n");
        assert!(chunk.has_come());
    }
}
