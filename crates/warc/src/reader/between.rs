//! Recognises what begins between the records of a frame, and skips other bytes.

use crate::container::Container;
use crate::container::codec::End;
use crate::error::ReadError;
use crate::frames::Opened;
use crate::reader::Reader;
use crate::reason;
use crate::record::start::{self, Search, Searcher, Start};
use crate::record::{arc, line};
use crate::span::Defect;

/// Number of decoded bytes to search at a time.
const SEARCH_BYTES: usize = 64 << 10;

impl Reader {
    /// Reads what begins at the current position of the open frame: its start, or the end of a
    /// record.
    pub(crate) fn read_item(&mut self) -> Result<(), ReadError> {
        self.skip_line_ends()?;
        match self.look()? {
            Start::Neither if self.frames.window().is_empty() => self.end_frame(),
            Start::Neither => {
                let defect = Defect::new(reason::NO_RECORD, "a compressed member without a record");
                match self.frames.close_if_overrunning()? {
                    Some(end) => {
                        self.quarantine(end, defect);
                        Ok(())
                    }
                    None => self.skip_bad(0, defect),
                }
            }
            Start::Warc | Start::Arc | Start::Unsure => self.read_record(),
        }
    }

    /// Takes line ends from the window and the rest of the frame. Returns the number of LFs.
    pub(crate) fn skip_line_ends(&mut self) -> Result<u64, ReadError> {
        let mut count = 0;
        loop {
            let window = self.frames.window();
            let blank = line_end_bytes(window);
            count += window[..blank].iter().filter(|b| **b == b'\n').count() as u64;
            let all = blank == window.len();
            if let Some(kept) = &mut self.stored_record {
                kept.push_after(&window[..blank]);
            }
            self.frames.consume(blank);
            if !all || !self.frames.more(1)? {
                return Ok(count);
            }
        }
    }

    /// Recognises what begins at the window's first byte, and reads as much of the frame as needed.
    /// Returns `Unsure` if a complete compressed frame, or a growing file, ends too early to
    /// decide: the record may continue.
    pub(crate) fn look(&mut self) -> Result<Start, ReadError> {
        let mut wanted = 64;
        loop {
            let window = self.frames.window();
            if window.is_empty() && !self.frames.more(1)? {
                return Ok(Start::Neither);
            }
            let start = start::start_of(self.frames.window(), false);
            if start != Start::Unsure {
                return Ok(start);
            }
            wanted = (wanted * 4).min(start::START_BYTES_MAX + 1);
            if !self.frames.more(wanted)? {
                let continues = if self.frames.is_plain() {
                    self.settings.growing
                } else {
                    self.frames.end().is_some_and(End::is_complete)
                };
                return Ok(if continues {
                    Start::Unsure
                } else {
                    start::start_of(self.frames.window(), true)
                });
            }
        }
    }

    /// Ends the frame when its remaining bytes cannot become a record.
    fn end_frame(&mut self) -> Result<(), ReadError> {
        if self.is_unfinished() {
            return Ok(());
        }
        let defect = self.frames.end().and_then(End::defect).cloned();
        let stopped = self.frames.stored();
        let end = self.frames.close()?;
        match defect {
            Some(defect) => self.quarantine(end, defect),
            None if end < stopped => {
                let defect = Defect::new(reason::NO_RECORD, "an empty frame, in which a record begins");
                self.quarantine(end, defect);
            }
            None => self.pad(end),
        }
        Ok(())
    }

