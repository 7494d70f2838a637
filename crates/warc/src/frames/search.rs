//! Finds where reading can continue after damage, and after bytes that are not records.

use crate::container;
use crate::container::Container;
use crate::container::codec::End;
use crate::container::codec::FrameHeader;
use crate::container::decoders::Decoders;
use crate::error::ReadError;
use crate::frames::Frames;
use crate::reason;
use crate::record::start::{self, Search, Searcher, Start};
use crate::span::Defect;

impl Frames {
    /// Closes the open frame and returns the offset where its bytes end. If the decoder consumed
    /// stored records by mistake, this is where the first of them begins. Otherwise it is where
    /// decoding stopped; after damage, `open` then returns the bytes up to the next readable member
    /// as junk.
    pub(crate) fn close(&mut self) -> Result<u64, ReadError> {
        let Some(frame) = self.frame.take() else {
            return Ok(self.stored());
        };
        let whole = frame.end.as_ref().is_none_or(|end| *end == End::Whole);
        if whole && (frame.holds_record || frame.has_checksum || frame.container == Container::Plain) {
            return Ok(self.source.position());
        }
        // Advance by at least one byte, so that a frame that fails at its first byte is not found
        // again.
        let stopped = self.source.position().max((frame.start + 1).min(self.size()));
        // The decoder may have consumed the beginnings of records, because of damage or because the
        // magic number occurred by chance. This is possible even if it reached an end.
        if self.budget.allows(stopped - frame.start, stopped)
            && let Some(next) = self.find_overrun_record(&frame, stopped)?
        {
            self.source.seek(next);
            return Ok(next);
        }
        if frame.end.as_ref().is_some_and(End::is_complete) {
            self.source.seek(stopped);
            return Ok(stopped);
        }
        let next = self.find_next(stopped)?;
        self.source.seek(stopped);
        if next > stopped {
            let detail = format!("{} bytes after the damage", next - stopped);
            self.junk_end = Some((next, Defect::new(reason::DAMAGED_MEMBER, detail)));
        }
        Ok(stopped)
    }

    /// Returns the first offset, from `from` on, where reading can continue, or the end of the
    /// input.
    pub(crate) fn find_next(&mut self, from: u64) -> Result<u64, ReadError> {
        let size = self.size();
        let found = self.find(from, size, Wanted::Anything)?;
        Ok(found.map_or(size, |found| found.offset()))
    }

    /// Returns whether a record, compressed or plain, begins in `from..until`. Returns false if the
    /// budget does not allow reading these bytes again. Moves.
    pub(super) fn holds_record(&mut self, from: u64, until: u64) -> Result<bool, ReadError> {
        let may_look = self.budget.allows(until.saturating_sub(from), until);
        Ok(may_look && self.find(from, until, Wanted::Records)?.is_some())
    }

    fn find(&mut self, from: u64, until: u64, wanted: Wanted) -> Result<Option<FrameStart>, ReadError> {
        self.find_with(&mut Trials::new(), from, until, wanted)
    }

    /// Returns the first wanted item that begins in `from..until`. Moves. A search that continues
    /// an earlier one shares its trials.
    pub(super) fn find_with(
        &mut self,
        trials: &mut Trials,
        from: u64,
        until: u64,
        wanted: Wanted,
    ) -> Result<Option<FrameStart>, ReadError> {
        let mut searcher = Searcher::new(true);
        self.source.seek(from);
        loop {
            let at = self.source.position();
            let most = usize::try_from(until.saturating_sub(at)).unwrap_or(usize::MAX);
            if most == 0 {
                return Ok(None);
            }
            // Bytes after `until` may decide whether a record begins before it.
            let available = self.source.ensure(SEARCH_BYTES)?;
            let last = available < SEARCH_BYTES;
            let piece = self.source.available();
            let (text, decided) = match searcher.search(piece, last) {
                Search::Found(text) => (Some(text), text),
                Search::NotBefore(decided) => (None, decided),
            };
            for magic in magics_in(piece, decided.min(most)) {
                let offset = at + magic as u64;
                match self.try_member(offset, trials)? {
                    Trial::Record => return Ok(Some(FrameStart::Member(offset))),
                    Trial::Decodes | Trial::Unsure if wanted == Wanted::Anything => {
                        return Ok(Some(FrameStart::Member(offset)));
                    }
                    _ => {}
                }
            }
            // Members before the text were tried first, so the earlier of the two is returned.
            if let Some(text) = text {
                let offset = at + text as u64;
                return Ok((offset < until).then_some(FrameStart::Plain(offset)));
            }
            if last {
                return Ok(None);
            }
            self.source.consume(decided);
        }
    }

    /// Tries to decode the beginning of a possible member. Does not move.
    fn try_member(&mut self, offset: u64, trials: &mut Trials) -> Result<Trial, ReadError> {
        let answer = self.try_bytes(offset, TRIAL_BYTES, trials)?;
        if answer == Trial::Unsure && trials.long_left > 0 {
            // The member may have a long header, or a block that is returned only when it is
            // complete.
            trials.long_left -= 1;
            return self.try_bytes(offset, TRIAL_BYTES_LONG, trials);
        }
        Ok(answer)
    }

