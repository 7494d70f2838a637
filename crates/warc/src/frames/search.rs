//! Finds where to go on after damage, and after bytes that are no records.

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
    /// Closes the open frame and returns the offset where its bytes end. After damage that is where the next
    /// readable member begins or, if none does, where decoding stopped; then `open` returns the bytes between
    /// as junk.
    pub(crate) fn close(&mut self) -> Result<u64, ReadError> {
        let Some(frame) = self.frame.take() else {
            return Ok(self.stored());
        };
        let whole = frame.end.as_ref().is_none_or(|end| *end == End::Whole);
        if whole && (frame.holds_record || frame.has_checksum || frame.container == Container::Plain) {
            return Ok(self.source.position());
        }
        // Go on by one byte at least: a frame that fails at its first byte must not be found again.
        let stopped = self.source.position().max((frame.start + 1).min(self.size()));
        // Damaged bytes, or a magic number that stands there by chance, may have led the decoder across the
        // beginnings of records, even if it then reached an end.
        if self.budget.allows(stopped - frame.start, stopped)
            && let Some(next) = self.find_swallowed(&frame, stopped)?
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

    /// Returns the offset from `from` on where reading can go on, or the end of the input.
    pub(crate) fn find_next(&mut self, from: u64) -> Result<u64, ReadError> {
        let size = self.size();
        let found = self.find(from, size, Wanted::Anything)?;
        Ok(found.map_or(size, |found| found.offset()))
    }

    /// Returns whether a record, compressed or not, begins in `from..until`, as far as it may be read again. Moves.
    pub(super) fn holds_record(&mut self, from: u64, until: u64) -> Result<bool, ReadError> {
        let may_look = self.budget.allows(until.saturating_sub(from), until);
        Ok(may_look && self.find(from, until, Wanted::Records)?.is_some())
    }

    fn find(&mut self, from: u64, until: u64, wanted: Wanted) -> Result<Option<Found>, ReadError> {
        self.find_with(&mut Trials::new(), from, until, wanted)
    }

    /// Returns the first of what is wanted that begins in `from..until`. Moves. Searches that go on where another one ended
    /// share their trials.
    pub(super) fn find_with(
        &mut self,
        trials: &mut Trials,
        from: u64,
        until: u64,
        wanted: Wanted,
    ) -> Result<Option<Found>, ReadError> {
        let mut searcher = Searcher::new(true);
        self.source.seek(from);
        loop {
            let at = self.source.position();
            let most = usize::try_from(until.saturating_sub(at)).unwrap_or(usize::MAX);
            if most == 0 {
                return Ok(None);
            }
            // Read beyond `until`: whether a record begins before it may depend on bytes after it.
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
                    Trial::Record => return Ok(Some(Found::Member(offset))),
                    Trial::Decodes | Trial::Unsure if wanted == Wanted::Anything => {
                        return Ok(Some(Found::Member(offset)));
                    }
                    _ => {}
                }
            }
            // Members before the text were tried first, so the earlier of the two wins.
            if let Some(text) = text {
                let offset = at + text as u64;
                return Ok((offset < until).then_some(Found::Plain(offset)));
            }
            if last {
                return Ok(None);
            }
            self.source.consume(decided);
        }
    }

    /// Decodes the beginning of what may be a member. Does not move.
    fn try_member(&mut self, offset: u64, trials: &mut Trials) -> Result<Trial, ReadError> {
        let answer = self.try_bytes(offset, TRIAL_BYTES, trials)?;
        if answer == Trial::Unsure && trials.long_left > 0 {
            // The member may have a long header, or a block that is given out only when it is complete.
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

/// What all trials of a search share. Hostile bytes may cause many trials.
pub(super) struct Trials {
    decoders: Decoders,
    bytes: Vec<u8>,
    /// Number of long trials that are still allowed in this search.
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
            // Also if it is damaged behind this.
            Start::Warc | Start::Arc => Trial::Record,
            _ if decoded.failed.is_some() => Trial::Fails,
            _ if text.is_empty() && !decoded.finished => Trial::Unsure,
            _ => Trial::Decodes,
        }
    }
}

/// What a search is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Compressed members, whatever they hold, and plain records.
    Anything,
    /// Compressed members that begin with a record, and plain records.
    Records,
}

/// What was found, and where it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Plain(u64),
    Member(u64),
}

impl Found {
    pub(super) fn offset(self) -> u64 {
        match self {
            Found::Plain(offset) | Found::Member(offset) => offset,
        }
    }
}

/// The outcome of decoding the beginning of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trial {
    Fails,
    /// Nothing was decoded yet.
    Unsure,
    Decodes,
    Record,
}

/// Number of stored bytes searched at once: more than the longest line that is looked at.
const SEARCH_BYTES: usize = start::START_BYTES_MAX * 2;

/// Number of stored bytes that a trial reads, and of decoded bytes it asks for. Random bytes fail much
/// sooner.
const TRIAL_BYTES: usize = 2 << 10;
const TRIAL_BYTES_LONG: usize = 512 << 10;
const TRIAL_OUTPUT_BYTES: usize = 2 << 10;

/// Returns where frames may begin among the first `decided` of `bytes`.
fn magics_in(bytes: &[u8], decided: usize) -> Vec<usize> {
    let end = (decided + container::MAGIC_BYTES).min(bytes.len());
    let mut starts = container::magics_in(&bytes[..end]);
    starts.retain(|at| *at < decided && container::frame_of(&bytes[*at..]).is_some());
    starts
}

impl Frames {
    /// Returns where in the next `bytes` plain bytes, which must be in the window, the first compressed member begins
    /// that begins with a record. Does not move.
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

    /// Returns the offset of the last compressed member that begins before `before`, as far as a trial can
    /// tell.
    pub(crate) fn find_member_before(&mut self, before: u64) -> Result<Option<u64>, ReadError> {
        let mut trials = Trials::new();
        let mut piece = vec![0; SEARCH_BYTES];
        let mut end = before;
        while end > 0 {
            // Pieces overlap by a magic number, which may lie across their border.
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
