//! Reads a record from the location in an answer: in a file, or at an address by ranges.
//!
//! A record is read piece by piece, never whole, and reading ends when an [`Interrupt`] requests
//! it. This is needed because any number of bytes may have to be decoded to find the end of a
//! record, or to reach one inside a compressed member.
//!
//! Invariant: the record returned is the one from which the capture was made, as far as its header
//! shows (kind, URL, date and declared digest). If a file was replaced, another record may begin at
//! the same offset. The block itself is not compared.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use extract::HeaderFacts;
use inputs::Sources;
use warc::{Format, Headers, Input, Kind, OpenRecord, RawRecord, ReadError};

use crate::question::{CdxRow, RecordBody};

/// Why a record cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The input cannot be read. [`ReadError::NoRecord`] means that the input has changed.
    #[error(transparent)]
    Read(ReadError),
    /// There is nothing at the place of the input.
    #[error(
        "read {path}: {source}; if the file has moved, run weft load on it at its new place, and its records \
         are read from there"
    )]
    Gone {
        /// Path or address of the input.
        path: String,
        /// The I/O error.
        source: io::Error,
    },
    /// Another record is at this offset now.
    #[error(
        "read {path} at offset {offset}: found {found}, expected {expected}; the file was changed since it was loaded; \
         load it again"
    )]
    Changed {
        /// Path or address of the input.
        path: String,
        /// Offset of the record in bytes.
        offset: u64,
        /// The record found there.
        found: String,
        /// The record that was loaded from there.
        expected: String,
    },
    /// The input has fewer bytes than were loaded from it.
    #[error(
        "read {path}: found {bytes} bytes, expected at least {wanted}; the file was changed since it was loaded; load it again"
    )]
    Shorter {
        /// Path or address of the input.
        path: String,
        /// Size of the input in bytes.
        bytes: u64,
        /// The end of the requested range in bytes.
        wanted: u64,
    },
}

impl From<ReadError> for RecordError {
    fn from(error: ReadError) -> RecordError {
        match error {
            ReadError::Io { path, source, .. } if source.kind() == io::ErrorKind::NotFound => {
                RecordError::Gone { path, source }
            }
            error => RecordError::Read(error),
        }
    }
}

/// Ends reading from any thread. Reading ends within 256 KiB of input.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    asked: Arc<AtomicBool>,
    until: Option<Instant>,
}

impl Interrupt {
    /// Makes an interrupt that is not triggered yet.
    pub fn new() -> Interrupt {
        Interrupt::default()
    }

    /// Makes an interrupt that triggers itself after `time`.
    pub fn after(time: Duration) -> Interrupt {
        Interrupt {
            until: system::now().checked_add(time),
            ..Interrupt::default()
        }
    }

    /// Triggers the interrupt.
    pub fn ask(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }

    /// Returns whether the interrupt is triggered.
    pub fn is_over(&self) -> bool {
        self.asked.load(Ordering::Relaxed) || self.until.is_some_and(|until| system::now() >= until)
    }
}

/// An input whose reads fail after its interrupt.
struct Interruptible {
    input: Arc<dyn Input>,
    interrupt: Interrupt,
}

impl Input for Interruptible {
    fn size(&self) -> io::Result<u64> {
        self.input.size()
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        if self.interrupt.is_over() {
            Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "reading took too long or was cancelled",
            ))
        } else {
            self.input.read_at(into, offset)
        }
    }
}

/// Opens a record that [`crate::question::Question::Record`] found.
///
/// # Errors
/// [`RecordError`]. After an interrupt it is an I/O error of kind `TimedOut`.
pub fn open_record(
    sources: &Sources,
    record: &RecordBody,
    interrupt: &Interrupt,
) -> Result<OpenRecord, RecordError> {
    let input = input_of(sources, record, interrupt)?;
    let capture = &record.capture;
    let opened = OpenRecord::open(input, &record.location, capture.offset, capture.length)?;
    compare(record, opened.format(), opened.kind(), opened.headers())?;
    Ok(opened)
}

/// Opens the stored bytes of such a record, as a file that contains only this record.
///
/// # Errors
/// The errors of [`open_record`].
pub fn raw_record(
    sources: &Sources,
    record: &RecordBody,
    interrupt: &Interrupt,
) -> Result<RawRecord, RecordError> {
    let input = input_of(sources, record, interrupt)?;
    let raw = warc::raw_from(input, &record.location, record.capture.offset)?;
    let found = raw.record();
    compare(record, found.format, found.kind, &found.headers)?;
    Ok(raw)
}

/// Fails unless the record with this header is the one from which the capture was made.
fn compare(record: &RecordBody, format: Format, kind: Kind, headers: &Headers) -> Result<(), RecordError> {
    let capture = &record.capture;
    let found = extract::header_facts(format, kind, headers);
    if found.as_ref().is_some_and(|found| is_of(capture, found)) {
        return Ok(());
    }
    let declared = found.and_then(|found| found.digest).unwrap_or_default();
    let field = |name| headers.get(name).unwrap_or("nothing");
    Err(RecordError::Changed {
        path: record.location.clone(),
        offset: capture.offset,
        found: format!(
            "a {} record of {} at {} {declared}",
            kind.as_str(),
            field("WARC-Target-URI"),
            field("WARC-Date"),
        ),
        expected: format!(
            "a {} record of {} at {} {}",
            capture.kind, capture.url, capture.fetch_time, capture.digest
        ),
    })
}

fn is_of(capture: &CdxRow, found: &HeaderFacts) -> bool {
    let is_place_and_time = |(url_key, ms): &(String, i64)| {
        *url_key == capture.url_key && format::date::iso(*ms) == capture.fetch_time
    };
    found.kind == capture.kind
        && found.key_and_time.as_ref().is_none_or(is_place_and_time)
        && found
            .digest
            .as_ref()
            .is_none_or(|digest| *digest == capture.digest)
}

fn input_of(
    sources: &Sources,
    record: &RecordBody,
    interrupt: &Interrupt,
) -> Result<Arc<dyn Input>, ReadError> {
    input_at(sources, &record.location, record.capture.offset, interrupt)
}

/// Opens the input at a location. Its reads fail after an interrupt; `offset` is used in error
/// messages.
pub fn input_at(
    sources: &Sources,
    location: &str,
    offset: u64,
    interrupt: &Interrupt,
) -> Result<Arc<dyn Input>, ReadError> {
    let input = sources.open(location).map_err(|source| ReadError::Io {
        path: location.to_owned(),
        offset,
        source,
    })?;
    Ok(Arc::new(Interruptible {
        input,
        interrupt: interrupt.clone(),
    }))
}
