//! Adds captures again whose takedown was undone, when their input is loaded again.
//!
//! The input itself is known, so only these records are read again. They are added as if there had
//! been no takedown. The same commit removes them from the captures kept out.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use cdx::Line;
use extract::Extracted;
use index::{Batch, InputId, KeptOut, LedgerRow};
use inputs::IndexLines;

use super::chunk::{attachment_bytes, capture_bytes};
use super::context::Context;
use super::take_back::{RereadError, extracted_at};
use crate::facts_writer::EpochError;

/// Why captures could not be added again.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Epoch(#[from] EpochError),
    /// A record could not be read. The captures before it are added; the next load continues with
    /// it.
    #[error("the capture at offset {offset} cannot be taken in again: {why}")]
    Record {
        /// Offset of the record.
        offset: u64,
        /// Why the record cannot be read.
        why: RereadError,
    },
}

/// Adds the captures of an input whose takedowns are undone. `input` opens the bytes of the input.
pub(super) fn readmit(
    context: &Context,
    (id, entry): (InputId, &LedgerRow),
    input: impl Fn() -> io::Result<Arc<dyn warc::Input>>,
) -> Result<(), Failure> {
    if entry.taken_down == 0 {
        return Ok(());
    }
    let returning = context.open.index.returning(id);
    let kept_out = returning.map_err(|error| Failure::Epoch(index::ApplyError::from(error).into()))?;
    if format::file_name::is_index_name(&entry.location) {
        return readmit_lines(context, id, &kept_out, input());
    }
    let mut batch = Batch::default();
    let mut bytes = 0;
    for KeptOut {
        offset,
        length,
        method,
        ..
    } in kept_out
    {
        // The next load adds the remaining captures.
        if context.job.is_stopped() {
            break;
        }
        let failed = |why| Failure::Record { offset, why };
        let again = extracted_at(&context.extract, &entry.location, (offset, length), input());
        match again.map_err(failed)? {
            Extracted::Capture(mut capture) => {
                capture.method = method;
                bytes += capture_bytes(&capture);
                batch.captures.push((id, *capture));
            }
            Extracted::Attachment(attachment) => {
                bytes += attachment_bytes(&attachment);
                batch.lines.push((id, *attachment));
            }
            Extracted::Counted | Extracted::Unusable(_) => return Err(failed(RereadError::NoCapture)),
        }
        if bytes >= context.epoch_bytes {
            apply(context, std::mem::take(&mut batch))?;
            bytes = 0;
        }
    }
    apply(context, batch)
}

/// Adds lines of an index again. They are few enough to be added in one batch.
fn readmit_lines(
    context: &Context,
    id: InputId,
    kept_out: &[KeptOut],
    input: io::Result<Arc<dyn warc::Input>>,
) -> Result<(), Failure> {
    let offsets: HashSet<u64> = kept_out.iter().map(|kept_out| kept_out.offset).collect();
    let failed = |offset: u64, error: io::Error| Failure::Record {
        offset,
        why: error.into(),
    };
    let first = offsets.iter().min().copied().unwrap_or_default();
    let mut lines = input
        .and_then(IndexLines::open)
        .map_err(|error| failed(first, error))?;
    let mut batch = Batch::default();
    while let Some(numbered) = lines.next_line().map_err(|error| failed(first, error))? {
        if let Line::Capture(mut line) = numbered.line
            && offsets.contains(&numbered.offset)
        {
            (line.offset, line.length) = (numbered.offset, numbered.length);
            batch.lines.push((id, *line));
        }
    }
    apply(context, batch)
}

fn apply(context: &Context, batch: Batch) -> Result<(), Failure> {
    if batch.captures.is_empty() && batch.lines.is_empty() {
        return Ok(());
    }
    let open = &context.open;
    let report = match &open.facts {
        Some(facts) => facts.apply(&open.index, batch)?,
        None => open.index.apply(batch).map_err(EpochError::from)?,
    };
    // The search index follows with the next epoch, or at the end of the load.
    let counters = &context.job.counters;
    counters.epochs.add(1);
    counters.captures.add(report.captures_new);
    counters.index_lines.add(report.lines_new);
    counters.attachments.add(report.attachments_new);
    counters.captures_taken_down.add(report.captures_taken_down);
    Ok(())
}
