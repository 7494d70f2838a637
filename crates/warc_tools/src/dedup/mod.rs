//! Replaces repeated payloads by revisit records (WARC/1.1, 6.7.2) that refer to the first
//! occurrence.
//!
//! Invariants:
//! - A response becomes a revisit only if its stored payload has the SHA-256 of an earlier one,
//!   with the same type, encodings and status, and no declared digest contradicts.
//! - The record referred to is a capture of an http or https URL with a valid date. It is in the
//!   output unchanged, and the revisit has its payload digest.
//! - Redirects, parts (206) and answers to other methods than GET are kept, and no revisit refers
//!   to them. Pages that refer to them would have no content.
//! - A revisit keeps its HTTP header byte for byte. All other records stay identical.
//! - A record that a revisit of the inputs refers to is kept, so that its payload is still found.
//!
//! Memory: id, URL, date and digest of each distinct payload; some fifty bytes for each response
//! while relations are read.

mod header;
mod relations;

use std::collections::HashMap;
use std::collections::hash_map::Entry as Place;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Serialize;
use warc::{Compression, DeclaredDigest, Kind, Record, Writer, reason};

use crate::Progress;
use crate::error::WriteError;
use crate::folder::{Folder, WrittenFolder};
use crate::record_digests::{self, HashingReader, RecordDigests};
use crate::source::Source;
use crate::temp_output::{TempOutput, UnverifiedFile};
use header::{Header, Original};
pub use relations::{Relations, relations};

/// What was written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DedupReport {
    /// Number of files.
    pub files: u64,
    /// Number of records.
    pub records: u64,
    /// Number of responses that became revisits.
    pub revisits: u64,
    /// Stored payload bytes that were removed.
    pub payload_bytes: u64,
    /// Number of repeated responses that were kept because a declared digest differs.
    pub differing: u64,
    /// Number of repeated responses that were kept because revisits of the inputs refer to them.
    pub referred: u64,
    /// Size of the inputs.
    pub input_bytes: u64,
    /// Size of the output.
    pub output_bytes: u64,
}

/// Writes `inputs` in their order to a temporary folder for `out`, each under its own name, with
/// the compression that `compression` returns for its path. `relations` must come from the same
/// inputs. `each` is called with the bytes of all inputs read so far, and stops the work by
/// returning false.
///
/// # Errors
/// [`WriteError`], for damage in an input or two inputs of the same name. Nothing is left then.
pub fn write(
    inputs: &[PathBuf],
    out: &Path,
    relations: &Relations,
    compression: &dyn Fn(&Path) -> Compression,
    each: &mut Progress<'_>,
) -> Result<(WrittenFolder, DedupReport), WriteError> {
    let folder = Folder::new(out)?;
    let mut known = Payloads {
        relations,
        originals: HashMap::new(),
        report: DedupReport::default(),
    };
    let mut files = Vec::new();
    for input in inputs {
        let name = folder.name_of(input, &files)?;
        let before = known.report.input_bytes;
        let written = file(input, &name, compression(&name), &mut known, &mut |at| {
            each(before + at)
        })?;
        known.report.records += written.records();
        known.report.output_bytes += written.size_bytes();
        known.report.files += 1;
        files.push(written);
    }
    Ok((folder.finish(files), known.report))
}

/// The payloads seen so far.
struct Payloads<'a> {
    relations: &'a Relations,
    originals: HashMap<[u8; 32], Original>,
    report: DedupReport,
}

fn file(
    input: &Path,
    out: &Path,
    compression: Compression,
    known: &mut Payloads<'_>,
    each: &mut Progress<'_>,
) -> Result<UnverifiedFile, WriteError> {
    let mut source = Source::open_verifying(input, out)?;
    let mut temp_output = TempOutput::new(out)?;
    let failed = temp_output.failed();
    let mut record_digests = RecordDigests::default();
    let mut writer = temp_output.writer(compression)?;
    while let Some(record) = source.next()? {
        let header = source.reader.header_bytes().to_vec();
        let written = match known.revisit(&mut source, &record, &header, out)? {
            Some(revisit) => {
                let block = &record.body[..revisit.block_bytes];
                write_record(
                    &mut writer,
                    &revisit.header,
                    block,
                    revisit.block_bytes as u64,
                    b"\r\n\r\n",
                )
            }
            None => {
                let line_ends = source.line_ends(record.format)?;
                let block = source.reader.block(&record).map_err(record_digests::keep(out))?;
                write_record(&mut writer, &header, block, record.body_length, &line_ends)
            }
        };
        record_digests.push(written.map_err(&failed)?);
        source.reader.recycle(record);
        if !each(source.reader.position()) {
            return Err(WriteError::Stopped);
        }
    }
    writer.finish().map_err(&failed)?;
    source.check_unchanged()?;
    known.report.input_bytes += source.reader.size();
    temp_output.finish(record_digests)
}

