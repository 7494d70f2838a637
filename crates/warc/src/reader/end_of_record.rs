//! Finds the end of a record after its block, and creates the record.

use crate::container;
use crate::container::codec::End;
use crate::entry::Entry;
use crate::error::ReadError;
use crate::reader::Reader;
use crate::reader::body::Body;
use crate::reason;
use crate::record::Record;
use crate::record::head::Head;
use crate::record::start::Start;
use crate::span::Defect;

impl Reader {
    /// Finds the end of the record, and creates the record. In a compressed frame, the bytes
    /// between the block and the next record belong to the record; in plain bytes, only line ends
    /// do.
    pub(crate) fn settle(&mut self, mut head: Head, body: Body) -> Result<(), ReadError> {
        let last_frame = self.frames.frame_start();
        let line_ends = self.skip_line_ends()?;
        let mut surplus = 0;
        let end = loop {
            match self.look()? {
                Start::Warc | Start::Arc | Start::Unsure => {
                    if let Some(offset) = self.frames.offset_within()? {
                        break offset;
                    }
                    head.defects.push(Defect::new(
                        reason::RECORDS_TOO_DENSE,
                        "a record without an offset",
                    ));
                }
                Start::Neither if self.frames.is_plain() => break self.leave_plain(&mut head, line_ends)?,
                Start::Neither if self.frames.window().is_empty() => {
                    if self.is_unfinished() {
                        return Ok(());
                    }
                    head.defects
                        .extend(self.frames.end().and_then(End::defect).cloned());
                    break self.frames.close()?;
                }
                Start::Neither => {}
            }
            surplus += self.skip_surplus()?;
        };
        if self.done {
            return Ok(());
        }
        if surplus > 0 {
            let detail = format!("{surplus} bytes follow the {} declared", body.length);
            head.defects.push(Defect::new(reason::LENGTH_TOO_SHORT, detail));
        } else if line_ends < head.line_ends() && head.defects.is_empty() && !head.is_arc_file_header() {
            let detail = format!("{line_ends} after the block, {} expected", head.line_ends());
            head.defects.push(Defect::new(reason::LINE_ENDS_MISSING, detail));
        }
        if let Some(kept) = &mut self.stored_record {
            kept.end(self.mark, last_frame, self.frames.is_open());
        }
        self.make_record(head, body, end);
        Ok(())
    }

    /// Skips at least one byte, up to the next record in the frame. Returns the number of skipped
    /// bytes.
    fn skip_surplus(&mut self) -> Result<usize, ReadError> {
        // `kept` is taken out, because it is written to while the reader is borrowed.
        let mut kept = self.stored_record.take();
        let mut surplus = 0;
        let mut seen = |bytes: &[u8]| {
            surplus += bytes.len();
            if let Some(kept) = &mut kept {
                kept.push_after(bytes);
            }
        };
        seen(&self.frames.window()[..1]);
        self.frames.consume(1);
        let skipped = self.skip_to_record(u64::MAX, seen);
        self.stored_record = kept;
        skipped?;
        Ok(surplus)
    }

    /// Ends a plain record that is not followed by a plain record.
    fn leave_plain(&mut self, head: &mut Head, line_ends: u64) -> Result<u64, ReadError> {
        let end = self.frames.close()?;
        if end == self.frames.size() {
            self.done |= self.settings.growing && line_ends < head.line_ends();
            return Ok(end);
        }
        let rest = self.frames.stored_ahead(container::MAGIC_BYTES)?;
        if container::sniff(rest).is_none() && rest.first().is_some_and(|b| *b != 0) {
            let detail = "bytes that are no record follow the block";
            head.defects.push(Defect::new(reason::LENGTH_TOO_SHORT, detail));
        }
        Ok(end)
    }

    /// Creates the record that ends at `end`.
    pub(crate) fn make_record(&mut self, mut head: Head, body: Body, end: u64) {
        let span = self.span_to(end);
        let incomplete = head.defects.iter().any(|defect| {
            defect.reason == reason::TRUNCATED_RECORD || defect.reason == reason::LENGTH_TOO_LONG
        });
        let payload_sha1 = if incomplete {
            // The digest of a part would be mistaken for that of the whole payload.
            None
        } else {
            body.checks.finish(&mut head.defects)
        };
        if let (Some(kept), Some(rest)) = (&mut self.stored_record, body.rest) {
            kept.put_rest(rest);
        }
        self.ready.push_back(Entry::Record(Record {
            span,
            format: head.format,
            kind: head.kind,
            headers: head.headers,
            body: body.kept.into_vec(),
            body_length: body.length,
            payload_sha1,
            defects: head.defects,
        }));
    }
}
