//! Fills an archive from tables of facts, without the files from which they were made.
//!
//! Another program reads the tables and passes their content as lines ([`ImportLine`]): input by
//! input, the captures of each by offset. An input is indexed as if it had been read: into the same
//! epochs, ledger, facts and search index. So a load that is stopped or killed continues where it
//! was, and an input that the archive already has adds nothing.

use std::collections::HashSet;
use std::io;
use std::time::Instant;

use extract::{Capture, LinkScope};
use index::{Batch, InputId, InputProgress, InputState, LedgerRow, QuarantineEntry};
use serde::{Deserialize, Serialize};

use crate::load::{EPOCH_AGE, capture_bytes};
use crate::open_archive::OpenArchive;
use crate::{AskError, crash};

/// A line read from tables of facts.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportLine {
    /// The first line, about the content of the tables.
    Tables {
        /// Which links they contain.
        links: LinkScope,
        /// Whether they contain the texts of pages.
        texts: bool,
        /// Number of captures of all inputs, for progress.
        captures: u64,
        /// Number of inputs that failed when the tables were made, so that they are missing in
        /// them.
        inputs_failed: u64,
    },
    /// An input, whose captures follow.
    Input(FactInput),
    /// A capture of the last input, after the captures before it.
    Capture(Box<Capture>),
    /// The last line. If it is missing, the lines are incomplete.
    End,
}

/// Why the next line cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ImportLineError {
    /// The program that reads the tables returns no line.
    #[error("read from {program}: {error}")]
    Read {
        /// The program.
        program: &'static str,
        /// The error of the pipe.
        error: io::Error,
    },
    /// Its line is not an [`ImportLine`].
    #[error("bad line from {program}: {error}")]
    Syntax {
        /// The program.
        program: &'static str,
        /// The error of the parser.
        error: serde_json::Error,
    },
}

/// An input in the ledger of the tables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactInput {
    /// Name with which it was loaded.
    pub name: String,
    /// Location from which it was read.
    pub location: String,
    /// `sha256:<hex>` of its bytes.
    pub digest: String,
    /// Size in bytes.
    pub size: u64,
    /// Collection label; empty if none.
    pub collection: String,
    /// Number of its records, captures or not.
    pub records: u64,
    /// Its parts that could not be used.
    pub quarantined: Vec<QuarantineEntry>,
}

/// Progress of a load from facts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FactsImport {
    /// Number of inputs indexed to their end.
    pub inputs_done: u64,
    /// Number of inputs that the archive already had.
    pub inputs_known: u64,
    /// Number of captures indexed.
    pub captures: u64,
    /// Number of captures skipped because the archive already had them.
    pub captures_known: u64,
    /// The archive's epoch.
    pub epoch: u64,
}

impl FactsImport {
    /// Returns the number of captures read.
    pub fn captures_read(&self) -> u64 {
        self.captures + self.captures_known
    }
}

/// Applies lines until the last one, or until `should_continue` returns `false`. Then everything so far is
/// indexed, and the next load continues there.
pub(crate) fn apply_lines(
    open: &OpenArchive,
    lines: &mut dyn Iterator<Item = Result<ImportLine, ImportLineError>>,
    should_continue: &mut dyn FnMut(&FactsImport) -> bool,
) -> Result<FactsImport, AskError> {
    open.writable()?;
    open.jobs.while_idle(|| {
        // After an error, such as a full disk, the index refuses writes until it is opened again.
        open.index.recover().map_err(AskError::internal)?;
        open.catch_up_search().map_err(AskError::internal)?;
        let mut import = Import::new(open);
        let outcome = import.all(lines, should_continue);
        // Even after a failure, everything that was indexed must become searchable.
        let flushed = open.flush_search(import.is_stopped);
        let flushed = flushed.map_err(AskError::internal);
        outcome?;
        flushed?;
        import.sums.epoch = open.index.snapshot().epoch().0;
        Ok(import.sums)
    })?
}

/// The input whose captures are being read.
struct Current {
    /// Its progress is the last one in the batch.
    id: InputId,
    input: FactInput,
    /// Offset up to which an earlier load has indexed it.
    begun: u64,
    /// End of the last capture.
    position: u64,
    /// Records indexed before this batch.
    records: u64,
}

struct Import<'a> {
    open: &'a OpenArchive,
    epoch_bytes: u64,
    batch: Batch,
    batch_bytes: u64,
    batch_begun: Instant,
    /// `None` before the first input, and while the captures of a known one are skipped.
    current: Option<Current>,
    /// The input being skipped, with the offsets of captures whose takedown is undone: these are
    /// added again.
    returning: Option<(InputId, HashSet<u64>)>,
    /// Whether the caller has ended it early.
    is_stopped: bool,
    sums: FactsImport,
}

