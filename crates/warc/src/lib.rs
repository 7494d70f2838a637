//! Web-archive records in and out (WARC 0.17-1.1, ARC 1 and 2), with every byte accounted for.
//!
//! Invariant: the `length`s of all [`Entry`]s of an input add up to the size of the file, and each
//! entry begins where the one before it ended.

use std::path::Path;

/// One stretch of an input.
#[derive(Debug)]
#[non_exhaustive]
pub enum Entry {
    /// A record.
    Record(Record),
    /// Bytes between records that carry nothing (empty gzip members, surplus line ends, skippable frames).
    Padding(Span),
    /// Bytes that could not be read as a record.
    Quarantined(Span, Defect),
}

/// A stretch of the file as stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First byte, from the start of the file.
    pub offset: u64,
    /// Bytes of the file, as stored (compressed where the file is).
    pub length: u64,
}

/// What was wrong: `reason` is one of a fixed set of short kebab-case words, `detail` is for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defect {
    /// Short kebab-case word out of a fixed set, for example `truncated-member`.
    pub reason: &'static str,
    /// What was found, what was expected.
    pub detail: String,
}

/// One WARC or ARC record. Its headers, and the body as far as the reader was told to keep it.
#[derive(Debug, Clone)]
pub struct Record {
    /// Where it stands in the file.
    pub span: Span,
    /// Version line or ARC.
    pub format: Format,
    /// Kind of record.
    pub kind: Kind,
    /// Header fields in file order (for ARC: the header line's fields under WARC's names).
    pub headers: Headers,
    /// The block, at most `ReaderSettings::body_bytes_max` of it.
    pub body: Vec<u8>,
    /// Length of the whole block in bytes, read to the end.
    pub body_length: u64,
    /// Defects that do not prevent use (wrong length, digest mismatch, missing CRLF, cut).
    pub defects: Vec<Defect>,
}

/// Container format of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// `WARC/x.y`, as major and minor number.
    Warc(u8, u8),
    /// ARC version 1 or 2.
    Arc(u8),
}

/// WARC-Type; ARC documents are `Response` (or `Warcinfo` for the file header).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Kind {
    Warcinfo,
    Response,
    Resource,
    Request,
    Metadata,
    Revisit,
    Conversion,
    Continuation,
    Unknown,
}

/// Header fields of a record, in file order, names compared without case.
#[derive(Debug, Clone, Default)]
pub struct Headers {
    /// Name and value; bytes that are not UTF-8 are replaced.
    pub fields: Vec<(String, String)>,
}

impl Headers {
    /// First value of `name`, compared without case.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.fields
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, v)| v.as_str())
    }
}

/// How to read.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReaderSettings {
    /// Bytes of a record's block that are kept; the rest is read through for length and digest.
    pub body_bytes_max: u64,
    /// Check declared block and payload digests.
    pub verify_digests: bool,
    /// First byte to read: a record boundary given by an earlier run.
    pub start_offset: u64,
    /// The file may still be growing: an incomplete tail is not quarantined but left unread.
    pub growing: bool,
}

/// Reads an input from front to back.
pub struct Reader {}

impl Reader {
    /// Opens a file; the container is detected by content, not by name.
    pub fn open(path: &Path, settings: ReaderSettings) -> Result<Reader, ReadError> {
        let _ = (path, settings);
        Ok(Reader {})
    }

    /// The next stretch, or `None` at the end of the file. Only I/O failures are errors.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, ReadError> {
        Ok(None)
    }
}

/// The disk failed, not the format.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// An I/O call failed.
    #[error("read {path} at offset {offset}: {source}")]
    Io {
        /// The file.
        path: String,
        /// Where.
        offset: u64,
        /// What the system said.
        source: std::io::Error,
    },
}
