//! Converts results to rows of a table: the columns, and a row for each file format.

use std::io::{self, Write};

use archive::AskError;
use archive::question::SearchHit;
use facts::{Field, Kind, RowStream};

use super::ExportError;
use crate::csv_text::csv_text;

const COLUMN_COUNT: usize = 13;

/// The columns, for both CSV and Parquet.
pub(super) static COLUMNS: [Field; COLUMN_COUNT] = [
    Field::new("url_key", Kind::Text),
    Field::new("url", Kind::Text),
    Field::new("domain", Kind::Text),
    Field::new("title", Kind::Text),
    Field::new("fetch_time", Kind::TimeMs),
    Field::new("since", Kind::TimeMs),
    Field::new("until", Kind::TimeMs).nullable(),
    Field::new("mime", Kind::Text),
    Field::new("language", Kind::Text),
    Field::new("collection", Kind::Text),
    Field::new("inlinks", Kind::Long).nullable(),
    Field::new("inlinks_external", Kind::Long).nullable(),
    Field::new("snippet", Kind::Text),
];

/// Writes the header line of CSV.
pub(super) fn csv_head(out: &mut dyn Write) -> io::Result<()> {
    csv_row(out, &COLUMNS.each_ref().map(|column| column.name))
}

/// Writes a result as a line of CSV.
pub(super) fn csv_hit(out: &mut dyn Write, hit: &SearchHit) -> io::Result<()> {
    let number = |count: Option<u64>| count.map(|count| count.to_string()).unwrap_or_default();
    csv_row(
        out,
        &[
            &hit.url_key,
            &hit.url,
            &hit.domain,
            &hit.title,
            &hit.fetch_time,
            &hit.since,
            hit.until.as_deref().unwrap_or_default(),
            &hit.mime,
            &hit.language,
            &hit.collection,
            &number(hit.inlinks),
            &number(hit.inlinks_external),
            &hit.snippet.text(),
        ],
    )
}

/// Writes a line of CSV.
fn csv_row(out: &mut dyn Write, values: &[&str; COLUMN_COUNT]) -> io::Result<()> {
    let mut writer = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(out);
    let shown = values.iter().map(|value| csv_text(value).into_owned());
    writer.write_record(shown).map_err(io::Error::other)?;
    writer.flush()
}

/// Adds a result as a row of a Parquet file.
pub(super) fn parquet_hit(stream: &mut RowStream, hit: &SearchHit) -> Result<(), ExportError> {
    let time = |text: &str| {
        format::date::ms_of_iso(text).ok_or_else(|| {
            AskError::internal(format!(
                "{} was captured at {text:?}, which is not a time",
                hit.url
            ))
        })
    };
    let (fetch_time, since) = (time(&hit.fetch_time)?, time(&hit.since)?);
    let until = hit.until.as_deref().map(time).transpose()?;
    let long = |count: Option<u64>| count.map(|count| i64::try_from(count).unwrap_or(i64::MAX));
    let mut row = stream.row()?;
    row.text(&hit.url_key)
        .text(&hit.url)
        .text(&hit.domain)
        .text(&hit.title);
    row.long(fetch_time).long(since).optional_long(until);
    row.text(&hit.mime).text(&hit.language).text(&hit.collection);
    row.optional_long(long(hit.inlinks))
        .optional_long(long(hit.inlinks_external));
    row.text(&hit.snippet.text()).end();
    Ok(())
}
