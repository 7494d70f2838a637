//! Edges as rows of a table. Links within a node have it as both source and target, so the sum of
//! `links` is that of all links.

use std::io::{self, Write};

use facts::{Field, Kind, RowStream};

use super::{Graph, GraphError};
use crate::csv_text::csv_text;

/// The columns, for both CSV and Parquet.
static COLUMNS: [Field; 6] = [
    Field::new("source", Kind::Text),
    Field::new("target", Kind::Text),
    Field::new("links", Kind::Long),
    Field::new("pages", Kind::Long),
    Field::new("first_seen", Kind::TimeMs),
    Field::new("last_seen", Kind::TimeMs),
];

pub(super) fn write_csv(graph: &mut Graph, out: &mut dyn Write) -> Result<(), GraphError> {
    let mut writer = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(out);
    let failed = |error| GraphError::Output(io::Error::other(error));
    writer
        .write_record(COLUMNS.each_ref().map(|column| column.name))
        .map_err(failed)?;
    graph.for_each_edge(&mut |edge| {
        let row = [
            &*csv_text(&edge.source),
            &*csv_text(&edge.target),
            &edge.links.to_string(),
            &edge.pages.to_string(),
            &format::date::iso(edge.first_ms),
            &format::date::iso(edge.last_ms),
        ];
        writer.write_record(row).map_err(failed)
    })?;
    writer.flush().map_err(GraphError::Output)
}

pub(super) fn write_parquet(graph: &mut Graph, out: &mut dyn Write) -> Result<(), GraphError> {
    let mut stream = RowStream::new(&COLUMNS)?;
    let long = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    graph.for_each_edge(&mut |edge| {
        let mut row = stream.row()?;
        row.text(&edge.source).text(&edge.target);
        row.long(long(edge.links)).long(long(edge.pages));
        row.long(edge.first_ms).long(edge.last_ms).end();
        out.write_all(&stream.take()?).map_err(GraphError::Output)
    })?;
    out.write_all(&stream.finish()?).map_err(GraphError::Output)
}
