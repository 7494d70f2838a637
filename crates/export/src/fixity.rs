//! Checks whether inputs still have the content that was loaded. Reads and digests them again, and
//! returns rows for people who look after files.
//!
//! Names of columns and values follow PREMIS 3 and its vocabularies
//! (<https://id.loc.gov/vocabulary/preservation.html>): a row is an event of the type `fixity
//! check`, with the outcome `success`, `fail` or `warning`.

use std::io::{self, Read, Write};
use std::sync::Arc;

use archive::question::{InputState, LedgerRow};
use inputs::Sources;
use inputs::{InputReader, digest_text};
use serde::Serialize;
use sha2::{Digest, Sha256};
use warc::Input;

use crate::csv_text::csv_text;

/// Bytes read at a time.
const PIECE_BYTES: usize = 1 << 20;

/// Outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FixityOutcome {
    /// The bytes are those that were loaded.
    Success,
    /// The bytes differ, or cannot be read.
    Fail,
    /// There is no digest to compare with, or the bytes that were loaded are the beginning of the
    /// present ones.
    Warning,
}

impl FixityOutcome {
    /// Returns the name in the vocabulary.
    pub fn name(self) -> &'static str {
        match self {
            FixityOutcome::Success => "success",
            FixityOutcome::Fail => "fail",
            FixityOutcome::Warning => "warning",
        }
    }
}

/// The check of one input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FixityCheck {
    /// Name of the input.
    pub name: String,
    /// Location from which its bytes were read.
    pub location: String,
    /// Number of bytes that the expected digest covers, if any.
    pub size_bytes: Option<u64>,
    /// SHA-256 in hexadecimal of the loaded bytes; absent if nothing was loaded.
    pub digest_expected: Option<String>,
    /// Present size in bytes; absent if the input cannot be read.
    pub size_bytes_found: Option<u64>,
    /// SHA-256 in hexadecimal of the present bytes. If the expected digest covers only a beginning,
    /// of as many bytes.
    pub digest_found: Option<String>,
    /// When the check ended (ISO 8601).
    pub checked: String,
    /// Outcome of the check.
    pub outcome: FixityOutcome,
    /// The reason if the check did not succeed; empty if it did.
    pub detail: String,
}

/// Columns of the table.
const COLUMNS: [&str; 11] = [
    "name",
    "location",
    "size_bytes",
    "message_digest_algorithm",
    "message_digest_expected",
    "size_bytes_found",
    "message_digest_found",
    "event_type",
    "event_date_time",
    "event_outcome",
    "event_outcome_detail",
];

/// Reads an input of the ledger to its end. `should_continue` gets the number of bytes read and returns
/// whether to continue. Returns `None` if it was stopped.
pub fn check_fixity(
    sources: &Sources,
    row: &LedgerRow,
    should_continue: &mut dyn FnMut(u64) -> bool,
) -> Option<FixityCheck> {
    let (size_bytes, digest) = row.beginning();
    let expected = digest.strip_prefix("sha256:").map(str::to_owned);
    let mut check = FixityCheck {
        name: row.input.clone(),
        location: row.location.clone(),
        size_bytes: expected.as_ref().map(|_| size_bytes),
        digest_expected: expected,
        size_bytes_found: None,
        digest_found: None,
        checked: String::new(),
        outcome: FixityOutcome::Warning,
        detail: String::new(),
    };
    if row.state == InputState::TakenDown {
        check.detail = "it is taken down, and was not read".to_owned();
    } else if check.digest_expected.is_none() {
        check.detail = format!(
            "nothing was ever read of it, so there is no digest to compare with ({})",
            row.state
        );
    } else {
        let read = sources
            .open(&row.location)
            .and_then(|input| ComputedDigest::of(input, size_bytes, should_continue));
        match read {
            Ok(None) => return None,
            Ok(Some(found)) => found.compare(row, size_bytes, &mut check),
            Err(error) => {
                check.outcome = FixityOutcome::Fail;
                check.detail = format!("it cannot be read: {error}");
            }
        }
    }
    check.checked = format::date::iso(system::time_ms());
    Some(check)
}

