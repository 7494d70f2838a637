//! Generates files of records.

use std::path::Path;

use warc::{Compression, Writer};

/// Returns a WARC/1.1 record with these header lines and this block. Length and line ends are
/// correct.
pub(crate) fn record(lines: &str, block: &str) -> Vec<u8> {
    let lines: String = lines.lines().map(|line| format!("{}\r\n", line.trim())).collect();
    format!(
        "WARC/1.1\r\n{lines}Content-Length: {}\r\n\r\n{block}\r\n\r\n",
        block.len()
    )
    .into_bytes()
}

/// Returns a response that follows every rule.
pub(crate) fn response(id: u32, block: &str) -> Vec<u8> {
    let lines = format!(
        "WARC-Type: response\nWARC-Record-ID: <urn:test:{id}>\nWARC-Date: 2024-01-02T03:04:05Z\n\
         WARC-Target-URI: http://example.com/{id}\nContent-Type: application/http; msgtype=response"
    );
    record(
        &lines,
        &format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n{block}"),
    )
}

/// Returns a file of the records, each in its own member if compressed.
pub(crate) fn file(compression: Compression, records: &[Vec<u8>]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), compression).expect("begun");
    for record in records {
        writer.write_encoded(record).expect("written");
    }
    writer.finish().expect("finished")
}

/// Checks that no temporary file is left in a folder.
pub(crate) fn folder_is_clean(folder: &Path) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let name = entry.expect("an entry").file_name();
        assert!(!name.to_string_lossy().starts_with('.'), "{name:?} is left");
    }
}
