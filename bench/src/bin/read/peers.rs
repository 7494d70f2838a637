//! The readers written in Rust, with the same task.

use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::{Found, Work};

/// Weft's reader.
pub(super) fn weft(path: &Path, work: Work) -> anyhow::Result<(Duration, Found)> {
    let start = Instant::now();
    let mut settings = warc::ReaderSettings::default();
    settings.body_bytes_max = match work {
        Work::Headers => 0,
        Work::Bodies => u64::MAX,
    };
    let mut reader = warc::Reader::open(path, settings)?;
    let mut found = Found::default();
    while let Some(entry) = reader.next_entry()? {
        let warc::Entry::Record(record) = entry else {
            continue;
        };
        found.records += 1;
        found.block_bytes += match work {
            Work::Headers => record.body_length,
            Work::Bodies => record.body.len() as u64,
        };
        let target = record.headers.get("WARC-Target-URI").is_some();
        found.with_target += u64::from(target && record.kind != warc::Kind::Unknown);
        reader.recycle(record);
    }
    Ok((start.elapsed(), found))
}

/// FastWARC, reusing its records in place, without HTTP.
pub(super) fn fastwarc(path: &Path, work: Work) -> anyhow::Result<(Duration, Found)> {
    use fastwarc::warc::iter::{ArchiveIterator, ArchiveIteratorOptions};
    use fastwarc::warc::record::WarcRecordType;
    let start = Instant::now();
    let options = ArchiveIteratorOptions {
        parse_http: false,
        inplace: true,
        ..ArchiveIteratorOptions::default()
    };
    let mut found = Found::default();
    let mut body = Vec::new();
    for record in ArchiveIterator::from_path_with_options(path, options)? {
        let record = record?;
        let mut record = record.borrow_mut();
        found.records += 1;
        found.block_bytes += match work {
            Work::Headers => record.content_length(),
            Work::Bodies => {
                body.clear();
                let reader = record.reader_mut().context("a record without a reader")?;
                reader.read_to_end(&mut body)? as u64
            }
        };
        let target = record.headers().get_bytes("WARC-Target-URI").is_some();
        found.with_target += u64::from(target && record.record_type() != WarcRecordType::Unknown);
    }
    Ok((start.elapsed(), found))
}
