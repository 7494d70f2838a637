//! The decoded bytes of an input, frame by frame, with their stored positions.
//!
//! A *frame* is a gzip member, a zstd or LZ4 frame, or a range of plain bytes. One frame is open at
//! a time; the caller takes bytes from it and decides when to continue with the next.
//!
//! Offsets of records: a record at the start of a frame (preceding line ends do not count) has the
//! offset of the frame. A record in plain bytes has the offset of its first byte. Compressed bytes
//! are passed to the decoder in grains of `GRAIN_BYTES`, counted from the end of the frame header.
//! A record inside a compressed frame has the offset of the grain that made its first byte
//! decodable; if that is taken, the next offset after the last one taken. Offsets therefore
//! strictly increase, are within the frame, and do not depend on where reading began.
//!
//! Invariants: `window_head` ≤ `window_tail` ≤ `window.len()`. `window[window_head..window_tail]`
//! are decoded bytes of the open frame that are not yet taken. `frame.decoded` counts all decoded
//! bytes of the frame, including the window.

pub(crate) mod budget;
pub(crate) mod open;
mod overrun;
pub(crate) mod search;
pub(crate) mod source;
mod whole;

use std::collections::VecDeque;

use crate::buffer::Buffer;
use crate::container::Container;
use crate::container::codec::{Decode, End, Trailer};
use crate::container::decoders::Decoders;
use crate::error::ReadError;
use crate::frames::budget::Budget;
use crate::frames::source::Source;
use crate::reason;
use crate::span::Defect;

/// Number of compressed bytes passed to a decoder between two recorded positions.
pub(crate) const GRAIN_BYTES: usize = 16 << 10;

/// Number of bytes decoded when a frame is opened: enough for most records. If one call decodes the
/// whole frame, the decoder saves no state, and the bytes are copied to the body while they are in
/// the CPU's cache.
const WINDOW_BYTES: usize = 128 << 10;

/// Extra room after a block that is decoded directly into its buffer. The decoder's fast path needs
/// room for a longest match (258 bytes in deflate). With it, the fast path covers the block up to
/// its last bytes.
const SLACK_BYTES: usize = 320;

/// Number of decoded bytes skipped at a time: few enough to stay in the CPU's cache.
const PIECE_BYTES: usize = 64 << 10;

/// What follows the previous frame.
#[derive(Debug)]
pub(crate) enum Opened {
    /// A frame was opened; its bytes can be taken.
    Frame,
    /// Bytes without content, up to this offset.
    Padding(u64),
    /// Unreadable bytes, up to this offset.
    Junk(u64, Defect),
    /// The end of the input.
    Nothing,
}

/// A position in the decoded bytes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FramePosition {
    frame_start: u64,
    /// Number of decoded bytes of the frame before the position.
    position: u64,
    /// The frame's `offset_taken` when the position was recorded.
    offset_taken: u64,
}

impl FramePosition {
    /// Returns the position after `position` decoded bytes of the frame that begins at
    /// `frame_start`.
    fn within(frame_start: u64, position: u64) -> FramePosition {
        FramePosition {
            frame_start,
            position,
            offset_taken: frame_start,
        }
    }

    /// Returns the number of decoded bytes of the frame before the position.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }
}

pub(crate) struct Frames {
    source: Source,
    frame: Option<Frame>,
    decoders: Decoders,
    /// End of the dictionary frame at the start of the input; 0 if there is no such frame.
    dictionary_end: u64,
    window: Vec<u8>,
    window_head: usize,
    window_tail: usize,
    /// Whether frames must be decoded in steps, so that their grains are recorded.
    pub(crate) in_steps: bool,
    /// Limits re-reading of damaged bytes.
    budget: Budget,
    /// End and defect of the unreadable bytes at the source's position, if a search found them
    /// already.
    junk_end: Option<(u64, Defect)>,
}

struct Frame {
    container: Container,
    start: u64,
    /// Number of bytes decoded so far (unused for plain frames).
    decoded: u64,
    /// Whether it ends with a checksum of its content.
    has_checksum: bool,
    /// Whether a record, or part of one, was found in the frame.
    holds_record: bool,
    /// Number of decoded bytes before the last record found in the frame; 0 without records.
    record_position: u64,
    /// Whether decoding in one step has not been tried yet.
    may_be_whole: bool,
    /// Whether the frame was decoded in one step although it has more than one grain.
    lacks_grains: bool,
    /// Number of bytes of the current grain not yet consumed by the decoder.
    grain_left: usize,
    /// Whether the decoder may hold output of bytes it has consumed.
    pending: bool,
    /// Start of each grain: number of decoded bytes before it, and its offset.
    grains: VecDeque<(u64, u64)>,
    /// Highest offset given to a record (initially the frame's start).
    offset_taken: u64,
    end: Option<End>,
}

