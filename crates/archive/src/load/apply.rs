//! Stage `weave`: one epoch a batch.

use std::collections::HashMap;

use flow::{Out, StageResult};
use weave::{Batch, EpochReport, InputProgress, InputState};

use super::Context;
use super::chunk::{Extract, Woven};

pub(super) fn apply(context: &Context, extracts: Vec<Extract>, out: &mut Out<'_, Woven>) -> StageResult {
    let mut batch = Batch::default();
    let mut places = HashMap::new();
    for extract in extracts {
        let input = extract.progress.input;
        batch
            .captures
            .extend(extract.captures.into_iter().map(|capture| (input, capture)));
        match places.get(&input) {
            Some(place) => append(&mut batch.progress[*place], extract.progress),
            None => {
                places.insert(input, batch.progress.len());
                batch.progress.push(extract.progress);
            }
        }
    }
    let progress = batch.progress.clone();
    let report = context.parts.weave.apply(batch)?;
    count(context, &report, &progress);
    let snapshot = context.parts.weave.snapshot();
    out.send(Woven { report, snapshot })
}

/// Later progress of the same input goes on where the earlier one ended.
fn append(whole: &mut InputProgress, next: InputProgress) {
    whole.bytes_done = next.bytes_done;
    whole.records += next.records;
    whole.quarantined.extend(next.quarantined);
    whole.state = next.state;
    whole.cut = next.cut;
}

fn count(context: &Context, report: &EpochReport, progress: &[InputProgress]) {
    let counters = &context.job.counters;
    counters.epochs.add(1);
    counters.captures.add(report.captures_new);
    counters.captures_known.add(report.captures_known);
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
            InputState::Pending | InputState::Loading | InputState::Forgotten => {}
        }
    }
}
