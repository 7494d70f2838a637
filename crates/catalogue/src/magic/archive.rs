//! Signatures of web archives and capture indexes.

use super::{INFLATED_BYTES, named, unpack};
use crate::format::Format;

/// Recognizes WARC and ARC records, and lines of capture indexes.
pub(super) fn of_text(head: &[u8]) -> Option<Format> {
    if head.starts_with(b"WARC/") && head.get(5).is_some_and(u8::is_ascii_digit) {
        return Some(named("warc"));
    }
    if head.starts_with(b"filedesc://") || is_arc_record(head) {
        return Some(named("arc"));
    }
    is_index(head).then(|| named("cdx"))
}

/// Recognizes an ARC record line, such as `http://a/ 192.0.2.1 20260101000000 text/html 1234`. A
/// fragment of an ARC file without its first record starts with one.
fn is_arc_record(head: &[u8]) -> bool {
    let line = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let fields: Vec<&[u8]> = line.split(|&byte| byte == b' ').take(6).collect();
    let [url, address, time, _, length] = fields[..] else {
        return false;
    };
    let address = std::str::from_utf8(address)
        .ok()
        .map(str::parse::<std::net::Ipv4Addr>);
    url.windows(3).any(|part| part == b"://")
        && matches!(address, Some(Ok(_)))
        && is_time(time)
        && !length.is_empty()
        && length.iter().all(u8::is_ascii_digit)
}

/// Returns whether the field is a timestamp of 14 digits.
fn is_time(field: &[u8]) -> bool {
    field.len() == 14 && field.iter().all(u8::is_ascii_digit)
}

/// Recognizes a capture index by its header or by one of its lines.
fn is_index(head: &[u8]) -> bool {
    // ` CDX N b a m s k r M S V g`: the first byte is the field separator.
    if let [first, b'C', b'D', b'X', second, ..] = head
        && first == second
        && matches!(first, b' ' | b'\t')
    {
        return true;
    }
    if head.starts_with(b"!OpenWayback-CDXJ") {
        return true;
    }
    let line = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let mut fields = line.split(|&byte| byte == b' ');
    let (Some(key), Some(time), Some(third)) = (fields.next(), fields.next(), fields.next()) else {
        return false;
    };
    let is_key = key.windows(2).any(|pair| pair == b")/");
    // JSON, or the URL followed by at least type, status and digest.
    let is_line =
        third.first() == Some(&b'{') || third.windows(3).any(|part| part == b"://") && fields.count() >= 3;
    is_key && is_time(time) && is_line
}

/// Maximum length of the name of a zip entry.
const NAME_LENGTH_MAX: usize = 256;

/// Returns whether a zip file starts like a WACZ: with WARCs, an index, pages, or a package
/// description that mentions WACZ.
pub(super) fn is_wacz(head: &[u8]) -> bool {
    let mut at = 0;
    while let Some(entry) = head.get(at..).and_then(ZipEntry::of) {
        let is_warc = |name: &[u8]| name.ends_with(b".warc.gz") || name.ends_with(b".warc");
        match entry.name {
            b"datapackage.json" if entry.says(b"wacz") => return true,
            b"pages/pages.jsonl" | b"pages/extraPages.jsonl" | b"datapackage-digest.json" => return true,
            name if name.starts_with(b"archive/") && is_warc(name) => return true,
            name if name.starts_with(b"indexes/index.") => return true,
            _ => {}
        }
        match entry.length {
            Some(length) => at += length,
            None => return false,
        }
    }
    false
}

/// The local header of a zip entry, and the available part of its content.
struct ZipEntry<'a> {
    name: &'a [u8],
    is_stored: bool,
    content: &'a [u8],
    /// Distance to the next header; `None` if the header does not give it.
    length: Option<usize>,
}

impl ZipEntry<'_> {
    /// Parses a local file header (APPNOTE.TXT 4.3.7): 30 bytes, then name, extra fields, content.
    fn of(bytes: &[u8]) -> Option<ZipEntry<'_>> {
        let number = |at: usize| -> Option<usize> {
            let pair = bytes.get(at..at + 2)?;
            Some(usize::from(pair[0]) | usize::from(pair[1]) << 8)
        };
        if !bytes.starts_with(b"PK\x03\x04") {
            return None;
        }
        let (flags, method) = (number(6)?, number(8)?);
        let size = number(18)? | number(20)? << 16;
        let (name_length, extra) = (number(26)?, number(28)?);
        let name = bytes.get(30..30 + name_length)?;
        let begin = 30 + name_length + extra;
        let is_size_behind = flags & 8 != 0;
        let content = bytes.get(begin..).unwrap_or_default();
        Some(ZipEntry {
            name: name.get(..NAME_LENGTH_MAX).unwrap_or(name),
            is_stored: method == 0,
            content: if is_size_behind {
                content
            } else {
                content.get(..size).unwrap_or(content)
            },
            length: (!is_size_behind).then(|| begin.saturating_add(size)),
        })
    }

    /// Returns whether the available part of the content contains a word.
    fn says(&self, word: &[u8]) -> bool {
        let inflated;
        let content = if self.is_stored {
            self.content.get(..INFLATED_BYTES).unwrap_or(self.content)
        } else {
            inflated = unpack::deflated(self.content);
            &inflated
        };
        content.windows(word.len()).any(|part| part == word)
    }
}
