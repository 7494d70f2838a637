//! The decoded bytes of an input, frame by frame, and where each of them is stored.
//!
//! A *frame* is a gzip member, a zstd or LZ4 frame, or a range of plain bytes. One frame is open at a time,
//! and bytes are taken from it; the caller decides when to go on to the next.
//!
//! Offsets of records. A record that begins a frame (line ends before it do not count) has the offset of the
//! frame; a record in plain bytes has that of its first byte. Compressed bytes are fed to the decoder in
//! grains of `GRAIN_BYTES`, counted from the end of the frame header. A record that begins inside a frame has
//! the offset of the grain that first made its first byte decodable or, if that offset is taken, the next
//! after the last one taken. So offsets strictly increase, lie within the frame, and do not depend on where
//! reading began.
//!
//! Invariants:
//!     window_head ≤ window_tail ≤ window.len()
//!     window[window_head..window_tail] are decoded bytes of the open frame, not yet taken
//!     frame.decoded counts all bytes decoded of the frame, those in the window included

pub(crate) mod budget;
pub(crate) mod open;
pub(crate) mod search;
pub(crate) mod source;
mod swallowed;
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

/// Number of compressed bytes fed to a decoder between two points whose position is recorded.
pub(crate) const GRAIN_BYTES: usize = 16 << 10;

/// Number of bytes decoded when a frame is opened: enough for most records. A frame that is decoded in one call
/// costs the decoder nothing between calls, and is copied to its body while it is in the cache of the processor.
const WINDOW_BYTES: usize = 128 << 10;

/// Extra room behind a block that is decoded directly into its buffer. The fast path of the decoder needs
/// room for a longest match (258 bytes in deflate), and so is used up to the last bytes of the block.
const SLACK_BYTES: usize = 320;

/// Number of decoded bytes skipped at once: small enough to stay in the cache of the processor.
const PASS_BYTES: usize = 64 << 10;

/// What begins where the last frame ended.
#[derive(Debug)]
pub(crate) enum Opened {
    /// A frame is open; its bytes can be taken.
    Frame,
    /// Bytes without content up to this offset.
    Padding(u64),
    /// Unreadable bytes up to this offset.
    Junk(u64, Defect),
    /// The end of the input.
    Nothing,
}

/// A position in the decoded bytes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bookmark {
    frame_start: u64,
    /// Decoded bytes before it in the frame.
    position: u64,
    /// The value of `offset_taken` of the frame when the position was recorded.
    offset_taken: u64,
}

impl Bookmark {
    /// The position after so many decoded bytes of the frame that begins at `frame_start`.
    fn within(frame_start: u64, position: u64) -> Bookmark {
        Bookmark {
            frame_start,
            position,
            offset_taken: frame_start,
        }
    }

    /// Decoded bytes before it in its frame.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }
}

pub(crate) struct Frames {
    source: Source,
    frame: Option<Frame>,
    decoders: Decoders,
    /// End of the dictionary frame that the input begins with; 0 if it begins with none.
    dictionary_end: u64,
    window: Vec<u8>,
    window_head: usize,
    window_tail: usize,
    /// Whether frames are decoded in steps even if one would do, so that their grains become known.
    pub(crate) in_steps: bool,
    /// Limits how often damaged bytes are read again.
    budget: Budget,
    /// The end of unreadable bytes that begin at the position of the source, if a search found it already.
    junk_end: Option<(u64, Defect)>,
}

struct Frame {
    container: Container,
    start: u64,
    /// Number of bytes decoded so far (not used for plain frames).
    decoded: u64,
    /// Whether it ends with a checksum of its content.
    has_checksum: bool,
    /// Whether a record, or a part of one, was found in it.
    holds_record: bool,
    /// Decoded bytes before the last record that was found in it; 0 if none was.
    record_position: u64,
    /// Whether decoding the frame in one step is still to be tried.
    may_be_whole: bool,
    /// The frame was decoded in one step although it has more than one grain.
    lacks_grains: bool,
    /// Number of bytes of the current grain that the decoder has not consumed yet.
    grain_left: usize,
    /// The decoder may hold output of the bytes consumed so far.
    pending: bool,
    /// Start of each grain: decoded bytes before it, and its offset.
    grains: VecDeque<(u64, u64)>,
    /// Highest offset given to a record (or taken by the frame's start).
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
            // Made when the first compressed frame is opened: plain bytes need none.
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

    /// End of the dictionary frame that the input begins with; 0 if it begins with none.
    pub(crate) fn dictionary_end(&self) -> u64 {
        self.dictionary_end
    }

    /// Goes to a stored offset and closes the open frame.
    pub(crate) fn seek(&mut self, position: u64) {
        self.frame = None;
        self.junk_end = None;
        (self.window_head, self.window_tail) = (0, 0);
        self.source.seek(position);
    }

    /// Goes to a stored offset within the plain bytes of the open frame.
    pub(crate) fn seek_plain(&mut self, position: u64) {
        debug_assert!(self.is_plain(), "in a compressed frame there is nothing to seek");
        self.source.seek(position);
    }

    /// Returns the next `bytes` stored bytes, fewer only at the end of the input. Does not take them.
    pub(crate) fn stored_ahead(&mut self, bytes: usize) -> Result<&[u8], ReadError> {
        self.source.ensure(bytes)?;
        Ok(self.source.available())
    }

    /// Fills `into` with the stored bytes at an offset, as far as the input reaches. Does not move.
    pub(crate) fn read_stored(&self, offset: u64, into: &mut [u8]) -> Result<usize, ReadError> {
        self.source.read_at(offset, into)
    }

