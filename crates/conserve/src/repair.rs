//! A damaged file mended: records that can be read are written anew, with lengths that are true, and what is no record is
//! put beside them.
//!
//! Invariants:
//! - every byte of the input as stored is in a record that was kept, in padding (line ends, empty members) or in
//!   quarantine: the three add up to its size;
//! - what of a record is uncertain is in quarantine as well, as it was: the stored bytes of damaged members, and bytes behind a
//!   block of which nothing proves that they belong to it;
//! - a record without damage keeps header and block, byte for byte.

mod header;
mod quarantine;

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Serialize;
use warc::{
    Compression, Container, DeclaredDigest, Defect, Entry, Format, Kind, Reader, Record, Span, Writer, reason,
};

use crate::Each;
use crate::aside::{Aside, Proved, Written};
use crate::defects::{is_of_length, is_of_member};
use crate::error::WriteError;
use crate::proof::{self, Hashed, Proof};
use crate::source::Original;
use header::Change;
use quarantine::Quarantine;

pub use quarantine::Piece;

/// Bytes behind a block of which it is tried whether they belong to it: what is held in memory.
const SURPLUS_BYTES_MAX: u64 = 16 << 20;

/// What was mended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Repaired {
    /// Size of the input.
    pub input_bytes: u64,
    /// Number of records written.
    pub records: u64,
    /// Number of these whose header was changed.
    pub records_mended: u64,
    /// Number of these that say that they are cut.
    pub records_cut: u64,
    /// Stored bytes of the input that are in these records.
    pub record_bytes: u64,
    /// Stored bytes that carry nothing: line ends between records, empty members.
    pub padding_bytes: u64,
    /// Stored bytes that could not be read as records.
    pub quarantined_bytes: u64,
    /// What was done, in the order of the file.
    pub mends: Vec<Mend>,
    /// What is in quarantine.
    pub quarantine: Vec<Piece>,
}

/// A record that was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mend {
    /// Where the record begins in the input.
    pub offset: u64,
    /// Its id, if it has one.
    pub record_id: Option<String>,
    /// What was wrong: words of [`warc::reason`].
    pub reasons: Vec<&'static str>,
    /// What was changed, in words.
    pub done: String,
}

/// A mended file and its quarantine, both written aside.
#[derive(Debug)]
pub struct WrittenRepair {
    records: Option<Written>,
    quarantine: quarantine::Written,
}

/// A mended file that was read again, and its quarantine.
#[derive(Debug)]
pub struct ProvedRepair {
    records: Option<Proved>,
    quarantine: quarantine::Written,
}

/// The files that hold what is no record: its bytes, and the list of them.
pub fn quarantine_paths(out: &Path) -> [PathBuf; 2] {
    quarantine::paths(out)
}

/// Writes what can be kept of `input` aside for `out`. `each` is told how far the input was read, and ends it by returning
/// false.
///
/// # Errors
/// [`WriteError`]; damage in the input is none. Nothing is left then.
pub fn write(
    input: &Path,
    out: &Path,
    compression: Compression,
    each: &mut Each<'_>,
) -> Result<(WrittenRepair, Repaired), WriteError> {
    let original = Original::open(input)?;
    let reader = original.reader(out)?;
    let mut aside = Aside::new(out)?;
    let failed = aside.failed();
    let writer = aside.writer(compression)?;
    let mut repair = Repair {
        repaired: Repaired {
            input_bytes: reader.size(),
            ..Repaired::default()
        },
        quarantine: Quarantine::new(out, original.file()?)?,
        proof: Proof::default(),
        original: &original,
        taken: None,
        reader,
        writer,
        out,
        failed,
    };
    repair.all(each)?;
    let (mut repaired, quarantine, proof) = repair.finish()?;
    original.check_unchanged()?;
    let accounted = repaired.record_bytes + repaired.padding_bytes + repaired.quarantined_bytes;
    assert_eq!(
        accounted, repaired.input_bytes,
        "every byte is in one of the three"
    );
    repaired.records = proof.records();
    let (quarantine, pieces) = quarantine.finish()?;
    repaired.quarantine = pieces;
    // A file without a record would be no WARC file.
    let records = match repaired.records {
        0 => None,
        _ => Some(aside.finish(proof)?),
    };
    Ok((WrittenRepair { records, quarantine }, repaired))
}

