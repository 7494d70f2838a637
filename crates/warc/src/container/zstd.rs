//! A zstd frame, with or without the dictionary that a `.warc.zst` carries in its first frame.
//!
//! Windows up to 128 MiB are accepted (zstd's own default; the format asks for 8 MiB).

use std::io;

use zstd::stream::raw::{Decoder, Operation};

use crate::container::decode::{Decode, Decoded};

/// Largest dictionary accepted, decompressed: far beyond what zstd trains.
const DICTIONARY_BYTES_MAX: usize = 64 << 20;

/// A dictionary's own magic number; in compressed form it begins like any zstd frame.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

pub(crate) struct Zstd {
    decoder: Decoder<'static>,
}

impl Zstd {
    pub(crate) fn new(dictionary: Option<&[u8]>) -> io::Result<Zstd> {
        let decoder = match dictionary {
            Some(dictionary) => Decoder::with_dictionary(dictionary)?,
            None => Decoder::new()?,
        };
        Ok(Zstd { decoder })
    }

    /// Makes ready for the next frame; the dictionary stays.
    pub(crate) fn reset(&mut self) -> io::Result<()> {
        self.decoder.reinit()
    }
}

impl Decode for Zstd {
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

/// The dictionary in a dictionary frame's content.
pub(crate) fn read_dictionary(content: &[u8]) -> io::Result<Vec<u8>> {
    match content.starts_with(&ZSTD_MAGIC) {
        true => {
            let limit = zstd::bulk::Decompressor::upper_bound(content).unwrap_or(DICTIONARY_BYTES_MAX);
            zstd::bulk::decompress(content, limit.min(DICTIONARY_BYTES_MAX))
        }
        false => Ok(content.to_vec()),
    }
}

/// Whether the frame that begins here names a dictionary.
pub(crate) fn names_dictionary(frame: &[u8]) -> bool {
    zstd::zstd_safe::get_dict_id_from_frame(frame).is_some()
}
