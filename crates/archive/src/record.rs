//! Reading a record where an answer says that it is: in a file, or at an address by ranges.

use warc::{RawRecord, ReadError, ReaderSettings, Record};

use crate::inputs::Sources;
use crate::question::RecordBody;

/// Reads a record that [`crate::question::Question::Record`] found, at most `body_bytes_max` of its block.
///
/// # Errors
/// [`ReadError`]; `NoRecord` where the input has changed.
pub fn read_record(sources: &Sources, record: &RecordBody, body_bytes_max: u64) -> Result<Record, ReadError> {
    let (location, offset) = (&record.location, record.capture.offset);
    let input = sources
        .open(location)
        .map_err(|source| no_input(record, source))?;
    let mut settings = ReaderSettings::default();
    settings.body_bytes_max = body_bytes_max;
    warc::read_from(input, location, offset, record.capture.length, settings)
}

/// The stored bytes of such a record, as a file that holds it alone.
///
/// # Errors
/// As [`read_record`].
pub fn raw_record(sources: &Sources, record: &RecordBody) -> Result<RawRecord, ReadError> {
    let input = sources
        .open(&record.location)
        .map_err(|source| no_input(record, source))?;
    warc::raw_from(input, &record.location, record.capture.offset)
}

fn no_input(record: &RecordBody, source: std::io::Error) -> ReadError {
    ReadError::Io {
        path: record.location.clone(),
        offset: record.capture.offset,
        source,
    }
}
