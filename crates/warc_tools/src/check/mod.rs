//! Checks WARC and ARC files against the standard, rule by rule.
//!
//! The reader finds the errors that keep records from being read. The modules here check the other
//! rules of the standard: header lines ([`header`]), fields and values of each type ([`fields`]),
//! and duplicate ids.
//!
//! Memory: a digest of 16 bytes and a position for each record, to find duplicate ids, also across
//! files.

mod date;
mod fields;
mod header;
pub mod rules;

use std::collections::HashMap;
use std::collections::hash_map::Entry as Place;
use std::sync::Arc;

use serde::Serialize;
use warc::{
    Container, Defect, Entry, Format, Input, ReadError, Reader, ReaderSettings, Record, RecordLayout, Span,
    reason,
};

use crate::defects::is_of_length;
use crate::short_digest;
use rules::Rule;

/// Number of bytes of a block that are kept. Longer blocks are read only for their digests.
const BODY_BYTES_MAX: u64 = 1 << 20;

/// A violation of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Offset of the record or the bytes in the stored file.
    pub offset: u64,
    /// The id of the record, if it has one.
    pub record_id: Option<String>,
    /// The name of the rule, a fixed word.
    pub rule: &'static str,
    /// The source of the rule, for example `WARC/1.1, 5.14`.
    pub source: String,
    /// Whether the rule is only a recommendation.
    pub advice: bool,
    /// Describes the violation and the expected value.
    pub detail: String,
}

/// Checks files one after the other.
///
/// ```
/// use warc::{Compression, Draft, Writer};
/// use warc_tools::check::Checker;
///
/// let mut writer = Writer::new(Vec::new(), Compression::GZIP)?;
/// writer.write(&Draft::resource("http://example.com/", 0, "text/plain", b"hello".to_vec()))?;
/// let mut stored = writer.finish()?;
/// // A bit of the compressed record flips.
/// let middle = stored.len() / 2;
/// stored[middle] ^= 1;
///
/// let mut checker = Checker::new(false);
/// let mut file = checker.file(Box::new(stored), "example.warc.gz")?;
/// let mut findings = Vec::new();
/// while let Some(found) = file.next_findings()? {
///     findings.extend(found);
/// }
/// assert!(!findings.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Checker {
    advice: bool,
    ids: HashMap<[u8; 16], (usize, u64)>,
    names: Vec<String>,
}

/// A file that is being checked.
pub struct CheckedFile<'a> {
    checker: &'a mut Checker,
    input: Arc<dyn Input>,
    reader: Reader,
    records: u64,
    is_over: bool,
}

impl Checker {
    /// Creates a checker. With `advice` it also reports violations of recommendations.
    pub fn new(advice: bool) -> Checker {
        Checker {
            advice,
            ..Checker::default()
        }
    }

    /// Starts to check a file; `name` is used in messages.
    ///
    /// # Errors
    /// [`ReadError`] if the file cannot be read. Damage is not an error.
    pub fn file(&mut self, input: Box<dyn Input>, name: &str) -> Result<CheckedFile<'_>, ReadError> {
        let mut settings = ReaderSettings::default();
        settings.body_bytes_max = BODY_BYTES_MAX;
        settings.verify_digests = true;
        let input: Arc<dyn Input> = Arc::from(input);
        let mut reader = Reader::from_input(Box::new(input.clone()), name, settings)?;
        reader.keep_headers();
        self.names.push(name.to_owned());
        Ok(CheckedFile {
            checker: self,
            input,
            reader,
            records: 0,
            is_over: false,
        })
    }

    /// Records the id of a record. Returns where the same id occurred before, if it did.
    fn note(&mut self, id: &str, offset: u64) -> Option<String> {
        let key = short_digest(id);
        let file = self.names.len() - 1;
        match self.ids.entry(key) {
            Place::Vacant(place) => {
                place.insert((file, offset));
                None
            }
            Place::Occupied(place) => {
                let (before, offset) = *place.get();
                Some(if before == file {
                    format!("the record at offset {offset} has the same id")
                } else {
                    format!(
                        "the record at offset {offset} of {} has the same id",
                        self.names[before]
                    )
                })
            }
        }
    }
}

