//! Compares `references` and `payloads` with the captures.

use super::damage::Damage;
use super::derived::{Expected, difference, scratch};
use crate::error::DumpError;
use crate::snapshot::Snapshot;
use crate::sort::Sorter;
use crate::tables::Table;
use crate::views::{captures, originals};

pub(super) fn references(snapshot: &Snapshot) -> Result<Option<Damage>, DumpError> {
    let cut = snapshot.cut();
    let (mut references, mut payloads) = (Sorter::new(snapshot.dir()), Sorter::new(snapshot.dir()));
    for row in cut.iter(Table::Captures) {
        let (key, value) = row?;
        let capture = captures::read_row(cut, &key, &value)?.capture;
        let failed = |source| scratch(snapshot, source);
        if capture.kind == extract::CaptureKind::Revisit {
            for reference in originals::reference_keys(&capture, &key) {
                references.push(&reference).map_err(failed)?;
            }
        } else if let Some(payload) = originals::payload_key(&capture) {
            payloads.push(&payload).map_err(failed)?;
        }
    }
    let damage = compare(snapshot, references, Table::References)?;
    match damage {
        Some(damage) => Ok(Some(damage)),
        None => compare(snapshot, payloads, Table::Payloads),
    }
}

fn compare(snapshot: &Snapshot, expected: Sorter, table: Table) -> Result<Option<Damage>, DumpError> {
    let mut expected = Expected::of(snapshot, expected)?;
    for row in snapshot.cut().iter(table) {
        let (key, _) = row?;
        if !expected.take(&key)? {
            return Ok(difference(
                table,
                format!("{} has no capture", key.escape_ascii()),
            ));
        }
        // Captures with the same URL and time may share a payload.
        while expected.next.as_deref() == Some(&*key) {
            expected.take(&key)?;
        }
    }
    Ok(expected.next.and_then(|key| {
        let missing = format!("{} is missing", key.escape_ascii());
        difference(table, missing)
    }))
}
