//! Edges as rows of a table. Those within a node have it as source and target: the sum of `links` is that of all links.

use std::io::{self, Write};

use columns::{Cell, Column, Kind, Pieces};

use super::{Graph, GraphError};
use crate::csv_text::csv_text;

const fn column(name: &'static str, kind: Kind) -> Column {
    Column {
        name,
        kind,
        is_nullable: false,
    }
}

/// The columns, of CSV and Parquet alike.
const COLUMNS: [Column; 6] = [
    column("source", Kind::Text),
    column("target", Kind::Text),
    column("links", Kind::Long),
    column("pages", Kind::Long),
    column("first_seen", Kind::TimeMs),
    column("last_seen", Kind::TimeMs),
];

pub(super) fn write_csv(graph: &mut Graph, out: &mut dyn Write) -> Result<(), GraphError> {
    let mut writer = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(out);
    let failed = |error| GraphError::Output(io::Error::other(error));
    writer
        .write_record(COLUMNS.map(|column| column.name))
        .map_err(failed)?;
    graph.for_each_edge(&mut |edge| {
        let row = [
            &*csv_text(&edge.source),
            &*csv_text(&edge.target),
            &edge.links.to_string(),
            &edge.pages.to_string(),
            &civil::iso(edge.first_ms),
            &civil::iso(edge.last_ms),
        ];
        writer.write_record(row).map_err(failed)
    })?;
    writer.flush().map_err(GraphError::Output)
}

pub(super) fn write_parquet(graph: &mut Graph, out: &mut dyn Write) -> Result<(), GraphError> {
    let mut pieces = Pieces::new(&COLUMNS)?;
    let long = |count: u64| Cell::Long(i64::try_from(count).unwrap_or(i64::MAX));
    graph.for_each_edge(&mut |edge| {
        pieces.row(&[
            Cell::Text(&edge.source),
            Cell::Text(&edge.target),
            long(edge.links),
            long(edge.pages),
            Cell::TimeMs(edge.first_ms),
            Cell::TimeMs(edge.last_ms),
        ])?;
        out.write_all(&pieces.take()?).map_err(GraphError::Output)
    })?;
    out.write_all(&pieces.finish()?).map_err(GraphError::Output)
}
