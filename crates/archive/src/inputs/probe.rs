//! Whether a file in a folder is worth loading: by its name, else by its first bytes.
//!
//! Only the first few hundred bytes are decompressed. The two are asked apart: a file whose name says that it is an
//! archive is one whatever its beginning, so that damage is reported instead of passed over.

use std::io::{self, BufRead, BufReader, Read};

use flate2::read::MultiGzDecoder;

/// Bytes looked at after decompression.
const HEAD_BYTES: u64 = 512;

/// Whether content begins like records.
pub(super) fn holds_records(content: impl Read) -> io::Result<bool> {
    let mut file = BufReader::new(content);
    let magic = file.fill_buf()?.to_vec();
    let head = match magic.as_slice() {
        [0x1f, 0x8b, ..] => head_of(MultiGzDecoder::new(file)),
        // A skippable frame first: the dictionary of a `.warc.zst`, without which nothing can be decompressed.
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => return Ok(true),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => match zstd::stream::read::Decoder::with_buffer(file) {
            Ok(decoder) => head_of(decoder),
            Err(_) => Vec::new(),
        },
        [0x04, 0x22, 0x4d, 0x18, ..] => head_of(lz4_flex::frame::FrameDecoder::new(file)),
        plain => return Ok(is_record_start(&plain[..plain.len().min(HEAD_BYTES as usize)])),
    };
    Ok(is_record_start(&head))
}

/// As much as can be had: damage behind the first bytes does not matter here.
fn head_of(content: impl Read) -> Vec<u8> {
    let mut head = Vec::new();
    let _ = content.take(HEAD_BYTES).read_to_end(&mut head);
    head
}

/// Whether decompressed content begins like a record.
pub(super) fn is_record_start(head: &[u8]) -> bool {
    let head = head.trim_ascii_start();
    let is_warc = head
        .get(..5)
        .is_some_and(|word| word.eq_ignore_ascii_case(b"WARC/"));
    is_warc || head.starts_with(b"filedesc:") || is_arc_line(head)
}

/// An ARC header line: URL, IP address, date, type, length.
fn is_arc_line(head: &[u8]) -> bool {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let fields: Vec<&[u8]> = line.trim_ascii_end().split(|byte| *byte == b' ').collect();
    let [url, _, date, .., length] = fields.as_slice() else {
        return false;
    };
    let digits = |field: &[u8]| !field.is_empty() && field.iter().all(u8::is_ascii_digit);
    (url.starts_with(b"http") || url.starts_with(b"dns:")) && digits(date) && digits(length)
}

/// Whether nothing but records is to be expected of a file called so: `x.warc.gz`, `x.arc`, `x.warc.wat.gz`,
/// `x.warc.zst.open` and the like, but not `x.warc.gz.md5`.
pub(super) fn is_record_file_name(name: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    let mut words = name
        .rsplit(|byte| *byte == b'.')
        .skip_while(|word| matches!(*word, b"open" | b"gz" | b"zst" | b"lz4"));
    let last = words.next().unwrap_or_default();
    matches!(last, b"warc" | b"arc" | b"wat" | b"wet") && words.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::is_record_file_name;

    #[test]
    fn names_of_record_files() {
        for name in [
            "x.warc",
            "x.warc.gz",
            "x.WARC.GZ",
            "x.arc.gz.open",
            "x.warc.wat.gz",
            "x.warc.zst",
        ] {
            assert!(is_record_file_name(name.as_bytes()), "{name}");
        }
        for name in ["warc", "x.warc.gz.md5", "x.warc.cdx.gz", "x.gz", "", "warc.gz"] {
            assert!(!is_record_file_name(name.as_bytes()), "{name}");
        }
    }
}
