//! Reads one record by its offset: parsed, or as the bytes of a separate file.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use crate::container::{Container, file_name, gzip_member};
use crate::entry::Entry;
use crate::error::ReadError;
use crate::frames::source::Input;
use crate::reader::Reader;
use crate::reader::open_record::{BEYOND_BYTES, OpenRecord, no_record};
use crate::reader::settings::ReaderSettings;
use crate::record::{Format, Record};

/// Reads the record at `offset` of `length` stored bytes, with at most 16 MiB of its block.
///
/// `length` only determines how much is read ahead. If records share a compressed member, the
/// member is decoded from its start. In a damaged file, an earlier record may have extended into
/// that member. Then the record that begins at `offset` may differ from the one that a reader of
/// the whole file returns, so callers should compare its target with the expected one.
pub fn read_at(path: &Path, offset: u64, length: u64) -> Result<Record, ReadError> {
    read_at_with(path, offset, length, ReaderSettings::default())
}

/// Like [`read_at`], with settings. Their `start_offset` is ignored.
pub fn read_at_with(
    path: &Path,
    offset: u64,
    length: u64,
    settings: ReaderSettings,
) -> Result<Record, ReadError> {
    let (name, file) = open(path)?;
    read_from(file, &name, offset, length, settings)
}

/// Like [`read_at_with`], for any input; `name` is used in error messages.
pub fn read_from(
    input: Arc<dyn Input>,
    name: &str,
    offset: u64,
    length: u64,
    settings: ReaderSettings,
) -> Result<Record, ReadError> {
    let settings = ReaderSettings {
        start_offset: offset,
        ..settings
    };
    let read_ahead_bytes = length.saturating_add(BEYOND_BYTES);
    let mut reader = Reader::with_read_ahead(Box::new(input), name, settings, read_ahead_bytes)?;
    match reader.next_entry()? {
        Some(Entry::Record(record)) => Ok(record),
        _ => Err(no_record(name, offset)),
    }
}

/// Returns the bytes of the record at `offset` as a file with only this record.
///
/// These are the bytes of the input if the record is alone in a compressed member or uncompressed
/// (for zstd preceded by the dictionary frame of the input, if there is one). A record that shares
/// its member with others is compressed again as a gzip member, with header and block unchanged.
pub fn raw_at(path: &Path, offset: u64) -> Result<RawRecord, ReadError> {
    let (name, file) = open(path)?;
    raw_from(file, &name, offset)
}

/// Like [`raw_at`], for any input; `name` is used in error messages.
pub fn raw_from(input: Arc<dyn Input>, name: &str, offset: u64) -> Result<RawRecord, ReadError> {
    let settings = ReaderSettings {
        start_offset: offset,
        body_bytes_max: 0,
        ..ReaderSettings::default()
    };
    let mut reader = Reader::from_input(Box::new(input.clone()), name, settings)?;
    let container = reader.open_record_frame()?;
    let begins_frame = reader.frames.frame_start() == offset;
    let Some(Entry::Record(record)) = reader.next_entry()? else {
        return Err(no_record(name, offset));
    };
    let alone = container == Container::Plain || (begins_frame && !reader.frames.is_open());
    if !alone {
        return raw_shared(input, name, record);
    }
    let dictionary_end = match container {
        Container::Zstd => reader.frames.dictionary_end(),
        _ => 0,
    };
    let stored = Stored {
        input,
        ranges: [(0, dictionary_end), (record.span.offset, record.span.end())],
    };
    Ok(RawRecord {
        path: name.to_owned(),
        bytes: Bytes::Stored(stored),
        container,
        record,
    })
}

/// Returns a record that shares its member with others, compressed again while it is read.
fn raw_shared(input: Arc<dyn Input>, name: &str, record: Record) -> Result<RawRecord, ReadError> {
    let opened = OpenRecord::open(input, name, record.span.offset, record.span.length)?;
    let header = io::Cursor::new(opened.header_bytes().to_vec());
    let line_ends: &[u8] = match record.format {
        Format::Warc(..) => b"\r\n\r\n",
        Format::Arc(_) => b"\n",
    };
    // The first reader read the whole record, so its length of the block is correct.
    let block = opened.take(record.body_length);
    let content = BufReader::new(header.chain(block).chain(line_ends));
    Ok(RawRecord {
        path: name.to_owned(),
        bytes: Bytes::Made(Box::new(gzip_member(content))),
        container: Container::Gzip,
        record,
    })
}

fn open(path: &Path) -> Result<(String, Arc<dyn Input>), ReadError> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|source| ReadError::io(&name, 0, source))?;
    Ok((name, Arc::new(file)))
}

/// The bytes of one record, which are read piece by piece.
pub struct RawRecord {
    path: String,
    bytes: Bytes,
    container: Container,
    /// The record without its block.
    record: Record,
}

enum Bytes {
    Stored(Stored),
    Made(Box<dyn Read + Send>),
}

/// Ranges of an input.
struct Stored {
    input: Arc<dyn Input>,
    /// Start and end of the bytes still to be returned, one range after the other.
    ranges: [(u64, u64); 2],
}

impl RawRecord {
    /// Returns the record in these bytes, without its block.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Returns the number of remaining bytes; `None` if they are compressed while they are read.
    pub fn length(&self) -> Option<u64> {
        match &self.bytes {
            Bytes::Stored(stored) => Some(stored.length()),
            Bytes::Made(_) => None,
        }
    }

    /// Restricts the result to `bytes` bytes, starting at byte `first`. Has no effect if
    /// [`RawRecord::length`] is `None`.
    pub fn narrow(&mut self, first: u64, bytes: u64) {
        if let Bytes::Stored(stored) = &mut self.bytes {
            stored.narrow(first, bytes);
        }
    }

    /// Returns the extension for a file with these bytes, without the dot, for example `warc.gz`.
    pub fn extension(&self) -> String {
        file_name::extension(self.container, self.record.format)
    }

    /// Returns the media type of these bytes, for example `application/gzip`.
    pub fn media_type(&self) -> &'static str {
        file_name::media_type(self.container, self.record.format)
    }
}

impl Stored {
    fn length(&self) -> u64 {
        self.ranges
            .iter()
            .map(|(start, end)| end.saturating_sub(*start))
            .sum()
    }

    fn narrow(&mut self, first: u64, bytes: u64) {
        let (mut skip, mut left) = (first, bytes);
        for (start, end) in &mut self.ranges {
            let skipped = skip.min(end.saturating_sub(*start));
            *start += skipped;
            skip -= skipped;
            let kept = left.min(end.saturating_sub(*start));
            *end = *start + kept;
            left -= kept;
        }
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Some((start, end)) = self.ranges.iter_mut().find(|(start, end)| start < end) else {
            return Ok(0);
        };
        let most = usize::try_from(*end - *start)
            .unwrap_or(usize::MAX)
            .min(into.len());
        let bytes = self.input.read_at(&mut into[..most], *start)?;
        *start += bytes as u64;
        Ok(bytes)
    }
}

impl std::fmt::Debug for RawRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RawRecord")
            .field("path", &self.path)
            .field("length", &self.length())
            .finish()
    }
}

impl Read for RawRecord {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match &mut self.bytes {
            Bytes::Stored(stored) => stored.read(into),
            Bytes::Made(made) => made.read(into),
        }
    }
}
