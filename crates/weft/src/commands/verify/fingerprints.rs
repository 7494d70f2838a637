//! Checks by fingerprints whether all views match the inputs. Then no rows need to be compared.

use archive::Archive;
use archive::question::{Check, Details, Dump, FingerprintRow, LedgerRow, StatusBody, View};

use super::compare::Comparison;
use super::rebuilt::RebuiltArchive;
use super::scope::{Comparand, Scope};
use super::{TOTALS, VIEWS, compare_view, numbers, status};

/// Returns the result for all views if they match the inputs. Returns `None` if a row may differ or
/// inputs are unknown.
pub(super) fn compare_views(
    archive: &Archive,
    found: &StatusBody,
    fingerprints: &[FingerprintRow],
    rows: &[LedgerRow],
    counted: &RebuiltArchive,
) -> anyhow::Result<Option<Vec<Comparison>>> {
    if !counted.unknown.is_empty() {
        return Ok(None);
    }
    let expected = counted.archive.ask(Check {})?.body.fingerprints;
    if expected.is_empty() || !expected.iter().all(|row| fingerprints.contains(row)) {
        return Ok(None);
    }
    let rows_of = |of: &str| {
        let row = fingerprints.iter().find(|row| row.of == of);
        row.map_or(0, |row| row.rows)
    };
    let (_, sums) = status(&counted.archive)?;
    let totals = StatusBody {
        records: sums.records,
        quarantined: sums.quarantined,
        captures: rows_of("captures"),
        pages: rows_of("pages"),
        links: rows_of("links"),
        uris: rows_of("uris"),
        domains: rows_of("domains"),
        ..StatusBody::default()
    };
    if numbers(found) != numbers(&totals) {
        return Ok(None);
    }
    let scope = Scope::of(rows, &counted.unknown);
    let mut views = Vec::new();
    for view in VIEWS {
        let comparison = match column_of_count(view) {
            Some(of) => Comparison::same(Comparand::Rows(view), rows_of(of)),
            // Small views about the inputs themselves, which are compared by row.
            None => compare_view(view, archive, counted, &scope)?,
        };
        if !comparison.is_same() {
            return Ok(None);
        }
        views.push(comparison);
    }
    views.push(Comparison::same(Comparand::Totals, TOTALS.len() as u64));
    Ok(Some(views))
}

/// Returns the fingerprint with as many rows as the view, or `None` for views that are compared by
/// row.
fn column_of_count(view: Dump) -> Option<&'static str> {
    Some(match view {
        Dump::View(View::Ledger | View::Quarantine) | Dump::Serving(_) => return None,
        Dump::View(View::Captures) | Dump::Details(Details::Kinds) => "captures",
        Dump::View(View::Pages) => "pages",
        Dump::Details(Details::Versions) => "versions",
        Dump::Details(Details::IndexLines) => "index_lines",
        Dump::View(View::Links | View::Inlinks) => "links",
        Dump::View(View::Uris | View::Top) => "uris",
        Dump::View(View::Domains) => "domains",
    })
}
