//! Decides from the first bytes of content whether it is a file of records.

use std::io::{self, ErrorKind, Read};

use crate::container::stream::Decompressed;
use crate::record::start::{START_BYTES_MAX, Start, start_of};
use crate::record::{arc, line};

/// Number of decompressed bytes to read first. More are read only if the first line of a record is
/// longer.
const HEAD_BYTES: u64 = 512;

/// Returns whether stored content, compressed or not, begins like a file of records. Reads only as
/// much as needed.
///
/// This test is more lenient than a reader, so that a damaged file is reported instead of ignored.
///
/// # Errors
/// I/O errors of `content`. For content that cannot be decompressed the result is `false`, not an
/// error.
pub fn begins_like_records(content: impl Read) -> io::Result<bool> {
    let mut content = Decompressed::new(content);
    // This is the dictionary of a `.warc.zst`. The frames after it cannot be decompressed without
    // it.
    if content.begins_with_skippable()? {
        return Ok(true);
    }
    let mut head = Vec::new();
    let mut wanted = HEAD_BYTES;
    loop {
        let read = match content.by_ref().take(wanted).read_to_end(&mut head) {
            Ok(read) => read,
            // Damage after the first bytes does not matter here: the decision uses the output
            // before it.
            Err(error) if matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof) => 0,
            Err(error) => return Err(error),
        };
        let ended = read == 0 || head.len() > START_BYTES_MAX;
        if ended || start_of(head.trim_ascii_start(), false) != Start::Unsure {
            return Ok(is_record_start(&head));
        }
        wanted = head.len() as u64 * 3;
    }
}

/// Returns whether decompressed content begins like a record. Leading blanks are ignored.
pub fn is_record_start(head: &[u8]) -> bool {
    let head = head.trim_ascii_start();
    let is_warc = head.len() >= line::MAGIC.len() && line::may_be_version_line(head);
    is_warc || arc::is_filedesc(head) || start_of(head, true) == Start::Arc
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Compression, Writer};

    #[test]
    fn records_are_known_by_their_beginning() {
        let long = format!(
            "http://a.b/{} 1.2.3.4 20140101000000 text/html 5\nhello",
            "x".repeat(5000)
        );
        let dictionary = Compression::Zstd {
            level: 3,
            dictionary: Some(vec![7; 100]),
        };
        for compression in [
            Compression::Plain,
            Compression::GZIP,
            Compression::Lz4,
            dictionary,
        ] {
            let stored = |record: &[u8]| {
                let mut writer = Writer::new(Vec::new(), compression.clone()).expect("begun");
                writer.write_encoded(record).expect("written");
                writer.finish().expect("finished")
            };
            for record in ["WARC/1.0\r\n", "\r\n\nwarc/", "filedesc:x", &long] {
                assert!(
                    begins_like_records(&stored(record.as_bytes())[..]).expect("read"),
                    "{record}"
                );
            }
            let has_dictionary = matches!(compression, Compression::Zstd { .. });
            for other in [
                "",
                "WARC",
                "<html>",
                "http://a.b/",
                "a 1.2.3.4 20140101000000 text/html 5",
            ] {
                let found = begins_like_records(&stored(other.as_bytes())[..]).expect("read");
                assert_eq!(found, has_dictionary, "{other}");
            }
        }
        assert!(!begins_like_records(&[0x1f, 0x8b, 8, 0, 1, 2][..]).expect("read"));
    }
}
