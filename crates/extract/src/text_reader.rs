//! Reads a payload as UTF-8 text, and converts other character sets on the fly.
//!
//! The character set is determined as in extraction: byte order mark, header, `meta` or XML
//! declaration, detection. Bytes that cannot be converted become U+FFFD.

use std::io::{self, Read};

use encoding_rs::{Decoder, Encoding};

use crate::charset;
use crate::payload::PayloadReader;

/// Number of bytes that decide the character set.
const START_BYTES: u64 = 64 << 10;

/// Number of bytes converted at once.
const PIECE_BYTES: usize = 16 << 10;

/// Reads the text of a payload as UTF-8.
pub struct TextReader {
    payload: PayloadReader,
    /// `None` after the end.
    decoder: Option<Decoder>,
    /// Bytes that were read to find the character set and are not converted yet.
    start: Vec<u8>,
    ready: Vec<u8>,
    taken: usize,
}

impl TextReader {
    /// Reads as much of the payload as the detection of the character set needs. `top_level` is the
    /// last label of the host, a hint for the detection.
    ///
    /// # Errors
    /// The error of the payload, if its beginning cannot be read.
    pub fn open(mut payload: PayloadReader, top_level: Option<&str>) -> io::Result<TextReader> {
        let mut start = Vec::new();
        payload.by_ref().take(START_BYTES).read_to_end(&mut start)?;
        let encoding = match Encoding::for_bom(&start) {
            Some((encoding, mark_bytes)) => {
                start.drain(..mark_bytes);
                encoding
            }
            None => charset::encoding_of(&start, payload.charset(), top_level),
        };
        Ok(TextReader {
            payload,
            decoder: Some(encoding.new_decoder_without_bom_handling()),
            start,
            ready: Vec::new(),
            taken: 0,
        })
    }

    /// See [`PayloadReader::is_cut`].
    pub fn is_cut(&self) -> bool {
        self.payload.is_cut()
    }

    /// See [`PayloadReader::has_failed`].
    pub fn has_failed(&self) -> bool {
        self.payload.has_failed()
    }

    /// Converts the next bytes. Returns whether they were the last.
    fn convert(&mut self, decoder: &mut Decoder) -> io::Result<bool> {
        let mut piece = std::mem::take(&mut self.start);
        if piece.is_empty() {
            piece.resize(PIECE_BYTES, 0);
            let bytes = self.payload.read(&mut piece)?;
            piece.truncate(bytes);
        }
        let last = piece.is_empty();
        let room = decoder.max_utf8_buffer_length(piece.len());
        // The length always fits for pieces this small, so the fallback is never used.
        self.ready.resize(room.unwrap_or(piece.len() * 4 + 16), 0);
        let (_, _, written, _) = decoder.decode_to_utf8(&piece, &mut self.ready, last);
        self.ready.truncate(written);
        self.taken = 0;
        Ok(last)
    }
}

impl Read for TextReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.ready.len()
            && let Some(mut decoder) = self.decoder.take()
        {
            if !self.convert(&mut decoder)? {
                self.decoder = Some(decoder);
            }
        }
        let bytes = into.len().min(self.ready.len() - self.taken);
        into[..bytes].copy_from_slice(&self.ready[self.taken..self.taken + bytes]);
        self.taken += bytes;
        Ok(bytes)
    }
}
