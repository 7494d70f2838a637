//! Stage `read`: reads the entries of an input and sends them in chunks.
//!
//! Invariants:
//! - the chunks of an input follow one another without gap from the ledger's `bytes_done`;
//! - only the last chunk has a state other than `loading`, and it holds the entry at the end of the
//!   file;
//! - an entry is sent when the method of its capture is known or the input has ended. Captures that
//!   still wait for their request are read again later, with the requests before them
//!   ([`Exchanges`]);
//! - a file digested in part is digested while it is read, at least up to the end of each chunk;
//! - only digested content is indexed. A file that was written to, renamed or replaced during the
//!   read is digested again at the end; if the digest differs, the input is taken back and has
//!   failed;
//! - an input is done when its end is known. A recently changed file that is cut off is done after
//!   some quiet seconds; the readable part of its last record is used.

mod index_lines;

use std::fs::File;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use index::{InputState, LedgerRow};
use inputs::Exchanges;
use inputs::{DeclaredContent, DiscoveredInput, FileVersion, InputLocation, InputReader, PACKAGE_DIGEST};
use pipeline::{Out, StageResult};
use warc::{Defect, Entry, Input, ReadError, Reader, ReaderSettings, reason};

use super::chunk::{Chunk, Growth, OVERHEAD_BYTES, Position, RegisteredInput};
use super::context::Context;
use super::counting_input::CountingInput;
use super::digesting_input::DigestingInput;
use super::{digest, growth};

/// Limit of entries in a chunk.
const ENTRIES_MAX: usize = 64;

/// A chunk is full at this size in bytes. A single record may be larger.
const CHUNK_BYTES: u64 = 1 << 20;

/// Runs stage `read` on one input. A stopped load sends no further chunks; entries that were read
/// but not sent are read again by the load that continues.
pub(super) fn read(context: &Context, registered: RegisteredInput, out: &mut Out<'_, Chunk>) -> StageResult {
    let is_index = format::file_name::is_index_name(&registered.found.place.location());
    let mut reading = Reading::of(context, registered);
    if is_index {
        let end = reading.read_lines(out)?;
        let end = reading.compare(end);
        return reading.finish(end, out);
    }
    let mut end = reading.read_on(out)?;
    if let End::Cut { changed: false } = end
        && let Growth::Recent { modified } = reading.registered.growing
        && let InputLocation::File(path) = reading.registered.found.place.clone()
    {
        // Send the complete records first, so that they are indexed during the wait.
        reading.send(out)?;
        let RegisteredInput { found, entry, .. } = &reading.registered;
        let left_alone = context.job.while_waiting_for(&found.name, || {
            growth::wait_until_quiet(context, &path, entry.size, modified)
        });
        if left_alone {
            reading.registered.growing = Growth::No;
            end = reading.read_on(out)?;
        }
    }
    let end = reading.compare(end);
    reading.finish(end, out)
}

/// An input that is being read.
struct Reading<'a> {
    context: &'a Context,
    registered: RegisteredInput,
    /// The open file, if the input is a file.
    file: Option<Arc<File>>,
    /// The same file, if it is digested while it is read.
    digesting_input: Option<Arc<DigestingInput>>,
    /// End of the furthest byte read.
    reached: Arc<AtomicU64>,
    /// Entries that are not sent yet.
    chunk: Chunk,
    /// Entries that are not in a chunk yet.
    exchanges: Exchanges,
    /// End of the last entry read.
    read_to: u64,
    /// Whether no record has been found so far.
    useless: bool,
    /// How the last entry is cut off, if it is and reaches the end of the file.
    cut: Option<String>,
}

