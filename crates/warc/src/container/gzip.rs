//! A gzip member (RFC 1952): header, deflate stream, checksum and length.
//!
//! The deflate stream is decoded raw, and header and trailer are read here. So a wrong checksum is
//! distinguished from bytes that cannot be decoded, and the end of the member is known in both cases.

use std::io::{self, BufRead, Read};

use flate2::{Compress, Compression, Crc, Decompress, FlushCompress, FlushDecompress, GzBuilder, Status};

use super::codec::{Decode, Decoded, Encode, FrameHeader, Trailer};
use super::row::{Container, Row};
use crate::reason;

pub(super) const ROW: Row = Row {
    container: Container::Gzip,
    name: "gzip",
    extension: "gz",
    media_type: "application/gzip",
    magic: &[0x1f, 0x8b, DEFLATE],
    begins,
    header_bytes: 512,
    header,
    decoder: |_| Ok(Box::new(Gzip::new())),
};

/// Compression method 8 is the only one that RFC 1952 defines.
const DEFLATE: u8 = 8;

/// CRC-32 and length (ISIZE) after the deflate stream, 4 bytes each.
const TRAILER_BYTES: usize = 8;

/// Largest member header accepted: the extra field has at most 64 KiB, and the same is allowed for name and
/// comment.
const HEADER_BYTES_MAX: usize = 1 << 18;

/// The value "unknown" for the operating system in a member header.
const SYSTEM_UNKNOWN: u8 = 255;

/// The member header of the encoder. It has no name and no time, so equal records become equal bytes.
const OWN_HEADER: [u8; 10] = [0x1f, 0x8b, DEFLATE, 0, 0, 0, 0, 0, 0, SYSTEM_UNKNOWN];

struct Gzip {
    inflate: Decompress,
    crc: Crc,
}

impl Gzip {
    fn new() -> Gzip {
        Gzip {
            inflate: Decompress::new(false),
            crc: Crc::new(),
        }
    }
}

impl Decode for Gzip {
    fn reset(&mut self) -> io::Result<()> {
        self.inflate.reset(false);
        self.crc.reset();
        Ok(())
    }

    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Decoded {
        let (before_in, before_out) = (self.inflate.total_in(), self.inflate.total_out());
        let status = self.inflate.decompress(input, output, FlushDecompress::None);
        let consumed = (self.inflate.total_in() - before_in) as usize;
        let produced = (self.inflate.total_out() - before_out) as usize;
        self.crc.update(&output[..produced]);
        match status {
            Ok(Status::StreamEnd) => Decoded {
                consumed,
                produced,
                finished: true,
                failed: None,
            },
            Ok(_) => Decoded {
                consumed,
                produced,
                finished: false,
                failed: None,
            },
            Err(error) => {
                let why = error.message().unwrap_or("invalid deflate stream").to_owned();
                Decoded {
                    consumed,
                    produced,
                    finished: false,
                    failed: Some(why),
                }
            }
        }
    }

    fn trailer_bytes(&self) -> usize {
        TRAILER_BYTES
    }

    fn check_trailer(&self, trailer: &[u8]) -> Trailer {
        let [a, b, c, d, e, f, g, h] = *trailer else {
            return Trailer::Wrong("cut".to_owned());
        };
        let (crc, length) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        if crc != self.crc.sum() {
            return Trailer::Wrong(format!("CRC-32 is {:08x}, declared {crc:08x}", self.crc.sum()));
        }
        // Both lengths are modulo 2^32 (RFC 1952, ISIZE).
        if length != self.crc.amount() {
            return Trailer::Wrong(format!("length is {}, declared {length}", self.crc.amount()));
        }
        Trailer::Right
    }
}

/// The upper three flags are reserved and must be zero (RFC 1952, 2.3.1.2).
fn begins(bytes: &[u8]) -> bool {
    matches!(bytes, [0x1f, 0x8b, DEFLATE, flags, ..] if flags & 0xe0 == 0)
}

/// Measures a member header. Its checksum is not verified, because nothing in the header is used.
fn header(bytes: &[u8], _has_dictionary: bool) -> FrameHeader {
    if bytes.len() < OWN_HEADER.len() {
        return FrameHeader::Incomplete;
    }
    match header_end(bytes) {
        Some(end) if end <= bytes.len() => FrameHeader::Bytes(end),
        _ if bytes.len() >= HEADER_BYTES_MAX => {
            FrameHeader::Invalid(reason::JUNK, "a gzip header without end")
        }
        _ => FrameHeader::Incomplete,
    }
}

/// Returns where the header ends if all its parts end within `bytes` (the last part may end beyond).
fn header_end(bytes: &[u8]) -> Option<usize> {
    const HEADER_CHECKSUM: u8 = 2;
    const EXTRA: u8 = 4;
    const NAME: u8 = 8;
    const COMMENT: u8 = 16;
    let flags = bytes[3];
    let mut end = 10;
    if flags & EXTRA != 0 {
        let length = bytes.get(end..end + 2)?;
        end += 2 + usize::from(u16::from_le_bytes([length[0], length[1]]));
    }
    // The optional parts come in this order: extra field, name, comment, header checksum (RFC 1952, 2.3).
    for part in [NAME, COMMENT] {
        if flags & part != 0 {
            end += memchr::memchr(0, bytes.get(end..)?)? + 1;
        }
    }
    if flags & HEADER_CHECKSUM != 0 {
        end += 2;
    }
    Some(end)
}

/// Compresses each record into a member of its own.
pub(super) struct Encoder {
    compress: Compress,
}

impl Encoder {
    /// Accepts level 0 (stored) to 9 (smallest); higher levels count as 9.
    pub(super) fn new(level: u32) -> Encoder {
        Encoder {
            compress: Compress::new(Compression::new(level.min(9)), false),
        }
    }
}

impl Encode for Encoder {
    fn encode<'a>(&mut self, record: &'a [u8], into: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        let compress = &mut self.compress;
        into.extend_from_slice(&OWN_HEADER);
        compress.reset();
        loop {
            let left = &record[compress.total_in() as usize..];
            // This is an estimate of the output; if it is too small, the loop goes on.
            into.reserve(left.len() / 2 + 256);
            if compress.compress_vec(left, into, FlushCompress::Finish)? == Status::StreamEnd {
                break;
            }
        }
        let mut crc = Crc::new();
        crc.update(record);
        into.extend_from_slice(&crc.sum().to_le_bytes());
        into.extend_from_slice(&crc.amount().to_le_bytes());
        Ok(into)
    }
}

/// Returns a member of `content` that is compressed while it is read. Its header is that of [`Encoder`].
pub(crate) fn compressed(content: impl BufRead) -> impl Read {
    GzBuilder::new()
        .operating_system(SYSTEM_UNKNOWN)
        .buf_read(content, Compression::default())
}
