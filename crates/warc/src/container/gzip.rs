//! A gzip member (RFC 1952): header, deflate stream, checksum and length.
//!
//! The deflate stream is decoded raw, and header and trailer are read here, so that a wrong checksum is told
//! apart from bytes that cannot be decoded, and so that the end of the member is known in both cases.

use flate2::{Crc, Decompress, FlushDecompress, Status};

use crate::container;
use crate::container::decode::{Decode, Decoded, Trailer};

/// Checksum and length after the deflate stream.
const TRAILER_BYTES: usize = 8;

/// Largest member header looked for: the extra field has at most 64 KiB, name and comment as much again.
pub(crate) const HEADER_BYTES_MAX: usize = 1 << 18;

pub(crate) struct Gzip {
    inflate: Decompress,
    crc: Crc,
}

impl Gzip {
    pub(crate) fn new() -> Gzip {
        Gzip {
            inflate: Decompress::new(false),
            crc: Crc::new(),
        }
    }

    /// Makes ready for the next member.
    pub(crate) fn reset(&mut self) {
        self.inflate.reset(false);
        self.crc.reset();
    }
}

impl Decode for Gzip {
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
        // The length is kept modulo 2^32, as `amount` is.
        if length != self.crc.amount() {
            return Trailer::Wrong(format!("length is {}, declared {length}", self.crc.amount()));
        }
        Trailer::Right
    }
}

/// Length of the member header at the start of `bytes`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MemberHeader {
    Bytes(usize),
    /// It goes on beyond `bytes`.
    Incomplete,
    Invalid,
}

/// Measures a member header; its checksum is not verified, because nothing in it is used.
pub(crate) fn member_header(bytes: &[u8]) -> MemberHeader {
    if bytes.len() < 10 {
        return MemberHeader::Incomplete;
    }
    if container::sniff(bytes) != Some(container::Container::Gzip) {
        return MemberHeader::Invalid;
    }
    match header_end(bytes) {
        Some(end) if end <= bytes.len() => MemberHeader::Bytes(end),
        _ if bytes.len() >= HEADER_BYTES_MAX => MemberHeader::Invalid,
        _ => MemberHeader::Incomplete,
    }
}

/// Where the header ends if all its parts do so within `bytes` (the last part may end beyond).
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
