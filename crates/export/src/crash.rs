//! Crash points: where a test may end the process, and why each is harmless (see [`system::failpoint`]).
//!
//! | point | what is on disk | why it is harmless |
//! |---|---|---|
//! | `redact.while_writing` | part of a copy of an input, under another name | nothing reads that name |
//! | `redact.before_rename` | a whole copy, under another name | the same; the next redaction writes it again |

/// Names of the crash points of exports.
pub const CRASH_POINTS: [&str; 2] = ["redact.while_writing", "redact.before_rename"];

/// Ends the process here if the environment says so.
pub(crate) fn point(name: &'static str) {
    system::failpoint::pass(&CRASH_POINTS, name);
}
