//! Copies records of requests and metadata that belong to the captures copied
//! (`WARC-Concurrent-To`, `WARC-Refers-To`).
//!
//! No index has their positions, so the files of the captures are read again, in order. Writers put
//! such records next to their captures, some before and some after; an export has them after all
//! captures.
//!
//! Invariants:
//! - a record is copied only if it has the URL of a copied capture, so that nothing hidden or taken
//!   down is copied;
//! - memory is bounded by [`WINDOW`] records that wait for their capture, by eight bytes for each
//!   id of a capture in the current file, and by the rows of [`SortedRows`].

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Write};

use inputs::Sources;
use warc::{Entry, Kind, Reader, ReaderSettings, Record};

use super::sorted_rows::{Rows, SortedRows};
use crate::results::{CopyError, ExportError, copy_raw};

/// Limit of records between a record and a later capture to which it belongs.
const WINDOW: usize = 64;

/// Captures that were copied.
#[derive(Default)]
pub(super) struct CopiedCaptures {
    /// Their inputs.
    locations: Vec<String>,
    numbers: HashMap<String, u32>,
    places: SortedRows,
    /// Requests already copied with their captures, by input and offset.
    requests: HashSet<(String, u64)>,
}

/// The result of copying related records.
#[derive(Debug, Default)]
pub(super) struct RelatedReport {
    pub(super) records: u64,
    /// Inputs that could not be read, and why.
    pub(super) problems: Vec<String>,
}

impl CopiedCaptures {
    /// Adds the position of a capture.
    pub(super) fn push(&mut self, location: &str, offset: u64) -> io::Result<()> {
        let number = match self.numbers.get(location) {
            Some(number) => *number,
            None => {
                let number = u32::try_from(self.locations.len()).map_err(io::Error::other)?;
                self.locations.push(location.to_owned());
                self.numbers.insert(location.to_owned(), number);
                number
            }
        };
        self.places.push(row(number, offset))
    }

    /// Notes that a request is already copied.
    pub(super) fn has(&mut self, location: &str, offset: u64) {
        self.requests.insert((location.to_owned(), offset));
    }

    /// Copies the records that belong to the captures. Calls `should_continue` between records, and stops
    /// if it returns `false`.
    pub(super) fn write(
        self,
        sources: &Sources,
        out: &mut dyn Write,
        should_continue: &mut dyn FnMut() -> bool,
    ) -> Result<RelatedReport, ExportError> {
        let mut related = RelatedReport::default();
        let mut places = self.places.finish().map_err(ExportError::Output)?;
        for (number, location) in (0..).zip(&self.locations) {
            let mut reader_of_input = RelatedReader {
                sources,
                location,
                number,
                places: &mut places,
                requests: &self.requests,
                window: Window::default(),
                related: &mut related,
            };
            let read = reader_of_input.copy(out, should_continue)?;
            // Skip the captures after the position where reading ended.
            while reader_of_input.next_offset().is_some() {
                reader_of_input.places.pop().map_err(ExportError::Output)?;
            }
            if let Err(why) = read {
                let what = "cannot find the requests and metadata in it";
                related.problems.push(format!("{location}: {what}: {why}"));
            }
        }
        Ok(related)
    }
}

/// Encodes a row that sorts by input, then offset.
fn row(number: u32, offset: u64) -> Vec<u8> {
    [&number.to_be_bytes()[..], &offset.to_be_bytes()[..]].concat()
}

/// Reads one input.
struct RelatedReader<'a> {
    sources: &'a Sources,
    location: &'a str,
    number: u32,
    places: &'a mut Rows,
    requests: &'a HashSet<(String, u64)>,
    window: Window,
    related: &'a mut RelatedReport,
}

