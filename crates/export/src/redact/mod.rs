//! Copies an input without the records that takedowns keep out.
//!
//! - Records are copied byte for byte, in order. Nothing is decoded and written again, so a record
//!   that shares a compressed member with another cannot be cut out ([`Redaction::compare`] finds
//!   that).
//! - Only the rules decide about a capture. Other records are removed with a record that they name
//!   or that names them, and if their own URL is taken down. Descriptions of the file (`warcinfo`)
//!   are kept, and so are bytes outside records.
//! - Memory grows with the number of records: it holds the position of each record, and the ids of
//!   those that may be removed with another.

mod decide;
mod error;
mod package;

use std::collections::HashMap;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use index::TakedownRules;
use serde::Serialize;
use tempfile::NamedTempFile;
use warc::{Defect, Entry, Input, Kind, ReadError, Reader, ReaderSettings, Span};

use decide::decide;
pub use error::{CopyMismatch, PackageError, WriteError};
pub use package::{MemberRules, PackageCounts, PackageRedaction};

use crate::crash;

/// Bytes copied at a time.
const PIECE_BYTES: u64 = 1 << 20;

/// What a copy must leave out.
#[derive(Debug, Clone, Copy)]
pub struct RedactionRules<'a> {
    /// The rules of takedowns.
    pub rules: &'a TakedownRules,
    /// The label with which the input was, or would be, loaded.
    pub collection: &'a str,
    /// Whether the whole input is taken down, so that only descriptions of the file are kept.
    pub whole: bool,
}

/// The records that a copy of an input keeps and leaves out.
#[derive(Debug, Default)]
pub struct Redaction {
    records: Vec<Row>,
    damaged: Vec<(Span, Defect)>,
    size_bytes: u64,
    naming: u64,
}

/// A record of the input.
#[derive(Debug)]
struct Row {
    span: Span,
    kind: Kind,
    fate: Fate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Stays,
    /// The rules select it.
    Selected,
    /// It belongs to a record that they select.
    Concerned,
}

/// Numbers of a [`Redaction`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct RedactionCounts {
    /// Number of records in the copy.
    pub records_kept: u64,
    /// Number of records that takedowns select.
    pub records_selected: u64,
    /// Number of records that belong to one of these: requests, metadata and continued parts.
    pub records_concerned: u64,
    /// Size of the input in bytes.
    pub input_bytes: u64,
    /// Size of the copy in bytes.
    pub kept_bytes: u64,
    /// Number of records in the copy that refer to a removed record by its URL or its id.
    pub records_naming: u64,
}

impl RedactionCounts {
    /// Adds the numbers of another input.
    fn add(&mut self, other: RedactionCounts) {
        self.records_kept += other.records_kept;
        self.records_selected += other.records_selected;
        self.records_concerned += other.records_concerned;
        self.input_bytes += other.input_bytes;
        self.kept_bytes += other.kept_bytes;
        self.records_naming += other.records_naming;
    }
}

impl Redaction {
    /// Reads an input and decides which records a copy keeps. `each` gets the offset up to which it
    /// was read.
    ///
    /// # Errors
    /// [`ReadError`]: the bytes cannot be read. Damaged bytes are not an error.
    pub fn plan(
        input: Arc<dyn Input>,
        name: &str,
        leave_out: RedactionRules<'_>,
        mut each: impl FnMut(u64),
    ) -> Result<Redaction, ReadError> {
        let mut reader = Reader::from_input(Box::new(input), name, ReaderSettings::default())?;
        let mut redaction = Redaction {
            size_bytes: reader.size(),
            ..Redaction::default()
        };
        let mut decided = Vec::new();
        while let Some(entry) = reader.next_entry()? {
            match entry {
                Entry::Record(record) => {
                    let made = decide(&record, leave_out);
                    redaction.records.push(Row {
                        span: record.span,
                        kind: record.kind,
                        fate: made.fate,
                    });
                    decided.push(made);
                    // Its buffers serve the next record.
                    reader.recycle(record);
                }
                Entry::Quarantined(span, defect) => redaction.damaged.push((span, defect)),
                _ => {}
            }
            each(reader.position());
        }
        redaction.naming = decide::concerned(&mut decided);
        for (row, decided) in redaction.records.iter_mut().zip(&decided) {
            row.fate = decided.fate;
        }
        Ok(redaction)
    }

    /// Returns how much is kept and how much is left out.
    pub fn counts(&self) -> RedactionCounts {
        let count = |fate: Fate| self.records.iter().filter(|row| row.fate == fate).count() as u64;
        let gone: u64 = self.gone().map(|span| span.length).sum();
        RedactionCounts {
            records_kept: count(Fate::Stays),
            records_selected: count(Fate::Selected),
            records_concerned: count(Fate::Concerned),
            input_bytes: self.size_bytes,
            kept_bytes: self.size_bytes - gone,
            records_naming: self.naming,
        }
    }

    /// Returns the offset in the copy of each kept record, by its offset in the input.
    fn moved(&self) -> HashMap<u64, u64> {
        let mut gone_bytes = 0;
        let mut moved = HashMap::new();
        for row in &self.records {
            match row.fate {
                Fate::Stays => {
                    moved.insert(row.span.offset, row.span.offset - gone_bytes);
                }
                Fate::Selected | Fate::Concerned => gone_bytes += row.span.length,
            }
        }
        moved
    }

