//! A gzip member (RFC 1952): header, deflate stream, checksum and length.
//!
//! The deflate stream is decoded raw; header and trailer are handled here. This distinguishes a
//! wrong checksum from undecodable bytes, and the end of the member is known in both cases.
//!
//! A member that is completely in memory is decoded in one step by sirocco, which is faster than
//! zlib-rs. Other members, and damaged ones, are decoded by zlib-rs step by step. Only zlib-rs
//! decides whether a member is damaged.

use std::io::{self, BufRead, Read, Write};

use flate2::{Compress, Compression, Crc, Decompress, FlushCompress, FlushDecompress, GzBuilder, Status};
use memchr::memmem;
use sirocco::Format;
use sirocco::inflate::Decoder;

use super::codec::{Decode, Decoded, Encode, FrameHeader, Trailer};
use super::row::{Container, Row};
use crate::reason;

pub(super) const ROW: Row = Row {
    container: Container::Gzip,
    name: "gzip",
    extension: "gz",
    media_type: "application/gzip",
    magic: MAGIC,
    begins,
    header_bytes: 512,
    header,
    has_checksum: |_| true,
    decoder: |_| Ok(Box::new(Gzip::new())),
};

/// Compression method 8, the only one defined by RFC 1952.
const DEFLATE: u8 = 8;

const MAGIC: &[u8] = &[0x1f, 0x8b, DEFLATE];

/// CRC-32 and length (ISIZE) after the deflate stream, 4 bytes each.
const TRAILER_BYTES: usize = 8;

/// Largest accepted member header: the extra field has at most 64 KiB, and name and comment get the
/// same allowance.
const HEADER_BYTES_MAX: usize = 1 << 18;

/// Number of bytes of a long record that are compressed at a time.
const PIECE_BYTES: usize = 64 << 10;

/// The value "unknown" for the operating system in a member header.
const SYSTEM_UNKNOWN: u8 = 255;

/// The member header of the encoder. It has no name and no time, so that equal records are stored
/// as equal bytes.
const OWN_HEADER: [u8; 10] = [0x1f, 0x8b, DEFLATE, 0, 0, 0, 0, 0, 0, SYSTEM_UNKNOWN];

struct Gzip {
    /// Decoder of whole members.
    whole: Decoder,
    inflate: Decompress,
    crc: Crc,
}

