//! Crash points: where a test may end the process, and why a crash there is harmless (see
//! [`crashpoint`]). Each item gives the state on disk, then the reason.
//!
//! In a store there is no temporary name and no sync: `publish.before_rename` is before the request
//! that writes the table's commit, and `publish.before_sync` is after the store has it.
//!
//! - `stage.after_file`: some data files of an uncommitted epoch. No commit names them. The epoch's
//!   captures come again with the same epoch number. Their files replace these; in a store they
//!   have other names.
//! - `stage.done`: all data files of an uncommitted epoch. As before.
//! - `publish.before_rename`: the epoch with its note, and the table's commit under a temporary
//!   name. Opening publishes the note.
//! - `publish.before_sync`: the table's commit, perhaps not yet durable. Opening publishes it if it
//!   is missing.
//! - `publish.after_table`: the epoch in some of the tables. Opening publishes it in the others.
//! - `retract.after_file`: rewritten files (without removed rows, or with the new name of an input)
//!   that no commit names. Opening writes them again, under the same names or, in a store, under
//!   others, and publishes.

/// Names of all crash points.
pub const CRASH_POINTS: [&str; 6] = [
    "stage.after_file",
    "stage.done",
    "publish.before_rename",
    "publish.before_sync",
    "publish.after_table",
    "retract.after_file",
];

/// Ends the process here if the environment says so.
pub(crate) fn point(name: &'static str) {
    system::failpoint::pass(&CRASH_POINTS, name);
}
