//! Takes back indexed parts of an input.
//!
//! An input may continue an earlier, shorter one: a copy that was interrupted, or a file that was
//! cut off. The earlier one was indexed with its incomplete last record. So it is first taken back to
//! the end of its last complete record, which a reader with the setting `growing` finds. Then it is
//! read on like any input that has grown. If another input already has the whole content, and the
//! earlier input is no longer at its place, the earlier input is removed for good.
//!
//! An input whose content changed while it was read is a mixture, so all of it is taken back.

use std::io;
use std::sync::Arc;

use extract::{Capture, Extracted};
use index::{
    CaptureRow, InputId, InputState, LedgerRow, RollBack, SnapshotError, TakeBackError, TakedownOutcome,
    TakedownRequest,
};
use inputs::Exchanges;
use warc::{Entry, Input, Reader, ReaderSettings};

use super::context::Context;
use crate::facts_writer::EpochError;
use crate::open_archive::OpenArchive;
use crate::record_outcome::extract_guarded;

/// Bytes of a block that suffice to recognise the request, also in WAT.
const REQUEST_BYTES: u64 = 1 << 16;

/// Why an input cannot be taken back.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TakeBackFailure {
    /// The index or the facts failed.
    #[error(transparent)]
    Epoch(#[from] EpochError),
    /// A read failed. The input is unchanged.
    #[error("its earlier end cannot be undone: {0}")]
    Input(String),
}

