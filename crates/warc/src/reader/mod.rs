//! Reads an input from front to back, entry by entry.
//!
//! Invariant: `mark` is the end of the last entry created. Every entry begins at `mark` and
//! advances it, so the lengths add up for any input.

pub(crate) mod between;
pub(crate) mod block;
pub(crate) mod body;
pub(crate) mod end_of_record;
pub(crate) mod header;
pub(crate) mod one_record;
pub(crate) mod open_record;
pub(crate) mod resume;
pub(crate) mod settings;
pub(crate) mod spare;
pub(crate) mod stored_record;

use std::collections::VecDeque;
use std::fs::File;
use std::path::Path;

use crate::container::codec::End;
use crate::container::{MAGIC_BYTES, unsupported_compression};
use crate::entry::Entry;
use crate::error::ReadError;
use crate::frames::source::{Input, Source};
use crate::frames::{Frames, Opened};
use crate::reader::settings::ReaderSettings;
use crate::reader::spare::Spare;
use crate::reader::stored_record::StoredRecord;
use crate::record::Record;
use crate::span::{Defect, Span};

/// Reads an input from front to back.
///
/// ```
/// # let file = warc::Writer::new(Vec::new(), warc::Compression::GZIP).unwrap().finish().unwrap();
/// let settings = warc::ReaderSettings::default();
/// let mut reader = warc::Reader::from_input(Box::new(file), "name", settings)?;
/// while let Some(entry) = reader.next_entry()? {
///     if let warc::Entry::Record(record) = entry {
///         println!("{} {:?}", record.span.offset, record.target());
///         reader.recycle(record);
///     }
/// }
/// # Ok::<(), warc::ReadError>(())
/// ```
pub struct Reader {
    frames: Frames,
    settings: ReaderSettings,
    mark: u64,
    ready: VecDeque<Entry>,
    /// Whether reading has ended: at the end, or at the incomplete tail of a growing file.
    done: bool,
    spare: Spare,
    /// Additional parts of the last record, if wanted.
    stored_record: Option<Box<StoredRecord>>,
}

impl Reader {
    /// Opens a file. Its content, not its name, determines the container.
    pub fn open(path: &Path, settings: ReaderSettings) -> Result<Reader, ReadError> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|source| ReadError::io(&name, 0, source))?;
        Reader::from_input(Box::new(file), &name, settings)
    }

    /// Reads from any input; `name` is used in error messages.
    ///
    /// If `start_offset` is inside a compressed member (as for records that share one), the member
    /// is decoded from its start.
    pub fn from_input(
        input: Box<dyn Input>,
        name: &str,
        settings: ReaderSettings,
    ) -> Result<Reader, ReadError> {
        Reader::with_read_ahead(input, name, settings, u64::MAX)
    }

    /// Like [`Reader::from_input`], but reads at most `read_ahead_bytes` at a time.
    pub(crate) fn with_read_ahead(
        input: Box<dyn Input>,
        name: &str,
        settings: ReaderSettings,
        read_ahead_bytes: u64,
    ) -> Result<Reader, ReadError> {
        let mut frames = Frames::new(Source::new(input, name.to_owned(), read_ahead_bytes)?);
        if settings.start_offset == 0
            && let Some((compression, program)) = unsupported_compression(frames.stored_ahead(MAGIC_BYTES)?)
        {
            return Err(ReadError::Compression {
                path: name.to_owned(),
                compression,
                program,
            });
        }
        // A reader that starts in the middle also needs the dictionary at the start of the file.
        frames.load_dictionary()?;
        let start = settings.start_offset.min(frames.size());
        let mut reader = Reader {
            frames,
            settings,
            mark: 0,
            ready: VecDeque::new(),
            done: false,
            spare: Spare::default(),
            stored_record: None,
        };
        reader.seek_to_entry(start)?;
        Ok(reader)
    }

    /// Returns the next entry, or `None` at the end of the file. Only I/O failures are errors.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, ReadError> {
        loop {
            if let Some(entry) = self.ready.pop_front() {
                return Ok(Some(entry));
            }
            if self.done {
                return Ok(None);
            }
            self.advance()?;
            self.check_kept()?;
        }
    }

    /// Returns the end of the last entry returned. With `growing`, after the last entry, this is
    /// the offset up to which the file is complete.
    pub fn position(&self) -> u64 {
        self.ready.front().map_or(self.mark, |entry| entry.span().offset)
    }

    /// Returns the size in bytes that the input had when it was opened.
    pub fn size(&self) -> u64 {
        self.frames.size()
    }

    /// Takes back the memory of a record for reuse. This is the fastest way to read many records.
    /// The record may come from a different reader.
    pub fn recycle(&mut self, record: Record) {
        self.spare.put(record);
    }

    /// Creates at least one entry, moves to where one can be created, or finds the end.
    pub(crate) fn advance(&mut self) -> Result<(), ReadError> {
        if self.frames.is_open() {
            return self.read_item();
        }
        let opened = self.frames.open()?;
        self.account(opened);
        Ok(())
    }

    /// Creates the entries for `opened`, which follows the end of the previous frame.
    pub(crate) fn account(&mut self, opened: Opened) {
        match opened {
            Opened::Frame => {
                let start = self.frames.frame_start();
                self.pad(start);
            }
            next if self.may_grow(&next) => self.done = true,
            Opened::Padding(end) => self.pad(end),
            Opened::Nothing => {
                let end = self.frames.stored();
                self.pad(end);
                self.done = true;
            }
            Opened::Junk(end, defect) => self.quarantine(end, defect),
        }
    }

    /// Reports whether `opened` may change when a growing file grows.
    pub(crate) fn may_grow(&self, opened: &Opened) -> bool {
        self.settings.growing
            && match opened {
                Opened::Nothing => true,
                // Zero bytes at the end may be space allocated for future data.
                Opened::Junk(end, _) | Opened::Padding(end) => *end == self.frames.size(),
                Opened::Frame => false,
            }
    }

    /// Returns the span of the next entry, up to `end`, and moves `mark` there.
    pub(crate) fn span_to(&mut self, end: u64) -> Span {
        debug_assert!(
            self.mark <= end,
            "an entry up to {end} after one up to {}",
            self.mark
        );
        let span = Span::between(self.mark, end);
        self.mark = span.end();
        span
    }

    pub(crate) fn pad(&mut self, end: u64) {
        if end > self.mark {
            let span = self.span_to(end);
            self.ready.push_back(Entry::Padding(span));
        }
    }

    pub(crate) fn quarantine(&mut self, end: u64, defect: Defect) {
        if end > self.mark {
            let span = self.span_to(end);
            self.ready.push_back(Entry::Quarantined(span, defect));
        }
    }

    /// Returns whether the open frame is cut by the end of a file that may still be growing. If so,
    /// reading has ended.
    pub(crate) fn is_unfinished(&mut self) -> bool {
        if self.settings.growing && matches!(self.frames.end(), Some(End::Cut(_))) {
            self.done = true;
        }
        self.done
    }
}

#[cfg(test)]
mod tests;
