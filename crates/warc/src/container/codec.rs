//! The traits and types that decoders and encoders of all containers share.

use std::io::{self, Read, Write};

use crate::span::Defect;

/// Decodes one compressed member or frame: bytes in, bytes out, an end, and a trailer.
pub(crate) trait Decode: Send + Sync {
    /// Prepares for the next frame; a dictionary is kept.
    fn reset(&mut self) -> io::Result<()>;

    /// Decodes as much of `input` into `output` as both allow. If it makes no progress although `output` has
    /// room, it needs more input.
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Decoded;

    /// Decodes a frame in one step, if all of it is in `input` and its content has room in `output`. Returns
    /// how many bytes were consumed and produced. If it returns `None`, the frame has to be decoded by
    /// [`Decode::decode`] from its start; `output` then has any content.
    fn decode_whole(&mut self, _input: &[u8], _output: &mut [u8]) -> Option<(usize, usize)> {
        None
    }

    /// Number of bytes that follow the last decoded byte and belong to the frame.
    fn trailer_bytes(&self) -> usize {
        0
    }

    /// Compares the trailer with the decoded bytes.
    fn check_trailer(&self, _trailer: &[u8]) -> Trailer {
        Trailer::Right
    }
}

/// Compresses records, each separately, so that each can be read without the others.
pub(crate) trait Encode: Send + Sync {
    /// Returns the bytes with which the file begins, before the first record.
    fn preamble(&self) -> io::Result<Vec<u8>> {
        Ok(Vec::new())
    }

    /// Returns the stored form of one record: either built in `into`, which must be empty, or the record
    /// itself.
    fn encode<'a>(&mut self, record: &'a [u8], into: &'a mut Vec<u8>) -> io::Result<&'a [u8]>;

    /// Writes the stored form of one record of `bytes` bytes, which is read piece by piece.
    fn encode_from(&mut self, record: &mut dyn Read, bytes: u64, out: &mut dyn Write) -> io::Result<()>;
}

/// The length of a frame header, as far as it is known from the first bytes of the frame.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FrameHeader {
    /// The header has this many bytes, which the decoder must not get; 0 if the decoder reads the header
    /// itself.
    Bytes(usize),
    /// The header goes on beyond the given bytes.
    Incomplete,
    /// The frame cannot be decoded: the reason, and a text for people.
    Invalid(&'static str, &'static str),
}

/// The outcome of a call of [`Decode::decode`].
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    /// Number of bytes taken from the input.
    pub(crate) consumed: usize,
    /// Number of bytes written to the output.
    pub(crate) produced: usize,
    /// Whether the last byte of the frame was written.
    pub(crate) finished: bool,
    /// Why decoding cannot go on, if so.
    pub(crate) failed: Option<String>,
}

/// Whether a frame's trailer agrees with what was decoded.
pub(crate) enum Trailer {
    Right,
    /// What does not agree, for people.
    Wrong(String),
}

/// How a frame ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    Whole,
    /// The frame was decoded to its end, but its checksum or length does not agree.
    Unchecked(Defect),
    /// The frame could not be decoded further.
    Damaged(Defect),
    /// The file ends inside the frame.
    Cut(Defect),
}

impl End {
    pub(crate) fn defect(&self) -> Option<&Defect> {
        match self {
            End::Whole => None,
            End::Unchecked(defect) | End::Damaged(defect) | End::Cut(defect) => Some(defect),
        }
    }

    /// Whether all bytes of the frame were decoded.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self, End::Whole | End::Unchecked(_))
    }
}
