//! The items that pass through the load pipeline, and how much each weighs.

use std::sync::Arc;
use std::time::SystemTime;

use extract::{Capture, IndexLine};
use flow::Item;
use weave::{
    ChangedPage, Digested as DigestedTo, EpochReport, InputId, InputProgress, InputState, LedgerEntry,
    QuarantineEntry, Snapshot,
};

use inputs::{ContentDigest, Digesting, FileVersion, Found, Spool};

/// Memory of a record or capture in addition to its texts, in bytes.
pub(super) const OVERHEAD_BYTES: u64 = 256;

/// An input as it was found, on its way into the pipeline.
pub(super) struct Queued(pub(super) Found);

impl Item for Queued {}

/// An input whose content digest is known, or that of its beginning.
pub(super) struct Digested {
    pub(super) found: Found,
    /// Digest of the content, or why it cannot be read.
    pub(super) content: Result<ContentDigest, String>,
    /// A copy made while digesting. If there is one, the input is read from it.
    pub(super) copy: Option<Arc<Spool>>,
    /// Version of the file just before it was digested; `None` if the input is not a file.
    pub(super) version: Option<FileVersion>,
    pub(super) growing: Growing,
    /// The digest so far, if only the beginning is digested: the rest is digested while it is read.
    pub(super) rest: Option<Digesting>,
}

impl Item for Digested {}

/// Whether an input may still be written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Growing {
    /// It is finished: an incomplete tail is a defect.
    No,
    /// It was changed a moment ago. If its tail is incomplete, the load waits until it grows, or until nobody
    /// has changed it for some seconds.
    Recent {
        /// Time of the last change.
        modified: SystemTime,
    },
    /// Its name ends in `.open`: more is expected later in any case.
    Open,
}

/// An input with its ledger row. Reading begins at `entry.bytes_done`.
pub(super) struct Registered {
    pub(super) id: InputId,
    pub(super) found: Found,
    pub(super) entry: LedgerEntry,
    /// If there is a copy, it is read instead of the input.
    pub(super) copy: Option<Arc<Spool>>,
    /// As [`Digested::version`].
    pub(super) version: Option<FileVersion>,
    pub(super) growing: Growing,
    /// As [`Digested::rest`].
    pub(super) rest: Option<Digesting>,
}

impl Item for Registered {}

/// How far an input is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Position {
    /// As [`LedgerEntry::bytes_done`].
    pub(super) bytes_done: u64,
    /// As [`LedgerEntry::exchange_from`].
    pub(super) exchange_from: u64,
}

impl Position {
    pub(super) fn of(entry: &LedgerEntry) -> Position {
        Position {
            bytes_done: entry.bytes_done,
            exchange_from: entry.exchange_from,
        }
    }
}

/// Consecutive entries of one input.
pub(super) struct Chunk {
    pub(super) input: InputId,
    /// Each with the method of its request; empty if it has none, or none is known.
    pub(super) entries: Vec<(warc::Entry, String)>,
    /// Where the first entry begins.
    pub(super) begin: Position,
    /// Of an index, what its lines tell of; it has no entries.
    pub(super) lines: Vec<IndexLine>,
    /// Lines that cannot be used.
    pub(super) bad_lines: Vec<QuarantineEntry>,
    /// How many lines were read, whatever they are.
    pub(super) lines_read: u64,
    /// Where the last entry ends.
    pub(super) bytes_done: u64,
    /// As [`LedgerEntry::exchange_from`], for whoever goes on behind this chunk.
    pub(super) exchange_from: u64,
    /// State of the input after this chunk.
    pub(super) state: InputState,
    /// In an input's last chunk: how its end is cut off, if it is.
    pub(super) cut: Option<String>,
    /// In the last chunk of an input whose content changed while it was read: the state it gets once
    /// everything woven of it is taken back.
    pub(super) taken_back: Option<InputState>,
    /// In an input's last chunk: how it differs from what its package declares.
    pub(super) undeclared: Vec<warc::Defect>,
    /// How far the input is digested, if it is digested while it is read: at least up to `bytes_done`.
    pub(super) digested: Option<DigestedTo>,
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
            "entries of input {} follow without gap",
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

/// The captures of a chunk, and what the ledger is to record about it.
pub(crate) struct Extract {
    pub(crate) progress: InputProgress,
    pub(crate) captures: Vec<Capture>,
    pub(crate) lines: Vec<IndexLine>,
    /// As [`Chunk::taken_back`].
    pub(crate) taken_back: Option<InputState>,
    pub(crate) bytes: u64,
}

impl Item for Extract {
    fn count(&self) -> u64 {
        (self.captures.len() + self.lines.len()) as u64
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Memory of a capture, in bytes.
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

/// An epoch that the search index does not have yet.
pub(super) struct Woven {
    pub(super) report: EpochReport,
    pub(super) snapshot: Snapshot,
}

impl Item for Woven {
    fn count(&self) -> u64 {
        self.report.page_changes.len() as u64
    }

    fn bytes(&self) -> u64 {
        let pages = self.report.pages.iter().map(ChangedPage::bytes);
        OVERHEAD_BYTES * self.report.page_changes.len() as u64 + pages.sum::<u64>()
    }
}