impl CheckedFile<'_> {
    /// Reads the next entry of the file and returns the findings in it, which are often none.
    /// `None` at the end of the file.
    ///
    /// # Errors
    /// [`ReadError`] if the file cannot be read any further.
    pub fn next_findings(&mut self) -> Result<Option<Vec<Finding>>, ReadError> {
        if self.is_over {
            return Ok(None);
        }
        let mut findings = match self.reader.next_entry()? {
            Some(Entry::Record(record)) => {
                self.records += 1;
                let findings = self.record(&record);
                self.reader.recycle(record);
                findings
            }
            Some(Entry::Quarantined(span, defect)) => vec![of_bytes(span.offset, &defect)],
            Some(Entry::Padding(span)) => {
                if self.holds_zeros(span)? {
                    let detail = format!("zero bytes among {} bytes that belong to no record", span.length);
                    vec![of_bytes(span.offset, &Defect::new(reason::JUNK, detail))]
                } else {
                    Vec::new()
                }
            }
            Some(_) => Vec::new(),
            None => {
                self.is_over = true;
                match self.records {
                    0 => vec![finding(
                        &rules::EMPTY,
                        None,
                        0,
                        None,
                        "no record could be read".to_owned(),
                    )],
                    _ => Vec::new(),
                }
            }
        };
        findings.retain(|finding| self.checker.advice || !finding.advice);
        Ok(Some(findings))
    }

    /// Returns whether uncompressed padding has zero bytes, which readers skip.
    fn holds_zeros(&self, span: Span) -> Result<bool, ReadError> {
        let mut bytes = [0; 4 << 10];
        let mut at = span.offset;
        while at < span.end() {
            let most = (span.end() - at).min(bytes.len() as u64) as usize;
            let read = self
                .input
                .read_at(&mut bytes[..most], at)
                .map_err(|source| ReadError::Io {
                    path: self.checker.names.last().cloned().unwrap_or_default(),
                    offset: at,
                    source,
                })?;
            match bytes[..read].iter().find(|byte| !matches!(byte, b'\r' | b'\n')) {
                // Other bytes are those of a frame without records.
                Some(byte) => return Ok(*byte == 0),
                None if read == 0 => break,
                None => at += read as u64,
            }
        }
        Ok(false)
    }

    /// Returns the number of records read so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Returns the number of stored bytes read so far.
    pub fn position(&self) -> u64 {
        self.reader.position()
    }

    /// Returns the size of the file in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.reader.size()
    }

    fn record(&mut self, record: &Record) -> Vec<Finding> {
        let mut broken: Vec<(&'static Rule, String)> = Vec::new();
        for defect in &record.defects {
            if !is_reported_elsewhere(record, defect) {
                broken.push((rules::of_reason(defect.reason), defect.detail.clone()));
            }
        }
        let offset = record.span.offset;
        if let Format::Warc(major, minor) = record.format {
            header::check(self.reader.header_bytes(), (major, minor), &mut broken);
            fields::check(record, &mut broken);
            if let Some(before) = record
                .headers
                .get("WARC-Record-ID")
                .and_then(|id| self.checker.note(id, offset))
            {
                broken.push((&rules::RECORD_ID_REPEATED, before));
            }
        }
        if !record.defects.iter().any(is_of_extent)
            && let Some(detail) =
                member_violation(record.format, self.reader.layout(), self.reader.container())
        {
            broken.push((&rules::ONE_MEMBER, detail.to_owned()));
        }
        let id = record.headers.get("WARC-Record-ID");
        let broken = broken.into_iter();
        broken
            .map(|(rule, detail)| finding(rule, Some(record.format), offset, id, detail))
            .collect()
    }
}

/// Returns whether a defect found by the reader is either not a finding, or covered better by a
/// rule here.
fn is_reported_elsewhere(record: &Record, defect: &Defect) -> bool {
    let is_warc = matches!(record.format, Format::Warc(..));
    // The payload digest of a segment is the digest of the whole record (WARC/1.1, 7).
    let is_segment = record.headers.get("WARC-Segment-Number").is_some();
    (is_warc && defect.reason == reason::DATE_INVALID)
        || (is_segment && defect.reason == reason::PAYLOAD_DIGEST_MISMATCH)
}

/// Returns whether a defect means that the record does not end where it should. Its compressed
/// members are then not checked.
fn is_of_extent(defect: &Defect) -> bool {
    let is_of_bytes = [
        reason::TRUNCATED_MEMBER,
        reason::DAMAGED_MEMBER,
        reason::CHECKSUM_MISMATCH,
    ]
    .contains(&defect.reason);
    is_of_bytes || is_of_length(defect)
}

/// Describes the violation if a record does not have its own compressed member.
fn member_violation(format: Format, layout: RecordLayout, container: Container) -> Option<&'static str> {
    match layout {
        RecordLayout::SharedMember => Some("it shares a compressed member with other records"),
        // A record may have several zstd frames (WARC-zstd 1.0, 4), and the ARC format has no rule
        // for it.
        RecordLayout::SeveralMembers
            if container == Container::Gzip && matches!(format, Format::Warc(..)) =>
        {
            Some("it spans several members")
        }
        _ => None,
    }
}

fn of_bytes(offset: u64, defect: &Defect) -> Finding {
    finding(
        rules::of_reason(defect.reason),
        None,
        offset,
        None,
        defect.detail.clone(),
    )
}

fn finding(
    rule: &Rule,
    format: Option<Format>,
    offset: u64,
    record_id: Option<&str>,
    detail: String,
) -> Finding {
    Finding {
        offset,
        record_id: record_id.map(str::to_owned),
        rule: rule.name,
        source: rule.source(format),
        advice: rule.advice,
        detail,
    }
}
