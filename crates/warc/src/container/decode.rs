//! What the decoders of the containers have in common: bytes in, bytes out, an end, and a trailer.

use crate::entry::Defect;

/// Decodes the inside of one compressed member or frame.
pub(crate) trait Decode {
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

pub(crate) enum Trailer {
    Right,
    Wrong(String),
}

/// How a frame ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// As it should.
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
