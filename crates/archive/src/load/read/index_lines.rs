//! Reads an index of another tool in chunks of lines.
//!
//! A load that was interrupted skips the lines that are already indexed. The position is the number
//! of lines, because a byte offset has no meaning within a compressed member.

use cdx::Line;
use index::QuarantineEntry;
use inputs::{IndexLines, NumberedLine};
use pipeline::Out;
use warc::Defect;

use super::{End, OpenInputError, Reading};

/// Limit of lines in a chunk.
const LINES_MAX: u64 = 1024;

/// Reason of an input without any usable line.
pub(super) const NO_LINE: &str = "no line of a CDX or CDXJ index in it";

impl Reading<'_> {
    /// Reads all lines after those that are already indexed.
    pub(super) fn read_lines(
        &mut self,
        out: &mut Out<'_, super::Chunk>,
    ) -> Result<End, pipeline::StageError> {
        let location = self.registered.found.place.location();
        let opened = self.open_input().and_then(|input| {
            IndexLines::open(input).map_err(|error| OpenInputError::Open(location.clone(), error))
        });
        let mut lines = match opened {
            Ok(lines) => lines,
            Err(error) => return Ok(End::Failed(error.to_string())),
        };
        let (size, indexed) = (self.registered.entry.size, self.registered.entry.records);
        while !self.context.job.is_stopped() {
            let next = match lines.next_line() {
                Ok(Some(next)) => next,
                Ok(None) => {
                    self.chunk.bytes_done = size;
                    return Ok(End::Whole);
                }
                Err(error) => {
                    return Ok(End::Failed(format!(
                        "read {location} behind line {}: {error}",
                        lines.number()
                    )));
                }
            };
            if next.number <= indexed {
                continue;
            }
            self.push_line(next);
            let bytes_max = super::CHUNK_BYTES.min(self.context.epoch_bytes);
            if self.chunk.lines_read >= LINES_MAX || self.chunk.bytes >= bytes_max {
                // Lines read ahead are not indexed yet, so only the last chunk may reach the end.
                let read = lines.bytes_read().min(size.saturating_sub(1));
                self.chunk.bytes_done = self.chunk.bytes_done.max(read);
                self.send(out)?;
            }
        }
        Ok(End::Stopped)
    }

    fn push_line(&mut self, numbered: NumberedLine) {
        let NumberedLine {
            number,
            offset,
            length,
            line,
        } = numbered;
        let quarantined = |Defect { reason, detail }: Defect| QuarantineEntry {
            offset,
            length,
            reason: reason.to_owned(),
            detail: format!("line {number}: {detail}"),
        };
        self.chunk.lines_read += 1;
        match line {
            Line::Nothing => {}
            // An index without captures is still an index.
            Line::Head => self.useless = false,
            Line::Bad(defect) => self.chunk.bad_lines.push(quarantined(defect)),
            Line::Capture(mut line) => {
                self.useless = false;
                (line.offset, line.length) = (offset, length);
                self.chunk.bytes += super::OVERHEAD_BYTES + (2 * line.url.len() + line.filename.len()) as u64;
                self.chunk.lines.push(*line);
            }
        }
    }
}