    fn try_bytes(&mut self, offset: u64, most: usize, trials: &mut Trials) -> Result<Trial, ReadError> {
        let mut bytes = std::mem::take(&mut trials.bytes);
        bytes.resize(most, 0);
        let read = self.source.read_at(offset, &mut bytes)?;
        let answer = trials.decode(&bytes[..read], self.decoders.dictionary());
        trials.bytes = bytes;
        Ok(answer)
    }
}

/// State shared by all trials of a search. Hostile input may cause many trials.
pub(super) struct Trials {
    decoders: Decoders,
    bytes: Vec<u8>,
    /// Number of long trials that this search may still make.
    long_left: u32,
}

impl Trials {
    pub(super) fn new() -> Trials {
        Trials {
            decoders: Decoders::default(),
            bytes: Vec::new(),
            long_left: 1000,
        }
    }

    fn decode(&mut self, bytes: &[u8], dictionary: Option<&[u8]>) -> Trial {
        let Some((container, row)) = container::frame_of(bytes).and_then(|it| Some((it, it.row()?))) else {
            return Trial::Fails;
        };
        let header = match (row.header)(bytes, dictionary.is_some()) {
            FrameHeader::Bytes(length) => length,
            FrameHeader::Incomplete => return Trial::Unsure,
            FrameHeader::Invalid(..) => return Trial::Fails,
        };
        if let Some(dictionary) = dictionary
            && self.decoders.dictionary().is_none()
        {
            self.decoders.set_dictionary(dictionary.to_vec());
        }
        if self.decoders.start(container).is_err() {
            return Trial::Fails;
        }
        let Some(decoder) = self.decoders.current(container) else {
            return Trial::Fails;
        };
        let mut output = [0; TRIAL_OUTPUT_BYTES];
        let decoded = decoder.decode(&bytes[header..], &mut output);
        let text = &output[..decoded.produced];
        let blank = text.iter().take_while(|b| matches!(b, b'\r' | b'\n')).count();
        match start::start_of(&text[blank..], true) {
            // Even if it is damaged later.
            Start::Warc | Start::Arc => Trial::Record,
            _ if decoded.failed.is_some() => Trial::Fails,
            _ if text.is_empty() && !decoded.finished => Trial::Unsure,
            _ => Trial::Decodes,
        }
    }
}

/// What a search looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Compressed members with any content, and plain records.
    Anything,
    /// Compressed members that begin with a record, and plain records.
    Records,
}

/// The found item and its offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FrameStart {
    Plain(u64),
    Member(u64),
}

impl FrameStart {
    pub(super) fn offset(self) -> u64 {
        match self {
            FrameStart::Plain(offset) | FrameStart::Member(offset) => offset,
        }
    }
}

/// The result of decoding the beginning of a possible member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trial {
    Fails,
    /// No bytes were decoded yet.
    Unsure,
    Decodes,
    Record,
}

/// Number of stored bytes searched at a time: more than the longest line that is examined.
const SEARCH_BYTES: usize = start::START_BYTES_MAX * 2;

/// Number of stored bytes that a trial reads, and of decoded bytes that it requests. Random bytes
/// fail much sooner.
const TRIAL_BYTES: usize = 2 << 10;
const TRIAL_BYTES_LONG: usize = 512 << 10;
const TRIAL_OUTPUT_BYTES: usize = 2 << 10;

/// Returns where frames may begin within the first `decided` bytes.
fn magics_in(bytes: &[u8], decided: usize) -> Vec<usize> {
    let end = (decided + container::MAGIC_BYTES).min(bytes.len());
    let mut starts = container::magics_in(&bytes[..end]);
    starts.retain(|at| *at < decided && container::frame_of(&bytes[*at..]).is_some());
    starts
}

impl Frames {
    /// Returns the position of the first compressed member that begins with a record, within the
    /// next `bytes` plain bytes, which must be in the window. Does not move.
    pub(crate) fn member_ahead(&mut self, bytes: usize) -> Result<Option<usize>, ReadError> {
        if !self.is_plain() {
            return Ok(None);
        }
        let magics = magics_in(self.source.available(), bytes);
        let mut trials = Trials::new();
        for magic in magics {
            let offset = self.source.position() + magic as u64;
            if self.try_member(offset, &mut trials)? == Trial::Record {
                return Ok(Some(magic));
            }
        }
        Ok(None)
    }

    /// Returns the offset of the last compressed member that begins before `before`, as far as a
    /// trial can determine.
    pub(crate) fn find_member_before(&mut self, before: u64) -> Result<Option<u64>, ReadError> {
        let mut trials = Trials::new();
        let mut piece = vec![0; SEARCH_BYTES];
        let mut end = before;
        while end > 0 {
            // Pieces overlap by the length of a magic number, which may span their border.
            let start = end.saturating_sub((SEARCH_BYTES - container::MAGIC_BYTES) as u64);
            let read = self.source.read_at(start, &mut piece)?;
            let decided = usize::try_from(end - start).unwrap_or(usize::MAX).min(read);
            let magics = magics_in(&piece[..read], decided);
            for magic in magics.into_iter().rev() {
                let offset = start + magic as u64;
                if matches!(
                    self.try_member(offset, &mut trials)?,
                    Trial::Record | Trial::Decodes
                ) {
                    return Ok(Some(offset));
                }
            }
            end = start;
        }
        Ok(None)
    }
}