impl Frames {
    pub(crate) fn new(source: Source) -> Frames {
        Frames {
            source,
            frame: None,
            decoders: Decoders::default(),
            dictionary_end: 0,
            // Allocated when the first compressed frame is opened; plain bytes do not need it.
            window: Vec::new(),
            window_head: 0,
            window_tail: 0,
            in_steps: false,
            budget: Budget::default(),
            junk_end: None,
        }
    }

    pub(crate) fn size(&self) -> u64 {
        self.source.end()
    }

    /// Returns the end of the dictionary frame at the start of the input; 0 without one.
    pub(crate) fn dictionary_end(&self) -> u64 {
        self.dictionary_end
    }

    /// Moves to a stored offset and closes the open frame.
    pub(crate) fn seek(&mut self, position: u64) {
        self.frame = None;
        self.junk_end = None;
        (self.window_head, self.window_tail) = (0, 0);
        self.source.seek(position);
    }

    /// Moves to a stored offset within the plain bytes of the open frame.
    pub(crate) fn seek_plain(&mut self, position: u64) {
        debug_assert!(self.is_plain(), "in a compressed frame there is nothing to seek");
        self.source.seek(position);
    }

    /// Returns the next `bytes` stored bytes, or fewer at the end of the input, without consuming
    /// them.
    pub(crate) fn stored_ahead(&mut self, bytes: usize) -> Result<&[u8], ReadError> {
        self.source.ensure(bytes)?;
        Ok(self.source.available())
    }

    /// Fills `into` with the stored bytes at an offset, as far as the input reaches. Does not move.
    pub(crate) fn read_stored(&self, offset: u64, into: &mut [u8]) -> Result<usize, ReadError> {
        self.source.read_at(offset, into)
    }

    /// Returns whether `bytes` may be read again. If so, counts them.
    pub(crate) fn may_look_again(&mut self, bytes: u64) -> bool {
        self.budget.allows(bytes, self.source.position())
    }

    pub(crate) fn is_open(&self) -> bool {
        self.frame.is_some()
    }

    /// Returns the offset of the open frame.
    pub(crate) fn frame_start(&self) -> u64 {
        self.frame
            .as_ref()
            .map_or_else(|| self.stored(), |frame| frame.start)
    }

    /// Returns the container of the open frame.
    pub(crate) fn container(&self) -> Container {
        self.frame
            .as_ref()
            .map_or(Container::Plain, |frame| frame.container)
    }

    pub(crate) fn is_plain(&self) -> bool {
        self.frame
            .as_ref()
            .is_some_and(|frame| frame.container == Container::Plain)
    }

    /// Returns how the open frame ended, once its last byte is decoded.
    pub(crate) fn end(&self) -> Option<&End> {
        self.frame.as_ref().and_then(|frame| frame.end.as_ref())
    }

    /// Returns the offset of the next stored byte that no decoder has consumed.
    pub(crate) fn stored(&self) -> u64 {
        self.source.position()
    }

    /// Returns the position of the next byte to be taken.
    pub(crate) fn frame_position(&self) -> Option<FramePosition> {
        let frame = self.frame.as_ref()?;
        let ready = (self.window_tail - self.window_head) as u64;
        let position = match frame.container {
            Container::Plain => self.source.position() - frame.start,
            _ => frame.decoded - ready,
        };
        Some(FramePosition {
            frame_start: frame.start,
            position,
            offset_taken: frame.offset_taken,
        })
    }

    /// Moves back to a position in this or an earlier frame. Returns false if it cannot be reached
    /// again.
    pub(crate) fn rewind(&mut self, to: FramePosition) -> Result<bool, ReadError> {
        self.seek(to.frame_start);
        if !matches!(self.open()?, Opened::Frame) {
            return Ok(false);
        }
        let mut left = to.position;
        while left > 0 {
            let consumed = self.consume_with(left.min(PIECE_BYTES as u64) as usize, |_| ())?;
            if consumed == 0 {
                return Ok(false);
            }
            left -= consumed as u64;
        }
        if let Some(frame) = &mut self.frame {
            // Records after this position must get the same offsets as on the first reading.
            frame.offset_taken = to.offset_taken;
        }
        Ok(true)
    }

    /// Marks that a record begins at the next byte of the open frame.
    pub(crate) fn note_record(&mut self) {
        let ready = (self.window_tail - self.window_head) as u64;
        if let Some(frame) = &mut self.frame {
            frame.holds_record = true;
            frame.record_position = frame.decoded - ready;
        }
    }

