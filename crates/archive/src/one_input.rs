//! Reads one input without an archive: its digest, then the parts made from its records. For
//! engines that keep the rows of many inputs themselves.
//!
//! Invariants:
//! - parts come in file order, and are what a load of the same input would keep;
//! - all bytes belong to the content that was digested. An input at an address is copied while it
//!   is digested and read from the copy. For a file, [`OneInput::is_unchanged`] says afterwards
//!   whether it was written to meanwhile;
//! - memory is bounded by the largest record.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use extract::{Capture, Documents, LinkScope};
use inputs::{Exchanges, RequestMethod};
use inputs::{FileVersion, InputReader, Sources};
use warc::{Defect, Entry, Input, ReadError, Reader, ReaderSettings, Span};

use crate::record_outcome::{RecordOutcome, damage_of};

/// An input whose content is digested.
pub struct OneInput {
    location: String,
    size: u64,
    digest: String,
    input: Arc<dyn Input>,
    /// The file and its version before it was digested, if it is a local file.
    file: Option<(Arc<File>, FileVersion)>,
}

/// The result of one part of an input. Records other than captures are only counted.
#[derive(Debug)]
pub enum Part {
    /// A capture.
    Capture(Box<Capture>),
    /// Bytes that are not a record, a record that should be a capture but is invalid, or a record
    /// that is damaged.
    Quarantined(Span, Defect),
}

impl OneInput {
    /// Opens and digests the input at a location: the text of a path
    /// ([`path_text`](crate::path_text)) or an address. An input at an address is copied into the
    /// folder `copies`, as an unnamed file.
    ///
    /// # Errors
    /// The error of the file system or the source.
    pub fn open(location: &str, sources: &Sources, copies: &Path) -> io::Result<OneInput> {
        if inputs::is_address(location) {
            return OneInput::copied(location, sources, copies);
        }
        let file = Arc::new(inputs::open_file(&inputs::path_of(location))?);
        let version = FileVersion::of(&file)?;
        let content = inputs::digest(InputReader::of(file.clone()), &[], |_| {})?;
        Ok(OneInput {
            location: location.to_owned(),
            size: content.size,
            digest: content.digest,
            input: file.clone(),
            file: Some((file, version)),
        })
    }

    fn copied(address: &str, sources: &Sources, copies: &Path) -> io::Result<OneInput> {
        let input = sources.open(address)?;
        let mut copy = tempfile::tempfile_in(copies)?;
        let mut written = Ok(());
        let content = inputs::digest(InputReader::of(input), &[], |piece| {
            if written.is_ok() {
                written = copy.write_all(piece);
            }
        })?;
        written.map_err(|error| {
            let folder = copies.display();
            io::Error::new(error.kind(), format!("copy it into {folder}: {error}"))
        })?;
        Ok(OneInput {
            location: address.to_owned(),
            size: content.size,
            digest: content.digest,
            input: Arc::new(copy),
            file: None,
        })
    }

    /// Returns the size of the input in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns `sha256:<hex>` of the input.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Returns the input for reading.
    pub fn input(&self) -> Arc<dyn Input> {
        self.input.clone()
    }

    /// Returns whether the bytes are still those that were digested, as far as the file system can
    /// tell.
    pub fn is_unchanged(&self) -> bool {
        let is_same = |(file, digested): &(Arc<File>, FileVersion)| {
            FileVersion::of(file).is_ok_and(|now| now == *digested)
        };
        self.file.as_ref().is_none_or(is_same)
    }

    /// Reads the input from the start. A cut end counts as damage, because further data is not
    /// expected.
    ///
    /// # Errors
    /// [`ReadError`] if its size cannot be read.
    pub fn parts(&self, links: LinkScope) -> Result<Parts, ReadError> {
        let input = Box::new(self.input.clone());
        Ok(Parts {
            reader: Reader::from_input(input, &self.location, ReaderSettings::default())?,
            exchanges: Exchanges::default(),
            settings: extract::Settings {
                links,
                text: true,
                documents: Documents::NONE,
            },
            counts: Counts::default(),
            damage: Vec::new(),
        })
    }
}

/// Counts of an input so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of records.
    pub records: u64,
    /// Number of captures among them.
    pub captures: u64,
    /// Number of parts that are damaged or could not be used.
    pub quarantined: u64,
}

/// The parts of an input, one after another.
pub struct Parts {
    reader: Reader,
    exchanges: Exchanges,
    settings: extract::Settings,
    counts: Counts,
    /// Damage of the record before, which is returned next.
    damage: Vec<(Span, Defect)>,
}

impl Parts {
    /// Returns the next part; `None` at the end.
    ///
    /// # Errors
    /// [`ReadError`]: the bytes cannot be read. Damaged bytes are quarantined instead.
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator would continue after an error"
    )]
    pub fn next(&mut self) -> Result<Option<Part>, ReadError> {
        if let Some((span, defect)) = self.damage.pop() {
            self.counts.quarantined += 1;
            return Ok(Some(Part::Quarantined(span, defect)));
        }
        while let Some((entry, request)) = self.next_entry()? {
            let part = match entry {
                Entry::Record(record) => {
                    self.counts.records += 1;
                    let span = record.span;
                    let outcome = RecordOutcome::extract(&record, request.method, &self.settings);
                    let mut damage = damage_of(&record);
                    self.reader.recycle(record);
                    let part = match outcome {
                        RecordOutcome::Counted | RecordOutcome::Attachment(_) => {
                            damage.pop().map(|defect| Part::Quarantined(span, defect))
                        }
                        RecordOutcome::Capture(capture) => Some(Part::Capture(capture)),
                        RecordOutcome::Quarantined(defect) => {
                            damage.clear();
                            Some(Part::Quarantined(span, defect))
                        }
                    };
                    self.damage = damage.into_iter().map(|defect| (span, defect)).collect();
                    part
                }
                Entry::Quarantined(span, defect) => Some(Part::Quarantined(span, defect)),
                _ => None,
            };
            match &part {
                Some(Part::Capture(_)) => self.counts.captures += 1,
                Some(Part::Quarantined(..)) => self.counts.quarantined += 1,
                None => continue,
            }
            return Ok(part);
        }
        Ok(None)
    }

    /// Returns the next entry, with its request.
    fn next_entry(&mut self) -> Result<Option<(Entry, RequestMethod)>, ReadError> {
        loop {
            if let Some(entry) = self.exchanges.pop() {
                return Ok(Some(entry));
            }
            match self.reader.next_entry()? {
                Some(entry) => self.exchanges.push(entry),
                None => return Ok(self.exchanges.pop_at_end()),
            }
        }
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns the reason for which a load would fail the input, if any. Call this at the end.
    pub fn failure(&self) -> Option<&'static str> {
        (self.counts.records == 0).then_some(NO_RECORD)
    }
}

/// Reason of an input without records.
pub(crate) const NO_RECORD: &str = "no WARC or ARC record in it";
