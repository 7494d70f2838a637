//! Writes links as a table for spreadsheets.

use std::io::{self, Write};

use archive::question::LinkRow;

use crate::csv_text::csv_text;

const COLUMNS: [&str; 9] = [
    "source_url",
    "source_title",
    "target_url",
    "anchor",
    "external",
    "nofollow",
    "first_seen",
    "fetch_time",
    "is_current",
];

/// Links as CSV (RFC 4180): a header line, then one line per link.
pub struct LinksCsv<W: Write>(csv::Writer<W>);

impl<W: Write> LinksCsv<W> {
    /// Writes the header line.
    ///
    /// # Errors
    /// `out` cannot be written to. The same holds for the other functions.
    pub fn new(out: W) -> io::Result<LinksCsv<W>> {
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record(COLUMNS).map_err(io::Error::other)?;
        Ok(LinksCsv(writer))
    }

    /// Writes a link. Times are empty if the links of newest versions were asked for, which are all
    /// current.
    ///
    /// # Errors
    /// See [`LinksCsv::new`].
    pub fn row(&mut self, row: &LinkRow) -> io::Result<()> {
        fn url_or_key<'a>(url: &'a str, key: &'a str) -> &'a str {
            if url.is_empty() { key } else { url }
        }
        let is = |is: bool| if is { "true" } else { "false" };
        let version = row.version.as_ref();
        let values: [&str; COLUMNS.len()] = [
            &csv_text(url_or_key(&row.source_url, &row.source_key)),
            &csv_text(&row.source_title),
            &csv_text(url_or_key(&row.target_url, &row.target_key)),
            &csv_text(&row.anchor),
            is(row.external),
            is(row.nofollow),
            version.map_or("", |version| &version.first_seen),
            version.map_or("", |version| &version.fetch_time),
            is(version.is_none_or(|version| version.is_current)),
        ];
        self.0.write_record(values).map_err(io::Error::other)
    }

    /// Flushes the output.
    ///
    /// # Errors
    /// See [`LinksCsv::new`].
    pub fn finish(mut self) -> io::Result<()> {
        self.0.flush()
    }
}
