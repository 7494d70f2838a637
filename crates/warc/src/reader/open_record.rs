//! A record whose block is read piece by piece, as far as the caller wants it.
//!
//! Invariant: no part of the block is stored, and only as much is decoded as the caller takes (plus
//! a window of 128 KiB). Memory therefore does not depend on the size of a record, and time is
//! proportional to the bytes taken.
//!
//! In contrast to [`Reader`], no digests are computed. If the declared length of a block in a
//! shared member is too large, the block may include bytes of the next record.

use std::io::{self, Read};
use std::sync::{Arc, OnceLock};

use crate::container::codec::End;
use crate::error::ReadError;
use crate::frames::Opened;
use crate::frames::source::Input;
use crate::reader::Reader;
use crate::reader::header::HeaderRead;
use crate::reader::settings::ReaderSettings;
use crate::record::head::{BlockLength, Head};
use crate::record::headers::Headers;
use crate::record::start::Start;
use crate::record::{Format, Kind, is_http};
use crate::span::Defect;

/// Number of bytes read after a record, to check that it ends there.
pub(crate) const BEYOND_BYTES: u64 = 64 << 10;

/// Number of bytes of line ends after a block.
const LINE_ENDS_BYTES: usize = 4;

/// A record whose header was read. [`Read`] returns the block.
pub struct OpenRecord {
    reader: Reader,
    head: Box<Head>,
    /// The part of the block still to be returned.
    left: BlockLength,
    http: bool,
    damage: BlockDamage,
}

/// Damage of the stored bytes of a block, as far as it was read. It outlives the record, which may
/// be consumed by decoders of its payload.
#[derive(Debug, Clone, Default)]
pub struct BlockDamage(Arc<OnceLock<Defect>>);

impl BlockDamage {
    /// Returns the damage; `None` if none was found so far.
    pub fn get(&self) -> Option<&Defect> {
        self.0.get()
    }

    fn set(&self, defect: &Defect) {
        self.0.get_or_init(|| defect.clone());
    }
}

impl OpenRecord {
    /// Opens the record at `offset` of `length` stored bytes; `name` is used in error messages.
    ///
    /// `length` only determines how much is read ahead.
    ///
    /// # Errors
    /// [`ReadError::NoRecord`] if no record begins there; [`ReadError::Io`] if the input cannot be
    /// read.
    pub fn open(
        input: Arc<dyn Input>,
        name: &str,
        offset: u64,
        length: u64,
    ) -> Result<OpenRecord, ReadError> {
        let settings = ReaderSettings {
            start_offset: offset,
            body_bytes_max: 0,
            ..ReaderSettings::default()
        };
        let read_ahead_bytes = length.saturating_add(BEYOND_BYTES);
        let mut reader = Reader::with_read_ahead(Box::new(input), name, settings, read_ahead_bytes)?;
        reader.keep_headers();
        let Some(mut head) = reader.next_head()? else {
            return Err(no_record(name, offset));
        };
        let left = match (reader.frames.is_plain(), head.block) {
            (true, block) => {
                let declared = match block {
                    BlockLength::Declared(bytes) => Some(bytes),
                    BlockLength::UpToNext => None,
                };
                BlockLength::Declared(reader.measure_plain(&mut head, declared)?.unwrap_or(0))
            }
            (false, block) => block,
        };
        if reader.frames.window().len() < 4 {
            reader.frames.more(4)?;
        }
        let http = is_http(head.format, head.kind, &head.headers, reader.frames.window());
        Ok(OpenRecord {
            reader,
            head,
            left,
            http,
            damage: BlockDamage::default(),
        })
    }

    /// Returns the format of the record.
    pub fn format(&self) -> Format {
        self.head.format
    }

    /// Returns the kind of the record.
    pub fn kind(&self) -> Kind {
        self.head.kind
    }

    /// Returns the header fields in file order.
    pub fn headers(&self) -> &Headers {
        &self.head.headers
    }

    /// Reports whether the block is an HTTP message; see [`crate::Record::is_http`].
    pub fn is_http(&self) -> bool {
        self.http
    }

    /// Returns the damage found while the block is read. It is complete once the block was read to
    /// its end.
    pub fn damage(&self) -> BlockDamage {
        self.damage.clone()
    }

    /// Returns the header as stored, including its empty line.
    pub fn header_bytes(&self) -> &[u8] {
        self.reader.header_bytes()
    }

