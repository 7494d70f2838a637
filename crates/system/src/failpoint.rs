//! Named points at which a test ends the process, to prove that what is on disk then is harmless.
//!
//! `WEFT_CRASH_POINT=name` (or `name:3` for the third time) aborts the process at that point. A module with durable
//! steps lists the names of its points, and says for each why a crash there is harmless.

use crate::occurrence::Occurrence;

static SELECTED: Occurrence = Occurrence::new("WEFT_CRASH_POINT");

/// Aborts the process at the point `name`, one of `known`, if the environment selects it.
pub fn pass(known: &[&str], name: &str) {
    debug_assert!(known.contains(&name), "{name} is not listed");
    if SELECTED.is_now(name) {
        // Not `exit`: neither destructors nor buffers may write anything any more.
        std::process::abort();
    }
}
