//! Records inside bytes taken for something else: a frame that is damaged or not a frame, or a
//! block whose declared length is wrong.

use std::ops::Range;

use memchr::{memchr, memmem};

use crate::container::codec::End;
use crate::error::ReadError;
use crate::frames::search::{FrameStart, Trials, Wanted};
use crate::frames::{Frame, FramePosition, Frames, Opened, PIECE_BYTES};
use crate::record::start::START_BYTES_MAX;

/// Number of bytes of a record to look for in a frame's output: usually more than the first two
/// fields.
const TEXT_BYTES: usize = 192;

/// Number of bytes at the end of a frame that may belong to its checksum or end mark.
const TRAILER_BYTES: u64 = 16;

/// Fewer bytes than this may well belong to a different record.
const TEXT_BYTES_MIN: usize = 32;

impl Frames {
    /// Returns where the first record begins in the stored bytes that a frame's decoder consumed
    /// before it stopped.
    pub(super) fn find_overrun_record(
        &mut self,
        frame: &Frame,
        stopped: u64,
    ) -> Result<Option<u64>, ReadError> {
        let mut trials = Trials::new();
        let mut from = frame.offset_taken + 1;
        loop {
            match self.find_with(&mut trials, from, stopped, Wanted::Records)? {
                Some(FrameStart::Plain(at)) if frame.holds_record && self.is_known(frame, at, stopped)? => {
                    from = at + 1;
                }
                found => return Ok(found.map(FrameStart::offset)),
            }
        }
    }

    /// Decodes the open compressed frame to its end. If it is not really a frame, and its decoder
    /// consumed stored records, closes it and returns where the first of these begins. To be called
    /// for a frame that does not begin with a record. The output of such a frame may contain
    /// records, too, but they may differ from the stored ones, because these bytes were not
    /// compressed as this frame.
    pub(crate) fn close_if_overrunning(&mut self) -> Result<Option<u64>, ReadError> {
        let Some(position) = self.frame_position().filter(|_| !self.is_plain()) else {
            return Ok(None);
        };
        let is_used = self.frame.as_ref().is_some_and(|frame| frame.holds_record);
        if is_used || !self.may_look_again(0) {
            return Ok(None);
        }
        while self.consume_with(PIECE_BYTES, |_| ())? > 0 {}
        let stopped = self.stored();
        self.budget.allows(stopped - position.frame_start, stopped);
        let end = self.close()?;
        if end < stopped {
            return Ok(Some(end));
        }
        self.rewind(position)?;
        Ok(None)
    }

    /// Returns whether the plain record at `offset` was already found in the frame. This is so if
    /// the frame stores its content uncompressed, so that its output contains these very bytes.
    /// Output after the beginning of the last record found is not searched: if such a frame is cut,
    /// the decoder takes the bytes after it in the file for its content.
    fn is_known(&mut self, frame: &Frame, offset: u64, stopped: u64) -> Result<bool, ReadError> {
        let mut text = [0; TEXT_BYTES];
        let given_out = (stopped - offset).saturating_sub(TRAILER_BYTES);
        let most = usize::try_from(given_out).unwrap_or(usize::MAX).min(TEXT_BYTES);
        let read = self.source.read_at(offset, &mut text[..most])?;
        if read < TEXT_BYTES_MIN {
            return Ok(false);
        }
        if !self.budget.allows(stopped - frame.start, stopped) {
            return Ok(true);
        }
        // Many records begin alike. If the decoder stopped within these bytes, they are near the
        // end of its output.
        let from = if read < TEXT_BYTES {
            frame.decoded.saturating_sub(read as u64 + 4 * TRAILER_BYTES)
        } else {
            0
        };
        let until = frame.record_position + read as u64;
        let is_known = self.is_decoded_to(frame.start, from..until, &text[..read])?;
        self.seek(stopped);
        Ok(is_known)
    }

