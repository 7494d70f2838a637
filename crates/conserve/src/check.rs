//! Compares files of records with the standard, rule by rule.
//!
//! The reader finds what keeps records from being read, the modules here what else the standard demands: the lines of the
//! header ([`header`]), fields and values of each type ([`fields`]), ids that occur twice.
//!
//! Memory: a digest of 16 bytes and a place for each record, to find ids that occur twice, also in different files.

mod date;
mod fields;
mod header;
pub mod rules;

use std::collections::HashMap;
use std::collections::hash_map::Entry as Place;
use std::sync::Arc;

use serde::Serialize;
use warc::{
    Container, Defect, Entry, Format, Input, Lies, ReadError, Reader, ReaderSettings, Record, Span, reason,
};

use crate::defects::is_of_length;
use crate::short_digest;
use rules::Rule;

/// Number of bytes of a block that are kept. Longer ones are read for their digests alone.
const BODY_BYTES_MAX: u64 = 1 << 20;

/// A rule that a file does not follow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Where the record or the bytes begin in the file as stored.
    pub offset: u64,
    /// The id of the record, if it has one.
    pub record_id: Option<String>,
    /// The name of the rule, a fixed word.
    pub rule: &'static str,
    /// Where the rule is written, for example `WARC/1.1, 5.14`.
    pub source: String,
    /// Whether the source recommends it only.
    pub advice: bool,
    /// What was found and what was expected.
    pub detail: String,
}

/// Checks files one after the other.
#[derive(Debug, Default)]
pub struct Checker {
    advice: bool,
    ids: HashMap<[u8; 16], (usize, u64)>,
    names: Vec<String>,
}

/// A file while it is checked.
pub struct CheckedFile<'a> {
    checker: &'a mut Checker,
    input: Arc<dyn Input>,
    reader: Reader,
    records: u64,
    is_over: bool,
}

impl Checker {
    /// Makes a checker. With `advice` it also tells what is not followed of recommendations.
    pub fn new(advice: bool) -> Checker {
        Checker {
            advice,
            ..Checker::default()
        }
    }

    /// Begins to check a file; `name` is used in messages.
    ///
    /// # Errors
    /// [`ReadError`]: it cannot be read. Damage is no error.
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

    /// Notes the id of a record. Returns where the same id was before.
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
                Some(match before == file {
                    true => format!("the record at offset {offset} has the same"),
                    false => format!(
                        "the record at offset {offset} of {} has the same",
                        self.names[before]
                    ),
                })
            }
        }
    }
}

impl CheckedFile<'_> {
    /// Reads on, and returns what was found; often nothing. `None` at the end of the file.
    ///
    /// # Errors
    /// [`ReadError`]: the file cannot be read any further.
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
            Some(Entry::Padding(span)) => match self.holds_zeros(span)? {
                true => {
                    let detail = format!("zero bytes among {} that are no record", span.length);
                    vec![of_bytes(span.offset, &Defect::new(reason::JUNK, detail))]
                }
                false => Vec::new(),
            },
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

    /// Whether there are zero bytes in padding that is not compressed. Readers pass over them.
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

    /// Number of records read so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// How far the file was read, in bytes as stored.
    pub fn position(&self) -> u64 {
        self.reader.position()
    }

    /// Size of the file in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.reader.size()
    }

    fn record(&mut self, record: &Record) -> Vec<Finding> {
        let mut broken: Vec<(&'static Rule, String)> = Vec::new();
        for defect in &record.defects {
            if !is_told_otherwise(record, defect) {
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
            && let Some(detail) = shares(record.format, self.reader.lies(), self.reader.container())
        {
            broken.push((&rules::ONE_MEMBER, detail.to_owned()));
        }
        let id = record.headers.get("WARC-Record-ID");
        let told = broken.into_iter();
        told.map(|(rule, detail)| finding(rule, Some(record.format), offset, id, detail))
            .collect()
    }
}

/// Whether a defect that the reader found is no finding, or one that a rule here tells better.
fn is_told_otherwise(record: &Record, defect: &Defect) -> bool {
    let is_warc = matches!(record.format, Format::Warc(..));
    // The digest of a segment's payload is that of the whole record (WARC/1.1, 7).
    let is_segment = record.headers.get("WARC-Segment-Number").is_some();
    (is_warc && defect.reason == reason::DATE_INVALID)
        || (is_segment && defect.reason == reason::PAYLOAD_DIGEST_MISMATCH)
}

/// Whether a defect says that the record ends elsewhere than it should, so that its members tell nothing.
fn is_of_extent(defect: &Defect) -> bool {
    let is_of_bytes = [
        reason::TRUNCATED_MEMBER,
        reason::DAMAGED_MEMBER,
        reason::CHECKSUM_MISMATCH,
    ]
    .contains(&defect.reason);
    is_of_bytes || is_of_length(defect)
}

/// Says how a record lies, if it has not one compressed member to itself.
fn shares(format: Format, lies: Lies, container: Container) -> Option<&'static str> {
    match lies {
        Lies::Shared => Some("it shares a compressed member with other records"),
        // A record may have several frames of zstd (WARC-zstd 1.0, 4), and ARC says nothing.
        Lies::InSeveral if container == Container::Gzip && matches!(format, Format::Warc(..)) => {
            Some("it takes several members")
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
