//! Captures that can no longer be read, because another file took the place of theirs.
//!
//! They stay in all views until their input is forgotten. Its row in the ledger says so.

use std::collections::HashSet;

use index::{ApplyError, InputState, LedgerRow};
use inputs::{DiscoveredInput, package_of};

use crate::jobs::Job;
use crate::open_archive::OpenArchive;

/// Returns the note for an input that was read to its end and then replaced.
pub(super) fn note_of(entry: &LedgerRow) -> String {
    // By its digest, because the new input may have the same name.
    format!(
        "its file was replaced, so the captures of it ({}) can no longer be read; \
         weft forget --input {} removes them",
        entry.captures, entry.digest
    )
}

/// Notes in the rows of members that are no longer in the packages of this load that their captures
/// cannot be read.
pub(super) fn note_lost_members(
    open: &OpenArchive,
    job: &Job,
    found: &[DiscoveredInput],
) -> Result<(), ApplyError> {
    let locations: HashSet<String> = found.iter().map(|found| found.place.location()).collect();
    let package = |location: &str| package_of(location).map(|(package, _)| package);
    let packages: HashSet<String> = locations.iter().filter_map(|found| package(found)).collect();
    if packages.is_empty() {
        return Ok(());
    }
    let is_of_package = |entry: &LedgerRow| {
        let is_read = entry.state == InputState::Done && entry.captures > 0;
        let is_found = locations.contains(&entry.location);
        is_read && !is_found && package(&entry.location).is_some_and(|name| packages.contains(&name))
    };
    for (id, entry) in open.index.inputs(is_of_package) {
        // The load may name other members of the package only.
        if let Ok(None) = open.sources.address_size(&entry.location) {
            open.index.note_missing(id, &note_of(&entry))?;
            job.touch(id, entry.bytes_done);
        }
    }
    Ok(())
}
