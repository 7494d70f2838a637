//! Reading a record where an answer says that it is: in a file, or at an address by ranges.
//!
//! A record is read piece by piece, never whole, and reading ends when it is no longer wanted ([`Interrupt`]): to find
//! where a record ends, or to reach one inside a member, any number of bytes may have to be decoded first.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use warc::{Input, OpenRecord, RawRecord, ReadError};

use crate::inputs::Sources;
use crate::question::RecordBody;

/// Ends reading that is no longer wanted, from any thread: within 256 KiB of input.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    asked: Arc<AtomicBool>,
    until: Option<Instant>,
}

impl Interrupt {
    /// One that nobody has asked for yet.
    pub fn new() -> Interrupt {
        Interrupt::default()
    }

    /// One that comes by itself after `time`.
    pub fn after(time: Duration) -> Interrupt {
        Interrupt {
            until: Instant::now().checked_add(time),
            ..Interrupt::default()
        }
    }

    /// Ends the reading.
    pub fn ask(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }

    /// Whether the reading is to end.
    pub fn is_over(&self) -> bool {
        self.asked.load(Ordering::Relaxed) || self.until.is_some_and(|until| Instant::now() >= until)
    }
}

/// An input that gives an error once its interrupt has come.
struct Interruptible {
    input: Arc<dyn Input>,
    interrupt: Interrupt,
}

impl Input for Interruptible {
    fn size(&self) -> io::Result<u64> {
        self.input.size()
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        match self.interrupt.is_over() {
            true => Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "reading took too long, or nobody waits for it",
            )),
            false => self.input.read_at(into, offset),
        }
    }
}

/// Opens a record that [`crate::question::Question::Record`] found.
///
/// # Errors
/// [`ReadError`]; `NoRecord` where the input has changed, an I/O error of kind `TimedOut` after the interrupt.
pub fn open_record(
    sources: &Sources,
    record: &RecordBody,
    interrupt: &Interrupt,
) -> Result<OpenRecord, ReadError> {
    let input = input_of(sources, record, interrupt)?;
    let capture = &record.capture;
    OpenRecord::open(input, &record.location, capture.offset, capture.length)
}

/// The stored bytes of such a record, as a file that holds it alone.
///
/// # Errors
/// As [`open_record`].
pub fn raw_record(
    sources: &Sources,
    record: &RecordBody,
    interrupt: &Interrupt,
) -> Result<RawRecord, ReadError> {
    let input = input_of(sources, record, interrupt)?;
    warc::raw_from(input, &record.location, record.capture.offset)
}

fn input_of(
    sources: &Sources,
    record: &RecordBody,
    interrupt: &Interrupt,
) -> Result<Arc<dyn Input>, ReadError> {
    let input = sources.open(&record.location).map_err(|source| ReadError::Io {
        path: record.location.clone(),
        offset: record.capture.offset,
        source,
    })?;
    Ok(Arc::new(Interruptible {
        input,
        interrupt: interrupt.clone(),
    }))
}