    /// Quarantines at least `bytes` bytes from the start of the window, up to the next record in
    /// the frame (for plain bytes: in the file) or to the end of the frame.
    pub(crate) fn skip_bad(&mut self, bytes: usize, mut defect: Defect) -> Result<(), ReadError> {
        if self.frames.is_plain() {
            return self.skip_bad_plain(bytes, defect);
        }
        self.frames.consume(bytes);
        loop {
            self.skip_to_record(u64::MAX, |_| ())?;
            if self.frames.window().is_empty() {
                break;
            }
            if let Some(end) = self.frames.offset_within()? {
                self.quarantine(end, defect);
                return Ok(());
            }
            // No offset is left for this record, so it stays in the quarantined range.
            self.frames.consume(1);
            defect = Defect::new(reason::RECORDS_TOO_DENSE, "more records than bytes");
        }
        if self.is_unfinished() {
            return Ok(());
        }
        let defect = self.frames.end().and_then(End::defect).cloned().unwrap_or(defect);
        let end = self.frames.close()?;
        self.quarantine(end, defect);
        Ok(())
    }

    fn skip_bad_plain(&mut self, bytes: usize, defect: Defect) -> Result<(), ReadError> {
        let from = self.frames.stored() + bytes.max(1) as u64;
        self.frames.close()?;
        let end = self.frames.find_next(from)?;
        self.frames.seek(end);
        if self.settings.growing && end == self.frames.size() {
            self.done = true;
        } else {
            self.quarantine(end, defect);
        }
        Ok(())
    }

    /// Takes up to `most` bytes of the frame, but stops at the next record in it, and passes them
    /// to `seen`. Returns true if a record begins at the new position.
    pub(crate) fn skip_to_record(
        &mut self,
        most: u64,
        mut seen: impl FnMut(&[u8]),
    ) -> Result<bool, ReadError> {
        let mut searcher = Searcher::new(false);
        let (mut left, mut last) = (most, false);
        while left > 0 {
            let window = self.frames.window();
            let answer = searcher.search(window, last);
            let (Search::Found(bytes) | Search::NotBefore(bytes)) = answer;
            let taken = usize::try_from(left).unwrap_or(usize::MAX).min(bytes);
            seen(&window[..taken]);
            self.frames.consume(taken);
            left -= taken as u64;
            if taken < bytes {
                return Ok(false);
            }
            if let Search::Found(_) = answer {
                return Ok(true);
            }
            if last {
                return Ok(false);
            }
            let wanted = self.frames.window().len() + SEARCH_BYTES;
            last = !self.frames.more(wanted)?;
        }
        Ok(false)
    }

    /// Opens the next frame with content; skips empty frames and padding.
    pub(crate) fn next_frame(&mut self) -> Result<Opened, ReadError> {
        loop {
            match self.frames.open()? {
                Opened::Padding(_) => {}
                Opened::Frame => {
                    if !self.frames.window().is_empty()
                        || self.frames.more(1)?
                        || !self.frames.end().is_some_and(End::is_complete)
                    {
                        return Ok(Opened::Frame);
                    }
                    self.frames.close()?;
                }
                next => return Ok(next),
            }
        }
    }

    /// Returns whether a record that broke off at the end of a frame of `container` may continue in
    /// the open frame.
    pub(crate) fn continues_in(&mut self, container: Container) -> Result<bool, ReadError> {
        Ok(self.frames.container() == container && !self.record_begins()?)
    }

    /// Returns whether a record certainly begins at the start of the window. Ignores line ends
    /// before it.
    pub(crate) fn record_begins(&mut self) -> Result<bool, ReadError> {
        let mut wanted = line::PLAUSIBLE_BYTES + 16;
        loop {
            let last = self.frames.window().len() < wanted && !self.frames.more(wanted)?;
            let window = self.frames.window();
            let start = &window[line_end_bytes(window)..];
            if line::plausible(start) {
                return Ok(true);
            }
            match arc::is_header(start, arc::Trust::Searching) {
                Some(begins) => return Ok(begins),
                None if last || wanted > arc::LINE_BYTES_MAX => return Ok(false),
                None => wanted *= 4,
            }
        }
    }
}

/// Returns how many leading bytes are CR or LF.
pub(crate) fn line_end_bytes(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|b| matches!(b, b'\r' | b'\n')).count()
}