/// Why a indexed capture cannot be made again from its record.
#[derive(Debug, thiserror::Error)]
pub(super) enum RereadError {
    #[error(transparent)]
    Input(#[from] io::Error),
    #[error(transparent)]
    Ledger(#[from] SnapshotError),
    #[error(transparent)]
    Record(#[from] warc::ReadError),
    #[error("there is no capture")]
    NoCapture,
}

impl From<TakeBackError> for TakeBackFailure {
    fn from(error: TakeBackError) -> TakeBackFailure {
        match error {
            TakeBackError::Apply(error) => TakeBackFailure::Epoch(error.into()),
            error => TakeBackFailure::Input(error.to_string()),
        }
    }
}

/// Takes the input `id` back to the end of its last complete record. The content of `input` begins
/// with the bytes of that input.
pub(super) fn to_last_whole_record(
    context: &Context,
    (id, entry): (InputId, &LedgerRow),
    input: &Arc<dyn Input>,
) -> Result<(), TakeBackFailure> {
    let whole =
        whole_part(context, input, entry.size).map_err(|error| TakeBackFailure::Input(error.to_string()))?;
    let (bytes_done, records) = (whole.bytes_done, whole.records);
    let to = RollBack {
        // A failed input was possibly not read to its end.
        bytes_done: bytes_done.min(entry.bytes_done),
        exchange_from: whole.exchange_from.min(entry.exchange_from),
        records: records.min(entry.records),
        state: InputState::Loading,
    };
    take_back(&context.open, &context.extract, id, &to, Some(input))
}

/// Takes back the last responses of a grown input that were indexed before their requests arrived.
pub(super) fn to_early_answers(
    context: &Context,
    (id, entry): (InputId, &LedgerRow),
    input: &Arc<dyn Input>,
) -> Result<(), TakeBackFailure> {
    let mut settings = position_settings();
    settings.start_offset = entry.exchange_from;
    let reader = Reader::from_input(Box::new(input.clone()), &entry.location, settings);
    let early = reader
        .and_then(|mut reader| inputs::early_answers(&mut reader, (entry.exchange_from, entry.bytes_done)));
    let Some(early) = early.map_err(|error| TakeBackFailure::Input(error.to_string()))? else {
        return Ok(());
    };
    let to = RollBack {
        bytes_done: early.begin,
        exchange_from: entry.exchange_from,
        records: entry.records.saturating_sub(early.records),
        state: InputState::Loading,
    };
    take_back(&context.open, &context.extract, id, &to, Some(input))
}

/// Removes inputs from the ledger, and everything that they contributed from all views, in one
/// epoch.
pub(crate) fn forget_inputs(open: &OpenArchive, ids: &[InputId]) -> Result<(), TakeBackFailure> {
    if ids.is_empty() {
        return Ok(());
    }
    let settings = open.extract_settings();
    let mut reread = |row: &CaptureRow| Ok(reread(open, &settings, row, open.sources.open(&row.location))?);
    let Some(facts) = &open.facts else {
        open.index.forget(ids, &mut reread, None)?;
        return Ok(());
    };
    facts.forget(&open.index, ids, &mut reread)
}

/// Takes captures down, including their facts. Captures that become current as a result are read
/// again from the present place of their inputs.
pub(crate) fn take_down_captures(
    open: &OpenArchive,
    asked: &TakedownRequest,
) -> Result<TakedownOutcome, TakeBackFailure> {
    let settings = open.extract_settings();
    let mut reread = |row: &CaptureRow| Ok(reread(open, &settings, row, open.sources.open(&row.location))?);
    match &open.facts {
        None => open
            .index
            .take_down(asked, &mut reread, None)
            .map_err(TakeBackFailure::from),
        Some(facts) => facts.take_down(&open.index, asked, &mut reread),
    }
}

/// Takes all of an input back and removes it from the ledger. `input` is the content now at its
/// place, if any.
pub(super) fn into_nothing(
    open: &OpenArchive,
    settings: &extract::Settings,
    id: InputId,
    input: Option<&Arc<dyn Input>>,
) -> Result<(), TakeBackFailure> {
    to_the_beginning(open, settings, id, InputState::Forgotten, input)
}

/// Takes all of an input back and sets its state. For `input` see [`into_nothing`].
pub(super) fn to_the_beginning(
    open: &OpenArchive,
    settings: &extract::Settings,
    id: InputId,
    state: InputState,
    input: Option<&Arc<dyn Input>>,
) -> Result<(), TakeBackFailure> {
    let to = RollBack {
        bytes_done: 0,
        exchange_from: 0,
        records: 0,
        state,
    };
    take_back(open, settings, id, &to, input)
}

fn take_back(
    open: &OpenArchive,
    settings: &extract::Settings,
    id: InputId,
    to: &RollBack,
    input: Option<&Arc<dyn Input>>,
) -> Result<(), TakeBackFailure> {
    let mut reread = |row: &CaptureRow| {
        let input = match input {
            Some(input) if row.input == id => Ok(input.clone()),
            _ => open.sources.open(&row.location),
        };
        Ok(reread(open, settings, row, input)?)
    };
    let Some(facts) = &open.facts else {
        open.index.take_back(id, to, &mut reread, None)?;
        return Ok(());
    };
    facts.take_back(&open.index, (id, to), &mut reread)
}

/// Makes the capture of a row again from its record, as a load did: from the bytes that the input
/// had then. Its file may have grown since, which would complete a record that was cut off.
fn reread(
    open: &OpenArchive,
    settings: &extract::Settings,
    row: &CaptureRow,
    input: io::Result<Arc<dyn Input>>,
) -> Result<Capture, RereadError> {
    // From a snapshot: the caller holds the lock under which `Index` lists its inputs.
    let entry = open.index.snapshot().input(row.input);
    let beginning = InputPrefix {
        input: input?,
        size: entry?.size,
    };
    let record = (row.offset, row.length);
    match extracted_at(settings, &row.location, record, Ok(Arc::new(beginning)))? {
        Extracted::Capture(capture) => Ok(*capture),
        _ => Err(RereadError::NoCapture),
    }
}

/// Extracts the record at this offset and of this length again.
pub(super) fn extracted_at(
    settings: &extract::Settings,
    location: &str,
    (offset, length): (u64, u64),
    input: io::Result<Arc<dyn Input>>,
) -> Result<Extracted, RereadError> {
    let record = warc::read_from(input?, location, offset, length, ReaderSettings::default())?;
    Ok(extract_guarded(settings, &record))
}

/// The part of an input that does not change when data is appended.
struct WholePart {
    bytes_done: u64,
    exchange_from: u64,
    records: u64,
}

/// Returns the complete records among the first `size` bytes, up to the first whose request may
/// still come.
fn whole_part(context: &Context, input: &Arc<dyn Input>, size: u64) -> Result<WholePart, warc::ReadError> {
    let part = InputPrefix {
        input: input.clone(),
        size,
    };
    let mut reader = Reader::from_input(Box::new(part), "its earlier part", position_settings())?;
    let mut whole = WholePart {
        bytes_done: 0,
        exchange_from: 0,
        records: 0,
    };
    let mut exchanges = Exchanges::default();
    while let Some(entry) = reader.next_entry()? {
        if context.job.is_stopped() {
            return Err(warc::ReadError::Io {
                path: "its earlier part".to_owned(),
                offset: reader.position(),
                source: io::Error::other("the load was stopped"),
            });
        }
        exchanges.push(entry);
        while let Some((entry, _)) = exchanges.pop() {
            whole.bytes_done = entry.span().end();
            whole.exchange_from = exchanges.context_from(whole.bytes_done);
            if let Entry::Record(record) = entry {
                whole.records += 1;
                reader.recycle(record);
            }
        }
    }
    Ok(whole)
}

/// Returns settings with which a reader stops before an incomplete last record (`growing`). Only
/// positions and requests matter here, so only the beginnings of bodies are kept.
fn position_settings() -> ReaderSettings {
    let mut settings = ReaderSettings::default();
    settings.growing = true;
    settings.body_bytes_max = REQUEST_BYTES;
    settings
}

/// The first `size` bytes of an input, as if it ended there.
struct InputPrefix {
    input: Arc<dyn Input>,
    size: u64,
}

impl Input for InputPrefix {
    fn size(&self) -> io::Result<u64> {
        Ok(self.size)
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let room = self.size.saturating_sub(offset).min(into.len() as u64);
        self.input.read_at(&mut into[..room as usize], offset)
    }
}
