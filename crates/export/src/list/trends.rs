//! Matches of queries by year: a row for each query and year.

use archive::question::TrendRow;
use serde::Serialize;

/// A row of the table.
#[derive(Debug, Serialize)]
pub struct TrendYear<'a> {
    query: &'a str,
    year: u64,
    /// Number of versions that match.
    matches: u64,
    /// Number of all versions of that year.
    versions: u64,
}

/// Returns the rows of a query.
pub fn trend_years(row: &TrendRow) -> impl Iterator<Item = TrendYear<'_>> {
    row.years.iter().map(|year| TrendYear {
        query: &row.query,
        year: year.year,
        matches: year.count,
        versions: year.documents,
    })
}
