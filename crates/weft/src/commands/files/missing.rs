//! Names files that are missing or were written since the last scan. `weft files verify` reads the
//! files that the catalogue lists, and these are not as the catalogue has them.

use std::io::Write;
use std::sync::Arc;

use ::catalogue::{
    Catalogue, ChangeKind, FileVersion, Kind, PathHandle, ReportedChange, ScanSettings, is_address,
    join_renames,
};

use super::diff;
use crate::context::Context;
use crate::exit::print_error;
use crate::outcome::Outcome;
use crate::stderr::progress_line;
use crate::stop::Stop;
use crate::units::counted;

/// Compares all trees of files with the disk, and prints missing and changed names.
pub(super) fn report(
    catalogue: &Arc<Catalogue>,
    stop: &Stop,
    context: &mut Context,
) -> anyhow::Result<Outcome> {
    let answer_within = ScanSettings::default().answer_within;
    let (mut changes, mut unread, mut outcome) = (Vec::new(), 0, Outcome::Done);
    for tree in catalogue.trees()? {
        if is_address(&tree.path) {
            continue;
        }
        match diff::compare_with_disk(catalogue, &tree.path, answer_within, stop, context) {
            Ok((found, faults)) => {
                changes.extend(found);
                unread += faults;
            }
            Err(error) if stop.is_requested() => return Err(error),
            // The remaining trees can still be compared.
            Err(error) => {
                print_error(&error, context);
                outcome = Outcome::Losses;
            }
        }
    }
    let mut changes = join_renames(changes);
    changes.retain(|changed| is_missing_or_rewritten(catalogue, changed));
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    for changed in &changes {
        diff::print(changed, false, context)?;
    }
    if !changes.is_empty() || unread > 0 {
        outcome = Outcome::Losses;
    }
    if unread > 0 {
        let names = counted(unread, "directory or name", "directories and names");
        progress_line(&format!("{names} could not be read, and were not compared"));
    }
    if !context.json {
        print_sum(changes.len() as u64, outcome, context)?;
    }
    Ok(outcome)
}

fn print_sum(changes: u64, outcome: Outcome, context: &mut Context) -> anyhow::Result<()> {
    let archive = context.archive_flag();
    let out = &mut context.out;
    if changes > 0 {
        let names = counted(changes, "name is", "names are");
        writeln!(
            out,
            "{names} missing (-) or changed (~) since the last scan: weft files scan{archive} updates the catalogue"
        )?;
    }
    if outcome == Outcome::Done {
        writeln!(
            out,
            "no catalogued file is missing or changed since the last scan"
        )?;
    }
    Ok(())
}

fn is_missing_or_rewritten(catalogue: &Catalogue, changed: &ReportedChange) -> bool {
    match changed.what {
        ChangeKind::Removed => true,
        ChangeKind::Changed => is_rewritten(catalogue, &changed.path),
        // A file that had the name before is gone.
        ChangeKind::Renamed => changed.replaced_size_bytes.is_some(),
        ChangeKind::Added => false,
    }
}

/// Returns whether a catalogued file is now another version, and not only its owner or permissions
/// changed.
fn is_rewritten(catalogue: &Catalogue, path: &[u8]) -> bool {
    let Ok(Some(known)) = catalogue.locate_exactly(path) else {
        return true;
    };
    let now = PathHandle::open(path).and_then(|handle| handle.stat(catalogue));
    let version = now.ok().flatten().map(|file| FileVersion::of(&file));
    known.attributes.kind == Kind::File && version != Some(FileVersion::of(&known.attributes))
}