/// Writes a record and returns its digest.
fn write_record(
    writer: &mut Writer<impl io::Write>,
    header: &[u8],
    block: impl Read,
    block_bytes: u64,
    line_ends: &[u8],
) -> io::Result<record_digests::RecordDigest> {
    let bytes = header.len() as u64 + block_bytes + line_ends.len() as u64;
    let mut content = HashingReader::new(header.chain(block.take(block_bytes)));
    writer.write_from(content.by_ref().chain(line_ends), bytes)?;
    Ok(content.finish())
}

/// A response that becomes a revisit.
struct Revisit {
    header: Vec<u8>,
    /// Length of its HTTP header, which is the whole block.
    block_bytes: usize,
}

impl Payloads<'_> {
    /// Returns the revisit that replaces a record, if its payload was seen before.
    fn revisit(
        &mut self,
        source: &mut Source,
        record: &Record,
        header: &[u8],
        out: &Path,
    ) -> Result<Option<Revisit>, WriteError> {
        let Some(http_bytes) = http_header_of_whole(record) else {
            return Ok(None);
        };
        if self.relations.answers_other_method(record) {
            return Ok(None);
        }
        let payload_bytes = record.body_length - http_bytes as u64;
        let http = &record.body[..http_bytes];
        let failed = record_digests::keep(out);
        let mut block = source
            .reader
            .block(record)
            .map_err(&failed)?
            .take(record.body_length);
        io::copy(&mut block.by_ref().take(http_bytes as u64), &mut io::sink()).map_err(&failed)?;
        let Some(status) = status_of(http).filter(|status| *status != 206 && !(300..400).contains(status))
        else {
            return Ok(None);
        };
        // Payloads are the same only with the same encoding, type and status.
        let means = format!("{status} {}", header::meaning(http));
        let mut keyed = HashingReader::new(means.as_bytes().chain(block));
        io::copy(&mut keyed, &mut io::sink()).map_err(&failed)?;
        let own = record.headers.get("WARC-Payload-Digest");
        match self.originals.entry(keyed.finish()) {
            Place::Vacant(place) => {
                if let Some(original) = Original::of(record) {
                    place.insert(original);
                }
                Ok(None)
            }
            Place::Occupied(place) => {
                let original = place.get();
                let computed = || format!("sha1:{}", warc::payload_digest(record));
                if self.relations.is_referred(record, computed) {
                    self.report.referred += 1;
                    return Ok(None);
                }
                if !may_be_same(own, &original.digest) {
                    self.report.differing += 1;
                    return Ok(None);
                }
                self.report.revisits += 1;
                self.report.payload_bytes += payload_bytes;
                Ok(Some(Revisit {
                    header: Header::of(header, record.format).revisit(original, http),
                    block_bytes: http_bytes,
                }))
            }
        }
    }
}

/// Returns the length of the HTTP header of a response that is complete, has a payload, and has no
/// wrong digest.
fn http_header_of_whole(record: &Record) -> Option<usize> {
    let has = |name: &str| record.headers.get(name).is_some();
    let is_response = record.kind == Kind::Response && record.is_http();
    let is_part = has("WARC-Segment-Number") || has("WARC-Truncated");
    let is_wrong = record.defects.iter().any(|defect| {
        [reason::PAYLOAD_DIGEST_MISMATCH, reason::BLOCK_DIGEST_MISMATCH].contains(&defect.reason)
    });
    if !is_response || is_part || is_wrong {
        return None;
    }
    let length = warc::http_header_length(&record.body)?;
    (record.body_length > length as u64).then_some(length)
}

/// Returns the status in an HTTP header.
fn status_of(http: &[u8]) -> Option<u16> {
    let line = http.split(|byte| *byte == b'\n').next()?;
    std::str::from_utf8(line)
        .ok()?
        .split_whitespace()
        .nth(1)?
        .parse()
        .ok()
}

/// Returns whether two declared digests may be of the same payload. Digests of different algorithms
/// are not comparable.
fn may_be_same(own: Option<&str>, original: &str) -> bool {
    let Some(own) = own else { return true };
    let algorithm = |digest: &str| {
        digest
            .split(':')
            .next()
            .map(|label| label.trim().to_ascii_lowercase())
    };
    match (DeclaredDigest::parse(own), DeclaredDigest::parse(original)) {
        (Some(own_digest), Some(digest)) => own_digest == digest || algorithm(own) != algorithm(original),
        _ => own == original,
    }
}
