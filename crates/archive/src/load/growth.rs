//! Decides from the times of a file whether it is still being written.

use std::path::Path;
use std::time::{Duration, SystemTime};

use inputs::InputLocation;

use super::chunk::Growth;
use super::context::Context;

/// A file changed this recently may still be written to.
const RECENT: Duration = Duration::from_secs(5);

/// Time between two checks of a file.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Returns whether an input may still grow, judging by its name and times. Must be called before
/// the input is digested.
pub(super) fn growth_of(place: &InputLocation) -> Growth {
    if place.is_named_open() {
        return Growth::Open;
    }
    // An object at an address appears only when it is complete.
    let InputLocation::File(path) = place else {
        return Growth::No;
    };
    match path.metadata().and_then(|metadata| metadata.modified()) {
        Ok(modified) if age(modified) < RECENT => Growth::Recent { modified },
        _ => Growth::No,
    }
}

/// Waits until a file last changed at `modified` has been unchanged for [`RECENT`]. Returns `false`
/// as soon as it changes, is no longer `size` bytes long, or the load is stopped.
pub(super) fn wait_until_quiet(context: &Context, path: &Path, size: u64, modified: SystemTime) -> bool {
    // Wait by this process's clock: the time of the file may come from another machine and be in
    // the future.
    let (begun, patience) = (system::now(), RECENT.saturating_sub(age(modified)));
    while is_unchanged(path, size, modified) {
        if system::since(begun) >= patience {
            return true;
        }
        if context.job.is_stopped() {
            return false;
        }
        system::pause(LOOK_INTERVAL);
    }
    false
}

fn is_unchanged(path: &Path, size: u64, modified: SystemTime) -> bool {
    path.metadata()
        .is_ok_and(|now| now.len() == size && now.modified().is_ok_and(|time| time == modified))
}

/// Returns the time since `modified`, or zero if that is in the future.
fn age(modified: SystemTime) -> Duration {
    system::wall().duration_since(modified).unwrap_or_default()
}