    /// Returns whether `bytes` may be read a second time. If so, they are counted.
    pub(crate) fn may_look_again(&mut self, bytes: u64) -> bool {
        self.budget.allows(bytes, self.source.position())
    }

    pub(crate) fn is_open(&self) -> bool {
        self.frame.is_some()
    }

    /// Offset of the open frame.
    pub(crate) fn frame_start(&self) -> u64 {
        self.frame
            .as_ref()
            .map_or_else(|| self.stored(), |frame| frame.start)
    }

    /// The container of the open frame.
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

    /// How the open frame ended, once its last byte is decoded.
    pub(crate) fn end(&self) -> Option<&End> {
        self.frame.as_ref().and_then(|frame| frame.end.as_ref())
    }

    /// Offset of the next stored byte that no decoder has consumed.
    pub(crate) fn stored(&self) -> u64 {
        self.source.position()
    }

    /// The position of the next byte to be taken.
    pub(crate) fn place(&self) -> Option<Bookmark> {
        let frame = self.frame.as_ref()?;
        let ready = (self.window_tail - self.window_head) as u64;
        let position = match frame.container {
            Container::Plain => self.source.position() - frame.start,
            _ => frame.decoded - ready,
        };
        Some(Bookmark {
            frame_start: frame.start,
            position,
            offset_taken: frame.offset_taken,
        })
    }

    /// Goes back to a position in this or an earlier frame. Returns false if it cannot be reached again.
    pub(crate) fn rewind(&mut self, place: Bookmark) -> Result<bool, ReadError> {
        self.seek(place.frame_start);
        if !matches!(self.open()?, Opened::Frame) {
            return Ok(false);
        }
        let mut left = place.position;
        while left > 0 {
            let passed = self.pass(left.min(PASS_BYTES as u64) as usize, |_| ())?;
            if passed == 0 {
                return Ok(false);
            }
            left -= passed as u64;
        }
        if let Some(frame) = &mut self.frame {
            // Records after this position must get the same offsets as on the first reading.
            frame.offset_taken = place.offset_taken;
        }
        Ok(true)
    }

    /// Notes that a record begins at the next byte of the open frame: so this is what it was taken for.
    pub(crate) fn note_record(&mut self) {
        let ready = (self.window_tail - self.window_head) as u64;
        if let Some(frame) = &mut self.frame {
            frame.holds_record = true;
            frame.record_position = frame.decoded - ready;
        }
    }

    /// Notes that a part of a record is in the open frame.
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

    /// Decoded bytes that can be taken now.
    pub(crate) fn window(&self) -> &[u8] {
        match self.is_plain() {
            true => self.source.available(),
            false => &self.window[self.window_head..self.window_tail],
        }
    }

    /// Takes the first `bytes` of the window.
    pub(crate) fn consume(&mut self, bytes: usize) {
        match self.is_plain() {
            true => self.source.consume(bytes),
            false => self.window_head = (self.window_head + bytes).min(self.window_tail),
        }
        self.check();
    }

    /// The window holds the last decoded bytes of the open frame.
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

    /// Extends the window, to at least `wanted` bytes if the frame has them. Returns false if the frame has
    /// no more.
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

    /// Moves up to `bytes` of the frame to the end of `into`. Returns 0 if the frame has no more.
    pub(crate) fn take_into(&mut self, into: &mut Buffer, bytes: usize) -> Result<usize, ReadError> {
        let ready = self.window();
        let taken = ready.len().min(bytes);
        if taken > 0 {
            into.extend(&ready[..taken]);
            self.consume(taken);
            return Ok(taken);
        }
        if self.is_plain() {
            // Plain bytes go directly into the body, without a copy through the window.
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

    /// Makes the bytes that were decoded too far the window, which must be empty.
    fn put_back(&mut self, surplus: &[u8]) {
        if self.window.len() < surplus.len() {
            self.window.resize(surplus.len(), 0);
        }
        self.window[..surplus.len()].copy_from_slice(surplus);
        (self.window_head, self.window_tail) = (0, surplus.len());
    }

    /// Passes up to `bytes` of the frame to `seen` and skips them. Returns 0 if the frame has no more.
    pub(crate) fn pass(&mut self, bytes: usize, seen: impl FnOnce(&[u8])) -> Result<usize, ReadError> {
        if self.window().is_empty() && !self.more(bytes.min(PASS_BYTES))? {
            return Ok(0);
        }
        let window = self.window();
        let passed = bytes.min(window.len());
        seen(&window[..passed]);
        self.consume(passed);
        Ok(passed)
    }

    /// Returns the offset for a record that begins at the next byte of the open frame, after other bytes.
    /// `None` if as many records began here as the frame has stored bytes.
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
        // Grains before this position are not needed again, because positions only grow.
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

    /// Decodes some bytes of the open compressed frame. Returns 0 only at its end (or without room).
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
                // Record a grain only after the decoder has given out all it holds: then the bytes that
                // follow come from this grain or later ones.
                frame.grains.push_back((frame.decoded, self.source.position()));
                frame.grain_left = GRAIN_BYTES;
            }
            self.source.ensure(frame.grain_left)?;
            let available = self.source.available();
            let input = &available[..available.len().min(frame.grain_left)];
            // No input although the grain is not finished: the file ends here. The decoder is still called,
            // because it may hold output.
            let starved = input.is_empty() && frame.grain_left > 0;
            let decoded = decoder.decode(input, output);
            self.source.consume(decoded.consumed);
            frame.grain_left -= decoded.consumed;
            frame.decoded += decoded.produced as u64;
            // A full output buffer is the only sign that the decoder may have more to give without new input.
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
            // Neither input nor output moved. Without this check hostile bytes could make the loop endless.
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
