//! Captures as records of one gzipped WARC file: each record as it is stored, byte for byte, what a revisit repeats, and the request
//! of an answer to another method than GET; if asked for, the other records of requests and metadata that belong to them, behind all
//! captures.

use std::collections::HashSet;
use std::io::Write;

use super::Subset;
use super::hashed::Hashed;
use super::related::Copied;
use super::requests::Requests;
use crate::results::{AskBy, ExportError, Exported, LeftOut, begin_warc, copy_raw, copy_record};
use archive::Archive;
use archive::question::{Record, RecordBody};
use cdx::CdxRow;
use inputs::Sources;

/// The records of a subset, being written.
pub(super) struct WarcFile<'a, W> {
    ask: &'a AskBy<'a>,
    sources: &'a Sources,
    subset: &'a Subset,
    pub(super) out: Hashed<W>,
    /// The URL key whose captures come now, and those of them that a revisit brought before their turn.
    key: String,
    brought: HashSet<String>,
    /// Where the captures were, if the records that belong to them are to come along.
    copied: Option<Copied>,
    /// Where the requests of captures are that answer another method than GET.
    requests: Requests,
    pub(super) exported: Exported,
}

/// A capture that was written.
pub(super) struct Written {
    /// The capture, where its record is now.
    pub(super) row: CdxRow,
    /// Its name, and the location of its input, where it was.
    pub(super) name: String,
    pub(super) location: String,
}

impl<'a, W: Write> WarcFile<'a, W> {
    /// Begins the file.
    pub(super) fn begin(
        ask: &'a AskBy<'a>,
        sources: &'a Sources,
        subset: &'a Subset,
        with_requests: bool,
        out: W,
    ) -> Result<WarcFile<'a, W>, ExportError> {
        let mut out = Hashed::new(out);
        begin_warc(&subset.described(), &mut out).map_err(ExportError::Output)?;
        Ok(WarcFile {
            ask,
            sources,
            subset,
            out,
            key: String::new(),
            brought: HashSet::new(),
            copied: with_requests.then(Copied::default),
            requests: Requests::default(),
            exported: Exported::default(),
        })
    }

    /// Writes the record of a capture, and before a revisit that of its original if it is not in the subset. Gives the
    /// captures written, with where their records are now.
    pub(super) fn put(&mut self, row: &CdxRow) -> Result<Vec<Written>, ExportError> {
        let mut written = Vec::new();
        if self.key != row.url_key {
            self.key.clone_from(&row.url_key);
            self.brought.clear();
        }
        let question = Record {
            url: row.url_key.clone(),
            at: None,
            capture: Some(row.name()),
            fuzzy: false,
        };
        let record = match (self.ask)(question.into()) {
            Ok(answer) => answer.to::<Record>()?.body,
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

    fn copy(&mut self, record: &RecordBody, written: &mut Vec<Written>) -> Result<(), ExportError> {
        let offset = self.out.bytes;
        match copy_record(self.sources, record, &mut self.out)? {
            Err(why) => self.leave_out(&record.capture, why),
            Ok(()) => {
                self.exported.results += 1;
                if let Some(copied) = &mut self.copied {
                    let place = copied.push(&record.location, record.capture.offset);
                    place.map_err(ExportError::Output)?;
                }
                written.push(Written {
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

    /// Writes the request behind an answer to another method than GET. Without it, whoever loads the file would take the answer
    /// for the page.
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
                    "{location}: the {} request of the capture at offset {offset} is not copied: {why}",
                    record.capture.method
                );
                self.exported.problems.push(what);
            }
        }
        Ok(())
    }

    /// Writes what belongs to the captures that were written. `goes_on` is asked meanwhile.
    pub(super) fn put_related(&mut self, goes_on: &mut dyn FnMut() -> bool) -> Result<(), ExportError> {
        if let Some(copied) = self.copied.take() {
            let related = copied.write(self.sources, &mut self.out, goes_on)?;
            self.exported.related += related.records;
            self.exported.problems.extend(related.problems);
        }
        Ok(())
    }

    fn leave_out(&mut self, row: &CdxRow, why: String) {
        self.exported.left_out.push(LeftOut {
            url: row.url.clone(),
            fetch_time: row.fetch_time.clone(),
            why,
        });
    }
}

/// Writes the records of captures into a gzipped WARC file, `with_requests` those of requests and metadata that belong to them, too.
/// `progress` is told how many captures were gone through, and gives whether to go on.
///
/// # Errors
/// [`ExportError`].
pub fn write_warc(
    archive: &Archive,
    subset: &Subset,
    with_requests: bool,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<Exported, ExportError> {
    let ask = |question| archive.ask(question);
    let mut warc = WarcFile::begin(&ask, archive.sources(), subset, with_requests, out)?;
    let index_only = subset.for_each(&ask, false, progress, &mut |row| warc.put(&row).map(drop))?;
    warc.exported.index_only = index_only;
    let captures = warc.exported.results;
    warc.put_related(&mut || progress(captures))?;
    warc.out.flush().map_err(ExportError::Output)?;
    Ok(warc.exported)
}