    /// Marks that the open frame contains part of a record.
    pub(crate) fn note_part(&mut self) {
        if let Some(frame) = &mut self.frame {
            frame.holds_record = true;
        }
    }

    /// Opens a frame whose decoder is ready.
    pub(crate) fn begin_frame(&mut self, container: Container, start: u64, has_checksum: bool) {
        (self.window_head, self.window_tail) = (0, 0);
        self.frame = Some(Frame {
            container,
            start,
            decoded: 0,
            has_checksum,
            holds_record: false,
            record_position: 0,
            may_be_whole: !self.in_steps,
            lacks_grains: false,
            grain_left: GRAIN_BYTES,
            pending: false,
            grains: VecDeque::new(),
            offset_taken: start,
            end: None,
        });
    }

    /// Returns the decoded bytes that can be taken now.
    pub(crate) fn window(&self) -> &[u8] {
        if self.is_plain() {
            self.source.available()
        } else {
            &self.window[self.window_head..self.window_tail]
        }
    }

    /// Takes the first `bytes` bytes of the window.
    pub(crate) fn consume(&mut self, bytes: usize) {
        if self.is_plain() {
            self.source.consume(bytes)
        } else {
            self.window_head = (self.window_head + bytes).min(self.window_tail)
        }
        self.check();
    }

    /// Checks the invariants of the window.
    fn check(&self) {
        debug_assert!(
            self.window_head <= self.window_tail && self.window_tail <= self.window.len(),
            "{}..{} of a window of {} bytes",
            self.window_head,
            self.window_tail,
            self.window.len()
        );
        debug_assert!(
            self.is_plain()
                || self
                    .frame
                    .as_ref()
                    .is_none_or(|frame| (self.window_tail - self.window_head) as u64 <= frame.decoded),
            "{} bytes in the window, more than were decoded",
            self.window_tail - self.window_head
        );
    }

