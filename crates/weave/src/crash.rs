//! Crash points: where a test may end the process, and why every one of them is harmless.
//!
//! `WEFT_CRASH_POINT=name` (or `name:3` for the third time) aborts the process at that point.
//!
//! | point | what is on disk | why it is harmless |
//! |---|---|---|
//! | `create.before_rename` | a complete empty index under a temporary name | opening removes it and starts again |
//! | `create.after_rename` | the empty index in its place | it is complete |
//! | `register.before_commit` | nothing of the input | the caller registers it again |
//! | `register.before_sync` | the entry, perhaps not yet durable | registering finds it by digest, or writes it |
//! | `register.after_sync` | the entry | registering finds it by digest |
//! | `apply.before_commit` | nothing of the epoch | ledger positions say where to read on: the same captures come again |
//! | `apply.before_sync` | the epoch in the journal, perhaps not yet durable | the journal holds it whole or, cut short, not at all: positions and captures move together |
//! | `take_back.before_commit` | the input as it was | the caller takes it back again |
//! | `take_back.before_sync` | the step in the journal, perhaps not yet durable | rows, views and position leave together or not at all; in either case the caller goes on from what the ledger says |
//! | `apply.before_publish` | the epoch, durable | opening shows it; the captures, should they come again, are known |

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Names of all crash points.
pub const CRASH_POINTS: [&str; 10] = [
    "create.before_rename",
    "create.after_rename",
    "register.before_commit",
    "register.before_sync",
    "register.after_sync",
    "apply.before_commit",
    "apply.before_sync",
    "apply.before_publish",
    "take_back.before_commit",
    "take_back.before_sync",
];

/// Ends the process here if the environment says so.
pub(crate) fn point(name: &'static str) {
    debug_assert!(CRASH_POINTS.contains(&name));
    static CHOSEN: OnceLock<Option<(String, u64)>> = OnceLock::new();
    static PASSED: AtomicU64 = AtomicU64::new(0);
    let chosen = CHOSEN.get_or_init(|| std::env::var("WEFT_CRASH_POINT").ok().map(|v| parse(&v)));
    if let Some((chosen, nth)) = chosen
        && chosen == name
        && PASSED.fetch_add(1, Ordering::Relaxed) + 1 == *nth
    {
        std::process::abort();
    }
}

fn parse(value: &str) -> (String, u64) {
    match value.rsplit_once(':') {
        Some((name, nth)) => (name.to_owned(), nth.parse().unwrap_or(1)),
        None => (value.to_owned(), 1),
    }
}