impl Gzip {
    fn new() -> Gzip {
        Gzip {
            whole: Decoder::new(Format::Deflate),
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

    fn decode_whole(&mut self, input: &[u8], output: &mut [u8]) -> Option<(usize, usize)> {
        if probable_length(input)? > output.len() {
            return None;
        }
        self.whole.reset();
        let progress = self.whole.decompress(input, output, true).ok()?;
        if !progress.done {
            return None;
        }
        self.crc.update(progress.output);
        Some((progress.consumed, progress.output.len()))
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

/// Returns the content length in the trailer of the member whose deflate stream begins here.
/// Assumes that the trailer is just before the next magic number, or at the end of `bytes`. If it
/// is elsewhere, the result is almost always too large for the caller to try.
fn probable_length(bytes: &[u8]) -> Option<usize> {
    let end = memmem::find(bytes, MAGIC).unwrap_or(bytes.len());
    let length = bytes[..end].last_chunk()?;
    usize::try_from(u32::from_le_bytes(*length)).ok()
}

/// The upper three flags are reserved and must be zero (RFC 1952, 2.3.1.2).
fn begins(bytes: &[u8]) -> bool {
    matches!(bytes, [0x1f, 0x8b, DEFLATE, flags, ..] if flags & 0xe0 == 0)
}

/// Returns the length of a member header. Its checksum is not verified, because no field of the
/// header is used.
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

/// Returns the end of the header, which may be beyond `bytes`; `None` if `bytes` end before it can
/// be determined.
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
    // The optional parts have this order: extra field, name, comment, header checksum (RFC 1952,
    // 2.3).
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

/// Compresses each record into a separate member.
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
            // This is an estimate of the output; if it is too small, the loop continues.
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

    fn encode_from(&mut self, record: &mut dyn Read, _bytes: u64, out: &mut dyn Write) -> io::Result<()> {
        let (mut piece, mut stored) = (vec![0; PIECE_BYTES], Vec::with_capacity(PIECE_BYTES));
        let mut crc = Crc::new();
        out.write_all(&OWN_HEADER)?;
        self.compress.reset();
        loop {
            let read = record.read(&mut piece)?;
            crc.update(&piece[..read]);
            let (mut left, flush) = match read {
                0 => (&piece[..0], FlushCompress::Finish),
                _ => (&piece[..read], FlushCompress::None),
            };
            loop {
                stored.clear();
                let before = self.compress.total_in();
                let status = self.compress.compress_vec(left, &mut stored, flush)?;
                left = &left[(self.compress.total_in() - before) as usize..];
                out.write_all(&stored)?;
                if status == Status::StreamEnd || (read > 0 && left.is_empty()) {
                    break;
                }
            }
            if read == 0 {
                break;
            }
        }
        out.write_all(&crc.sum().to_le_bytes())?;
        out.write_all(&crc.amount().to_le_bytes())
    }
}

/// Returns a member with `content`, compressed while it is read. Its header equals that of
/// [`Encoder`].
pub(crate) fn compressed(content: impl BufRead) -> impl Read {
    GzBuilder::new()
        .operating_system(SYSTEM_UNKNOWN)
        .buf_read(content, Compression::default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::codec::Trailer;
    use proptest::prelude::*;

    /// Decodes a deflate stream with zlib-rs. Returns the number of bytes consumed, and the
    /// content.
    fn in_steps(stream: &[u8]) -> Option<(usize, Vec<u8>)> {
        let mut content = vec![0; 1 << 16];
        let decoded = Gzip::new().decode(stream, &mut content);
        content.truncate(decoded.produced);
        decoded.finished.then_some((decoded.consumed, content))
    }

    fn whole(stream: &[u8]) -> Option<(usize, Vec<u8>)> {
        let (mut gzip, mut content) = (Gzip::new(), vec![0; 1 << 16]);
        let (consumed, produced) = gzip.decode_whole(stream, &mut content)?;
        content.truncate(produced);
        Some((consumed, content))
    }

    fn member(content: &[u8], level: u32) -> Vec<u8> {
        let mut into = Vec::new();
        Encoder::new(level).encode(content, &mut into).unwrap();
        into
    }

    #[test]
    fn members_are_decoded_whole_whatever_follows() {
        let first = member(b"some content, some content", 6);
        let consumed = first.len() - OWN_HEADER.len() - TRAILER_BYTES;
        for next in [Vec::new(), member(b"", 0), member(&[7; 1000], 9)] {
            let file = [first.clone(), next].concat();
            let (mut gzip, mut content) = (Gzip::new(), [0; 100]);
            let stream = &file[OWN_HEADER.len()..];
            assert_eq!(gzip.decode_whole(stream, &mut content), Some((consumed, 26)));
            assert_eq!(&content[..26], b"some content, some content");
            assert!(matches!(
                gzip.check_trailer(&stream[consumed..consumed + TRAILER_BYTES]),
                Trailer::Right
            ));
            gzip.reset().unwrap();
            assert_eq!(gzip.decode_whole(stream, &mut content[..25]), None);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5_000))]
        #[test]
        fn what_is_decoded_whole_is_decoded_alike_in_steps(
            content in proptest::collection::vec(prop_oneof![0..4_u8, any::<u8>()], 0..600),
            level in 0..10_u32,
            changes in proptest::collection::vec((any::<proptest::sample::Index>(), 0..8_u32), 0..3),
            random in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..60)),
        ) {
            let mut stream = member(&content, level)[OWN_HEADER.len()..].to_vec();
            let end = stream.len() - TRAILER_BYTES;
            // A stream that contains the magic number by chance is decoded in steps.
            if changes.is_empty() && memmem::find(&stream, MAGIC).is_none() {
                prop_assert_eq!(whole(&stream), Some((end, content)));
            }
            for (at, bit) in changes {
                // The first bytes determine how the rest is coded.
                let at = at.index(end.min(100));
                stream[at] ^= 1_u8 << bit;
            }
            if let Some(random) = random {
                stream.splice(..end.min(random.len()), random);
            }
            if let Some(whole) = whole(&stream) {
                prop_assert_eq!(Some(whole), in_steps(&stream));
            }
        }
    }
}
