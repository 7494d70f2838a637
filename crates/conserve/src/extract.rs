//! Single records of a file: found by where they are, by their id or by their URL, and read piece by piece.
//!
//! Invariant: what is read of a record is what a reader of the whole file takes for it, in a damaged file too, so no byte of
//! the record behind it comes along.

use std::io::{self, Read};
use std::sync::Arc;

use urlkey::url_key;
use warc::{Defect, Entry, Input, Kind, OpenRecord, ReadError, Reader, ReaderSettings, Record};

use crate::Each;
use crate::error::WriteError;

/// Which records of a file are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// The record at an offset, in bytes as stored.
    At(u64),
    /// Those with an id, with or without angle brackets.
    Id(String),
    /// Those of a URL, by its key: `http` and `https`, with and without `www`, are the same.
    Url(String),
}

/// A record that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Where it begins, in bytes as stored.
    pub offset: u64,
    /// Its length in bytes as stored.
    pub length: u64,
    /// What kind of record it is.
    pub kind: Kind,
    /// Its URL, if it has one.
    pub url: Option<String>,
    /// `WARC-Date` as it is there.
    pub date: Option<String>,
    /// What is wrong with it: digests that do not match, an end that is missing.
    pub defects: Vec<Defect>,
    block_bytes: u64,
}

/// Finds records. Digests that they declare are compared. `each` is told how far the file was read.
///
/// Memory grows with the number of records found.
///
/// # Errors
/// [`WriteError::Read`], [`WriteError::Stopped`].
pub fn find(
    input: &Arc<dyn Input>,
    name: &str,
    which: &Which,
    each: &mut Each<'_>,
) -> Result<Vec<Found>, WriteError> {
    let wanted = match which {
        Which::At(offset) => return Ok(vec![verified(input, name, *offset, 0)?]),
        Which::Id(id) => Wanted::Id(bare(id)),
        Which::Url(url) => Wanted::Url(url_key(url).unwrap_or_else(|_| url.clone())),
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

/// Opens a record that was found: [`OpenRecord`] for its header, and how many bytes its block has.
///
/// # Errors
/// [`ReadError`]: the file was changed, or cannot be read.
pub fn open(input: &Arc<dyn Input>, name: &str, found: &Found) -> Result<(OpenRecord, u64), ReadError> {
    let opened = OpenRecord::open(Arc::clone(input), name, found.offset, found.length)?;
    Ok((opened, found.block_bytes))
}

/// The bytes of a record as in a file that is not compressed: header and block as they are, and what ends a record.
///
/// # Errors
/// As [`open`].
pub fn whole(input: &Arc<dyn Input>, name: &str, found: &Found) -> Result<impl Read + use<>, ReadError> {
    let (opened, block_bytes) = open(input, name, found)?;
    let header = io::Cursor::new(opened.header_bytes().to_vec());
    let line_ends: &[u8] = match opened.format() {
        warc::Format::Arc(_) => b"\n",
        _ => b"\r\n\r\n",
    };
    Ok(header.chain(opened.take(block_bytes)).chain(line_ends))
}

/// Reads a record whole, and tells what is wrong with it.
fn verified(input: &Arc<dyn Input>, name: &str, offset: u64, length: u64) -> Result<Found, WriteError> {
    let mut settings = ReaderSettings::default();
    settings.body_bytes_max = 0;
    settings.verify_digests = true;
    let record = warc::read_from(Arc::clone(input), name, offset, length, settings)?;
    Ok(Found {
        offset: record.span.offset,
        length: record.span.length,
        kind: record.kind,
        url: record.target().map(str::to_owned),
        date: record.headers.get("WARC-Date").map(str::to_owned),
        block_bytes: record.body_length,
        defects: record.defects,
    })
}

/// What each record is compared with.
enum Wanted<'a> {
    Id(&'a str),
    /// The key of a URL, or its text if that is none.
    Url(String),
}

impl Wanted<'_> {
    fn is(&self, record: &Record) -> bool {
        match self {
            Wanted::Id(wanted) => record
                .headers
                .get("WARC-Record-ID")
                .is_some_and(|id| bare(id) == *wanted),
            Wanted::Url(wanted) => record
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
