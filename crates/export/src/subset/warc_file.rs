//! Exports captures as records of one gzipped WARC file. Each record is copied byte for byte as it
//! is stored. Records that revisits repeat are included, requests with a method other than GET, and
//! attachments of pages. On request the other related records of requests and metadata follow after
//! all captures.

use std::collections::HashSet;
use std::io::Write;

use archive::question::{AttachmentRow, Attachments, Record, RecordBody};
use archive::{Archive, AskError};
use cdx::CdxRow;
use extract::CaptureKind;
use inputs::Sources;

use super::Subset;
use super::hashing_writer::HashingWriter;
use super::related::CopiedCaptures;
use super::requests::Requests;
use crate::results::{AskFn, ExportError, ExportReport, OmittedRecord, begin_warc, copy_raw, copy_record};

/// Number of attachments of a page that the archive lists.
const ATTACHMENTS_MAX: usize = 1000;

/// The records of a subset being written.
pub(super) struct WarcFile<'a, W> {
    ask: &'a AskFn<'a>,
    sources: &'a Sources,
    subset: &'a Subset,
    pub(super) out: HashingWriter<W>,
    /// The current URL key, and those of its captures that a revisit added ahead of their turn.
    key: String,
    brought: HashSet<String>,
    /// Times of the captures of that key that were written, in milliseconds.
    times_ms: Vec<i64>,
    /// Second and digest of the captures of that key that were written, without revisits.
    written: HashSet<(String, String)>,
    /// Captures of that key that could not be written, with the digest of each.
    refused: Vec<(String, OmittedRecord)>,
    /// Positions of the captures, if their related records are requested.
    copied: Option<CopiedCaptures>,
    /// Positions of the requests with a method other than GET.
    requests: Requests,
    pub(super) exported: ExportReport,
}

/// A capture that was written.
pub(super) struct WrittenCapture {
    /// The capture with the new position of its record.
    pub(super) row: CdxRow,
    /// Its name, and the location of its input, in the archive.
    pub(super) name: String,
    pub(super) location: String,
}

