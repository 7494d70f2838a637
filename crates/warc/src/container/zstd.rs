//! A zstd frame (RFC 8878), optionally with the dictionary in the first frame of a `.warc.zst`.
//!
//! Accepts windows of up to 128 MiB, the default limit of the zstd library. The RFC recommends
//! support for at least 8 MiB.

use std::io::{self, Read, Write};

use zstd::bulk::Compressor;
use zstd::stream::raw::{Decoder, Operation};
use zstd::zstd_safe::CParameter;

use super::codec::{Decode, Decoded, Encode, FrameHeader};
use super::row::{Container, Row};
use super::skippable;
use crate::reason;

pub(super) const ROW: Row = Row {
    container: Container::Zstd,
    name: "zstd",
    extension: "zst",
    media_type: "application/zstd",
    magic: &MAGIC,
    begins: |bytes| bytes.starts_with(&MAGIC),
    header_bytes: HEADER_BYTES_MAX,
    header,
    // Content_Checksum_flag (RFC 8878, 3.1.1.1.1).
    has_checksum: |bytes| {
        bytes
            .get(MAGIC.len())
            .is_some_and(|descriptor| descriptor & 4 != 0)
    },
    decoder: |dictionary| Ok(Box::new(Zstd::new(dictionary)?)),
};

/// The magic number of a frame. A raw dictionary has a different one; a compressed dictionary
/// begins like any frame.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

const HEADER_BYTES_MAX: usize = 18;

/// The magic number (little-endian) of the skippable frame with the dictionary of a `.warc.zst`.
const DICTIONARY_MAGIC: u32 = 0x184D_2A5D;

/// Largest accepted dictionary frame in bytes.
const DICTIONARY_FRAME_BYTES_MAX: u32 = 64 << 20;

/// Largest accepted dictionary in bytes after decompression: far larger than zstd's training
/// produces.
const DICTIONARY_BYTES_MAX: usize = 64 << 20;

struct Zstd {
    decoder: Decoder<'static>,
}

impl Zstd {
    fn new(dictionary: Option<&[u8]>) -> io::Result<Zstd> {
        let decoder = match dictionary {
            Some(dictionary) => Decoder::with_dictionary(dictionary)?,
            None => Decoder::new()?,
        };
        Ok(Zstd { decoder })
    }
}

impl Decode for Zstd {
    fn reset(&mut self) -> io::Result<()> {
        self.decoder.reinit()
    }

    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Decoded {
        match self.decoder.run_on_buffers(input, output) {
            Ok(status) => Decoded {
                consumed: status.bytes_read,
                produced: status.bytes_written,
                finished: status.remaining == 0,
                failed: None,
            },
            Err(error) => Decoded {
                failed: Some(error.to_string()),
                ..Decoded::default()
            },
        }
    }
}

/// Returns a length of 0, because the decoder reads the header itself. Reports a missing
/// dictionary, without which decoding would fail.
fn header(bytes: &[u8], has_dictionary: bool) -> FrameHeader {
    if !has_dictionary && zstd::zstd_safe::get_dict_id_from_frame(bytes).is_some() {
        FrameHeader::Invalid(reason::DICTIONARY_MISSING, "a zstd frame names a dictionary")
    } else {
        FrameHeader::Bytes(0)
    }
}

/// Returns the content length of the dictionary frame, if a file with these first bytes begins with
/// one.
pub(crate) fn dictionary_frame(start: &[u8]) -> Option<u32> {
    let is_dictionary = start.starts_with(&DICTIONARY_MAGIC.to_le_bytes());
    let content_bytes = skippable::content_bytes(start).filter(|_| is_dictionary)?;
    (content_bytes <= DICTIONARY_FRAME_BYTES_MAX).then_some(content_bytes)
}

/// Reads the dictionary from the content of a dictionary frame. The dictionary may be compressed.
pub(crate) fn read_dictionary(content: &[u8]) -> io::Result<Vec<u8>> {
    if content.starts_with(&MAGIC) {
        // The size in the frame is untrusted, so it is limited before memory is reserved.
        let limit = zstd::bulk::Decompressor::upper_bound(content).unwrap_or(DICTIONARY_BYTES_MAX);
        zstd::bulk::decompress(content, limit.min(DICTIONARY_BYTES_MAX))
    } else {
        Ok(content.to_vec())
    }
}

/// Compresses each record into a separate frame.
pub(super) struct Encoder {
    compressor: Compressor<'static>,
    level: i32,
    dictionary: Option<Vec<u8>>,
}

impl Encoder {
    pub(super) fn new(level: i32, dictionary: Option<Vec<u8>>) -> io::Result<Encoder> {
        let mut compressor = match &dictionary {
            Some(dictionary) => Compressor::with_dictionary(level, dictionary)?,
            None => Compressor::new(level)?,
        };
        // zstd writes no checksum by default; with one, readers detect damage.
        compressor.set_parameter(CParameter::ChecksumFlag(true))?;
        Ok(Encoder {
            compressor,
            level,
            dictionary,
        })
    }
}

impl Encode for Encoder {
    /// Returns the compressed dictionary in a skippable frame.
    fn preamble(&self) -> io::Result<Vec<u8>> {
        let Some(dictionary) = &self.dictionary else {
            return Ok(Vec::new());
        };
        let content = zstd::bulk::compress(dictionary, 19)?;
        let length = u32::try_from(content.len()).map_err(io::Error::other)?;
        let mut frame = DICTIONARY_MAGIC.to_le_bytes().to_vec();
        frame.extend_from_slice(&length.to_le_bytes());
        frame.extend_from_slice(&content);
        Ok(frame)
    }

    fn encode<'a>(&mut self, record: &'a [u8], into: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        into.resize(zstd::zstd_safe::compress_bound(record.len()), 0);
        let written = self.compressor.compress_to_buffer(record, into.as_mut_slice())?;
        into.truncate(written);
        Ok(into)
    }

    fn encode_from(&mut self, record: &mut dyn Read, bytes: u64, out: &mut dyn Write) -> io::Result<()> {
        let dictionary = self.dictionary.as_deref().unwrap_or_default();
        let mut encoder = zstd::stream::write::Encoder::with_dictionary(out, self.level, dictionary)?;
        // Every frame must have its size and a checksum (WARC-zstd 1.0, 4.1).
        encoder.set_pledged_src_size(Some(bytes))?;
        encoder.include_contentsize(true)?;
        encoder.include_checksum(true)?;
        io::copy(record, &mut encoder)?;
        encoder.finish().map(drop)
    }
}

/// Trains a dictionary of at most `bytes_max` bytes for records like these.
///
/// # Errors
/// If there are too few samples, or they have too little in common.
pub fn train_dictionary(samples: &[Vec<u8>], bytes_max: usize) -> io::Result<Vec<u8>> {
    zstd::dict::from_samples(samples, bytes_max)
}

/// Returns whether bytes are an uncompressed dictionary in zstd's format (RFC 8878, 5).
pub fn is_dictionary(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x37, 0xa4, 0x30, 0xec])
}
