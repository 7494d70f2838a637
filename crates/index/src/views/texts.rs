//! Compressed texts of pages.

use std::cell::RefCell;

use crate::codec::{self, Corrupt, Reader};
use crate::cut::Cut;
use crate::error::SnapshotError;
use crate::tables::Table;
use crate::write::Write;

/// Longest text, in bytes, that is decompressed. Extraction keeps at most 1 MiB.
const TEXT_BYTES_MAX: u64 = 64 << 20;

/// Compresses texts and reuses its memory. Level 1, because texts are written all the time and read
/// rarely.
pub(crate) struct Compressor(Option<zstd::bulk::Compressor<'static>>);

impl Compressor {
    pub(crate) fn new() -> Compressor {
        Compressor(None)
    }

    /// Encodes a text. First byte 1: the length of the text and a zstd frame follow. First byte 0:
    /// the text itself follows (if memory for compression is lacking).
    pub(crate) fn compress(&mut self, text: &str) -> Vec<u8> {
        if self.0.is_none() {
            self.0 = zstd::bulk::Compressor::new(1).ok();
        }
        let packed = self.0.as_mut().and_then(|c| c.compress(text.as_bytes()).ok());
        let mut out = Vec::with_capacity(packed.as_ref().map_or(text.len(), Vec::len) + 5);
        match packed {
            Some(packed) => {
                out.push(1);
                codec::put_varint(&mut out, text.len() as u64);
                out.extend_from_slice(&packed);
            }
            None => {
                out.push(0);
                out.extend_from_slice(text.as_bytes());
            }
        }
        out
    }
}

pub(crate) fn put(write: &mut Write<'_>, compressor: &mut Compressor, url_key: &str, text: &str) {
    write.put(Table::Texts, url_key, compressor.compress(text));
}

pub(crate) fn remove(write: &mut Write<'_>, url_key: &str) {
    write.remove(Table::Texts, url_key);
}

pub(crate) fn read(cut: &Cut, url_key: &str) -> Result<Option<String>, SnapshotError> {
    let Some(value) = cut.get(Table::Texts, url_key.as_bytes())? else {
        return Ok(None);
    };
    cut.decode(Table::Texts, url_key.as_bytes(), decode(&value))
        .map(Some)
}

/// Returns the visible part of a text, without the images of the page.
pub(crate) fn visible(mut text: String) -> String {
    text.truncate(extract::visible_text(&text).len());
    text
}

pub(crate) fn decode(value: &[u8]) -> Result<String, Corrupt> {
    let mut r = Reader::new(value);
    let bytes = match r.u8()? {
        0 => r.rest().to_vec(),
        1 => {
            let length = r.varint()?.min(TEXT_BYTES_MAX) as usize;
            unpack(r.rest(), length).map_err(|_| Corrupt("text cannot be unpacked"))?
        }
        _ => return Err(Corrupt("unknown form of text")),
    };
    String::from_utf8(bytes).map_err(|_| Corrupt("text is not UTF-8"))
}

thread_local! {
    /// Decompresses texts and reuses its memory: creating a zstd context takes longer than
    /// decompressing most texts.
    static UNPACKER: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
}

fn unpack(packed: &[u8], length: usize) -> std::io::Result<Vec<u8>> {
    UNPACKER.with_borrow_mut(|unpacker| {
        let unpacker = match unpacker {
            Some(unpacker) => unpacker,
            None => unpacker.insert(zstd::bulk::Decompressor::new()?),
        };
        unpacker.decompress(packed, length)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back() {
        let mut compressor = Compressor::new();
        for text in ["", "é", &"word ".repeat(300_000)] {
            assert_eq!(decode(&compressor.compress(text)).as_deref(), Ok(text));
        }
        assert!(decode(&[]).is_err());
        assert!(decode(&[1, 2, 3]).is_err());
    }

    /// One context decompresses all texts of a thread, so a damaged text must not affect the next.
    #[test]
    fn texts_come_back_after_a_damaged_one() {
        let packed = Compressor::new().compress(&"word ".repeat(1000));
        assert!(decode(&packed[..packed.len() - 1]).is_err());
        assert_eq!(decode(&packed), Ok("word ".repeat(1000)));
    }
}
