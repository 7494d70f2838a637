//! What answers show and no view has a column for: for verification, in bytes that depend on nothing but the captures.

use std::io::Write;
use std::str::FromStr;

use xxhash_rust::xxh3::xxh3_128;

use super::{Cell, Printer, date_time};
use crate::codec;
use crate::tables::Table;
use crate::views::{captures, texts, version_row};
use crate::{CaptureRow, DumpError, DumpFormat, Snapshot};

/// Columns that are dumped for comparison only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Details {
    /// Of every capture, what the view `captures` leaves out.
    Kinds,
    /// Every current version, page or not, and a hash of its text.
    Versions,
}

impl Details {
    /// Name in a request for a dump.
    pub fn name(self) -> &'static str {
        match self {
            Details::Kinds => "kinds",
            Details::Versions => "versions",
        }
    }

    fn columns(self) -> &'static [&'static str] {
        match self {
            Details::Kinds => &[
                "url_key",
                "fetch_time",
                "kind",
                "redirects_to_itself",
                "collection",
                "offset",
                "input",
            ],
            Details::Versions => &[
                "url_key",
                "fetch_time",
                "url",
                "kind",
                "status",
                "mime",
                "digest",
                "is_page",
                "title",
                "language",
                "canonical",
                "robots",
                "links",
                "links_dropped",
                "text",
                "text_truncated",
                "offset",
                "input",
            ],
        }
    }
}

impl FromStr for Details {
    type Err = String;

    fn from_str(name: &str) -> Result<Details, String> {
        let known = [Details::Kinds, Details::Versions];
        let known = known.into_iter().find(|details| details.name() == name);
        known.ok_or_else(|| format!("no details `{name}`"))
    }
}

impl Snapshot {
    /// Writes all rows as tab-separated text and gives their number.
    ///
    /// # Errors
    /// [`DumpError`]: a row could not be read or written.
    pub fn dump_details(&self, details: Details, out: &mut dyn Write) -> Result<u64, DumpError> {
        let mut printer = Printer::of_columns(details.columns(), DumpFormat::Tsv, out);
        match details {
            Details::Kinds => self.dump_kinds(&mut printer)?,
            Details::Versions => self.dump_versions(&mut printer)?,
        }
        printer.finish()
    }

    fn dump_kinds(&self, printer: &mut Printer<'_>) -> Result<(), DumpError> {
        // Captures of one key and time are stored by input number, which depends on the order of loading.
        let mut equal: Vec<(CaptureRow, bool)> = Vec::new();
        for row in self.cut().iter(Table::Captures) {
            let (key, value) = row?;
            let stored = captures::decode(&key, &value);
            let stored = self.cut().decode(Table::Captures, &key, stored)?;
            let redirects_to_itself = stored.redirects_to_itself;
            let row = self.capture_row(stored)?;
            let is_equal = |(first, _): &(CaptureRow, bool)| {
                (first.fetch_time_ms, &first.url_key) == (row.fetch_time_ms, &row.url_key)
            };
            if !equal.first().is_none_or(is_equal) {
                print_kinds(printer, &mut equal)?;
            }
            equal.push((row, redirects_to_itself));
        }
        print_kinds(printer, &mut equal)
    }

    fn dump_versions(&self, printer: &mut Printer<'_>) -> Result<(), DumpError> {
        for row in self.cut().iter(Table::Versions) {
            let (key, value) = row?;
            let decoded = codec::to_text(&key).and_then(|url_key| {
                let version = version_row::decode(&url_key, &value)?;
                Ok((url_key, version))
            });
            let (url_key, version) = self.cut().decode(Table::Versions, &key, decoded)?;
            // The hash stands for the text: what is compared may lie in a file.
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
                Cell::Text(&url_key),
                Cell::Text(&date_time(version.fetch_time_ms)),
                Cell::Text(&version.url),
                Cell::Text(&format!("{:?}", version.kind)),
                Cell::Number(u64::from(version.status)),
                Cell::Text(&version.mime),
                Cell::Text(&version.digest),
                Cell::Number(u64::from(version.is_page)),
                Cell::Text(&version.title),
                Cell::Text(version.page_language()),
                Cell::Text(version.canonical.as_deref().unwrap_or_default()),
                Cell::Text(version.robots.as_deref().unwrap_or_default()),
                Cell::Number(u64::from(version.links)),
                Cell::Number(u64::from(version.links_dropped)),
                Cell::Text(&text),
                Cell::Number(u64::from(truncated)),
                Cell::Number(version.offset),
                Cell::Text(&input.input),
            ])?;
        }
        Ok(())
    }
}

/// Prints captures of one key and time, by input and offset.
fn print_kinds(printer: &mut Printer<'_>, equal: &mut Vec<(CaptureRow, bool)>) -> Result<(), DumpError> {
    equal.sort_by(|(a, _), (b, _)| (&a.input_name, a.offset).cmp(&(&b.input_name, b.offset)));
    for (row, redirects_to_itself) in equal.drain(..) {
        printer.row(&[
            Cell::Text(&row.url_key),
            Cell::Text(&date_time(row.fetch_time_ms)),
            Cell::Text(&format!("{:?}", row.kind)),
            Cell::Number(u64::from(redirects_to_itself)),
            Cell::Text(&row.collection),
            Cell::Number(row.offset),
            Cell::Text(&row.input_name),
        ])?;
    }
    Ok(())
}
