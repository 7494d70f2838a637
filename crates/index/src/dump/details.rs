//! Dumps of data that answers show but no view has a column for. They serve verification, and their
//! bytes depend only on the captures.

use std::io::Write;
use std::str::FromStr;
use std::sync::Arc;

use extract::Capture;
use xxhash_rust::xxh3::xxh3_128;

use super::Printer;
use crate::cell::Cell;
use crate::codec;
use crate::dump::{DumpFormat, DumpNameError};
use crate::error::DumpError;
use crate::ledger::LedgerRow;
use crate::snapshot::Snapshot;
use crate::tables::Table;
use crate::views::index_lines;
use crate::views::{captures, texts, version_row};
use extract::IndexLine;

/// Data that is dumped only for comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Details {
    /// The columns of every capture that the view `captures` leaves out.
    Kinds,
    /// Every current version, page or not, with a hash of its text.
    Versions,
    /// Every index line.
    IndexLines,
}

impl Details {
    /// All of them.
    pub const ALL: [Details; 3] = [Details::Kinds, Details::Versions, Details::IndexLines];

    /// Name in a request for a dump.
    pub fn name(self) -> &'static str {
        match self {
            Details::Kinds => "kinds",
            Details::Versions => "versions",
            Details::IndexLines => "index_lines",
        }
    }
}

impl FromStr for Details {
    type Err = DumpNameError;

    fn from_str(name: &str) -> Result<Details, DumpNameError> {
        let known = Details::ALL.into_iter().find(|details| details.name() == name);
        known.ok_or_else(|| DumpNameError::Details(name.to_owned()))
    }
}

impl Snapshot {
    /// Writes all rows as tab-separated text and returns their number.
    ///
    /// # Errors
    /// [`DumpError`] if a row could not be read or written.
    pub fn dump_details(&self, details: Details, out: &mut dyn Write) -> Result<u64, DumpError> {
        let mut printer = Printer::new(DumpFormat::Tsv, out);
        match details {
            Details::Kinds => self.dump_kinds(&mut printer)?,
            Details::Versions => self.dump_versions(&mut printer)?,
            Details::IndexLines => self.dump_index_lines(&mut printer)?,
        }
        printer.finish()
    }

    fn dump_kinds(&self, printer: &mut Printer<'_>) -> Result<(), DumpError> {
        // Captures of one key and time are stored by input number, which depends on the order of
        // loading.
        let mut equal: Vec<(Arc<LedgerRow>, Capture)> = Vec::new();
        for row in self.cut().iter(Table::Captures) {
            let (key, value) = row?;
            let stored = captures::read_row(self.cut(), &key, &value)?;
            let is_equal = |(_, first): &(Arc<LedgerRow>, Capture)| {
                (first.fetch_time_ms, &first.url_key)
                    == (stored.capture.fetch_time_ms, &stored.capture.url_key)
            };
            if !equal.first().is_none_or(is_equal) {
                print_kinds(printer, &mut equal)?;
            }
            equal.push((self.input(stored.input)?, stored.capture));
        }
        print_kinds(printer, &mut equal)
    }

    fn dump_index_lines(&self, printer: &mut Printer<'_>) -> Result<(), DumpError> {
        // Like captures, lines of one key and time are stored by input number.
        let mut equal: Vec<(String, IndexLine)> = Vec::new();
        for row in self.cut().iter(Table::IndexLines) {
            let (key, value) = row?;
            let decoded = index_lines::decode(&key, &value);
            let (input, line) = self.cut().decode(Table::IndexLines, &key, decoded)?;
            let is_equal = |(_, first): &(String, IndexLine)| {
                (first.fetch_time_ms, &first.url_key) == (line.fetch_time_ms, &line.url_key)
            };
            if !equal.first().is_none_or(is_equal) {
                print_index_lines(printer, &mut equal)?;
            }
            equal.push((self.input(input)?.input.clone(), line));
        }
        print_index_lines(printer, &mut equal)
    }

