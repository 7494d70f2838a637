//! Whether a file is still being written, as far as its times tell.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use super::Context;
use super::chunk::Growing;
use crate::inputs::Place;

/// A file changed this recently may still be written to.
const RECENT: Duration = Duration::from_secs(5);

/// Time between two looks at a file.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// What name and times of an input say; to be asked before it is digested.
pub(super) fn growing(place: &Place) -> Growing {
    if place.is_named_open() {
        return Growing::Open;
    }
    // What is at an address comes into being whole.
    let Place::File(path) = place else {
        return Growing::No;
    };
    match path.metadata().and_then(|metadata| metadata.modified()) {
        Ok(modified) if age(modified) < RECENT => Growing::Recent { modified },
        _ => Growing::No,
    }
}

/// Waits until a file last changed at `modified` was left alone for [`RECENT`]. `false` as soon as it is seen to
/// change, or not to be `size` bytes long any more, and when the load is stopped.
pub(super) fn is_left_alone(context: &Context, path: &Path, size: u64, modified: SystemTime) -> bool {
    // Counted from here on: clocks of other machines may have written a time that is still to come.
    let (begun, patience) = (Instant::now(), RECENT.saturating_sub(age(modified)));
    while is_unchanged(path, size, modified) {
        if begun.elapsed() >= patience {
            return true;
        }
        if context.job.is_stopped() {
            return false;
        }
        std::thread::sleep(LOOK_INTERVAL);
    }
    false
}

fn is_unchanged(path: &Path, size: u64, modified: SystemTime) -> bool {
    path.metadata()
        .is_ok_and(|now| now.len() == size && now.modified().is_ok_and(|time| time == modified))
}

/// Zero for a time to come.
fn age(modified: SystemTime) -> Duration {
    SystemTime::now().duration_since(modified).unwrap_or_default()
}