    /// Returns whether `text` occurs in a range of the decoded bytes of the frame that begins at
    /// `start`.
    fn is_decoded_to(&mut self, start: u64, range: Range<u64>, text: &[u8]) -> Result<bool, ReadError> {
        let position = FramePosition::within(start, range.start);
        if !self.rewind(position)? {
            return Ok(false);
        }
        let finder = memmem::Finder::new(text);
        let (mut bytes, mut left) = (Vec::new(), range.end.saturating_sub(range.start));
        while left > 0 {
            let most = left.min(PIECE_BYTES as u64) as usize;
            let consumed = self.consume_with(most, |more| bytes.extend_from_slice(more))?;
            if finder.find(&bytes).is_some() {
                return Ok(true);
            }
            if consumed == 0 {
                break;
            }
            left -= consumed as u64;
            // The text may span two pieces.
            bytes.drain(..bytes.len().saturating_sub(text.len()));
        }
        Ok(false)
    }

    /// Searches the block of a plain record, declared to extend from `start` to `end`, for the
    /// first record that is not content of the block. Returns its position. Moves back to `start`.
    ///
    /// A block may contain records as content, except if `end` is beyond the end of the file. If
    /// something readable follows the block, and only the line ends are missing (`ends_well`), a
    /// plain record in it is content unless its first line extends beyond `end`. Without
    /// `ends_well`, plain records are not content. Compressed members are content unless a sequence
    /// of consecutive members extends beyond `end`. The end of a damaged member is unknown: without
    /// `ends_well`, the sequence is assumed to continue at the next member, or beyond `end` if
    /// there is no other.
    pub(crate) fn find_in_block(
        &mut self,
        start: u64,
        end: u64,
        ends_well: bool,
    ) -> Result<Option<u64>, ReadError> {
        let plain = self.frame.take();
        let found = self.find_no_content(start, end, ends_well);
        self.seek(start);
        self.frame = plain;
        found
    }

    fn find_no_content(&mut self, start: u64, end: u64, ends_well: bool) -> Result<Option<u64>, ReadError> {
        let until = end.min(self.size());
        let mut trials = Trials::new();
        let mut from = start;
        // Offset of the first of consecutive members, and the end of the last.
        let mut row: Option<(u64, u64)> = None;
        // Offset of the first of consecutive members, the last of which is damaged.
        let mut damaged: Option<u64> = None;
        loop {
            let Some(found) = self.find_with(&mut trials, from, until, Wanted::Records)? else {
                return Ok(damaged);
            };
            let at = found.offset();
            let first = match row.filter(|row| row.1 == at) {
                Some((first, _)) => first,
                None => damaged.unwrap_or(at),
            };
            if end > self.size() {
                return Ok(Some(first));
            }
            if matches!(found, FrameStart::Plain(_)) {
                if !ends_well || self.line_reaches_over(at, end)? {
                    return Ok(Some(first));
                }
                from = at + 1;
                continue;
            }
            match self.whole_member_end(at)? {
                Some(member_end) if member_end > end => return Ok(Some(first)),
                Some(member_end) => {
                    (row, damaged) = (Some((first, member_end)), None);
                    from = member_end;
                }
                None => {
                    (row, damaged) = (None, (!ends_well).then_some(first));
                    from = at + 1;
                }
            }
        }
    }

    /// Returns whether the line that begins at `offset` extends beyond `end`.
    fn line_reaches_over(&self, offset: u64, end: u64) -> Result<bool, ReadError> {
        if end - offset > START_BYTES_MAX as u64 {
            return Ok(false);
        }
        let mut line = vec![0; (end - offset) as usize];
        let read = self.source.read_at(offset, &mut line)?;
        Ok(memchr(b'\n', &line[..read]).is_none())
    }

    /// Returns the end of the compressed member that begins at `offset`, if it is undamaged. Closes
    /// the open frame.
    fn whole_member_end(&mut self, offset: u64) -> Result<Option<u64>, ReadError> {
        self.seek(offset);
        if !self.budget.allows(0, offset) || !matches!(self.open()?, Opened::Frame) {
            return Ok(None);
        }
        while self.consume_with(PIECE_BYTES, |_| ())? > 0 {}
        let (stopped, is_whole) = (self.stored(), self.end() == Some(&End::Whole));
        self.frame = None;
        self.budget.allows(stopped - offset, stopped);
        Ok(is_whole.then_some(stopped))
    }
}
