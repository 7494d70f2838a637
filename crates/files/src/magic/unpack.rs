//! The beginning of what is in a compressed file.

use std::io::Read;

use super::INFLATED_BYTES;

/// Memory that a frame of zstd may ask for: the greatest window that its format recommends, and tools use for web archives.
const WINDOW_LOG_MAX: u32 = 23;

const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
const LZ4: &[u8] = b"\x04\x22\x4d\x18";
/// A skippable frame that holds the dictionary of a WARC (WARC Compression with Zstandard, 2.1); nothing else begins so.
const DICTIONARY: &[u8] = b"\x5d\x2a\x4d\x18";

/// What the file begins with once it is inflated; `None` if it is not compressed by anything that is looked into, or does not
/// inflate.
pub(super) fn inside(head: &[u8]) -> Option<Vec<u8>> {
    let inside = if head.starts_with(b"\x1f\x8b\x08") {
        some_of(flate2::bufread::MultiGzDecoder::new(head))
    } else if head.starts_with(ZSTD) {
        let mut decoder = zstd::stream::read::Decoder::with_buffer(head).ok()?;
        decoder.window_log_max(WINDOW_LOG_MAX).ok()?;
        some_of(decoder)
    } else if head.starts_with(LZ4) {
        lz4(head)?.to_vec()
    } else {
        return None;
    };
    (!inside.is_empty()).then_some(inside)
}

/// Whether a compressed file says of itself that it is a WARC.
pub(super) fn is_web_archive(head: &[u8]) -> bool {
    head.starts_with(DICTIONARY)
}

/// The beginning of a stream of deflate.
pub(super) fn deflated(bytes: &[u8]) -> Vec<u8> {
    some_of(flate2::bufread::DeflateDecoder::new(bytes))
}

/// Reads until there is enough, or it goes on no more: heads are cut anywhere.
fn some_of(mut reader: impl Read) -> Vec<u8> {
    let mut bytes = vec![0; INFLATED_BYTES];
    let mut length = 0;
    while length < bytes.len() {
        match reader.read(&mut bytes[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    bytes.truncate(length);
    bytes
}

/// The literals at the beginning of the first block of an LZ4 frame. A block cannot be decoded without its end, but what it
/// begins with was nowhere before, and so is there as it is.
fn lz4(head: &[u8]) -> Option<&[u8]> {
    let flags = *head.get(4)?;
    let (has_size, has_dictionary) = (flags & 8 != 0, flags & 1 != 0);
    // Magic, flags, sizes of blocks, and a check byte; in between two fields that may be there.
    let header = 4 + 2 + if has_size { 8 } else { 0 } + if has_dictionary { 4 } else { 0 } + 1;
    let size: [u8; 4] = head.get(header..header + 4)?.try_into().ok()?;
    let block = head.get(header + 4..)?;
    if u32::from_le_bytes(size) >> 31 == 1 {
        return Some(block.get(..INFLATED_BYTES).unwrap_or(block));
    }
    let (token, mut rest) = block.split_first()?;
    let mut length = usize::from(token >> 4);
    if length == 15 {
        loop {
            let (more, after) = rest.split_first()?;
            rest = after;
            length += usize::from(*more);
            if *more < 255 || length > INFLATED_BYTES {
                break;
            }
        }
    }
    Some(rest.get(..length.min(INFLATED_BYTES)).unwrap_or(rest))
}
