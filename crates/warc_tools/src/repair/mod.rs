//! Repairs a damaged file: writes the readable records with correct lengths, and the other bytes to
//! quarantine files.
//!
//! Invariants:
//! - Every stored byte of the input is in a kept record, in padding (line ends, empty members) or
//!   in quarantine. The three sizes add up to the size of the input.
//! - Uncertain parts of a record are also in quarantine, unchanged: the stored bytes of damaged
//!   members, and bytes after a block that are not proved to belong to it.
//! - A record without damage keeps its header and block byte for byte.

mod header;
mod quarantine;

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Serialize;
use warc::{
    Compression, Container, DeclaredDigest, Defect, Entry, Format, Kind, Reader, Record, Span, Writer, reason,
};

use crate::Progress;
use crate::defects::{is_of_length, is_of_member};
use crate::error::WriteError;
use crate::record_digests::{self, HashingReader, RecordDigests};
use crate::source::Original;
use crate::temp_output::{TempOutput, UnverifiedFile, Verified};
use header::Change;
use quarantine::Quarantine;

pub use quarantine::QuarantinedPiece;

/// Maximum number of bytes after a block that are tested for belonging to it; they are held in
/// memory.
const SURPLUS_BYTES_MAX: u64 = 16 << 20;

/// The outcome of a repair.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RepairReport {
    /// Size of the input.
    pub input_bytes: u64,
    /// Number of records written.
    pub records: u64,
    /// Number of written records with a changed header.
    pub records_mended: u64,
    /// Number of written records that are marked as truncated.
    pub records_cut: u64,
    /// Stored bytes of the input in the written records.
    pub record_bytes: u64,
    /// Stored bytes without data: line ends between records, empty members.
    pub padding_bytes: u64,
    /// Stored bytes that could not be read as records.
    pub quarantined_bytes: u64,
    /// The changes, in the order of the file.
    pub mends: Vec<RecordRepair>,
    /// The pieces in quarantine.
    pub quarantine: Vec<QuarantinedPiece>,
}

/// A changed record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecordRepair {
    /// Offset of the record in the input.
    pub offset: u64,
    /// Its id, if it has one.
    pub record_id: Option<String>,
    /// Its defects: words of [`warc::reason`].
    pub reasons: Vec<&'static str>,
    /// Describes the changes.
    pub done: String,
}

/// A repaired file and its quarantine, both in temporary files.
#[derive(Debug)]
pub struct WrittenRepair {
    records: Option<UnverifiedFile>,
    quarantine: quarantine::TempFiles,
}

/// A repaired file that was read again, and its quarantine.
#[derive(Debug)]
pub struct VerifiedRepair {
    records: Option<Verified>,
    quarantine: quarantine::TempFiles,
}

/// Returns the paths of the quarantine files: the bytes that are not records, and the list of them.
pub fn quarantine_paths(out: &Path) -> [PathBuf; 2] {
    quarantine::paths(out)
}

/// Writes the readable records of `input` to a temporary file for `out`. `each` is called with the
/// bytes read so far, and stops the work by returning false.
///
/// # Errors
/// [`WriteError`]; damage in the input is not an error. Nothing is left then.
pub fn write(
    input: &Path,
    out: &Path,
    compression: Compression,
    each: &mut Progress<'_>,
) -> Result<(WrittenRepair, RepairReport), WriteError> {
    let original = Original::open(input)?;
    let reader = original.reader(out)?;
    let mut temp_output = TempOutput::new(out)?;
    let failed = temp_output.failed();
    let writer = temp_output.writer(compression)?;
    let mut repair = Repair {
        repaired: RepairReport {
            input_bytes: reader.size(),
            ..RepairReport::default()
        },
        quarantine: Quarantine::new(out, original.file()?)?,
        record_digests: RecordDigests::default(),
        original: &original,
        taken: None,
        reader,
        writer,
        out,
        failed,
    };
    repair.all(each)?;
    let (mut repaired, quarantine, record_digests) = repair.finish()?;
    original.check_unchanged()?;
    let accounted = repaired.record_bytes + repaired.padding_bytes + repaired.quarantined_bytes;
    assert_eq!(
        accounted, repaired.input_bytes,
        "every byte is in a record, in padding or in quarantine"
    );
    repaired.records = record_digests.records();
    let (quarantine, pieces) = quarantine.finish()?;
    repaired.quarantine = pieces;
    // A file without records would not be a WARC file.
    let records = match repaired.records {
        0 => None,
        _ => Some(temp_output.finish(record_digests)?),
    };
    Ok((WrittenRepair { records, quarantine }, repaired))
}

