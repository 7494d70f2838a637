//! `weft load --retry`: retries failed inputs.
//!
//! An input without captures is first removed from the ledger, so that it is read from its
//! beginning and its old losses disappear. A file that still does not exist keeps its row. An input
//! with captures continues where it failed: if it restarted and failed again, its captures would be
//! lost.

use std::collections::{BTreeMap, HashSet};

use archive::Archive;
use archive::question::{Forget, InputState, LedgerRow, LedgerState, LoadRequest};
use inputs::{LoadInput, is_address, path_of};

use crate::commands::status::ledger_rows;

/// Returns the loads that retry failed and missing inputs: one per collection, otherwise like
/// `template`.
pub(super) fn requests(archive: &Archive, template: &LoadRequest) -> anyhow::Result<Vec<LoadRequest>> {
    let mut rows = ledger_rows(archive, Some(LedgerState::Failed))?;
    let forgotten = rows
        .iter()
        .filter(|row| row.captures == 0 && may_be_there(&row.location));
    let inputs: Vec<String> = forgotten.map(|row| row.location.clone()).collect();
    if !inputs.is_empty() {
        archive.ask(Forget { inputs })?;
    }
    let read = locations_read(archive)?;
    let missing = ledger_rows(archive, Some(LedgerState::Missing))?.into_iter();
    // At the place of a replaced input is another one, which may have another name and label.
    rows.extend(missing.filter(|row| row.state != InputState::Done || !read.contains(&row.location)));
    let mut collections: BTreeMap<String, Vec<LoadInput>> = BTreeMap::new();
    for LedgerRow {
        input,
        location,
        collection,
        ..
    } in rows
    {
        let input = LoadInput {
            name: input,
            path: location,
        };
        collections.entry(collection).or_default().push(input);
    }
    let request = |(collection, inputs): (String, Vec<LoadInput>)| LoadRequest {
        inputs,
        collection: Some(collection).filter(|name| !name.is_empty()),
        ..template.clone()
    };
    Ok(collections.into_iter().map(request).collect())
}

/// Returns the locations of inputs that were read to their end and are there.
fn locations_read(archive: &Archive) -> anyhow::Result<HashSet<String>> {
    let done = ledger_rows(archive, Some(LedgerState::Done))?.into_iter();
    Ok(done
        .filter(|row| row.missing.is_empty())
        .map(|row| row.location)
        .collect())
}

/// Returns whether there may be something to read at a location.
fn may_be_there(location: &str) -> bool {
    is_address(location) || path_of(location).symlink_metadata().is_ok()
}
