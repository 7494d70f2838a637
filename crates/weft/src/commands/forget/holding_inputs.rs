//! Inputs that still contain what was taken down. Weft does not change inputs.

use std::path::Path;

use archive::Archive;
use archive::question::LedgerRow;

use super::named_uploads::file_of;
use crate::commands::status::ledger_rows;

/// Returns the names of the inputs outside the archive's directory that have captures that are
/// taken down. A file that does not exist any more is left out.
pub(super) fn holding_inputs(archive: &Archive, dir: &Path) -> anyhow::Result<Vec<String>> {
    // The ledger has paths after links are resolved.
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let rows = ledger_rows(archive, None)?.into_iter();
    let holding = rows.filter(|row| row.taken_down > 0 && is_kept_outside(row, &dir));
    Ok(holding.map(|row| row.input).collect())
}

/// Returns whether the bytes of an input are outside the archive's directory, and may still exist.
fn is_kept_outside(row: &LedgerRow, dir: &Path) -> bool {
    match file_of(&row.location) {
        None => true,
        Some(file) => !file.starts_with(dir) && file.try_exists().unwrap_or(true),
    }
}
