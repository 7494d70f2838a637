//! Recompresses a file: each record in its own member or frame, or all uncompressed.
//!
//! Header and block of each record stay identical, byte for byte. Bytes between records without
//! data (line ends, empty members) are left out. The compression of the input is not preserved.

mod dictionary;

use std::io::Read;
use std::path::Path;

use serde::Serialize;
use warc::Compression;

use crate::Progress;
use crate::error::WriteError;
use crate::record_digests::{self, HashingReader, RecordDigests};
use crate::source::Source;
use crate::temp_output::{TempOutput, UnverifiedFile};

pub use dictionary::train;

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecompressReport {
    /// Number of records.
    pub records: u64,
    /// Size of the input.
    pub input_bytes: u64,
    /// Size of the output.
    pub output_bytes: u64,
    /// Bytes between records of the input that had no data.
    pub padding_bytes: u64,
}

/// Writes the records of `input` to a temporary file for `out`. `each` is called with the bytes
/// read so far, and stops the work by returning false.
///
/// # Errors
/// [`WriteError`], mostly for damage in the input. Nothing is left then.
pub fn write(
    input: &Path,
    out: &Path,
    compression: Compression,
    each: &mut Progress<'_>,
) -> Result<(UnverifiedFile, RecompressReport), WriteError> {
    let mut source = Source::open(input, out)?;
    let mut temp_output = TempOutput::new(out)?;
    let failed = temp_output.failed();
    let keep = record_digests::keep(out);
    let mut record_digests = RecordDigests::default();
    let mut writer = temp_output.writer(compression)?;
    while let Some(record) = source.next()? {
        let header = source.reader.header_bytes().to_vec();
        let line_ends = source.line_ends(record.format)?;
        let bytes = header.len() as u64 + record.body_length + line_ends.len() as u64;
        let block = source.reader.block(&record).map_err(&keep)?;
        let mut content = HashingReader::new(header.chain(block.take(record.body_length)));
        writer
            .write_from(content.by_ref().chain(&line_ends[..]), bytes)
            .map_err(&failed)?;
        record_digests.push(content.finish());
        source.reader.recycle(record);
        if !each(source.reader.position()) {
            return Err(WriteError::Stopped);
        }
    }
    writer.finish().map_err(&failed)?;
    if record_digests.records() == 0 {
        return Err(WriteError::NoRecord {
            path: input.display().to_string(),
        });
    }
    source.check_unchanged()?;
    let (input_bytes, padding_bytes) = (source.reader.size(), source.padding_bytes);
    let written = temp_output.finish(record_digests)?;
    let report = RecompressReport {
        records: written.records(),
        input_bytes,
        output_bytes: written.size_bytes(),
        padding_bytes,
    };
    Ok((written, report))
}
