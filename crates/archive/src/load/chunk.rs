//! The items that pass through the load pipeline, and the memory each of them takes.

use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use extract::{Capture, IndexLine};
use index::{
    ChangedPage, DigestProgress, EpochReport, InputId, InputProgress, InputState, LedgerRow, QuarantineEntry,
    Snapshot,
};
use pipeline::Item;

use inputs::{ContentDigest, Digesting, DiscoveredInput, FileVersion, Spool};

/// Memory of a record or capture in addition to its strings, in bytes.
pub(super) const OVERHEAD_BYTES: u64 = 256;

/// An input as it was found, on its way into the pipeline.
pub(super) struct QueuedInput(pub(super) DiscoveredInput);

impl Item for QueuedInput {}

/// Why an input has no digest.
#[derive(Debug, thiserror::Error)]
pub(super) enum DigestError {
    /// It was found unusable.
    #[error("{0}")]
    Problem(String),
    /// Its content cannot be read.
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
}

/// An input whose content, or the beginning of it, has been digested.
pub(super) struct DigestedInput {
    pub(super) found: DiscoveredInput,
    pub(super) content: Result<ContentDigest, DigestError>,
    /// The copy made while digesting. If present, the input is read from it.
    pub(super) copy: Option<Arc<Spool>>,
    /// Version of the file just before it was digested; `None` if the input is not a file.
    pub(super) version: Option<FileVersion>,
    pub(super) growing: Growth,
    /// State of the digest if only the beginning is digested. The rest is digested while it is
    /// read.
    pub(super) rest: Option<Digesting>,
}

impl Item for DigestedInput {}

/// Whether an input may still be written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Growth {
    /// The input is finished, so an incomplete tail is a defect.
    No,
    /// The input was changed a moment ago. If its tail is incomplete, the load waits until it
    /// grows, or until it has not changed for some seconds.
    Recent {
        /// Time of the last change.
        modified: SystemTime,
    },
    /// The name ends in `.open`, so more data is expected later.
    Open,
}

/// An input with its ledger row. Reading begins at `entry.bytes_done`.
pub(super) struct RegisteredInput {
    pub(super) id: InputId,
    pub(super) found: DiscoveredInput,
    pub(super) entry: LedgerRow,
    /// The copy to read instead of the input, if there is one.
    pub(super) copy: Option<Arc<Spool>>,
    /// See [`DigestedInput::version`].
    pub(super) version: Option<FileVersion>,
    pub(super) growing: Growth,
    /// See [`DigestedInput::rest`].
    pub(super) rest: Option<Digesting>,
}

impl Item for RegisteredInput {}

/// How far an input has been read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Position {
    /// See [`LedgerRow::bytes_done`].
    pub(super) bytes_done: u64,
    /// See [`LedgerRow::exchange_from`].
    pub(super) exchange_from: u64,
}

impl Position {
    pub(super) fn of(entry: &LedgerRow) -> Position {
        Position {
            bytes_done: entry.bytes_done,
            exchange_from: entry.exchange_from,
        }
    }
}

/// Consecutive entries of one input.
pub(super) struct Chunk {
    pub(super) input: InputId,
    /// Each entry with the method of its request. The method is empty if it is unknown.
    pub(super) entries: Vec<(warc::Entry, String)>,
    /// Where the first entry begins.
    pub(super) begin: Position,
    /// The lines of an index. A chunk with lines has no entries.
    pub(super) lines: Vec<IndexLine>,
    /// Lines that cannot be used.
    pub(super) bad_lines: Vec<QuarantineEntry>,
    /// Number of lines read, usable or not.
    pub(super) lines_read: u64,
    /// Where the last entry ends.
    pub(super) bytes_done: u64,
    /// The [`LedgerRow::exchange_from`] with which to continue after this chunk.
    pub(super) exchange_from: u64,
    /// State of the input after this chunk.
    pub(super) state: InputState,
    /// How the end of the input is cut off, if it is. Set only in the last chunk of an input.
    pub(super) cut: Option<String>,
    /// The state of the input after everything indexed of it is taken back. Set only in the last
    /// chunk of an input whose content changed while it was read.
    pub(super) taken_back: Option<InputState>,
    /// How the input differs from the declarations of its package. Set only in the last chunk of an
    /// input.
    pub(super) undeclared: Vec<warc::Defect>,
    /// How far the input is digested, at least up to `bytes_done`, if it is digested while it is
    /// read.
    pub(super) digested: Option<DigestProgress>,
    pub(super) bytes: u64,
}

impl Chunk {
    pub(super) fn new(input: InputId, begin: Position) -> Chunk {
        Chunk {
            input,
            entries: Vec::new(),
            begin,
            lines: Vec::new(),
            bad_lines: Vec::new(),
            lines_read: 0,
            bytes_done: begin.bytes_done,
            exchange_from: begin.exchange_from,
            state: InputState::Loading,
            cut: None,
            taken_back: None,
            undeclared: Vec::new(),
            digested: None,
            bytes: 0,
        }
    }

    pub(super) fn position(&self) -> Position {
        Position {
            bytes_done: self.bytes_done,
            exchange_from: self.exchange_from,
        }
    }

    pub(super) fn push(&mut self, entry: warc::Entry, method: String) {
        let span = entry.span();
        debug_assert_eq!(
            span.offset, self.bytes_done,
            "entries of input {} must follow without gaps",
            self.input.0
        );
        self.bytes_done = span.offset + span.length;
        self.bytes += OVERHEAD_BYTES
            + if let warc::Entry::Record(record) = &entry {
                record.body.len() as u64
            } else {
                0
            };
        self.entries.push((entry, method));
    }
}

impl Item for Chunk {
    fn count(&self) -> u64 {
        self.entries.len() as u64 + self.lines_read
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// The captures of a chunk, and what the ledger records about it.
pub(crate) struct ExtractedChunk {
    pub(crate) progress: InputProgress,
    pub(crate) captures: Vec<Capture>,
    /// The lines of an index, or the attachments of pages.
    pub(crate) lines: Vec<IndexLine>,
    /// See [`Chunk::taken_back`].
    pub(crate) taken_back: Option<InputState>,
    pub(crate) bytes: u64,
}

impl Item for ExtractedChunk {
    fn count(&self) -> u64 {
        (self.captures.len() + self.lines.len()) as u64
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Memory of an attachment, in bytes.
pub(super) fn attachment_bytes(attachment: &IndexLine) -> u64 {
    let text = attachment.text.as_ref().map_or(0, String::len);
    OVERHEAD_BYTES + (2 * attachment.url.len() + text) as u64
}

/// Returns the memory that a capture takes, in bytes.
pub(crate) fn capture_bytes(capture: &Capture) -> u64 {
    let links = capture
        .page
        .iter()
        .flat_map(|page| &page.links)
        .chain(&capture.redirect);
    let links: usize = links
        .map(|link| link.url_key.len() + link.url.len() + link.anchor.len() + 80)
        .sum();
    let page = capture
        .content()
        .map_or(0, |page| page.title.len() + page.text.len());
    OVERHEAD_BYTES + (2 * capture.url.len() + page + links) as u64
}

/// An epoch that is not yet in the search index.
pub(super) struct IndexedEpoch {
    pub(super) report: EpochReport,
    pub(super) snapshot: Snapshot,
}

impl Item for IndexedEpoch {
    fn count(&self) -> u64 {
        self.report.page_changes.len() as u64
    }

    fn bytes(&self) -> u64 {
        let pages = self.report.pages.iter().map(ChangedPage::bytes);
        OVERHEAD_BYTES * self.report.page_changes.len() as u64 + pages.sum::<u64>()
    }
}