impl<'a, W: Write> WarcFile<'a, W> {
    /// Begins the file.
    pub(super) fn begin(
        ask: &'a AskFn<'a>,
        sources: &'a Sources,
        subset: &'a Subset,
        with_requests: bool,
        out: W,
    ) -> Result<WarcFile<'a, W>, ExportError> {
        let mut out = HashingWriter::new(out);
        begin_warc(&subset.described(), &mut out).map_err(ExportError::Output)?;
        Ok(WarcFile {
            ask,
            sources,
            subset,
            out,
            key: String::new(),
            brought: HashSet::new(),
            times_ms: Vec::new(),
            written: HashSet::new(),
            refused: Vec::new(),
            copied: with_requests.then(CopiedCaptures::default),
            requests: Requests::default(),
            exported: ExportReport::default(),
        })
    }

    /// Writes the record of a capture, and before a revisit that of its original if it is not in
    /// the subset. The attachments of a URL key follow its captures. Returns the captures written,
    /// with the new positions of their records.
    pub(super) fn put(&mut self, row: &CdxRow) -> Result<Vec<WrittenCapture>, ExportError> {
        let mut written = Vec::new();
        if self.key != row.url_key {
            self.end_key()?;
            self.key.clone_from(&row.url_key);
            self.brought.clear();
        }
        let record = match self.record(row) {
            Ok(record) => record,
            Err(error) => {
                self.leave_out(row, error.to_string());
                return Ok(written);
            }
        };
        if let Some(original) = record.original.as_deref()
            && self.subset.leaves_out(original, row)
            && self.brought.insert(original.capture.name())
        {
            self.copy(original, &mut written)?;
        }
        self.copy(&record, &mut written)?;
        Ok(written)
    }

    /// Returns the place of the record of a capture or an attachment.
    fn record(&self, row: &CdxRow) -> Result<RecordBody, AskError> {
        let question = Record {
            url: row.url_key.clone(),
            at: None,
            capture: Some(row.name()),
            fuzzy: false,
            with_content: false,
        };
        Ok((self.ask)(question.into())?.to::<Record>()?.body)
    }

    /// Ends the current key: writes the attachments that belong to its captures, and reports those
    /// that could not be written.
    pub(super) fn end_key(&mut self) -> Result<(), ExportError> {
        self.put_attachments()?;
        let written = std::mem::take(&mut self.written);
        for (digest, record) in std::mem::take(&mut self.refused) {
            // The same capture from another file, such as a copy in another format, is enough.
            if written.contains(&(second(&record.fetch_time), digest)) {
                self.exported.left_out_copies += 1;
            } else {
                self.exported.left_out.push(record);
            }
        }
        Ok(())
    }

    fn put_attachments(&mut self) -> Result<(), ExportError> {
        let times_ms = std::mem::take(&mut self.times_ms);
        if times_ms.is_empty() {
            return Ok(());
        }
        let question = Attachments {
            url: self.key.clone(),
            at: None,
        };
        let rows = (self.ask)(question.into())?.to::<Attachments>()?.body.rows;
        if rows.len() >= ATTACHMENTS_MAX {
            let what = format!("only the newest {ATTACHMENTS_MAX} attachments were looked at");
            self.exported.problems.push(format!("{}: {what}", self.key));
        }
        for AttachmentRow { capture, .. } in rows {
            if !self.subset.has_attachment(&capture, &times_ms) {
                continue;
            }
            let copied = match self.record(&capture) {
                Ok(record) => copy_record(self.sources, &record, &mut self.out)?,
                Err(error) => Err(error.into()),
            };
            match copied {
                Ok(()) => self.exported.attachments += 1,
                Err(why) => self.leave_out(&capture, why.to_string()),
            }
        }
        Ok(())
    }

    fn copy(&mut self, record: &RecordBody, written: &mut Vec<WrittenCapture>) -> Result<(), ExportError> {
        let offset = self.out.bytes;
        match copy_record(self.sources, record, &mut self.out)? {
            Err(error) => self.leave_out(&record.capture, error.to_string()),
            Ok(()) => {
                self.exported.results += 1;
                if record.capture.url_key == self.key {
                    self.note_written(&record.capture);
                    let time_ms = format::date::ms_of_iso(&record.capture.fetch_time);
                    self.times_ms.extend(time_ms);
                }
                if let Some(copied) = &mut self.copied {
                    let place = copied.push(&record.location, record.capture.offset);
                    place.map_err(ExportError::Output)?;
                }
                written.push(WrittenCapture {
                    name: record.capture.name(),
                    location: record.location.clone(),
                    row: CdxRow {
                        offset,
                        length: self.out.bytes - offset,
                        ..record.capture.clone()
                    },
                });
                self.put_request(record)?;
            }
        }
        Ok(())
    }

    /// Notes a capture of the current key that has its payload. A revisit has none.
    fn note_written(&mut self, capture: &CdxRow) {
        if capture.kind != CaptureKind::Revisit {
            self.written
                .insert((second(&capture.fetch_time), capture.digest.clone()));
        }
    }

    /// Writes the request after a response to a method other than GET. Without it, a program that
    /// loads the file would take the response for the page.
    fn put_request(&mut self, record: &RecordBody) -> Result<(), ExportError> {
        if matches!(record.capture.method.as_str(), "" | "GET") {
            return Ok(());
        }
        let (location, offset) = (&record.location, record.capture.offset);
        let found = self.requests.of(self.sources, location, offset);
        let copied = match found.and_then(|request| self.requests.open(self.sources, location, request)) {
            Ok((raw, request)) => copy_raw(raw, &mut self.out)?.map(|()| request),
            Err(why) => Err(why),
        };
        match copied {
            Ok(request) => {
                self.exported.related += 1;
                if let Some(copied) = &mut self.copied {
                    copied.has(location, request);
                }
            }
            Err(why) => {
                let what = format!(
                    "{location}: the {} request of the capture at offset {offset} was not copied: {why}",
                    record.capture.method
                );
                self.exported.problems.push(what);
            }
        }
        Ok(())
    }

    /// Writes the records related to the captures written. Calls `should_continue` meanwhile, and stops if
    /// it returns `false`.
    pub(super) fn put_related(
        &mut self,
        should_continue: &mut dyn FnMut() -> bool,
    ) -> Result<(), ExportError> {
        if let Some(copied) = self.copied.take() {
            let related = copied.write(self.sources, &mut self.out, should_continue)?;
            self.exported.related += related.records;
            self.exported.problems.extend(related.problems);
        }
        Ok(())
    }

    fn leave_out(&mut self, row: &CdxRow, why: String) {
        let record = OmittedRecord {
            url: row.url.clone(),
            fetch_time: row.fetch_time.clone(),
            why,
        };
        self.refused.push((row.digest.clone(), record));
    }
}

/// Returns a time up to its second. ARC has no fractions, so copies in both formats agree only so
/// far.
fn second(fetch_time: &str) -> String {
    fetch_time.split(['.', 'Z']).next().unwrap_or_default().to_owned()
}

/// Writes the records of captures into a gzipped WARC file; if `with_requests`, also their
/// records of requests and metadata. `progress` gets the number of captures read so far, and
/// returns whether to continue.
///
/// # Errors
/// [`ExportError`].
pub fn write_warc(
    archive: &Archive,
    subset: &Subset,
    with_requests: bool,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<ExportReport, ExportError> {
    let ask = |question| archive.ask(question);
    let mut warc = WarcFile::begin(&ask, archive.sources(), subset, with_requests, out)?;
    let index_only = subset.for_each(&ask, false, progress, &mut |row| warc.put(&row).map(drop))?;
    warc.end_key()?;
    warc.exported.index_only = index_only;
    let captures = warc.exported.results;
    warc.put_related(&mut || progress(captures))?;
    warc.out.flush().map_err(ExportError::Output)?;
    Ok(warc.exported)
}