    /// Skips up to `bytes` bytes of the block. In an uncompressed file they are not read, otherwise
    /// they are decoded but not copied. Returns how many were skipped: fewer at the end of the
    /// block, and none if the record declares no length.
    ///
    /// # Errors
    /// The error of the input.
    pub fn skip(&mut self, bytes: u64) -> io::Result<u64> {
        let BlockLength::Declared(left) = self.left else {
            return Ok(0);
        };
        let wanted = bytes.min(left);
        let skipped = if self.reader.frames.is_plain() {
            let position = self.reader.frames.stored().saturating_add(wanted);
            self.reader.frames.seek_plain(position);
            wanted
        } else {
            self.skip_across(wanted).map_err(io_error)?
        };
        self.left = BlockLength::Declared(left - skipped);
        Ok(skipped)
    }

    /// Skips bytes of this frame, and of the next ones if the block continues there.
    fn skip_across(&mut self, bytes: u64) -> Result<u64, ReadError> {
        let mut skipped = 0;
        while skipped < bytes {
            let wanted = usize::try_from(bytes - skipped).unwrap_or(usize::MAX);
            let taken = self.reader.frames.consume_with(wanted, |_| ())?;
            if taken == 0 && !self.continues()? {
                break;
            }
            skipped += taken as u64;
        }
        Ok(skipped)
    }

    fn take(&mut self, into: &mut [u8]) -> Result<usize, ReadError> {
        match self.left {
            BlockLength::Declared(left) => {
                let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(into.len());
                let taken = self.take_across(&mut into[..wanted])?;
                let missing = left - taken as u64;
                if taken == 0 || missing == 0 {
                    self.look_at_end()?;
                }
                self.left = BlockLength::Declared(if taken == 0 { 0 } else { missing });
                Ok(taken)
            }
            BlockLength::UpToNext => {
                let mut taken = 0;
                let at_record = self.reader.skip_to_record(into.len() as u64, |bytes| {
                    into[taken..taken + bytes.len()].copy_from_slice(bytes);
                    taken += bytes.len();
                })?;
                if at_record || taken == 0 {
                    self.left = BlockLength::Declared(0);
                }
                Ok(taken)
            }
        }
    }

    /// Checks how the frame ended that contains the end of the block. If the record is alone in the
    /// frame, only line ends follow the block.
    fn look_at_end(&mut self) -> Result<(), ReadError> {
        let frames = &mut self.reader.frames;
        if frames.end().is_none() && frames.is_open() && !frames.is_plain() {
            frames.consume_with(LINE_ENDS_BYTES, |_| ())?;
            if frames.window().is_empty() {
                frames.more(1)?;
            }
        }
        if let Some(defect) = frames.end().and_then(End::defect) {
            self.damage.set(defect);
        }
        Ok(())
    }

    /// Fills part of `into` from this frame, or from the next ones if the block continues there.
    fn take_across(&mut self, into: &mut [u8]) -> Result<usize, ReadError> {
        while !into.is_empty() {
            let wanted = into.len();
            let taken = self
                .reader
                .frames
                .consume_with(wanted, |bytes| into[..bytes.len()].copy_from_slice(bytes))?;
            if taken > 0 {
                return Ok(taken);
            }
            if !self.continues()? {
                break;
            }
        }
        Ok(0)
    }

    /// Opens the next frame. Returns whether the block continues in it.
    fn continues(&mut self) -> Result<bool, ReadError> {
        let frames = &mut self.reader.frames;
        if !frames.is_open()
            || frames.is_plain()
            || matches!(frames.end(), Some(End::Cut(_) | End::Damaged(_)))
        {
            return Ok(false);
        }
        let container = frames.container();
        frames.close()?;
        Ok(matches!(self.reader.next_frame()?, Opened::Frame) && self.reader.continues_in(container)?)
    }
}

impl Read for OpenRecord {
    /// Errors of the input keep their kind.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.take(into).map_err(io_error)
    }
}

fn io_error(error: ReadError) -> io::Error {
    match error {
        ReadError::Io { source, .. } => source,
        error => io::Error::other(error),
    }
}

impl Reader {
    /// Returns the header of the record that begins here, if any.
    fn next_head(&mut self) -> Result<Option<Box<Head>>, ReadError> {
        self.open_record_frame()?;
        if !self.frames.is_open() {
            return Ok(None);
        }
        self.skip_line_ends()?;
        if self.look()? == Start::Neither {
            return Ok(None);
        }
        Ok(match self.read_header(&mut Headers::new())? {
            HeaderRead::Head(head) => Some(head),
            HeaderRead::Bad(..) | HeaderRead::Settled => None,
        })
    }
}

pub(crate) fn no_record(name: &str, offset: u64) -> ReadError {
    ReadError::NoRecord {
        path: name.to_owned(),
        offset,
    }
}
