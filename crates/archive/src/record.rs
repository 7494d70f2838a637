//! Reading a record where an answer says that it is.

use std::path::Path;

use warc::{ReadError, Record};

use crate::AskError;
use crate::question::RecordBody;

/// Reads a record that [`crate::question::Question::Record`] found, at most 16 MiB of its block.
///
/// # Errors
/// `not_found` where the input is gone or has changed, `internal` where it cannot be read.
pub fn read_record(record: &RecordBody) -> Result<Record, AskError> {
    let (offset, length) = (record.capture.offset, record.capture.length);
    warc::read_at(Path::new(&record.location), offset, length).map_err(|error| match &error {
        ReadError::Io { source, .. } if source.kind() != std::io::ErrorKind::NotFound => {
            AskError::internal(error)
        }
        _ => AskError::not_found(error),
    })
}
