//! Converts results to rows of a table: the columns, and a row for each file format.

use std::io::{self, Write};

use columns::{Cell, Column, Kind, Pieces};

use super::ExportError;
use crate::AskError;
use crate::csv_text::csv_text;
use crate::question::SearchHit;

const fn column(name: &'static str, kind: Kind) -> Column {
    Column {
        name,
        kind,
        is_nullable: false,
    }
}

const fn nullable(name: &'static str, kind: Kind) -> Column {
    Column {
        is_nullable: true,
        ..column(name, kind)
    }
}

/// The columns, for both CSV and Parquet.
pub(super) const COLUMNS: [Column; 13] = [
    column("url_key", Kind::Text),
    column("url", Kind::Text),
    column("domain", Kind::Text),
    column("title", Kind::Text),
    column("fetch_time", Kind::TimeMs),
    column("since", Kind::TimeMs),
    nullable("until", Kind::TimeMs),
    column("mime", Kind::Text),
    column("language", Kind::Text),
    column("collection", Kind::Text),
    nullable("inlinks", Kind::Long),
    nullable("inlinks_external", Kind::Long),
    column("snippet", Kind::Text),
];

/// Writes the header line of CSV.
pub(super) fn csv_head(out: &mut dyn Write) -> io::Result<()> {
    csv_row(out, &COLUMNS.map(|column| column.name))
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
fn csv_row(out: &mut dyn Write, values: &[&str; COLUMNS.len()]) -> io::Result<()> {
    let mut writer = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(out);
    let shown = values.iter().map(|value| csv_text(value).into_owned());
    writer.write_record(shown).map_err(io::Error::other)?;
    writer.flush()
}

/// Adds a result as a row of a Parquet file.
pub(super) fn parquet_hit(pieces: &mut Pieces, hit: &SearchHit) -> Result<(), ExportError> {
    let time = |text: &str| {
        civil::ms_of_iso(text).ok_or_else(|| {
            AskError::internal(format!(
                "{} was captured at {text:?}, which is not a time",
                hit.url
            ))
        })
    };
    let until = hit.until.as_deref().map(time).transpose()?;
    let number = |count: Option<u64>| {
        count.map_or(Cell::Absent, |count| {
            Cell::Long(i64::try_from(count).unwrap_or(i64::MAX))
        })
    };
    let row: [Cell<'_>; COLUMNS.len()] = [
        Cell::Text(&hit.url_key),
        Cell::Text(&hit.url),
        Cell::Text(&hit.domain),
        Cell::Text(&hit.title),
        Cell::TimeMs(time(&hit.fetch_time)?),
        Cell::TimeMs(time(&hit.since)?),
        until.map_or(Cell::Absent, Cell::TimeMs),
        Cell::Text(&hit.mime),
        Cell::Text(&hit.language),
        Cell::Text(&hit.collection),
        number(hit.inlinks),
        number(hit.inlinks_external),
        Cell::Text(&hit.snippet.text()),
    ];
    Ok(pieces.row(&row)?)
}