struct Repair<'a, W: io::Write, F> {
    repaired: Repaired,
    quarantine: Quarantine,
    proof: Proof,
    original: &'a Original,
    /// What comes next, if it belongs to a record that was written.
    taken: Option<Span>,
    reader: Reader,
    writer: Writer<W>,
    out: &'a Path,
    failed: F,
}

impl<W: io::Write, F: Fn(io::Error) -> WriteError> Repair<'_, W, F> {
    fn all(&mut self, each: &mut Each<'_>) -> Result<(), WriteError> {
        while let Some(entry) = self.reader.next_entry()? {
            match entry {
                Entry::Record(record) => {
                    self.repaired.record_bytes += record.span.length;
                    match has(&record, &[reason::LENGTH_TOO_SHORT]) {
                        true => self.longer(&record)?,
                        false => self.record(&record)?,
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

    fn finish(self) -> Result<(Repaired, Quarantine, Proof), WriteError> {
        self.writer.finish().map_err(self.failed)?;
        Ok((self.repaired, self.quarantine, self.proof))
    }

    /// Writes a record that ends where its declared length says, or before.
    fn record(&mut self, record: &Record) -> Result<(), WriteError> {
        let mut change = Change::default();
        let mut done = Vec::new();
        let mut block_bytes = record.body_length;
        let is_cut = has(record, &[reason::TRUNCATED_RECORD, reason::LENGTH_TOO_LONG]);
        if is_cut || has(record, &[reason::LENGTH_MISSING, reason::LENGTH_INVALID]) {
            block_bytes = self.without_its_line_ends(record)?;
            change.length = Some(block_bytes);
            done.push(format!("its length is {block_bytes}"));
        }
        let is_proved = self.is_proved(record, block_bytes, &[])?;
        if is_cut && !is_proved && matches!(record.format, Format::Warc(..)) {
            change.cut = true;
            done.push(
                "it says WARC-Truncated: unspecified, and digests of the whole have other names".to_owned(),
            );
        }
        if has(record, &[reason::LINE_ENDS_MISSING]) {
            done.push("line ends follow its block".to_owned());
        }
        // A digest may prove the block, but nothing proves the header, which then says what it says without a word.
        if let Some(defect) = record.defects.iter().find(|defect| is_of_member(defect)) {
            let proved = match is_proved {
                true => ", and a digest proves its block",
                false => "",
            };
            let detail = format!("{}; what could be decoded is a record{proved}", defect.detail);
            self.quarantine.stored(record.span, defect.reason, &detail)?;
            done.push("its stored bytes are in quarantine as well".to_owned());
        }
        self.write(record, block_bytes, &change, &[], &done)
    }

    /// Returns the length of a block of which the declared length is wrong, without the line ends behind it that the record
    /// ends with. Where the file is cut there are none, or they are a part of the block that is written again behind it.
    fn without_its_line_ends(&mut self, record: &Record) -> Result<u64, WriteError> {
        let is_plain = self.reader.container() == Container::Plain;
        let is_left_out_already = is_plain && has(record, &[reason::LENGTH_TOO_LONG]);
        let is_warc = matches!(record.format, Format::Warc(..));
        if is_left_out_already || !is_warc || record.body_length < 4 {
            return Ok(record.body_length);
        }
        let keep = proof::keep(self.out);
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

    /// Writes a record behind whose declared length bytes follow: with them if a digest proves that they belong to it,
    /// else without them, and they go to quarantine.
    fn longer(&mut self, record: &Record) -> Result<(), WriteError> {
        let beside = match self.reader.container() {
            // Of an uncompressed file they are an entry of its own, which comes next.
            Container::Plain => self.original.quarantined_at(record.span.end())?,
            _ => None,
        };
        let mut surplus = self.surplus()?;
        if let Some(span) = beside.filter(|span| span.length <= SURPLUS_BYTES_MAX) {
            surplus.extend(self.quarantine.read(span)?);
        }
        surplus.truncate(without_line_ends(&surplus));
        if !surplus.is_empty() && self.is_proved(record, record.body_length, &surplus)? {
            let length = record.body_length + surplus.len() as u64;
            let change = Change {
                length: Some(length),
                cut: false,
            };
            self.taken = beside;
            let done = [format!("its length is {length}, as its digest says")];
            return self.write(record, record.body_length, &change, &surplus, &done);
        }
        let mut done = Vec::new();
        if beside.is_none() && self.reader.container() != Container::Plain {
            let detail = format!("bytes follow the {} declared", record.body_length);
            let decoded = self.surplus()?;
            match decoded.len() as u64 == self.reader.after_block_bytes() {
                true => self
                    .quarantine
                    .decoded(record.span, &decoded, reason::LENGTH_TOO_SHORT, &detail)?,
                // Too many to be held: the whole member, as it is stored.
                false => self
                    .quarantine
                    .stored(record.span, reason::LENGTH_TOO_SHORT, &detail)?,
            }
            done.push("what follows its declared length is in quarantine".to_owned());
        }
        self.write(record, record.body_length, &Change::default(), &[], &done)
    }

    /// What follows the block of the last record, if it is not too much.
    fn surplus(&mut self) -> Result<Vec<u8>, WriteError> {
        let keep = proof::keep(self.out);
        let mut surplus = Vec::new();
        if self.reader.after_block_bytes() <= SURPLUS_BYTES_MAX {
            let mut after = self.reader.after_block().map_err(&keep)?;
            after.read_to_end(&mut surplus).map_err(&keep)?;
        }
        Ok(surplus)
    }

    /// Whether a digest that the record declares is that of the first `block_bytes` of its block, or of its payload, with
    /// `more` behind it.
    fn is_proved(&mut self, record: &Record, block_bytes: u64, more: &[u8]) -> Result<bool, WriteError> {
        let keep = proof::keep(self.out);
        let declared = |name: &str| record.headers.get(name).and_then(DeclaredDigest::parse);
        if let Some(digest) = declared("WARC-Block-Digest") {
            let block = self.reader.block(record).map_err(&keep)?;
            return digest.is_of(block.take(block_bytes).chain(more)).map_err(&keep);
        }
        let is_of_whole = record.kind != Kind::Revisit && record.headers.get("WARC-Segment-Number").is_none();
        let Some(digest) = declared("WARC-Payload-Digest").filter(|_| is_of_whole) else {
            return Ok(false);
        };
        let head = match record.is_http() {
            true => warc::http_header_length(&record.body),
            false => Some(0),
        };
        // That there is nothing proves nothing.
        let Some(head) = head.filter(|head| block_bytes + more.len() as u64 > *head as u64) else {
            return Ok(false);
        };
        let mut block = self.reader.block(record).map_err(&keep)?.take(block_bytes);
        io::copy(&mut block.by_ref().take(head as u64), &mut io::sink()).map_err(&keep)?;
        digest.is_of(block.chain(more)).map_err(&keep)
    }

    /// Writes a record with a changed header and `more` behind its block.
    fn write(
        &mut self,
        record: &Record,
        block_bytes: u64,
        change: &Change,
        more: &[u8],
        done: &[String],
    ) -> Result<(), WriteError> {
        let keep = proof::keep(self.out);
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
        let mut content = Hashed::new(header.chain(block).chain(more));
        self.writer
            .write_from(content.by_ref().chain(line_ends), bytes)
            .map_err(&self.failed)?;
        self.proof.push(content.finish());
        self.repaired.records_cut += u64::from(change.cut);
        if !done.is_empty() {
            self.repaired.records_mended += 1;
            self.repaired.mends.push(Mend {
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

    /// Puts a record into quarantine whose header cannot be mended.
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
    /// Size of the file of records in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.records.as_ref().map_or(0, Written::size_bytes)
    }

    /// Reads again what was written, and compares it. `each` is told how far it was read, and ends it by returning false.
    ///
    /// # Errors
    /// Those of [`Written::prove`].
    pub fn prove(self, each: &mut Each<'_>) -> Result<ProvedRepair, WriteError> {
        self.quarantine.prove()?;
        Ok(ProvedRepair {
            records: self.records.map(|written| written.prove(each)).transpose()?,
            quarantine: self.quarantine,
        })
    }
}

impl ProvedRepair {
    /// Gives the files their names, that of the records last. Files of these names are replaced if `replaces`.
    ///
    /// # Errors
    /// [`WriteError::Exists`]; [`WriteError::Io`].
    pub fn put(self, replaces: bool) -> Result<(), WriteError> {
        let named = self.quarantine.put(replaces)?;
        let put = self.records.map_or(Ok(()), |records| records.put(replaces));
        if put.is_err() && !replaces {
            // The quarantine of a file that is not there would be of no use.
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

/// Whether a defect is one of those that a repair is for.
fn is_mended(defect: &Defect) -> bool {
    is_of_member(defect) || is_of_length(defect) || defect.reason == reason::LINE_ENDS_MISSING
}

/// The length of bytes without up to two line ends behind them, which are those of the record.
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
