//! Stage `weave`: commits each batch as one epoch.

use std::collections::HashMap;

use index::{Batch, EpochReport, InputId, InputProgress, InputState};
use pipeline::{Out, StageResult};

use super::chunk::{ExtractedChunk, IndexedEpoch};
use super::context::Context;
use super::take_back::{self, TakeBackFailure};
use crate::recounting;

pub(super) fn apply_chunks(
    context: &Context,
    extracts: Vec<ExtractedChunk>,
    out: &mut Out<'_, IndexedEpoch>,
) -> StageResult {
    let mut extracts = extracts;
    if let Some(rules) = &context.open.kept_out {
        recounting::keep_out(rules, &context.open.index.snapshot(), &mut extracts)?;
    }
    if let Some(recounting) = &context.open.recounting {
        recounting.take(&context.open.index.snapshot(), &mut extracts)?;
    }
    let mut batch = Batch::default();
    let mut places = HashMap::new();
    let mut changed = Vec::new();
    for extract in extracts {
        let input = extract.progress.input;
        changed.extend(extract.taken_back.map(|state| (input, state)));
        batch
            .captures
            .extend(extract.captures.into_iter().map(|capture| (input, capture)));
        batch
            .lines
            .extend(extract.lines.into_iter().map(|line| (input, line)));
        match places.get(&input) {
            Some(place) => append(&mut batch.progress[*place], extract.progress),
            None => {
                places.insert(input, batch.progress.len());
                batch.progress.push(extract.progress);
            }
        }
    }
    let progress = batch.progress.clone();
    let report = match &context.open.facts {
        Some(facts) => facts.apply(&context.open.index, batch)?,
        None => context.open.index.apply(batch)?,
    };
    count(context, &report, &progress);
    let snapshot = context.open.index.snapshot();
    out.send(IndexedEpoch { report, snapshot })?;
    // All chunks of these inputs are indexed now, so the inputs can be taken back completely.
    for (input, state) in changed {
        take_back_changed(context, input, state)?;
    }
    Ok(())
}

/// Takes back everything of an input whose content changed while it was read. If that fails, the
/// input keeps the state of its last chunk, which tells the user what to do. The search index
/// follows with the next epoch, or at the end of the load.
fn take_back_changed(context: &Context, input: InputId, state: InputState) -> StageResult {
    match take_back::to_the_beginning(&context.open, &context.extract, input, state, None) {
        Ok(()) => Ok(()),
        Err(TakeBackFailure::Epoch(error)) => Err(error.into()),
        Err(error @ TakeBackFailure::Input(_)) => {
            tracing::warn!(%error, "cannot take back what was read of a changed input");
            Ok(())
        }
    }
}

/// Appends the next progress of the same input. It begins where `whole` ends.
fn append(whole: &mut InputProgress, next: InputProgress) {
    debug_assert!(
        whole.bytes_done <= next.bytes_done && whole.state == InputState::Loading,
        "after {} ({}) input {} continues to {}",
        whole.bytes_done,
        whole.state,
        whole.input.0,
        next.bytes_done
    );
    whole.bytes_done = next.bytes_done;
    whole.exchange_from = next.exchange_from;
    whole.records += next.records;
    whole.captures_recounted += next.captures_recounted;
    whole.quarantined.extend(next.quarantined);
    whole.state = next.state;
    whole.cut = next.cut;
    whole.digested = next.digested.or_else(|| whole.digested.take());
}

fn count(context: &Context, report: &EpochReport, progress: &[InputProgress]) {
    let counters = &context.job.counters;
    counters.epochs.add(1);
    counters.captures.add(report.captures_new);
    counters.captures_known.add(report.captures_known);
    counters.index_lines.add(report.lines_new);
    counters.attachments.add(report.attachments_new);
    counters.captures_taken_down.add(report.captures_taken_down);
    for input in progress {
        counters.records.add(input.records);
        counters.quarantined.add(input.quarantined.len() as u64);
        context.job.reach(input.input, input.bytes_done);
        match input.state {
            InputState::Done => {
                counters.inputs_done.add(1);
                counters.inputs_cut.add(u64::from(input.cut.is_some()));
            }
            InputState::Failed { .. } => counters.inputs_failed.add(1),
            InputState::Pending | InputState::Loading | InputState::TakenDown | InputState::Forgotten => {}
        }
    }
}