impl RelatedReader<'_> {
    /// Copies records. The inner error says why the input cannot be read.
    fn copy(
        &mut self,
        out: &mut dyn Write,
        should_continue: &mut dyn FnMut() -> bool,
    ) -> Result<Result<(), CopyError>, ExportError> {
        let opened = self.sources.open(self.location);
        let input = match opened {
            Ok(input) => input,
            Err(error) => return Ok(Err(error.into())),
        };
        let mut settings = ReaderSettings::default();
        settings.body_bytes_max = 0;
        let mut reader = match Reader::from_input(Box::new(input.clone()), self.location, settings) {
            Ok(reader) => reader,
            Err(error) => return Ok(Err(error.into())),
        };
        loop {
            if !should_continue() {
                return Err(ExportError::Stopped(self.related.records));
            }
            let record = match reader.next_entry() {
                Ok(Some(Entry::Record(record))) => record,
                Ok(Some(_)) => continue,
                Ok(None) => break,
                Err(error) => return Ok(Err(error.into())),
            };
            let is_capture = self.take_place(record.span.offset)?;
            for offset in self.window.take(&record, is_capture) {
                if self.requests.contains(&(self.location.to_owned(), offset)) {
                    continue;
                }
                let copied = match warc::raw_from(input.clone(), self.location, offset) {
                    Ok(raw) => copy_raw(raw, out)?,
                    Err(error) => Err(error.into()),
                };
                match copied {
                    Ok(()) => self.related.records += 1,
                    Err(why) => {
                        let what = format!("{}: the record at offset {offset}: {why}", self.location);
                        self.related.problems.push(what);
                    }
                }
            }
        }
        Ok(Ok(()))
    }

    /// Returns the offset of the next capture of this input.
    fn next_offset(&self) -> Option<u64> {
        let (number, offset) = self.places.peek()?.split_first_chunk::<4>()?;
        let offset = offset.try_into().map_or(0, u64::from_be_bytes);
        (u32::from_be_bytes(*number) == self.number).then_some(offset)
    }

    /// Returns whether a copied capture begins here. Skips those before it.
    fn take_place(&mut self, offset: u64) -> Result<bool, ExportError> {
        let mut is_capture = false;
        while self.next_offset().is_some_and(|next| next <= offset) {
            is_capture |= self.next_offset() == Some(offset);
            self.places.pop().map_err(ExportError::Output)?;
        }
        Ok(is_capture)
    }
}

/// The records read most recently.
#[derive(Default)]
struct Window {
    /// Hashes of the ids of copied captures and their related records, each with its URL.
    known: HashSet<u64>,
    /// Records of requests and metadata that do not yet belong to a capture.
    waiting: VecDeque<Waiting>,
}

struct Waiting {
    offset: u64,
    url: String,
    /// Its own id, and those to which it refers.
    ids: Vec<String>,
}

impl Window {
    /// Adds the next record. Returns the offsets of the records now known to belong to captures.
    fn take(&mut self, record: &Record, is_capture: bool) -> Vec<u64> {
        let Some(url) = record.target() else {
            return Vec::new();
        };
        if is_capture {
            for id in ids(record) {
                self.known.insert(hash(&id, url));
            }
        } else if matches!(record.kind, Kind::Request | Kind::Metadata) {
            self.waiting.push_back(Waiting {
                offset: record.span.offset,
                url: url.to_owned(),
                ids: ids(record),
            });
        } else {
            return Vec::new();
        }
        let offsets = self.take_known();
        if self.waiting.len() > WINDOW {
            self.waiting.pop_front();
        }
        offsets
    }

    /// Removes the records that belong to captures, directly or through another record.
    fn take_known(&mut self) -> Vec<u64> {
        let mut offsets = Vec::new();
        loop {
            let is_known = |waiting: &Waiting| {
                let mut ids = waiting.ids.iter();
                ids.any(|id| self.known.contains(&hash(id, &waiting.url)))
            };
            let Some(at) = self.waiting.iter().position(is_known) else {
                offsets.sort_unstable();
                return offsets;
            };
            let Some(Waiting { offset, url, ids }) = self.waiting.remove(at) else {
                return offsets;
            };
            offsets.push(offset);
            for id in ids {
                self.known.insert(hash(&id, &url));
            }
        }
    }
}

/// Hashes an id and a URL to eight bytes. Among a million ids, the chance of a collision is one in
/// forty million.
fn hash(id: &str, url: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (id, url).hash(&mut hasher);
    hasher.finish()
}

/// Returns the id of a record, and those that it names as concurrent or refers to.
fn ids(record: &Record) -> Vec<String> {
    let fields = ["WARC-Record-ID", "WARC-Concurrent-To", "WARC-Refers-To"];
    // A revisit refers to the record that it repeats, which belongs to another capture.
    let fields = &fields[..if record.kind == Kind::Metadata { 3 } else { 2 }];
    let named = |name: &str| fields.iter().any(|field| field.eq_ignore_ascii_case(name));
    let values = record.headers.iter().filter(|(name, _)| named(name));
    values
        .take(16)
        .map(|(_, value)| value.trim().to_owned())
        .collect()
}
