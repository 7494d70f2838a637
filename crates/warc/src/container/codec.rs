//! What the containers' decoders and encoders have in common.

use std::io;

use crate::entry::Defect;

/// Decodes the inside of one compressed member or frame: bytes in, bytes out, an end, and a trailer.
pub(crate) trait Decode: Send + Sync {
    /// Makes ready for the next frame; a dictionary stays.
    fn reset(&mut self) -> io::Result<()>;

    /// Decodes as much of `input` into `output` as either allows. No progress with room in `output` means
    /// that more input is needed.
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Decoded;

    /// Bytes that follow the last decoded byte and belong to the frame.
    fn trailer_bytes(&self) -> usize {
        0
    }

    /// Compares these bytes with what was decoded.
    fn check_trailer(&self, _trailer: &[u8]) -> Trailer {
        Trailer::Right
    }
}

/// Compresses records, each on its own.
pub(crate) trait Encode: Send + Sync {
    /// Bytes that begin the file.
    fn preamble(&self) -> io::Result<Vec<u8>> {
        Ok(Vec::new())
    }

    /// The stored form of one record: made in `into`, which is empty, or the record as it is.
    fn encode<'a>(&mut self, record: &'a [u8], into: &'a mut Vec<u8>) -> io::Result<&'a [u8]>;
}

/// Length of a frame's header, given some bytes from its start.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FrameHeader {
    /// So many bytes that are not the decoder's; 0 where the decoder reads the header itself.
    Bytes(usize),
    /// It goes on beyond the bytes given.
    Incomplete,
    /// The frame cannot be decoded: the reason, and what for people.
    Invalid(&'static str, &'static str),
}

/// What a call of [`Decode::decode`] did.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    /// Bytes taken from the input.
    pub(crate) consumed: usize,
    /// Bytes put into the output.
    pub(crate) produced: usize,
    /// The last byte of the frame is out.
    pub(crate) finished: bool,
    /// Decoding cannot go on, and why.
    pub(crate) failed: Option<String>,
}

/// Whether a frame's trailer agrees with what was decoded.
pub(crate) enum Trailer {
    Right,
    /// What disagrees.
    Wrong(String),
}

/// How a frame ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    Whole,
    /// Decoded to its end, but the checksum disagrees.
    Unchecked(Defect),
    /// It could not be decoded further.
    Damaged(Defect),
    /// The file ends inside it.
    Cut(Defect),
}

impl End {
    pub(crate) fn defect(&self) -> Option<&Defect> {
        match self {
            End::Whole => None,
            End::Unchecked(defect) | End::Damaged(defect) | End::Cut(defect) => Some(defect),
        }
    }

    /// Whether all of the frame's bytes came out.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self, End::Whole | End::Unchecked(_))
    }
}
