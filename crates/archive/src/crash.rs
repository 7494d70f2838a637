//! Crash points: where a test may end the process, and why a crash there is harmless (see
//! [`crashpoint`]). Those within a step of the index or of the search index are in their crates.
//!
//! | point | state on disk | why it is harmless |
//! |---|---|---|
//! | `settings.before_rename` | the settings under another name | there is no archive yet; opening with `create` begins again |
//! | `settings.after_rename` | an archive without an index | opening creates the index |
//! | `continue.before_register` | an earlier input at the end of its last whole record | the next load finds that its content continues, and reads on from there |
//! | `forget.before_search` | inputs forgotten and removed from all views, but not from search | opening finds that search is behind, and catches up |
//! | `from_facts.after_epoch` | an epoch of a load from facts, missing in the search index | opening catches up; the same load continues after it |
//! | `redact.while_writing` | part of a copy of an input, under another name | files of that name are ignored |
//! | `redact.before_rename` | a whole copy, under another name | the same; the next redaction writes it again |
//! | `feed.before_apply` | an epoch missing in the search index | opening finds that search is behind, and catches up |
//! | `feed.before_settle` | a search index without some anchors, and the epoch up to which it has all | opening applies the later epochs again |
//!
//! Posting lines of indexes passes [`POSTING_CRASH_POINTS`]:
//!
//! | point | state on disk | why it is harmless |
//! |---|---|---|
//! | `post.before_rename` | a file under another name, without effect | the next one written replaces it |
//! | `post.before_index` | the segment with the lines, missing in the index | opening indexes the rest of the segment |
//! | `post.after_pending` | the note of the operation, before its first step | opening does it |
//! | `post.after_blank` | lines blanked that are still in the index | opening finds them in the index, blanks them again, and removes them |
//! | `post.before_done` | all done, and the note that it was begun | opening does it again, which changes nothing |

/// Names of the crash points of loads and opening.
pub const CRASH_POINTS: [&str; 7] = [
    "settings.before_rename",
    "settings.after_rename",
    "continue.before_register",
    "forget.before_search",
    "from_facts.after_epoch",
    "feed.before_apply",
    "feed.before_settle",
];

/// Names of the crash points of posting.
pub const POSTING_CRASH_POINTS: [&str; 5] = [
    "post.before_rename",
    "post.before_index",
    "post.after_pending",
    "post.after_blank",
    "post.before_done",
];

/// Like [`point`], while lines are posted or deleted.
pub(crate) fn posting_point(name: &'static str) {
    system::failpoint::pass(&POSTING_CRASH_POINTS, name);
}

/// Ends the process here if the environment says so.
pub(crate) fn point(name: &'static str) {
    system::failpoint::pass(&CRASH_POINTS, name);
}