impl<'a> Import<'a> {
    fn new(open: &'a OpenArchive) -> Import<'a> {
        Import {
            open,
            epoch_bytes: open.memory.epoch_bytes(),
            batch: Batch::default(),
            batch_bytes: 0,
            batch_begun: system::now(),
            current: None,
            returning: None,
            is_stopped: false,
            sums: FactsImport::default(),
        }
    }

    fn all(
        &mut self,
        lines: &mut dyn Iterator<Item = Result<ImportLine, ImportLineError>>,
        should_continue: &mut dyn FnMut(&FactsImport) -> bool,
    ) -> Result<(), AskError> {
        let mut is_whole = false;
        for line in lines {
            match line.map_err(AskError::internal)? {
                ImportLine::Tables { .. } => {
                    return Err(AskError::bad_request(
                        "the line about the tables must come first, and only once",
                    ));
                }
                ImportLine::Input(input) => {
                    self.end_input();
                    self.begin_input(input)?;
                }
                ImportLine::Capture(capture) => self.add(*capture)?,
                ImportLine::End => {
                    self.end_input();
                    is_whole = true;
                    break;
                }
            }
            if self.batch_bytes >= self.epoch_bytes || system::since(self.batch_begun) >= EPOCH_AGE {
                self.close_epoch()?;
                if !should_continue(&self.sums) {
                    self.is_stopped = true;
                    return Ok(());
                }
            }
        }
        self.close_epoch()?;
        should_continue(&self.sums);
        if is_whole {
            Ok(())
        } else {
            Err(AskError::internal(
                "the facts end before their last line; what was read is loaded, and the same load continues there",
            ))
        }
    }

    fn begin_input(&mut self, input: FactInput) -> Result<(), AskError> {
        let asked = LedgerRow::pending(
            &input.name,
            &input.location,
            &input.digest,
            input.size,
            &input.collection,
        );
        let (id, entry) = self
            .open
            .index
            .register_input(asked, None)
            .map_err(AskError::internal)?;
        if matches!(entry.state, InputState::Done | InputState::TakenDown) {
            self.sums.inputs_known += 1;
            let returning = self.open.index.returning(id).map_err(AskError::from)?;
            let offsets = returning.into_iter().map(|kept_out| kept_out.offset).collect();
            self.returning = Some((id, offsets));
            return Ok(());
        }
        self.batch.progress.push(InputProgress {
            input: id,
            bytes_done: entry.bytes_done,
            exchange_from: 0,
            records: 0,
            captures_recounted: 0,
            quarantined: Vec::new(),
            state: InputState::Loading,
            cut: None,
            digested: None,
        });
        let (begun, quarantined) = (entry.bytes_done, input.quarantined.clone());
        self.current = Some(Current {
            id,
            input: FactInput {
                // Earlier ones are already in the ledger.
                quarantined: quarantined
                    .into_iter()
                    .filter(|span| span.offset >= begun)
                    .collect(),
                ..input
            },
            begun,
            position: begun,
            records: entry.records,
        });
        Ok(())
    }

    fn add(&mut self, capture: Capture) -> Result<(), AskError> {
        let (Some(current), Some(progress)) = (&mut self.current, self.batch.progress.last_mut()) else {
            match &self.returning {
                Some((id, offsets)) if offsets.contains(&capture.offset) => {
                    self.batch_bytes += capture_bytes(&capture);
                    self.batch.captures.push((*id, capture));
                    self.sums.captures += 1;
                }
                _ => self.sums.captures_known += 1,
            }
            return Ok(());
        };
        if capture.offset < current.begun {
            self.sums.captures_known += 1;
            return Ok(());
        }
        let end = capture.offset.saturating_add(capture.length);
        if capture.offset < current.position || end > current.input.size {
            return Err(AskError::bad_request(format!(
                "{}: the capture at {} to {end} must begin after the previous one, which ends at {}, and end within the {} \
                 bytes of the input",
                current.input.name, capture.offset, current.position, current.input.size
            )));
        }
        current.position = end;
        progress.bytes_done = end;
        progress.records += 1;
        self.batch_bytes += capture_bytes(&capture);
        self.batch.captures.push((current.id, capture));
        self.sums.captures += 1;
        Ok(())
    }

    /// Marks the input as indexed to its end with this batch.
    fn end_input(&mut self) {
        let (Some(current), Some(progress)) = (self.current.take(), self.batch.progress.last_mut()) else {
            return;
        };
        progress.bytes_done = current.input.size;
        // Records other than captures are counted at the end.
        progress.records = progress
            .records
            .max(current.input.records.saturating_sub(current.records));
        progress.quarantined = current.input.quarantined;
        progress.state = InputState::Done;
        self.sums.inputs_done += 1;
    }

    fn close_epoch(&mut self) -> Result<(), AskError> {
        self.batch_begun = system::now();
        if self.batch.progress.is_empty() && self.batch.captures.is_empty() {
            return Ok(());
        }
        let mut batch = std::mem::take(&mut self.batch);
        self.batch_bytes = 0;
        if let (Some(current), Some(progress)) = (&mut self.current, batch.progress.last_mut()) {
            (progress.quarantined, current.input.quarantined) =
                std::mem::take(&mut current.input.quarantined)
                    .into_iter()
                    .partition(|span| span.offset < current.position);
            current.records += progress.records;
            self.batch.progress.push(InputProgress {
                records: 0,
                quarantined: Vec::new(),
                ..progress.clone()
            });
        }
        let report = match &self.open.facts {
            Some(facts) => facts.apply(&self.open.index, batch).map_err(AskError::internal)?,
            None => self.open.index.apply(batch).map_err(AskError::internal)?,
        };
        crash::point("from_facts.after_epoch");
        let snapshot = self.open.index.snapshot();
        self.sums.epoch = snapshot.epoch().0;
        let fed = self.open.feed_search(true, std::iter::once((report, snapshot)));
        fed.map_err(AskError::internal)
    }
}