    fn dump_versions(&self, printer: &mut Printer<'_>) -> Result<(), DumpError> {
        for row in self.cut().iter(Table::Versions) {
            let (key, value) = row?;
            let decoded = codec::to_text(&key).and_then(|url_key| {
                let version = version_row::decode(&url_key, &value)?;
                Ok((url_key, version))
            });
            let (url_key, version) = self.cut().decode(Table::Versions, &key, decoded)?;
            // A hash is enough to compare texts.
            let text = match &version.text {
                Some(_) => texts::read(self.cut(), &url_key)?.map_or_else(
                    || "missing".to_owned(),
                    |text| format!("{:032x}", xxh3_128(text.as_bytes())),
                ),
                None => String::new(),
            };
            let truncated = version.text.as_ref().is_some_and(|text| text.truncated);
            let input = self.input(version.input)?;
            printer.row(&[
                ("url_key", Cell::Text(&url_key)),
                ("fetch_time", Cell::Time(version.fetch_time_ms)),
                ("url", Cell::Text(&version.url)),
                ("kind", Cell::Text(&format!("{:?}", version.kind))),
                ("status", Cell::Number(u64::from(version.status))),
                ("mime", Cell::Text(&version.mime)),
                ("digest", Cell::Text(&version.digest)),
                ("is_page", Cell::Number(u64::from(version.is_page))),
                ("is_document", Cell::Number(u64::from(version.is_document))),
                ("title", Cell::Text(&version.title)),
                ("language", Cell::Text(version.page_language())),
                (
                    "canonical",
                    Cell::Text(version.canonical.as_deref().unwrap_or_default()),
                ),
                (
                    "robots",
                    Cell::Text(version.robots.as_deref().unwrap_or_default()),
                ),
                ("links", Cell::Number(u64::from(version.links))),
                ("links_dropped", Cell::Number(u64::from(version.links_dropped))),
                ("text", Cell::Text(&text)),
                ("text_truncated", Cell::Number(u64::from(truncated))),
                ("offset", Cell::Number(version.offset)),
                ("input", Cell::Text(&input.input)),
            ])?;
        }
        Ok(())
    }
}

/// Prints lines of one key and time, by input and offset.
fn print_index_lines(
    printer: &mut Printer<'_>,
    equal: &mut Vec<(String, IndexLine)>,
) -> Result<(), DumpError> {
    equal.sort_by(|(a, line_a), (b, line_b)| (a, line_a.offset).cmp(&(b, line_b.offset)));
    for (input, line) in equal.drain(..) {
        printer.row(&[
            ("url_key", Cell::Text(&line.url_key)),
            ("fetch_time", Cell::Time(line.fetch_time_ms)),
            ("url", Cell::Text(&line.url)),
            ("mime", Cell::Text(&line.mime)),
            ("status", Cell::Number(u64::from(line.status))),
            ("digest", Cell::Text(&line.digest)),
            ("record_length", Cell::Number(line.record_length)),
            ("record_offset", Cell::Number(line.record_offset)),
            ("filename", Cell::Text(&line.filename)),
            ("offset", Cell::Number(line.offset)),
            ("length", Cell::Number(line.length)),
            (
                "alias_of",
                Cell::Text(line.alias_of.as_deref().unwrap_or_default()),
            ),
            ("input", Cell::Text(&input)),
        ])?;
    }
    Ok(())
}

/// Prints captures of one key and time, by input and offset.
fn print_kinds(
    printer: &mut Printer<'_>,
    equal: &mut Vec<(Arc<LedgerRow>, Capture)>,
) -> Result<(), DumpError> {
    equal.sort_by(|(a_input, a), (b_input, b)| (&a_input.input, a.offset).cmp(&(&b_input.input, b.offset)));
    for (input, capture) in equal.drain(..) {
        printer.row(&[
            ("url_key", Cell::Text(&capture.url_key)),
            ("fetch_time", Cell::Time(capture.fetch_time_ms)),
            ("kind", Cell::Text(&format!("{:?}", capture.kind))),
            (
                "redirects_to_itself",
                Cell::Number(u64::from(capture.redirects_to_itself)),
            ),
            ("shortfall", Cell::Text(capture.shortfall.name())),
            ("collection", Cell::Text(&input.collection)),
            ("offset", Cell::Number(capture.offset)),
            ("input", Cell::Text(&input.input)),
        ])?;
    }
    Ok(())
}
