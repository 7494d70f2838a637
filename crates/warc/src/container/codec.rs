//! Traits and types shared by the decoders and encoders of all containers.

use std::io::{self, Read, Write};

use crate::span::Defect;

/// Decodes one compressed member or frame and checks its trailer.
pub(crate) trait Decode: Send + Sync {
    /// Prepares for the next frame. Keeps the dictionary.
    fn reset(&mut self) -> io::Result<()>;

    /// Decodes `input` into `output` until either is exhausted. If it makes no progress although
    /// `output` has room, it needs more input.
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Decoded;

    /// Decodes a frame in one step, if `input` holds all of it and `output` has room for its
    /// content. Returns how many bytes were consumed and produced. On `None`, the content of
    /// `output` is unspecified and the frame must be decoded by [`Decode::decode`] from its start.
    fn decode_whole(&mut self, _input: &[u8], _output: &mut [u8]) -> Option<(usize, usize)> {
        None
    }

    /// Returns the number of bytes of the frame after its last decoded byte.
    fn trailer_bytes(&self) -> usize {
        0
    }

    /// Checks the decoded bytes against the trailer.
    fn check_trailer(&self, _trailer: &[u8]) -> Trailer {
        Trailer::Right
    }
}

/// Compresses each record separately, so that it can be read without the others.
pub(crate) trait Encode: Send + Sync {
    /// Returns the bytes of the file before the first record.
    fn preamble(&self) -> io::Result<Vec<u8>> {
        Ok(Vec::new())
    }

    /// Returns the stored form of one record: either built in `into`, which must be empty, or
    /// `record` itself.
    fn encode<'a>(&mut self, record: &'a [u8], into: &'a mut Vec<u8>) -> io::Result<&'a [u8]>;

    /// Writes the stored form of one record of `bytes` bytes, which is read piece by piece.
    fn encode_from(&mut self, record: &mut dyn Read, bytes: u64, out: &mut dyn Write) -> io::Result<()>;
}

/// The length of a frame header, as far as the first bytes of the frame determine it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FrameHeader {
    /// The header has this many bytes, which are not passed to the decoder; 0 if the decoder reads
    /// the header itself.
    Bytes(usize),
    /// The header extends beyond the given bytes.
    Incomplete,
    /// The frame cannot be decoded. Holds the reason and a human-readable message.
    Invalid(&'static str, &'static str),
}

/// The result of [`Decode::decode`].
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    /// Number of bytes consumed from the input.
    pub(crate) consumed: usize,
    /// Number of bytes written to the output.
    pub(crate) produced: usize,
    /// Whether the frame's last byte was written.
    pub(crate) finished: bool,
    /// Why decoding cannot continue, if it failed.
    pub(crate) failed: Option<String>,
}

/// Whether a frame's trailer matches the decoded bytes.
pub(crate) enum Trailer {
    Right,
    /// Human-readable description of the mismatch.
    Wrong(String),
}

/// How a frame ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    Whole,
    /// The frame was decoded to its end, but its checksum or length does not match.
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

    /// Reports whether all bytes of the frame were decoded.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self, End::Whole | End::Unchecked(_))
    }
}
