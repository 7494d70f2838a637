//! One record by its offset: parsed, or as bytes that make a file of their own.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use crate::container::{DICTIONARY_MAGIC, MAGIC_BYTES};
use crate::decoders::Coding;
use crate::encode::gzip_member;
use crate::entry::Entry;
use crate::error::ReadError;
use crate::reader::Reader;
use crate::record::{Format, Record};
use crate::settings::ReaderSettings;
use crate::source::Input;

/// Largest record that is taken out of a member it shares with others.
const SHARED_BYTES_MAX: u64 = 1 << 30;

/// Bytes read beyond a record, to see that it ends there.
const BEYOND_BYTES: u64 = 64 << 10;

/// Reads the record at `offset`, of `length` bytes as stored, keeping at most 16 MiB of its block.
///
/// `length` only says how much to read ahead. Where records share a compressed member, the member is decoded
/// from its start.
pub fn read_at(path: &Path, offset: u64, length: u64) -> Result<Record, ReadError> {
    read_at_with(path, offset, length, ReaderSettings::default())
}

/// Like [`read_at`], with settings; their `start_offset` is not looked at.
pub fn read_at_with(
    path: &Path,
    offset: u64,
    length: u64,
    settings: ReaderSettings,
) -> Result<Record, ReadError> {
    let (name, file) = open(path)?;
    read_from(file, &name, offset, length, settings)
}

/// Like [`read_at_with`], of any input; `name` stands in error messages.
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

/// The bytes of the record at `offset`, as a file that holds this record alone.
///
/// They are the input's own bytes where the record has a compressed member to itself or is not compressed (for
/// zstd after the input's dictionary frame, if it has one). A record that shares its member with others comes in
/// a gzip member of its own, header and block unchanged.
pub fn raw_at(path: &Path, offset: u64) -> Result<RawRecord, ReadError> {
    let (name, file) = open(path)?;
    raw_from(file, &name, offset)
}

/// Like [`raw_at`], of any input; `name` stands in error messages.
pub fn raw_from(input: Arc<dyn Input>, name: &str, offset: u64) -> Result<RawRecord, ReadError> {
    let settings = ReaderSettings {
        start_offset: offset,
        body_bytes_max: 0,
        ..ReaderSettings::default()
    };
    let mut reader = Reader::from_input(Box::new(input.clone()), name, settings.clone())?;
    let coding = reader.stand_at_record()?;
    let begins_frame = reader.feed.frame_start() == offset;
    let Some(Entry::Record(record)) = reader.next_entry()? else {
        return Err(no_record(name, offset));
    };
    let warc = matches!(record.format, Format::Warc(..));
    let alone = coding == Coding::Plain || (begins_frame && !reader.feed.is_open());
    if !alone {
        return raw_shared(input, name, offset, settings, warc);
    }
    let dictionary_end = match coding {
        Coding::Zstd => dictionary_frame_end(&*input, name)?,
        _ => 0,
    };
    let ranges = [(0, dictionary_end), (record.span.offset, record.span.end())];
    Ok(RawRecord {
        input,
        path: name.to_owned(),
        ranges,
        extension: extension(coding, warc),
    })
}

/// A record out of a member that holds others as well.
fn raw_shared(
    input: Arc<dyn Input>,
    name: &str,
    offset: u64,
    settings: ReaderSettings,
    warc: bool,
) -> Result<RawRecord, ReadError> {
    let settings = ReaderSettings {
        body_bytes_max: SHARED_BYTES_MAX,
        ..settings
    };
    let mut reader = Reader::from_input(Box::new(input), name, settings)?;
    reader.header_bytes = Some(Vec::new());
    let Some(Entry::Record(record)) = reader.next_entry()? else {
        return Err(no_record(name, offset));
    };
    if !record.body_is_whole() {
        let error = io::Error::other("a record of more than 1 GiB shares its member with others");
        return Err(ReadError::io(name, offset, error));
    }
    let mut bytes = reader.header_bytes.unwrap_or_default();
    bytes.extend_from_slice(&record.body);
    bytes.extend_from_slice(if warc { b"\r\n\r\n" } else { b"\n" });
    let member = gzip_member(&bytes).map_err(|error| ReadError::io(name, offset, error))?;
    let end = member.len() as u64;
    let extension = extension(Coding::Gzip, warc);
    Ok(RawRecord {
        input: Arc::new(member),
        path: name.to_owned(),
        ranges: [(0, 0), (0, end)],
        extension,
    })
}

fn open(path: &Path) -> Result<(String, Arc<dyn Input>), ReadError> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|source| ReadError::io(&name, 0, source))?;
    Ok((name, Arc::new(file)))
}

fn no_record(name: &str, offset: u64) -> ReadError {
    ReadError::NoRecord {
        path: name.to_owned(),
        offset,
    }
}

fn extension(coding: Coding, warc: bool) -> &'static str {
    match (coding, warc) {
        (Coding::Plain, true) => "warc",
        (Coding::Gzip, true) => "warc.gz",
        (Coding::Zstd, true) => "warc.zst",
        (Coding::Lz4, true) => "warc.lz4",
        (Coding::Plain, false) => "arc",
        (Coding::Gzip, false) => "arc.gz",
        (Coding::Zstd, false) => "arc.zst",
        (Coding::Lz4, false) => "arc.lz4",
    }
}

/// End of the dictionary frame that an input begins with; 0 if it begins with none.
fn dictionary_frame_end(input: &dyn Input, name: &str) -> Result<u64, ReadError> {
    let mut start = [0; MAGIC_BYTES];
    let read = input
        .read_at(&mut start, 0)
        .map_err(|error| ReadError::io(name, 0, error))?;
    let [a, b, c, d, e, f, g, h] = start;
    let is_dictionary = read == MAGIC_BYTES && u32::from_le_bytes([a, b, c, d]) == DICTIONARY_MAGIC;
    let content = u64::from(u32::from_le_bytes([e, f, g, h]));
    Ok(if is_dictionary {
        MAGIC_BYTES as u64 + content
    } else {
        0
    })
}

/// The bytes of one record, read piece by piece.
pub struct RawRecord {
    input: Arc<dyn Input>,
    path: String,
    /// Start and end of what is still to be given, one after the other.
    ranges: [(u64, u64); 2],
    extension: &'static str,
}

impl RawRecord {
    /// Bytes still to come.
    pub fn length(&self) -> u64 {
        self.ranges
            .iter()
            .map(|(start, end)| end.saturating_sub(*start))
            .sum()
    }

    /// What a file with these bytes is to be called after its dot, for example `warc.gz`.
    pub fn extension(&self) -> &'static str {
        self.extension
    }
}

impl std::fmt::Debug for RawRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RawRecord")
            .field("path", &self.path)
            .field("ranges", &self.ranges)
            .finish()
    }
}

impl Read for RawRecord {
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
