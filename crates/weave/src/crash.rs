//! Crash points: where a test may end the process, and why every one of them is harmless (see [`crashpoint`]).
//!
//! | point | what is on disk | why it is harmless |
//! |---|---|---|
//! | `create.before_rename` | a complete empty index under a temporary name | opening removes it and starts again |
//! | `create.after_rename` | the empty index in its place | it is complete |
//! | `register.before_commit` | nothing of the input | the caller registers it again |
//! | `register.before_sync` | the entry, perhaps not yet durable | registering finds it by digest, or writes it; if it is not digested, the caller finds it by the digest of its beginning |
//! | `register.after_sync` | the entry | as before |
//! | `apply.before_commit` | nothing of the epoch | ledger positions say where to read on: the same captures come again |
//! | `apply.before_sync` | the epoch in the journal, perhaps not yet durable | the journal holds it whole or, cut short, not at all: positions, captures and digests move together |
//! | `take_back.before_commit` | the input as it was (or inputs, where a takedown makes captures leave) | the caller takes it back again |
//! | `take_back.before_sync` | the step in the journal, perhaps not yet durable | rows, views and position leave together or not at all; in either case the caller goes on from what the ledger says |
//! | `take_back.before_publish` | the step, durable | opening shows it; the caller goes on from what the ledger says |
//! | `apply.before_publish` | the epoch, durable | opening shows it; the captures, should they come again, are known |
//!
//! An index of an older format passes [`RENUMBERING_CRASH_POINTS`] when it is opened:
//!
//! | point | what is on disk | why it is harmless |
//! |---|---|---|
//! | `renumber.after_batch` | some rows are of the new kind | opening begins again: it finds which ones by themselves, because each says of what kind it is |
//! | `renumber.after_links` | all sources have numbers | as before |
//! | `renumber.before_end` | all rows are of the new kind | opening finds nothing to do, and says so in row `renumbering` |
//!
//! An index with many rows in its journal passes [`CLOSING_CRASH_POINTS`] when it is closed:
//!
//! | point | what is on disk | why it is harmless |
//! |---|---|---|
//! | `close.before_journal` | all rows in tables, and in the journal | opening passes over rows of the journal that tables hold |
//! | `close.after_journal` | all rows in tables, the journal empty | there is nothing to read again |
//!
//! The end of a takedown passes [`UNDOING_CRASH_POINTS`]:
//!
//! | point | what is on disk | why it is harmless |
//! |---|---|---|
//! | `undo_takedown.before_commit` | the takedown in force | it is undone when it is asked for again |
//! | `undo_takedown.before_sync` | its end, perhaps not yet durable | register and ledger change together or not at all |
//!
//! A purge passes [`PURGING_CRASH_POINTS`]:
//!
//! | point | what is on disk | why it is harmless |
//! |---|---|---|
//! | `purge.before_exchange` | the index, and a whole copy of it beside | opening removes the copy |
//! | `purge.after_exchange` | the copy in the place of the index, which is beside it | opening removes the old one; both have the same rows |
//!
//! A rebuild of views passes [`REBUILDING_CRASH_POINTS`]:
//!
//! | point | what is on disk | why it is harmless |
//! |---|---|---|
//! | `rebuild.after_batch` | some rows are mended; row `rebuilding` says that it goes on | opening goes through with it: all rows are compared again |
//! | `rebuild.before_sync` | all rows are mended, perhaps not yet durably | the last batch is there whole, or opening writes it again |
//! | `rebuild.before_publish` | all rows are mended | opening shows them |

/// Names of the crash points of a load.
pub const CRASH_POINTS: [&str; 11] = [
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
    "take_back.before_publish",
];

/// Names of the crash points of the end of a takedown.
pub const UNDOING_CRASH_POINTS: [&str; 2] = ["undo_takedown.before_commit", "undo_takedown.before_sync"];

/// Names of the crash points of opening an index of an older format.
pub(crate) const RENUMBERING_CRASH_POINTS: [&str; 3] = [
    "renumber.after_batch",
    "renumber.after_links",
    "renumber.before_end",
];

/// Names of the crash points of closing an index.
pub(crate) const CLOSING_CRASH_POINTS: [&str; 2] = ["close.before_journal", "close.after_journal"];

/// Names of the crash points of a purge.
pub const PURGING_CRASH_POINTS: [&str; 2] = ["purge.before_exchange", "purge.after_exchange"];

/// Names of the crash points of a rebuild of views.
pub const REBUILDING_CRASH_POINTS: [&str; 3] = [
    "rebuild.after_batch",
    "rebuild.before_sync",
    "rebuild.before_publish",
];

/// Ends the process here if the environment says so.
pub(crate) fn point(name: &'static str) {
    system::failpoint::pass(&CRASH_POINTS, name);
}

/// As [`point`], while a takedown is undone.
pub(crate) fn undoing_point(name: &'static str) {
    system::failpoint::pass(&UNDOING_CRASH_POINTS, name);
}

/// As [`point`], while an index is purged.
pub(crate) fn purging_point(name: &'static str) {
    system::failpoint::pass(&PURGING_CRASH_POINTS, name);
}

/// As [`point`], while an index of an older format is opened.
pub(crate) fn renumbering_point(name: &'static str) {
    system::failpoint::pass(&RENUMBERING_CRASH_POINTS, name);
}

/// As [`point`], while views are rebuilt.
pub(crate) fn rebuilding_point(name: &'static str) {
    system::failpoint::pass(&REBUILDING_CRASH_POINTS, name);
}

/// As [`point`], while an index is closed.
pub(crate) fn closing_point(name: &'static str) {
    system::failpoint::pass(&CLOSING_CRASH_POINTS, name);
}
