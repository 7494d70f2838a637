//! Crash points: where a test may end the process, and why every one of them is harmless (see [`crashpoint`]).
//!
//! | point | what is on disk | why it is harmless |
//! |---|---|---|
//! | `search.before_create` | an empty folder, or none | opening creates the index in it |
//! | `search.before_buckets` | the last commit | the caller applies again what came after the covered epoch |
//! | `search.before_prepare` | the last commit, and in the log of buckets records behind the end that it names, or a log that it does not name | the same; what is behind the end is cut off, the other log removed |
//! | `search.before_commit` | the last commit, and files that it does not name | the same; the files are swept when the index is opened |
//! | `search.after_commit` | the commit with its epoch | opening shows both; an epoch applied again is skipped |

/// Names of all crash points.
pub const CRASH_POINTS: [&str; 5] = [
    "search.before_create",
    "search.before_buckets",
    "search.before_prepare",
    "search.before_commit",
    "search.after_commit",
];

/// Ends the process here if the environment says so.
pub(crate) fn point(name: &'static str) {
    system::failpoint::pass(&CRASH_POINTS, name);
}
