//! Reads stored bytes of an input, and finds the range of the record at an offset.
//!
//! Other programs read records from a file by offset and length. Access to a record depends on its
//! URL and its capture, which a range of bytes does not name, so the header at the offset is read
//! first.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use archive::question::RecordBody;
use archive::{Interrupt, RecordError, TakedownRules, input_at, raw_record};
use inputs::Sources;
use warc::{Input, OpenRecord, ReadError};

use crate::{Redaction, RedactionRules};

/// Returns the URL key in the header of the record at `offset`; `None` if such a record makes no
/// capture.
///
/// The result does not mean that the client may see the record, nor that it was loaded. The caller
/// must ask the archive next.
///
/// # Errors
/// [`RecordError::Read`] if the input cannot be read or no record begins there. After an interrupt
/// it is an I/O error of kind `TimedOut`.
pub fn url_key_at(
    sources: &Sources,
    location: &str,
    offset: u64,
    interrupt: &Interrupt,
) -> Result<Option<String>, RecordError> {
    let input = input_at(sources, location, offset, interrupt)?;
    let opened = OpenRecord::open(input, location, offset, 0)?;
    let headers = opened.headers();
    let Some(facts) = extract::header_facts(opened.format(), opened.kind(), headers) else {
        return Ok(None);
    };
    // WAT and WET records have the URL of the page that they describe.
    let target = || headers.get("WARC-Target-URI").and_then(extract::named_url_key);
    Ok(facts.key_and_time.map(|(url_key, _)| url_key).or_else(target))
}

/// Returns whether an input contains a record that takedowns keep out, or one that belongs to such
/// a record. Data that crawlers derive from pages may be in a separate file, in which no capture
/// was taken down. Reads the whole input.
///
/// # Errors
/// [`RecordError::Read`] if the input cannot be read.
pub fn has_taken_down_capture(
    sources: &Sources,
    location: &str,
    (rules, collection): (&TakedownRules, &str),
    interrupt: &Interrupt,
) -> Result<bool, RecordError> {
    if rules.is_empty() {
        return Ok(false);
    }
    let leave_out = RedactionRules {
        rules,
        collection,
        whole: false,
    };
    let input = input_at(sources, location, 0, interrupt)?;
    let counts = Redaction::plan(input, location, leave_out, |_| {})?.counts();
    Ok(counts.records_selected + counts.records_concerned > 0)
}

/// Returns start and end in bytes of a record found by [`crate::question::Question::Record`], as
/// its input stores it; `None` if it shares a compressed member with others, so that no range of
/// the input is this record alone.
///
/// # Errors
/// The errors of [`crate::open_record`].
pub fn stored_range(
    sources: &Sources,
    record: &RecordBody,
    interrupt: &Interrupt,
) -> Result<Option<Range<u64>>, RecordError> {
    let raw = raw_record(sources, record, interrupt)?;
    let span = raw.record().span;
    // A record without a length is compressed again while it is read.
    Ok(raw.length().map(|_| span.offset..span.end()))
}

/// Stored bytes of an input, read piece by piece.
pub struct StoredBytes {
    input: Arc<dyn Input>,
    left: Range<u64>,
}

impl StoredBytes {
    /// Opens the bytes from `range.start` (inclusive) to `range.end` (exclusive).
    ///
    /// # Errors
    /// [`RecordError::Read`] if the input cannot be opened, and [`RecordError::Shorter`] if it ends
    /// before `range.end`.
    pub fn open(
        sources: &Sources,
        location: &str,
        range: Range<u64>,
        interrupt: &Interrupt,
    ) -> Result<StoredBytes, RecordError> {
        let input = input_at(sources, location, range.start, interrupt)?;
        let bytes = input.size().map_err(|source| ReadError::Io {
            path: location.to_owned(),
            offset: range.start,
            source,
        })?;
        if bytes < range.end {
            return Err(RecordError::Shorter {
                path: location.to_owned(),
                bytes,
                wanted: range.end,
            });
        }
        Ok(StoredBytes { input, left: range })
    }
}

impl Read for StoredBytes {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.left.end - self.left.start).unwrap_or(usize::MAX);
        let most = left.min(into.len());
        if most == 0 {
            return Ok(0);
        }
        match self.input.read_at(&mut into[..most], self.left.start)? {
            0 => Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the input was truncated",
            )),
            read => {
                self.left.start += read as u64;
                Ok(read)
            }
        }
    }
}

impl std::fmt::Debug for StoredBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredBytes").field("left", &self.left).finish()
    }
}
