//! Crash points: where a test may end the process, and why a crash there is harmless (see
//! [`crashpoint`]). Each item gives the state on disk, then the reason.
//!
//! Creating an index, and loading ([`CRASH_POINTS`]):
//! - `create.before_rename`: a complete empty index under a temporary name. Opening removes it and
//!   starts again.
//! - `create.after_rename`: the empty index under its final name. It is complete.
//! - `register.before_commit`: no entry of the input. The caller registers it again.
//! - `register.before_sync`: the entry, perhaps not yet durable. Registering finds it by digest or
//!   writes it. If the input is not digested yet, the caller finds it by the digest of its
//!   beginning.
//! - `register.after_sync`: the entry. As before.
//! - `apply.before_commit`: no rows of the epoch. Ledger positions say where to resume, so the same
//!   captures come again.
//! - `apply.before_sync`: the epoch in the journal, perhaps not yet durable. The journal holds it
//!   completely or, if cut short, not at all: positions, captures and digests change together.
//! - `apply.before_publish`: the epoch, durable. Opening shows it. If the captures come again, they
//!   are known.
//! - `take_back.before_commit`: the input as before (or the inputs, if a takedown removes
//!   captures). The caller takes it back again.
//! - `take_back.before_sync`: the step in the journal, perhaps not yet durable. Rows, views and
//!   position change together or not at all. In both cases the caller continues from the ledger.
//! - `take_back.before_publish`: the step, durable. Opening shows it, and the caller continues from
//!   the ledger.
//!
//! Closing an index with many rows in its journal ([`CLOSING_CRASH_POINTS`]):
//! - `close.before_journal`: all rows in the tables and in the journal. Opening skips rows of the
//!   journal that the tables hold.
//! - `close.after_journal`: all rows in the tables, and an empty journal. Opening has nothing to
//!   replay.
//!
//! Ending a takedown ([`UNDOING_CRASH_POINTS`]):
//! - `undo_takedown.before_commit`: the takedown in force. The next request ends it.
//! - `undo_takedown.before_sync`: its end, perhaps not yet durable. Register and ledger change
//!   together or not at all.
//!
//! Purging ([`PURGING_CRASH_POINTS`]):
//! - `purge.before_exchange`: the index, and a complete copy next to it. Opening removes the copy.
//! - `purge.after_exchange`: the copy in the place of the index, and the old index next to it.
//!   Opening removes the old index. Both have the same rows.
//!
//! Rebuilding views ([`REBUILDING_CRASH_POINTS`]):
//! - `rebuild.after_batch`: some rows are repaired, and row `rebuilding` marks the rebuild as
//!   unfinished. Opening finishes it by comparing all rows again.
//! - `rebuild.before_sync`: all rows are repaired, perhaps not yet durably. The last batch is
//!   complete, or opening writes it again.
//! - `rebuild.before_publish`: all rows are repaired. Opening shows them.

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

/// Names of the crash points of ending a takedown.
pub const UNDOING_CRASH_POINTS: [&str; 2] = ["undo_takedown.before_commit", "undo_takedown.before_sync"];

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

/// As [`point`], while views are rebuilt.
pub(crate) fn rebuilding_point(name: &'static str) {
    system::failpoint::pass(&REBUILDING_CRASH_POINTS, name);
}

/// As [`point`], while an index is closed.
pub(crate) fn closing_point(name: &'static str) {
    system::failpoint::pass(&CLOSING_CRASH_POINTS, name);
}