/// Why an input cannot be opened, which becomes the reason of its failure.
#[derive(Debug, thiserror::Error)]
enum OpenInputError {
    /// It was found unusable.
    #[error("{0}")]
    Problem(String),
    #[error("read {0} at offset 0: {1}")]
    Open(String, io::Error),
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Why reading ended.
enum End {
    Stopped,
    Failed(String),
    /// The content differs from the content that was digested; the text says how.
    Changed(String),
    /// The file ends where its last entry ends.
    Whole,
    /// The rest is not a whole entry, or the length of the file has changed since it was digested
    /// (`changed`).
    Cut {
        changed: bool,
    },
}

impl<'a> Reading<'a> {
    fn of(context: &'a Context, registered: RegisteredInput) -> Reading<'a> {
        Reading {
            context,
            reached: Arc::new(AtomicU64::new(registered.entry.bytes_done)),
            chunk: Chunk::new(registered.id, Position::of(&registered.entry)),
            exchanges: Exchanges::default(),
            read_to: registered.entry.bytes_done,
            useless: registered.entry.records == 0,
            registered,
            file: None,
            digesting_input: None,
            cut: None,
        }
    }

    /// Continues to read where the last chunk ended.
    fn read_on(&mut self, out: &mut Out<'_, Chunk>) -> Result<End, pipeline::StageError> {
        let mut reader = match self.open() {
            Ok(reader) => reader,
            Err(error) => return Ok(End::Failed(error.to_string())),
        };
        let size = self.registered.entry.size;
        while !self.context.job.is_stopped() {
            match reader.next_entry() {
                Ok(Some(entry)) => self.push(entry, size),
                Ok(None) => {
                    let changed = reader.size() != size;
                    let cut = changed || self.read_to < size;
                    let end = if cut { End::Cut { changed } } else { End::Whole };
                    match (self.registered.growing, cut) {
                        (Growth::Open, _) | (Growth::Recent { .. }, true) => self.take_without_requests(),
                        (Growth::No, true) => {}
                        (Growth::No | Growth::Recent { .. }, false) => self.take_rest(),
                    }
                    return Ok(self.digest_to(size).err().unwrap_or(end));
                }
                Err(error) => {
                    // Entries read before the error are used.
                    self.take_rest();
                    return Ok(End::Failed(error.to_string()));
                }
            }
            // An epoch consists of whole chunks, so a load that asks for small epochs needs small
            // chunks.
            let bytes_max = CHUNK_BYTES.min(self.context.epoch_bytes);
            let is_full =
                self.chunk.entries.len() >= self.context.chunk_entries_max || self.chunk.bytes >= bytes_max;
            // The last entry may be cut off, so it is sent only with the final state. After a kill
            // between the two epochs the input would otherwise resume in the middle of a record.
            if is_full && self.read_to < size {
                if let Err(end) = self.digest_to(self.chunk.bytes_done) {
                    return Ok(end);
                }
                self.send(out)?;
                self.context.record_pool.take(&mut reader);
            }
        }
        Ok(End::Stopped)
    }

    /// Opens the input where the last chunk ended.
    fn open(&mut self) -> Result<Reader, OpenInputError> {
        let mut settings = ReaderSettings::default();
        settings.verify_digests = self.context.verify;
        settings.start_offset = self.chunk.exchange_from;
        settings.growing = self.registered.growing != Growth::No;
        let location = self.registered.found.place.location();
        self.exchanges = Exchanges::from(self.chunk.bytes_done);
        self.read_to = self.chunk.bytes_done;
        let input = self.open_input()?;
        Ok(Reader::from_input(Box::new(input), &location, settings)?)
    }

    /// Opens the input and counts the bytes read.
    fn open_input(&mut self) -> Result<Arc<dyn Input>, OpenInputError> {
        Ok(Arc::new(CountingInput {
            input: self.open_uncounted()?,
            job: self.context.job.clone(),
            reached: self.reached.clone(),
        }))
    }

    /// Opens the input, or its copy if there is one, without counting.
    fn open_uncounted(&mut self) -> Result<Arc<dyn Input>, OpenInputError> {
        let RegisteredInput {
            found,
            entry,
            copy,
            rest,
            ..
        } = &mut self.registered;
        if let Some(problem) = &found.problem {
            return Err(OpenInputError::Problem(problem.clone()));
        }
        let no_read = |error| OpenInputError::Open(found.place.location(), error);
        Ok(match (copy.take(), &found.place) {
            (Some(copy), _) => copy,
            (None, InputLocation::File(path)) => {
                let file = match &self.file {
                    Some(file) => file.clone(),
                    None => Arc::new(inputs::open_file(path).map_err(no_read)?),
                };
                self.file = Some(file.clone());
                if let Some(rest) = rest.take() {
                    let (is_ahead, job) = (self.context.digests_ahead, self.context.job.clone());
                    let digesting = DigestingInput::new(file.clone(), entry.size, is_ahead, job, rest);
                    self.digesting_input = Some(Arc::new(digesting));
                }
                match &self.digesting_input {
                    Some(digesting) => digesting.clone(),
                    None => file,
                }
            }
            (None, place) => place.open(&self.context.open.sources).map_err(no_read)?,
        })
    }

    fn push(&mut self, entry: Entry, size: u64) {
        self.useless &= !matches!(entry, Entry::Record(_));
        self.cut = (entry.span().end() >= size).then(|| cut_of(&entry)).flatten();
        self.read_to = self.read_to.max(entry.span().end());
        self.exchanges.push(entry);
        while let Some((entry, request)) = self.exchanges.pop() {
            self.take(entry, request.method);
        }
    }

    fn take(&mut self, entry: Entry, method: String) {
        self.chunk.push(entry, method);
        self.chunk.exchange_from = self.exchanges.context_from(self.chunk.bytes_done);
    }

    /// Takes the waiting entries at the end of the input, where no request can follow.
    fn take_rest(&mut self) {
        while let Some((entry, request)) = self.exchanges.pop_at_end() {
            self.take(entry, request.method);
        }
    }

    /// Takes the entries at the end of an input that may grow, up to the first that waits for its
    /// request.
    fn take_without_requests(&mut self) {
        while let Some((entry, request)) = self.exchanges.pop_where_it_may_grow() {
            self.take(entry, request.method);
        }
    }

    fn send(&mut self, out: &mut Out<'_, Chunk>) -> StageResult {
        let rest = Chunk::new(self.registered.id, self.chunk.position());
        self.chunk.digested = self.digested();
        out.send(std::mem::replace(&mut self.chunk, rest))
    }

    /// Drops the entries that are not sent yet, as if they had not been read.
    fn drop_unsent(&mut self) {
        self.chunk = Chunk::new(self.registered.id, self.chunk.begin);
    }

    /// Digests at least the first `bytes` bytes of an input that is digested while it is read.
    fn digest_to(&self, bytes: u64) -> Result<(), End> {
        let Some(digesting) = &self.digesting_input else {
            return Ok(());
        };
        digesting.digest_to(bytes).map_err(|error| {
            let size = self.registered.entry.size;
            match error.kind() {
                ErrorKind::UnexpectedEof => End::Changed(format!(
                    "its content changed while it was loaded: of {size} bytes {error}"
                )),
                _ => End::Failed(format!(
                    "digest {}: {error}",
                    self.registered.found.place.location()
                )),
            }
        })
    }

    fn digested(&self) -> Option<index::DigestProgress> {
        let RegisteredInput { version, growing, .. } = &self.registered;
        let digesting = self.digesting_input.as_ref()?;
        Some(digesting.digested(*version, *growing))
    }

    /// Returns `end`, or [`End::Changed`] if the content read differs from the content digested.
    /// After a stop no comparison is made: the load that continues digests the file again and
    /// compares then.
    fn compare(&self, end: End) -> End {
        let (Some(file), Some(digested)) = (&self.file, self.registered.version) else {
            return end;
        };
        let is_untouched = FileVersion::of(file).is_ok_and(|now| now == digested);
        if is_untouched || matches!(end, End::Stopped | End::Changed(_)) {
            return end;
        }
        let LedgerRow { size, digest, .. } = &self.registered.entry;
        let digesting = self.digesting_input.as_ref();
        let (size, digest) =
            digesting.map_or_else(|| (*size, digest.clone()), |digesting| digesting.beginning());
        let found = match digest::digest_again(self.context, file.clone(), size) {
            Ok(now) if now.digest == digest => return end,
            Ok(now) if now.size < size => format!("only {} are left", now.size),
            Ok(now) => format!("they are {} now", now.digest),
            Err(_) if self.context.job.is_stopped() => return End::Stopped,
            Err(error) => format!("they cannot be read again: {error}"),
        };
        End::Changed(format!(
            "its content changed while it was loaded: {size} bytes were {digest}, {found}"
        ))
    }

    fn useless_reason(&self) -> &'static str {
        if format::file_name::is_index_name(&self.registered.found.place.location()) {
            index_lines::NO_LINE
        } else {
            crate::one_input::NO_RECORD
        }
    }