struct Repair<'a, W: io::Write, F> {
    repaired: RepairReport,
    quarantine: Quarantine,
    record_digests: RecordDigests,
    original: &'a Original,
    /// The next bytes of the input, if they belong to a record that was written.
    taken: Option<Span>,
    reader: Reader,
    writer: Writer<W>,
    out: &'a Path,
    failed: F,
}

impl<W: io::Write, F: Fn(io::Error) -> WriteError> Repair<'_, W, F> {
    fn all(&mut self, each: &mut Progress<'_>) -> Result<(), WriteError> {
        while let Some(entry) = self.reader.next_entry()? {
            match entry {
                Entry::Record(record) => {
                    self.repaired.record_bytes += record.span.length;
                    if has(&record, &[reason::LENGTH_TOO_SHORT]) {
                        self.longer(&record)?
                    } else {
                        self.record(&record)?
                    }
                    self.reader.recycle(record);
                }
                Entry::Quarantined(span, _) if self.taken == Some(span) => {
                    self.repaired.record_bytes += span.length;
                }
                Entry::Quarantined(span, defect) => {
                    self.repaired.quarantined_bytes += span.length;
                    self.quarantine.stored(span, defect.reason, &defect.detail)?;
                }
                other => self.repaired.padding_bytes += other.span().length,
            }
            if !each(self.reader.position()) {
                return Err(WriteError::Stopped);
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<(RepairReport, Quarantine, RecordDigests), WriteError> {
        self.writer.finish().map_err(self.failed)?;
        Ok((self.repaired, self.quarantine, self.record_digests))
    }

    /// Writes a record that ends at or before the end of its declared length.
    fn record(&mut self, record: &Record) -> Result<(), WriteError> {
        let mut change = Change::default();
        let mut done = Vec::new();
        let mut block_bytes = record.body_length;
        let is_cut = has(record, &[reason::TRUNCATED_RECORD, reason::LENGTH_TOO_LONG]);
        if is_cut || has(record, &[reason::LENGTH_MISSING, reason::LENGTH_INVALID]) {
            block_bytes = self.without_its_line_ends(record)?;
            change.length = Some(block_bytes);
            done.push(format!("its length was set to {block_bytes}"));
        }
        let is_verified = self.is_verified(record, block_bytes, &[])?;
        if is_cut && !is_verified && matches!(record.format, Format::Warc(..)) {
            change.cut = true;
            done.push(
                "WARC-Truncated: unspecified was added, and digests of the whole record were renamed"
                    .to_owned(),
            );
        }
        if has(record, &[reason::LINE_ENDS_MISSING]) {
            done.push("line ends were added after its block".to_owned());
        }
        // A digest may prove the block, but not the header, which could be altered unnoticed.
        if let Some(defect) = record.defects.iter().find(|defect| is_of_member(defect)) {
            let proved = if is_verified {
                ", and a digest proves its block"
            } else {
                ""
            };
            let detail = format!("{}; what could be decoded is a record{proved}", defect.detail);
            self.quarantine.stored(record.span, defect.reason, &detail)?;
            done.push("its stored bytes were also written to quarantine".to_owned());
        }
        self.write(record, block_bytes, &change, &[], &done)
    }

    /// Returns the length of a block whose declared length is wrong, without the line ends that
    /// follow a record. If the file is cut, they are missing, or belong to the block; they are then
    /// written again after it.
    fn without_its_line_ends(&mut self, record: &Record) -> Result<u64, WriteError> {
        let is_plain = self.reader.container() == Container::Plain;
        let is_left_out_already = is_plain && has(record, &[reason::LENGTH_TOO_LONG]);
        let is_warc = matches!(record.format, Format::Warc(..));
        if is_left_out_already || !is_warc || record.body_length < 4 {
            return Ok(record.body_length);
        }
        let keep = record_digests::keep(self.out);
        let mut block = self.reader.block(record).map_err(&keep)?.take(record.body_length);
        let before = record.body_length - 4;
        io::copy(&mut block.by_ref().take(before), &mut io::sink()).map_err(&keep)?;
        let mut last = [0; 4];
        block.read_exact(&mut last).map_err(&keep)?;
        Ok(if last == *b"\r\n\r\n" {
            before
        } else {
            record.body_length
        })
    }

    /// Writes a record whose declared length is followed by further bytes. They become part of the
    /// block if a digest proves that they belong to it, and go to quarantine otherwise.
    fn longer(&mut self, record: &Record) -> Result<(), WriteError> {
        let beside = match self.reader.container() {
            // In an uncompressed file, they are a separate entry, which comes next.
            Container::Plain => self.original.quarantined_at(record.span.end())?,
            _ => None,
        };
        let mut surplus = self.surplus()?;
        if let Some(span) = beside.filter(|span| span.length <= SURPLUS_BYTES_MAX) {
            surplus.extend(self.quarantine.read(span)?);
        }
        surplus.truncate(without_line_ends(&surplus));
        if !surplus.is_empty() && self.is_verified(record, record.body_length, &surplus)? {
            let length = record.body_length + surplus.len() as u64;
            let change = Change {
                length: Some(length),
                cut: false,
            };
            self.taken = beside;
            let done = [format!(
                "its length was set to {length}, which its digest confirms"
            )];
            return self.write(record, record.body_length, &change, &surplus, &done);
        }
        let mut done = Vec::new();
        if beside.is_none() && self.reader.container() != Container::Plain {
            let detail = format!("bytes follow the {} declared", record.body_length);
            let decoded = self.surplus()?;
            if decoded.len() as u64 == self.reader.after_block_bytes() {
                self.quarantine
                    .decoded(record.span, &decoded, reason::LENGTH_TOO_SHORT, &detail)?
            } else {
                // Too long to be held in memory: keep the whole stored member.
                self.quarantine
                    .stored(record.span, reason::LENGTH_TOO_SHORT, &detail)?
            }
            done.push("the bytes after its declared length were moved to quarantine".to_owned());
        }
        self.write(record, record.body_length, &Change::default(), &[], &done)
    }

    /// Returns the bytes after the block of the last record, unless there are too many.
    fn surplus(&mut self) -> Result<Vec<u8>, WriteError> {
        let keep = record_digests::keep(self.out);
        let mut surplus = Vec::new();
        if self.reader.after_block_bytes() <= SURPLUS_BYTES_MAX {
            let mut after = self.reader.after_block().map_err(&keep)?;
            after.read_to_end(&mut surplus).map_err(&keep)?;
        }
        Ok(surplus)
    }

    /// Returns whether a digest that the record declares matches the first `block_bytes` of its
    /// block, or its payload in them, followed by `more`.
    fn is_verified(&mut self, record: &Record, block_bytes: u64, more: &[u8]) -> Result<bool, WriteError> {
        let keep = record_digests::keep(self.out);
        let declared = |name: &str| record.headers.get(name).and_then(DeclaredDigest::parse);
        if let Some(digest) = declared("WARC-Block-Digest") {
            let block = self.reader.block(record).map_err(&keep)?;
            return digest.is_of(block.take(block_bytes).chain(more)).map_err(&keep);
        }
        let is_of_whole = record.kind != Kind::Revisit && record.headers.get("WARC-Segment-Number").is_none();
        let Some(digest) = declared("WARC-Payload-Digest").filter(|_| is_of_whole) else {
            return Ok(false);
        };
        let head = if record.is_http() {
            warc::http_header_length(&record.body)
        } else {
            Some(0)
        };
        // An empty payload proves nothing.
        let Some(head) = head.filter(|head| block_bytes + more.len() as u64 > *head as u64) else {
            return Ok(false);
        };
        let mut block = self.reader.block(record).map_err(&keep)?.take(block_bytes);
        io::copy(&mut block.by_ref().take(head as u64), &mut io::sink()).map_err(&keep)?;
        digest.is_of(block.chain(more)).map_err(&keep)
    }

    /// Writes a record with a changed header, and `more` after its block.
    fn write(
        &mut self,
        record: &Record,
        block_bytes: u64,
        change: &Change,
        more: &[u8],
        done: &[String],
    ) -> Result<(), WriteError> {
        let keep = record_digests::keep(self.out);
        let header = header::changed(self.reader.header_bytes(), record, change);
        if *change != Change::default() && !header::says(&header, change)? {
            return self.give_up(record);
        }
        let line_ends: &[u8] = match record.format {
            Format::Arc(_) => b"\n",
            _ => b"\r\n\r\n",
        };
        let bytes = header.len() as u64 + block_bytes + (more.len() + line_ends.len()) as u64;
        let block = self.reader.block(record).map_err(&keep)?.take(block_bytes);
        let mut content = HashingReader::new(header.chain(block).chain(more));
        self.writer
            .write_from(content.by_ref().chain(line_ends), bytes)
            .map_err(&self.failed)?;
        self.record_digests.push(content.finish());
        self.repaired.records_cut += u64::from(change.cut);
        if !done.is_empty() {
            self.repaired.records_mended += 1;
            self.repaired.mends.push(RecordRepair {
                offset: record.span.offset,
                record_id: record.headers.get("WARC-Record-ID").map(str::to_owned),
                reasons: record
                    .defects
                    .iter()
                    .filter(|defect| is_mended(defect))
                    .map(|defect| defect.reason)
                    .collect(),
                done: done.join("; "),
            });
        }
        Ok(())
    }

    /// Moves a record whose header cannot be repaired to quarantine.
    fn give_up(&mut self, record: &Record) -> Result<(), WriteError> {
        self.taken = None;
        self.repaired.record_bytes -= record.span.length;
        self.repaired.quarantined_bytes += record.span.length;
        let detail = "with the length that the block has, the header would be read as another one";
        self.quarantine
            .stored(record.span, reason::HEADER_LINE_INVALID, detail)
    }
}

impl WrittenRepair {
    /// Returns the size of the file of records in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.records.as_ref().map_or(0, UnverifiedFile::size_bytes)
    }

    /// Reads the written files again and compares them. `each` is called with the bytes read so
    /// far, and stops the work by returning false.
    ///
    /// # Errors
    /// As [`UnverifiedFile::verify`].
    pub fn verify(self, each: &mut Progress<'_>) -> Result<VerifiedRepair, WriteError> {
        self.quarantine.verify()?;
        Ok(VerifiedRepair {
            records: self.records.map(|written| written.verify(each)).transpose()?,
            quarantine: self.quarantine,
        })
    }
}

impl VerifiedRepair {
    /// Renames the files to their paths, the file of records last. Existing files are replaced only
    /// if `replaces`.
    ///
    /// # Errors
    /// [`WriteError::Exists`]; [`WriteError::Io`].
    pub fn put(self, replaces: bool) -> Result<(), WriteError> {
        let named = self.quarantine.put(replaces)?;
        let put = self.records.map_or(Ok(()), |records| records.put(replaces));
        if put.is_err() && !replaces {
            // A quarantine is useless without its file of records.
            for path in named {
                let _ = std::fs::remove_file(path);
            }
        }
        put
    }
}

fn has(record: &Record, reasons: &[&str]) -> bool {
    record
        .defects
        .iter()
        .any(|defect| reasons.contains(&defect.reason))
}

/// Returns whether a repair fixes this defect.
fn is_mended(defect: &Defect) -> bool {
    is_of_member(defect) || is_of_length(defect) || defect.reason == reason::LINE_ENDS_MISSING
}

/// Returns the length without up to two trailing line ends, which belong to the record.
fn without_line_ends(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    for _ in 0..2 {
        rest = match rest {
            [rest @ .., b'\r', b'\n'] | [rest @ .., b'\n'] => rest,
            rest => rest,
        };
    }
    rest.len()
}
