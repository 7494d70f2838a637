//! Inputs that still contain what was taken down. Weft does not change inputs.

use std::collections::HashSet;
use std::path::Path;

use archive::Archive;
use archive::question::{InputState, LedgerRow};
use inputs::{Sources, is_local_member};

use super::named_uploads::file_of;
use crate::commands::status::ledger_rows;

/// Returns the names of the inputs outside the archive's directory that have captures that are
/// taken down. Skips files that do not exist any more, and inputs whose place has an input without
/// such captures now.
pub(super) fn holding_inputs(archive: &Archive, dir: &Path) -> anyhow::Result<Vec<String>> {
    // The ledger has paths after links are resolved.
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let rows = ledger_rows(archive, None)?;
    let clean = rows.iter().filter(|row| is_clean(row));
    let clean: HashSet<&str> = clean.map(|row| row.location.as_str()).collect();
    let is_holding = |row: &&LedgerRow| {
        row.taken_down > 0 && !clean.contains(row.location.as_str()) && is_kept_outside(row, &dir)
    };
    let holding = rows.iter().filter(is_holding);
    Ok(holding.map(|row| row.input.clone()).collect())
}

/// Returns whether an input has nothing that is taken down, and was at its place at the last load.
/// One without captures does not count: a load does not note that it was replaced.
fn is_clean(row: &LedgerRow) -> bool {
    let is_there = row.state == InputState::Done && row.missing.is_empty();
    is_there && row.captures > 0 && row.taken_down == 0
}

/// Returns whether the bytes of an input are outside the archive's directory, and may still exist.
fn is_kept_outside(row: &LedgerRow, dir: &Path) -> bool {
    let Some(file) = file_of(&row.location) else {
        return true;
    };
    if file.starts_with(dir) || !file.try_exists().unwrap_or(true) {
        return false;
    }
    // A copy of a package may be without this member.
    let is_gone = || matches!(Sources::default().address_size(&row.location), Ok(None));
    !is_local_member(&row.location) || !is_gone()
}
