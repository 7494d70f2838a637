//! Extracts single records of a file, found by their offset, id or URL, and read as a stream.
//!
//! Invariant: an extracted record is exactly what a reader of the whole file returns for it, even
//! in a damaged file. No byte of the next record is included.

use std::io::{self, Read};
use std::sync::Arc;

use urlkey::url_key;
use warc::{Defect, Entry, Input, Kind, OpenRecord, ReadError, Reader, ReaderSettings, Record};

use crate::Progress;
use crate::error::WriteError;

/// Selects records of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// The record at an offset, in stored bytes.
    At(u64),
    /// All records with an id, given with or without angle brackets.
    Id(String),
    /// All records with the key of a URL: `http` and `https`, with and without `www`, are the same.
    Url(String),
}

/// A record that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundRecord {
    /// Its offset, in stored bytes.
    pub offset: u64,
    /// Its length in stored bytes.
    pub length: u64,
    /// Its type.
    pub kind: Kind,
    /// Its URL, if it has one.
    pub url: Option<String>,
    /// `WARC-Date` as stored.
    pub date: Option<String>,
    /// Its defects: digests that do not match, a missing end.
    pub defects: Vec<Defect>,
    block_bytes: u64,
}

/// Finds records and verifies the digests that they declare. `each` is called with the bytes read
/// so far, and stops the work by returning false.
///
/// Memory grows with the number of records found.
///
/// # Errors
/// [`WriteError::Read`], [`WriteError::Stopped`].
pub fn find(
    input: &Arc<dyn Input>,
    name: &str,
    which: &Selector,
    each: &mut Progress<'_>,
) -> Result<Vec<FoundRecord>, WriteError> {
    let wanted = match which {
        Selector::At(offset) => return Ok(vec![verified(input, name, *offset, 0)?]),
        Selector::Id(id) => Matcher::Id(bare(id)),
        Selector::Url(url) => Matcher::Url(url_key(url).unwrap_or_else(|_| url.clone())),
    };
    let mut settings = ReaderSettings::default();
    settings.body_bytes_max = 0;
    let mut reader = Reader::from_input(Box::new(Arc::clone(input)), name, settings)?;
    let mut found = Vec::new();
    while let Some(entry) = reader.next_entry()? {
        if let Entry::Record(record) = &entry
            && wanted.is(record)
        {
            found.push(verified(input, name, record.span.offset, record.span.length)?);
        }
        if !each(reader.position()) {
            return Err(WriteError::Stopped);
        }
    }
    Ok(found)
}

/// Opens a record that was found. Returns an [`OpenRecord`] for its header, and the length of its
/// block.
///
/// # Errors
/// [`ReadError`] if the file was changed or cannot be read.
pub fn open(input: &Arc<dyn Input>, name: &str, found: &FoundRecord) -> Result<(OpenRecord, u64), ReadError> {
    let opened = OpenRecord::open(Arc::clone(input), name, found.offset, found.length)?;
    Ok((opened, found.block_bytes))
}

/// Returns a reader of the record as in an uncompressed file: its header and block, and the line
/// ends after a record.
///
/// # Errors
/// As [`open`].
pub fn uncompressed_reader(
    input: &Arc<dyn Input>,
    name: &str,
    found: &FoundRecord,
) -> Result<impl Read + use<>, ReadError> {
    let (opened, block_bytes) = open(input, name, found)?;
    let header = io::Cursor::new(opened.header_bytes().to_vec());
    let line_ends: &[u8] = match opened.format() {
        warc::Format::Arc(_) => b"\n",
        _ => b"\r\n\r\n",
    };
    Ok(header.chain(opened.take(block_bytes)).chain(line_ends))
}

/// Reads a complete record and finds its defects.
fn verified(input: &Arc<dyn Input>, name: &str, offset: u64, length: u64) -> Result<FoundRecord, WriteError> {
    let mut settings = ReaderSettings::default();
    settings.body_bytes_max = 0;
    settings.verify_digests = true;
    let record = warc::read_from(Arc::clone(input), name, offset, length, settings)?;
    Ok(FoundRecord {
        offset: record.span.offset,
        length: record.span.length,
        kind: record.kind,
        url: record.target().map(str::to_owned),
        date: record.headers.get("WARC-Date").map(str::to_owned),
        block_bytes: record.body_length,
        defects: record.defects,
    })
}

/// The value to compare each record with.
enum Matcher<'a> {
    Id(&'a str),
    /// The key of a URL, or the text itself if it is not a URL.
    Url(String),
}

impl Matcher<'_> {
    fn is(&self, record: &Record) -> bool {
        match self {
            Matcher::Id(wanted) => record
                .headers
                .get("WARC-Record-ID")
                .is_some_and(|id| bare(id) == *wanted),
            Matcher::Url(wanted) => record
                .target()
                .is_some_and(|url| url == wanted || url_key(url).is_ok_and(|key| key == *wanted)),
        }
    }
}

fn bare(id: &str) -> &str {
    let id = id.trim();
    id.strip_prefix('<')
        .and_then(|id| id.strip_suffix('>'))
        .unwrap_or(id)
}
