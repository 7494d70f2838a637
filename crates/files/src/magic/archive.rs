//! Heads of web archives and their indexes.

use super::{INFLATED_BYTES, named, unpack};
use crate::format::Format;

/// Records of WARC and ARC, and lines of capture indexes.
pub(super) fn of_text(head: &[u8]) -> Option<Format> {
    if head.starts_with(b"WARC/") && head.get(5).is_some_and(u8::is_ascii_digit) {
        return Some(named("warc"));
    }
    if head.starts_with(b"filedesc://") || is_arc_record(head) {
        return Some(named("arc"));
    }
    is_index(head).then(|| named("cdx"))
}

/// `http://a/ 192.0.2.1 20260101000000 text/html 1234`: what a part of an ARC begins with that has lost its first record.
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

/// The 14 digits of a date and a time.
fn is_time(field: &[u8]) -> bool {
    field.len() == 14 && field.iter().all(u8::is_ascii_digit)
}

/// A capture index: its header, or a line of its own.
fn is_index(head: &[u8]) -> bool {
    // ` CDX N b a m s k r M S V g`: the first byte is what stands between fields.
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
    // JSON, or the URL and at least the type, the status and the digest.
    let is_line =
        third.first() == Some(&b'{') || third.windows(3).any(|part| part == b"://") && fields.count() >= 3;
    is_key && is_time(time) && is_line
}

/// Longest name of an entry of a zip file that is looked at.
const NAME_LENGTH_MAX: usize = 256;

/// A zip file with what a WACZ has at its beginning: WARCs, an index, pages, or a package description that says so.
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

/// The local header of an entry, and what is here of its content.
struct ZipEntry<'a> {
    name: &'a [u8],
    is_stored: bool,
    content: &'a [u8],
    /// From one header to the next; `None` where the header does not say it.
    length: Option<usize>,
}

impl ZipEntry<'_> {
    /// Reads APPNOTE.TXT 4.3.7: 30 bytes, then name, extra fields, content.
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
            content: match is_size_behind {
                true => content,
                false => content.get(..size).unwrap_or(content),
            },
            length: (!is_size_behind).then(|| begin.saturating_add(size)),
        })
    }

    /// Whether a word is in what can be seen of the content.
    fn says(&self, word: &[u8]) -> bool {
        let inflated;
        let content = match self.is_stored {
            true => self.content.get(..INFLATED_BYTES).unwrap_or(self.content),
            false => {
                inflated = unpack::deflated(self.content);
                &inflated
            }
        };
        content.windows(word.len()).any(|part| part == word)
    }
}
