//! Opens frames: recognises what follows the end of the previous one.

use crate::container::codec::FrameHeader;
use crate::container::zstd;
use crate::container::{self, Begins, Container};
use crate::error::ReadError;
use crate::frames::{Frames, Opened};
use crate::reason;
use crate::record::start::{self, Start};
use crate::span::Defect;

/// Number of bytes that are usually enough to recognise what begins.
const AHEAD_BYTES: usize = 256;

impl Frames {
    /// Reads the dictionary of a `.warc.zst`. It is in the first frame of the file, even if reading
    /// starts later.
    pub(crate) fn load_dictionary(&mut self) -> Result<(), ReadError> {
        let Some(content_bytes) = self.dictionary_frame()? else {
            return Ok(());
        };
        self.dictionary_end = container::MAGIC_BYTES as u64 + u64::from(content_bytes);
        let mut content = vec![0; content_bytes as usize];
        let read = self.source.read_at(container::MAGIC_BYTES as u64, &mut content)?;
        let dictionary = zstd::read_dictionary(&content[..read]);
        if let Ok(dictionary) = dictionary
            && read == content.len()
        {
            self.decoders.set_dictionary(dictionary);
        }
        Ok(())
    }

    /// Returns the content length of the dictionary frame, if the input begins with one.
    fn dictionary_frame(&mut self) -> Result<Option<u32>, ReadError> {
        let mut start = [0; container::MAGIC_BYTES];
        self.source.read_at(0, &mut start)?;
        Ok(zstd::dictionary_frame(&start))
    }

    /// Recognises what begins at the current stored position. Opens it if it is a frame.
    pub(crate) fn open(&mut self) -> Result<Opened, ReadError> {
        debug_assert!(self.frame.is_none());
        if let Some((end, defect)) = self.junk_end.take() {
            self.source.seek(end);
            return Ok(Opened::Junk(end, defect));
        }
        if self.source.ensure(container::MAGIC_BYTES)? == 0 {
            return Ok(Opened::Nothing);
        }
        match container::sniff(self.source.available()) {
            Some(Begins::Skippable(bytes)) => self.open_skippable(bytes),
            Some(Begins::Frame(container)) => self.open_frame(container),
            None => self.open_plain(),
        }
    }

    fn open_frame(&mut self, container: Container) -> Result<Opened, ReadError> {
        let start = self.source.position();
        let mut has_checksum = false;
        if let Some(row) = container.row() {
            has_checksum = (row.has_checksum)(self.source.available());
            let mut wanted = row.header_bytes;
            let length = loop {
                let available = self.source.ensure(wanted)?;
                match (row.header)(self.source.available(), self.decoders.dictionary().is_some()) {
                    FrameHeader::Bytes(length) => break length,
                    // The source returned all requested bytes, so a longer header may still fit.
                    FrameHeader::Incomplete if available >= wanted => wanted *= 4,
                    FrameHeader::Incomplete => {
                        let what = format!("the file ends inside a {} header", row.name);
                        return self.junk(reason::TRUNCATED_MEMBER, &what);
                    }
                    FrameHeader::Invalid(reason, what) => return self.junk(reason, what),
                }
            };
            self.source.consume(length);
        }
        self.begin(container, start, has_checksum)
    }

    fn open_skippable(&mut self, content_bytes: u32) -> Result<Opened, ReadError> {
        let start = self.source.position();
        let end = start + container::MAGIC_BYTES as u64 + u64::from(content_bytes);
        if end > self.size() {
            return self.junk(reason::TRUNCATED_MEMBER, "the file ends inside a skippable frame");
        }
        let is_dictionary = start == 0 && self.dictionary_frame()?.is_some();
        if !is_dictionary && self.overruns_records(start, end)? {
            self.source.seek(start);
            return self.junk(
                reason::JUNK,
                "the magic number of a skippable frame before records",
            );
        }
        self.source.seek(end);
        // A damaged dictionary frame is reported once, here; the frames that need it fail
        // separately.
        if is_dictionary && self.decoders.dictionary().is_none() {
            let defect = Defect::new(
                reason::DICTIONARY_DAMAGED,
                "the dictionary cannot be decompressed",
            );
            return Ok(Opened::Junk(end, defect));
        }
        Ok(Opened::Padding(end))
    }

    /// Returns whether the bytes from `start` to `end` only look like a skippable frame: the length
    /// after the magic number spans records, or leads to a position where no frame or record
    /// begins. Moves.
    fn overruns_records(&mut self, start: u64, end: u64) -> Result<bool, ReadError> {
        if self.what_follows(end, true)? == Follows::Other {
            return Ok(true);
        }
        // In concatenated files, a dictionary may be here. It contains pieces of records.
        let is_dictionary = zstd::dictionary_frame(self.source.available()).is_some();
        Ok(!is_dictionary && self.holds_record(start + 1, end)?)
    }