    /// Sends the last chunk, with the new state of the input.
    fn finish(mut self, end: End, out: &mut Out<'_, Chunk>) -> StageResult {
        let is_cut = matches!(end, End::Cut { .. });
        let useless = self.useless && !(is_cut && may_hold_records(self.context, &self.registered.found));
        self.chunk.state = match (end, self.registered.growing) {
            (End::Stopped, _) => return Ok(()),
            (End::Changed(what), _) => {
                self.drop_unsent();
                self.chunk.taken_back = Some(InputState::Failed {
                    reason: format!(
                        "{what}; what was read of it is taken back: load it again when nobody writes to it"
                    ),
                });
                // The state until everything is taken back, and the final state if that fails.
                InputState::Failed {
                    reason: format!("{what}; forget the input (weft forget --input), then load it again"),
                }
            }
            (End::Failed(reason), _) => {
                // Only digested bytes may be indexed.
                if self.digest_to(self.chunk.bytes_done).is_err() {
                    self.drop_unsent();
                }
                InputState::Failed { reason }
            }
            (_, Growth::Open) => InputState::Loading,
            _ if useless => InputState::Failed {
                reason: self.useless_reason().into(),
            },
            (End::Cut { .. }, _) => InputState::Loading,
            (End::Whole, _) => InputState::Done,
        };
        // A chunk to be taken back holds a mixture, so its digest is meaningless.
        if self.chunk.taken_back.is_none() {
            self.chunk.digested = self.digested();
        }
        self.chunk.undeclared = self.registered.found.declared.defects.clone();
        if let Some(stale) = stale_digest(&self.registered) {
            self.context
                .job
                .add_defect(self.registered.id, self.chunk.bytes_done, &stale);
        }
        if self.chunk.state == InputState::Done {
            self.chunk.cut = self.cut;
        }
        out.send(self.chunk)
    }
}

/// Returns a defect if the digest that the package declares differs from that of the input. The
/// records are checked separately.
fn stale_digest(registered: &RegisteredInput) -> Option<Defect> {
    let DeclaredContent { digest, .. } = &registered.found.declared;
    let found = &registered.entry.digest;
    // An input that was not read to its end has no digest of its whole content to compare.
    let is_whole = found.starts_with("sha256:") && !found.contains('/');
    let declared = digest.as_ref().filter(|_| is_whole)?;
    let is_other = declared.starts_with("sha256:") && !declared.eq_ignore_ascii_case(found);
    is_other.then(|| {
        let what = "as datapackage.json declares: one of them was changed after the package was made";
        Defect::new(
            PACKAGE_DIGEST,
            format!("found {found}, expected {declared} {what}"),
        )
    })
}

/// Returns how an entry at the end of a file is cut off, as the reader describes it.
fn cut_of(entry: &Entry) -> Option<String> {
    let defects: &[Defect] = match entry {
        Entry::Record(record) => &record.defects,
        Entry::Quarantined(_, defect) => std::slice::from_ref(defect),
        _ => &[],
    };
    let cut = defects.iter().rev().find(|defect| is_cut(defect.reason));
    cut.map(|defect| format!("{}: {}", defect.reason, defect.detail))
}

fn is_cut(reason: &str) -> bool {
    [
        reason::TRUNCATED_MEMBER,
        reason::TRUNCATED_RECORD,
        reason::TRUNCATED_HEADER,
    ]
    .contains(&reason)
}

/// Returns whether an input begins like a file of records, or cannot be opened.
fn may_hold_records(context: &Context, found: &DiscoveredInput) -> bool {
    let input = found.place.open(&context.open.sources);
    input.map_or(true, |input| {
        inputs::may_hold_records(InputReader::of(input), &found.name)
    })
}

/// Returns the limit of entries in a chunk. Under a rate limit it is smaller, because a chunk waits
/// as a whole and small chunks pass more evenly.
pub(super) fn chunk_entries_max(rate_pages_per_s: Option<f64>) -> usize {
    match rate_pages_per_s {
        Some(rate) => ((rate / 4.0) as usize).clamp(1, ENTRIES_MAX),
        None => ENTRIES_MAX,
    }
}
