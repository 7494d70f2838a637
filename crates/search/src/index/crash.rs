//! Crash points: where a test may end the process, and why a crash there is harmless (see
//! [`crashpoint`]).
//!
//! - `search.before_create`: the folder is empty or missing. Opening creates the index in it.
//! - `search.before_buckets`: the last commit is on disk. The caller applies again the epochs after
//!   the covered one.
//! - `search.before_prepare`: the same, and the bucket log has records after the end that the
//!   commit refers to, or a log that it does not refer to. The extra records are truncated, the
//!   other log is removed.
//! - `search.before_commit`: the same, with files that the last commit does not refer to. They are
//!   removed when the index is opened.
//! - `search.after_commit`: the new commit and its epoch are on disk, and opening shows both. An
//!   epoch that is applied again is skipped.

/// Names of all crash points.
pub const CRASH_POINTS: [&str; 5] = [
    "search.before_create",
    "search.before_buckets",
    "search.before_prepare",
    "search.before_commit",
    "search.after_commit",
];

/// Ends the process here if the environment requests it.
pub(crate) fn point(name: &'static str) {
    system::failpoint::pass(&CRASH_POINTS, name);
}