    fn open_plain(&mut self) -> Result<Opened, ReadError> {
        if let Some(end) = self.skip_padding()? {
            return Ok(Opened::Padding(end));
        }
        let mut wanted = 256;
        loop {
            let available = self.source.ensure(wanted)?;
            match start::start_of(self.source.available(), available < wanted) {
                Start::Warc | Start::Arc => break,
                Start::Unsure => wanted = (wanted * 4).min(start::START_BYTES_MAX + 1),
                Start::Neither => {
                    return self.junk(reason::JUNK, "neither a record nor a compressed member");
                }
            }
        }
        self.begin(Container::Plain, self.source.position(), false)
    }

    /// Recognises the bytes stored at `offset`. With `is_complete`, the input cannot grow. Does not
    /// move.
    pub(crate) fn what_follows(&self, offset: u64, is_complete: bool) -> Result<Follows, ReadError> {
        let ahead = offset
            .checked_sub(self.source.position())
            .and_then(|ahead| usize::try_from(ahead).ok())
            .and_then(|ahead| {
                self.source
                    .available()
                    .get(ahead..ahead.checked_add(AHEAD_BYTES)?)
            });
        let follows = match ahead {
            Some(bytes) => what_begins(bytes, false),
            None => {
                let mut bytes = [0; AHEAD_BYTES];
                let read = self.source.read_at(offset, &mut bytes)?;
                let last = is_complete && read < bytes.len();
                what_begins(&bytes[..read], last)
            }
        };
        if let Some(follows) = follows {
            return Ok(follows);
        }
        // The line of an ARC record may be longer.
        for wanted in [8 * AHEAD_BYTES, start::START_BYTES_MAX + 1] {
            let mut bytes = vec![0; wanted];
            let read = self.source.read_at(offset, &mut bytes)?;
            let last = is_complete && read < bytes.len();
            if let Some(follows) = what_begins(&bytes[..read], last) {
                return Ok(follows);
            }
        }
        // The file may be growing.
        Ok(Follows::Nothing)
    }

    /// Skips line ends and zero bytes. Returns where they end, if there are any.
    fn skip_padding(&mut self) -> Result<Option<u64>, ReadError> {
        let start = self.source.position();
        while self.source.ensure(1)? > 0 {
            let bytes = self.source.available();
            let blank = padding_bytes(bytes);
            let all = blank == bytes.len();
            self.source.consume(blank);
            if !all {
                break;
            }
        }
        let end = self.source.position();
        Ok((end > start).then_some(end))
    }

    /// Skips unreadable bytes up to the next readable position.
    fn junk(&mut self, reason: &'static str, what: &str) -> Result<Opened, ReadError> {
        let start = self.source.position();
        let end = self.find_next(start + 1)?;
        self.source.seek(end);
        Ok(Opened::Junk(
            end,
            Defect::new(reason, format!("{what}, {} bytes", end - start)),
        ))
    }

    /// Opens a frame. The source must be after the frame's header, if it has one.
    fn begin(&mut self, container: Container, start: u64, has_checksum: bool) -> Result<Opened, ReadError> {
        match self.decoders.start(container) {
            Ok(()) => {
                self.begin_frame(container, start, has_checksum);
                Ok(Opened::Frame)
            }
            // Only zstd can fail here, if its dictionary is invalid.
            Err(error) => self.junk(reason::DICTIONARY_DAMAGED, &error.to_string()),
        }
    }
}

/// Recognises what begins after padding. With `last`, no bytes follow. Returns `None` if more
/// bytes are needed.
fn what_begins(bytes: &[u8], last: bool) -> Option<Follows> {
    let (padding, rest) = bytes.split_at(padding_bytes(bytes));
    if rest.is_empty() {
        return Some(Follows::Nothing);
    }
    if container::sniff(rest).is_none() {
        match start::start_of(rest, last) {
            Start::Warc | Start::Arc => {}
            Start::Neither => return Some(Follows::Other),
            Start::Unsure => return None,
        }
    }
    let line_ends = padding.iter().filter(|b| **b == b'\n').count() as u64;
    Some(Follows::Beginning { line_ends })
}

/// What follows some stored bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Follows {
    /// Only line ends and zero bytes, within the bytes examined.
    Nothing,
    /// A frame or a record, after this many line ends.
    Beginning {
        line_ends: u64,
    },
    Other,
}

/// Returns how many leading bytes are line ends or zero, which may occur between records of plain
/// bytes.
fn padding_bytes(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take_while(|b| matches!(b, b'\r' | b'\n' | 0))
        .count()
}
