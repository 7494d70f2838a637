//! Stage `extract`: turns records into captures, and collects what the ledger records about them.

use extract::Capture;
use index::{InputId, InputProgress, QuarantineEntry};
use pipeline::{Out, StageResult};
use warc::{Defect, Entry, Record, Span};

use super::chunk::{Chunk, ExtractedChunk, attachment_bytes, capture_bytes};
use super::context::Context;
use crate::record_outcome::{RecordOutcome, damage_of};

pub(super) fn extract_chunk(
    context: &Context,
    chunk: Chunk,
    out: &mut Out<'_, ExtractedChunk>,
) -> StageResult {
    let mut result = ExtractedChunk {
        progress: InputProgress {
            input: chunk.input,
            bytes_done: chunk.bytes_done,
            exchange_from: chunk.exchange_from,
            records: chunk.lines_read,
            captures_recounted: 0,
            quarantined: chunk.bad_lines,
            state: chunk.state,
            cut: chunk.cut,
            digested: chunk.digested,
        },
        captures: Vec::new(),
        bytes: if chunk.lines.is_empty() { 0 } else { chunk.bytes },
        lines: chunk.lines,
        taken_back: chunk.taken_back,
    };
    let mut records = Vec::with_capacity(chunk.entries.len());
    for (entry, method) in chunk.entries {
        match entry {
            Entry::Record(record) => {
                add_record(context, &mut result, &record, method);
                records.push(record);
            }
            Entry::Quarantined(span, defect) => result.progress.quarantined.push(quarantine(span, defect)),
            _ => {}
        }
    }
    for defect in chunk.undeclared {
        let end = Span {
            offset: chunk.bytes_done,
            length: 0,
        };
        result.progress.quarantined.push(quarantine(end, defect));
    }
    context.record_pool.give(records, chunk.bytes);
    if let Some(rate) = &context.rate {
        let pages = result
            .captures
            .iter()
            .filter(|capture| capture.page.is_some())
            .count();
        rate.take(pages as u64, || context.job.is_stopped());
    }
    out.send(result)
}

fn add_record(context: &Context, result: &mut ExtractedChunk, record: &Record, method: String) {
    result.progress.records += 1;
    note_defects(context, result.progress.input, record);
    match RecordOutcome::extract(record, method, &context.extract) {
        RecordOutcome::Counted => {}
        RecordOutcome::Capture(capture) => add_capture(context, result, *capture),
        RecordOutcome::Attachment(attachment) => {
            result.bytes += attachment_bytes(&attachment);
            result.lines.push(*attachment);
        }
        RecordOutcome::Quarantined(defect) => {
            result.progress.quarantined.push(quarantine(record.span, defect));
            return;
        }
    }
    let damage = damage_of(record).into_iter();
    let entries = damage.map(|defect| quarantine(record.span, defect));
    result.progress.quarantined.extend(entries);
}

fn add_capture(context: &Context, result: &mut ExtractedChunk, mut capture: Capture) {
    if let Some(page) = &capture.page {
        context.job.counters.pages.add(1);
        context.job.counters.links.add(page.links.len() as u64);
    }
    if capture.document.is_some() {
        context.job.counters.documents.add(1);
    }
    if let Some(defect) = capture.document_defect.take() {
        // A load reports it with its defects.
        tracing::debug!(
            url = capture.url,
            reason = defect.reason,
            detail = defect.detail,
            "cannot extract the text of a document"
        );
        context
            .job
            .add_unread(result.progress.input, capture.offset, &defect);
    }
    result.bytes += capture_bytes(&capture);
    result.captures.push(capture);
}

fn note_defects(context: &Context, input: InputId, record: &Record) {
    for defect in record.defects.iter().cloned().chain(extract::defects_of(record)) {
        context.job.add_defect(input, record.span.offset, &defect);
    }
}

fn quarantine(span: Span, defect: Defect) -> QuarantineEntry {
    QuarantineEntry {
        offset: span.offset,
        length: span.length,
        reason: defect.reason.to_owned(),
        detail: defect.detail,
    }
}
