//! Decompression of the beginning of a compressed file.

use std::io::Read;

use super::INFLATED_BYTES;

/// Maximum zstd window: the largest that the format recommends, and that tools use for web
/// archives.
const WINDOW_LOG_MAX: u32 = 23;

const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
const LZ4: &[u8] = b"\x04\x22\x4d\x18";
/// A skippable frame with the dictionary of a WARC (WARC Compression with Zstandard, 2.1). No other
/// format starts with it.
const DICTIONARY: &[u8] = b"\x5d\x2a\x4d\x18";

/// Returns the first decompressed bytes; `None` if the format is not supported or decompression
/// fails.
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

/// Returns whether a compressed file is marked as a WARC.
pub(super) fn is_web_archive(head: &[u8]) -> bool {
    head.starts_with(DICTIONARY)
}

/// Inflates the beginning of a deflate stream.
pub(super) fn deflated(bytes: &[u8]) -> Vec<u8> {
    some_of(flate2::bufread::DeflateDecoder::new(bytes))
}

/// Reads up to the limit, the end or an error: heads are truncated anywhere.
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

/// Returns the literals at the start of the first block of an LZ4 frame. An incomplete block cannot
/// be decoded, but it starts with literals, because there is nothing before them to copy from.
fn lz4(head: &[u8]) -> Option<&[u8]> {
    let flags = *head.get(4)?;
    let (has_size, has_dictionary) = (flags & 8 != 0, flags & 1 != 0);
    // Magic, flags, block size and a check byte, with two optional fields in between.
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
