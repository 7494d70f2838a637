//! The bytes of an input as they are stored, and the span of the record that begins at an offset.
//!
//! Programs of the field read records from a file by offset and length. Who may see a record is decided by its URL and its
//! capture, and a file's bytes name neither, so the header at the offset is read first.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use warc::{Input, OpenRecord, ReadError};

use crate::{LeaveOut, Redaction};
use archive::question::RecordBody;
use archive::{Interrupt, RecordError, TakedownRules, input_at, raw_record};
use inputs::Sources;

/// The URL key that the header of the record at `offset` names; `None` if no capture is made of such a record.
///
/// Nothing of this says that somebody may see the record, nor that it was loaded: whoever asks for the key asks the archive next.
///
/// # Errors
/// [`RecordError::Read`] if the input cannot be read or no record begins there. After an interrupt it is an I/O error of kind
/// `TimedOut`.
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
    // WAT and WET have the URL of the page that they are about.
    let target = || headers.get("WARC-Target-URI").and_then(extract::named_url_key);
    Ok(facts.key_and_time.map(|(url_key, _)| url_key).or_else(target))
}

/// Whether an input holds a record that takedowns keep out, or that belongs to one: what crawlers derive from pages may lie in a file of its
/// own, of which no capture was taken down. All of it is read.
///
/// # Errors
/// [`RecordError::Read`] if the input cannot be read.
pub fn holds_taken_down(
    sources: &Sources,
    location: &str,
    (rules, collection): (&TakedownRules, &str),
    interrupt: &Interrupt,
) -> Result<bool, RecordError> {
    if rules.is_empty() {
        return Ok(false);
    }
    let leave_out = LeaveOut {
        rules,
        collection,
        whole: false,
    };
    let input = input_at(sources, location, 0, interrupt)?;
    let counts = Redaction::of(input, location, leave_out, |_| {})?.counts();
    Ok(counts.records_selected + counts.records_concerned > 0)
}

/// Start and end in bytes of a record that [`archive::question::Question::Record`] found, as its input stores it; `None` if it
/// shares a compressed member with others, so that no bytes of the input are this record alone.
///
/// # Errors
/// As [`archive::open_record`].
pub fn stored_range(
    sources: &Sources,
    record: &RecordBody,
    interrupt: &Interrupt,
) -> Result<Option<Range<u64>>, RecordError> {
    let raw = raw_record(sources, record, interrupt)?;
    let span = raw.record().span;
    // Without a length the record is compressed anew while it is read.
    Ok(raw.length().map(|_| span.offset..span.end()))
}

/// Bytes of an input as they are stored. They are read piece by piece.
pub struct StoredBytes {
    input: Arc<dyn Input>,
    left: Range<u64>,
}

impl StoredBytes {
    /// The bytes from `range.start` to before `range.end`.
    ///
    /// # Errors
    /// [`RecordError::Read`] if the input cannot be opened, and [`RecordError::Shorter`] if it ends before `range.end`.
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
                "the input became shorter",
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