    /// Returns the bytes outside records. They are copied.
    pub fn damaged(&self) -> &[(Span, Defect)] {
        &self.damaged
    }

    /// Writes the copy to `out`: to a temporary file that is synced, read again and compared, and
    /// only then renamed. An existing file is replaced if `replaces` is set. `each` gets the
    /// numbers of bytes written, then of bytes read again.
    ///
    /// # Errors
    /// [`WriteError`]. Then neither the file nor its folder has changed.
    pub fn write(
        &self,
        input: &dyn Input,
        out: &Path,
        replaces: bool,
        leave_out: RedactionRules<'_>,
        mut each: impl FnMut(u64),
    ) -> Result<(), WriteError> {
        let mut aside = temporary_for(out)?;
        self.copy(input, &mut aside, &mut each)
            .map_err(io_error("write", out))?;
        aside.as_file().sync_all().map_err(io_error("sync", out))?;
        // Reads the written file again, to find errors of writing as well.
        let copy = Arc::new(aside.reopen().map_err(io_error("read again", out))?);
        let mut before = 0;
        self.compare(copy, &out.display().to_string(), leave_out, |at| {
            each(at - before);
            before = at;
        })?;
        publish(aside, out, replaces)
    }

    /// Copies the kept ranges.
    fn copy(&self, input: &dyn Input, out: &mut impl Write, mut each: impl FnMut(u64)) -> io::Result<()> {
        let mut piece = vec![0; PIECE_BYTES as usize];
        for range in self.kept() {
            let mut at = range.offset;
            while at < range.end() {
                let wanted = (range.end() - at).min(PIECE_BYTES) as usize;
                let read = input.read_at(&mut piece[..wanted], at)?;
                if read == 0 {
                    let message = format!("the input ends at {at}, but had {} bytes before", self.size_bytes);
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
                }
                out.write_all(&piece[..read])?;
                at += read as u64;
                each(read as u64);
                crash::point("redact.while_writing");
            }
        }
        out.flush()
    }

    /// Reads the copy again. It must contain the kept records, in order, and no removed ones.
    fn compare(
        &self,
        copy: Arc<dyn Input>,
        name: &str,
        leave_out: RedactionRules<'_>,
        each: impl FnMut(u64),
    ) -> Result<(), CopyMismatch> {
        let copy = Redaction::plan(copy, name, leave_out, each)?;
        let expected: Vec<&Row> = self
            .records
            .iter()
            .filter(|row| row.fate == Fate::Stays)
            .collect();
        for (index, row) in expected.iter().enumerate() {
            let is_same = |found: &Row| {
                found.span.length == row.span.length && found.kind == row.kind && found.fate == Fate::Stays
            };
            if !copy.records.get(index).is_some_and(is_same) {
                return Err(CopyMismatch::Record {
                    number: index + 1,
                    offset: row.span.offset,
                    length: row.span.length,
                });
            }
        }
        // Each expected record is there, so the copy can only have too many.
        if copy.records.len() == expected.len() {
            Ok(())
        } else {
            Err(CopyMismatch::More {
                found: copy.records.len(),
                expected: expected.len(),
            })
        }
    }

    fn gone(&self) -> impl Iterator<Item = Span> {
        let gone = self.records.iter().filter(|row| row.fate != Fate::Stays);
        gone.map(|row| row.span)
    }

    /// Returns the ranges between the removed records, in order.
    fn kept(&self) -> Vec<Span> {
        let mut at = 0;
        let mut kept = Vec::new();
        let end = Span {
            offset: self.size_bytes,
            length: 0,
        };
        for gone in self.gone().chain([end]) {
            kept.push(Span::between(at, gone.offset));
            at = gone.end();
        }
        kept.retain(|span| span.length > 0);
        kept
    }
}

/// Creates the temporary file for a copy, in its folder.
fn temporary_for(out: &Path) -> Result<NamedTempFile, WriteError> {
    let mut aside = tempfile::Builder::new();
    // The same permissions as for other files, subject to the umask of the process.
    let aside = aside
        .prefix(".weft-redact-")
        .permissions(Permissions::from_mode(0o666));
    aside.tempfile_in(folder_of(out)).map_err(io_error("write", out))
}

/// Gives a verified copy its name, durably.
fn publish(aside: NamedTempFile, out: &Path, replaces: bool) -> Result<(), WriteError> {
    crash::point("redact.before_rename");
    if replaces {
        aside.persist(out).map(drop)
    } else {
        aside.persist_noclobber(out).map(drop)
    }
    .map_err(|error| io_error("rename the copy to", out)(error.error))?;
    // A rename is durable only once its folder is synced.
    File::open(folder_of(out))
        .and_then(|folder| folder.sync_all())
        .map_err(io_error("sync the folder of", out))
}

fn folder_of(out: &Path) -> &Path {
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

fn io_error(what: &'static str, out: &Path) -> impl Fn(io::Error) -> WriteError + use<> {
    let path = out.to_owned();
    move |source| WriteError::Io {
        what,
        path: path.clone(),
        source,
    }
}

#[cfg(test)]
mod tests;