    /// Extends the window, to at least `wanted` bytes if the frame has them. Returns false if the
    /// frame is exhausted.
    pub(crate) fn more(&mut self, wanted: usize) -> Result<bool, ReadError> {
        let before = self.window().len();
        let wanted = wanted.max(before + 1);
        if self.is_plain() {
            let grew = self.source.ensure(wanted)? > before;
            if !grew && let Some(frame) = &mut self.frame {
                frame.end = Some(End::Whole);
            }
            return Ok(grew);
        }
        let mut window = std::mem::take(&mut self.window);
        window.copy_within(self.window_head..self.window_tail, 0);
        (self.window_head, self.window_tail) = (0, before);
        if window.len() < wanted {
            window.resize(wanted.max(WINDOW_BYTES), 0);
        }
        let mut outcome = Ok(());
        while self.window_tail < wanted {
            match self.decode(&mut window[self.window_tail..]) {
                Ok(0) => break,
                Ok(produced) => self.window_tail += produced,
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        self.window = window;
        self.check();
        outcome.map(|()| self.window_tail > before)
    }

    /// Moves up to `bytes` bytes of the frame to the end of `into`. Returns 0 if the frame is
    /// exhausted.
    pub(crate) fn take_into(&mut self, into: &mut Buffer, bytes: usize) -> Result<usize, ReadError> {
        let ready = self.window();
        let taken = ready.len().min(bytes);
        if taken > 0 {
            into.extend(&ready[..taken]);
            self.consume(taken);
            return Ok(taken);
        }
        if self.is_plain() {
            // Plain bytes go directly to the body, without a copy through the window.
            let read = self.source.read(into.room(bytes))?;
            into.fill(read);
            return Ok(read);
        }
        let room = into.room(bytes + SLACK_BYTES);
        let mut decoded = 0;
        while decoded < bytes {
            match self.decode(&mut room[decoded..])? {
                0 => break,
                produced => decoded += produced,
            }
        }
        let taken = decoded.min(bytes);
        self.put_back(&room[taken..decoded]);
        into.fill(taken);
        Ok(taken)
    }

    /// Returns the surplus of decoded bytes to the window, which must be empty.
    fn put_back(&mut self, surplus: &[u8]) {
        if self.window.len() < surplus.len() {
            self.window.resize(surplus.len(), 0);
        }
        self.window[..surplus.len()].copy_from_slice(surplus);
        (self.window_head, self.window_tail) = (0, surplus.len());
    }

    /// Passes up to `bytes` bytes of the frame to `read` and skips them. Returns 0 if the frame is
    /// exhausted.
    pub(crate) fn consume_with(
        &mut self,
        bytes: usize,
        read: impl FnOnce(&[u8]),
    ) -> Result<usize, ReadError> {
        if self.window().is_empty() && !self.more(bytes.min(PIECE_BYTES))? {
            return Ok(0);
        }
        let window = self.window();
        let consumed = bytes.min(window.len());
        read(&window[..consumed]);
        self.consume(consumed);
        Ok(consumed)
    }

    /// Returns the offset of a record that begins at the next byte of the open frame, after other
    /// bytes. `None` if all offsets of the frame's stored bytes are taken by earlier records.
    pub(crate) fn offset_within(&mut self) -> Result<Option<u64>, ReadError> {
        if self.frame.as_ref().is_some_and(|frame| frame.lacks_grains) {
            self.decode_again_in_steps()?;
        }
        let stored = self.source.position();
        let ready = (self.window_tail - self.window_head) as u64;
        let Some(frame) = self.frame.as_mut() else {
            return Ok(None);
        };
        if frame.container == Container::Plain {
            return Ok(Some(stored));
        }
        let position = frame.decoded - ready;
        // Earlier grains are not needed again, because positions only increase.
        while frame.grains.get(1).is_some_and(|grain| grain.0 <= position) {
            frame.grains.pop_front();
        }
        let grain = frame.grains.front().filter(|grain| grain.0 <= position);
        let offset = grain
            .map_or(frame.start, |grain| grain.1)
            .max(frame.offset_taken + 1);
        Ok((offset < stored).then(|| {
            frame.offset_taken = offset;
            offset
        }))
    }

    /// Decodes some bytes of the open compressed frame. Returns 0 only at its end (or without
    /// room).
    fn decode(&mut self, output: &mut [u8]) -> Result<usize, ReadError> {
        if let Some(produced) = self.decode_whole(output)? {
            return Ok(produced);
        }
        let Some(frame) = self.frame.as_mut().filter(|frame| frame.end.is_none()) else {
            return Ok(0);
        };
        let Some(decoder) = self.decoders.current(frame.container) else {
            return Ok(0);
        };
        loop {
            if frame.grain_left == 0 && !frame.pending {
                // Record a grain only after the decoder has returned all its output. Then the
                // following bytes come from this grain or later ones.
                frame.grains.push_back((frame.decoded, self.source.position()));
                frame.grain_left = GRAIN_BYTES;
            }
            self.source.ensure(frame.grain_left)?;
            let available = self.source.available();
            let input = &available[..available.len().min(frame.grain_left)];
            // No input in the middle of a grain means the end of the file. The decoder is still
            // called, because it may hold output.
            let starved = input.is_empty() && frame.grain_left > 0;
            let decoded = decoder.decode(input, output);
            self.source.consume(decoded.consumed);
            frame.grain_left -= decoded.consumed;
            frame.decoded += decoded.produced as u64;
            // Only a full output buffer indicates that the decoder may have more output without new
            // input.
            frame.pending = decoded.produced == output.len();
            if decoded.finished {
                frame.end = Some(read_trailer(&mut self.source, decoder)?);
                return Ok(decoded.produced);
            }
            if let Some(why) = decoded.failed {
                frame.end = Some(End::Damaged(damaged(&self.source, &why)));
                return Ok(decoded.produced);
            }
            if decoded.produced > 0 || output.is_empty() {
                return Ok(decoded.produced);
            }
            if starved {
                frame.end = Some(End::Cut(cut(&self.source)));
                return Ok(0);
            }
            // Neither input nor output advanced. Without this check, hostile input could cause an
            // endless loop.
            if decoded.consumed == 0 && frame.grain_left > 0 {
                frame.end = Some(End::Damaged(damaged(
                    &self.source,
                    "the decoder makes no progress",
                )));
                return Ok(0);
            }
        }
    }
}

fn read_trailer(source: &mut Source, decoder: &dyn Decode) -> Result<End, ReadError> {
    let bytes = decoder.trailer_bytes();
    if source.ensure(bytes)? < bytes {
        let rest = source.available().len();
        source.consume(rest);
        return Ok(End::Cut(cut(source)));
    }
    let checked = decoder.check_trailer(&source.available()[..bytes]);
    source.consume(bytes);
    Ok(match checked {
        Trailer::Right => End::Whole,
        Trailer::Wrong(detail) => End::Unchecked(Defect::new(reason::CHECKSUM_MISMATCH, detail)),
    })
}

fn damaged(source: &Source, why: &str) -> Defect {
    Defect::new(
        reason::DAMAGED_MEMBER,
        format!("{why}, at offset {}", source.position()),
    )
}

fn cut(source: &Source) -> Defect {
    Defect::new(
        reason::TRUNCATED_MEMBER,
        format!("the file ends at {} inside a member", source.end()),
    )
}