/// The present content of an input.
struct ComputedDigest {
    size_bytes: u64,
    whole: String,
    /// Digest of as many bytes as were asked for, if the input is that long.
    beginning: Option<String>,
}

impl ComputedDigest {
    /// Returns `None` if `should_continue` returned `false`.
    fn of(
        input: Arc<dyn Input>,
        beginning_bytes: u64,
        should_continue: &mut dyn FnMut(u64) -> bool,
    ) -> io::Result<Option<ComputedDigest>> {
        let mut content = InputReader::of(input);
        let mut hasher = Sha256::new();
        let mut beginning = None;
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let at = content.position;
            if at == beginning_bytes {
                // The file may have grown: the digest in the ledger is that of its beginning.
                beginning = Some(hex(hasher.clone()));
            }
            // No piece extends past the end of the beginning.
            let left = beginning_bytes.checked_sub(at).filter(|left| *left > 0);
            let room = left.map_or(PIECE_BYTES as u64, |left| left.min(PIECE_BYTES as u64));
            let count = match content.read(&mut piece[..room as usize]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if count == 0 {
                return Ok(Some(ComputedDigest {
                    size_bytes: at,
                    whole: hex(hasher),
                    beginning,
                }));
            }
            hasher.update(&piece[..count]);
            if !should_continue(content.position) {
                return Ok(None);
            }
        }
    }

    fn compare(self, row: &LedgerRow, size_bytes: u64, check: &mut FixityCheck) {
        let is_beginning_same = self.beginning == check.digest_expected;
        let is_whole_expected = row.state == InputState::Done;
        check.size_bytes_found = Some(self.size_bytes);
        let (outcome, detail) = match (is_beginning_same, self.size_bytes == size_bytes) {
            (true, true) => (FixityOutcome::Success, String::new()),
            (true, false) if is_whole_expected => (
                FixityOutcome::Warning,
                format!("it has grown: its first {size_bytes} bytes are what was loaded"),
            ),
            (true, false) => (
                FixityOutcome::Success,
                format!("its first {size_bytes} bytes were compared; the rest was not loaded so far"),
            ),
            (false, _) => (
                FixityOutcome::Fail,
                "its content has changed since it was loaded".to_owned(),
            ),
        };
        (check.outcome, check.detail) = (outcome, detail);
        check.digest_found = Some(match self.beginning {
            Some(beginning) if is_beginning_same && !is_whole_expected => beginning,
            _ => self.whole,
        });
    }
}

fn hex(hasher: Sha256) -> String {
    let digest = digest_text(&hasher.finalize());
    digest.trim_start_matches("sha256:").to_owned()
}

/// A table of checks, as CSV (RFC 4180).
pub struct FixityCsv<W: Write>(csv::Writer<W>);

impl<W: Write> FixityCsv<W> {
    /// Writes the header line.
    ///
    /// # Errors
    /// `out` cannot be written to. The same holds for the other functions.
    pub fn new(out: W) -> io::Result<FixityCsv<W>> {
        let mut writer = csv::WriterBuilder::new()
            // RFC 4180.
            .terminator(csv::Terminator::CRLF)
            .from_writer(out);
        writer.write_record(COLUMNS).map_err(io::Error::other)?;
        Ok(FixityCsv(writer))
    }

    /// Writes a row.
    ///
    /// # Errors
    /// See [`FixityCsv::new`].
    pub fn row(&mut self, check: &FixityCheck) -> io::Result<()> {
        let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
        let values: [&str; COLUMNS.len()] = [
            &csv_text(&check.name),
            &csv_text(&check.location),
            &number(check.size_bytes),
            "SHA-256",
            check.digest_expected.as_deref().unwrap_or_default(),
            &number(check.size_bytes_found),
            check.digest_found.as_deref().unwrap_or_default(),
            "fixity check",
            &check.checked,
            check.outcome.name(),
            &csv_text(&check.detail),
        ];
        self.0.write_record(values).map_err(io::Error::other)
    }

    /// Returns the output, with all rows written.
    ///
    /// # Errors
    /// See [`FixityCsv::new`].
    pub fn finish(self) -> io::Result<W> {
        self.0
            .into_inner()
            .map_err(|error| io::Error::other(error.to_string()))
    }
}
