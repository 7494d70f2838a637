//! Crash points: where a test may end the process, and why every one of them is harmless (see [`system::failpoint`]). Those
//! within a step of the index or of the search index are in their crates.
//!
//! | point | what is on disk | why it is harmless |
//! |---|---|---|
//! | `settings.before_rename` | the settings under another name | there is no archive yet; opening with `create` begins again |
//! | `settings.after_rename` | an archive without an index | opening creates the index |
//! | `continue.before_register` | an earlier input at the end of its last whole record | the next load finds that its content goes on, and reads on from there |
//! | `forget.before_next` | some of the inputs forgotten, all gone from the views | each was one step of the index; the others are forgotten when they are named again |
//! | `from_facts.after_epoch` | an epoch of a load from facts, which search does not have | opening catches up; the same load goes on behind it |
//! | `feed.before_apply` | an epoch that search does not have | opening finds that search is behind, and catches up |
//! | `feed.before_settle` | search without some anchors, and up to which epoch it has all | opening applies again what came after that |
//!
//! Posting lines of indexes passes [`POSTING_CRASH_POINTS`]:
//!
//! | point | what is on disk | why it is harmless |
//! |---|---|---|
//! | `post.before_rename` | a file under another name, which has nothing to say | the next one that is written takes its place |
//! | `post.before_weave` | the segment with the lines, which the index does not have | opening weaves what of a segment is not woven |
//! | `post.after_pending` | what is to be done, and nothing of it | opening does it |
//! | `post.after_blank` | lines are blanked that the index has | opening finds them in the index, blanks them once more, and takes them out |
//! | `post.before_done` | all is done, and written down as begun | opening does it once more, which changes nothing |

/// Names of the crash points of loads and opening.
pub const CRASH_POINTS: [&str; 7] = [
    "settings.before_rename",
    "settings.after_rename",
    "continue.before_register",
    "forget.before_next",
    "from_facts.after_epoch",
    "feed.before_apply",
    "feed.before_settle",
];

/// Names of the crash points of posting.
pub const POSTING_CRASH_POINTS: [&str; 5] = [
    "post.before_rename",
    "post.before_weave",
    "post.after_pending",
    "post.after_blank",
    "post.before_done",
];

/// As [`point`], while lines are posted or deleted.
pub(crate) fn posting_point(name: &'static str) {
    system::failpoint::pass(&POSTING_CRASH_POINTS, name);
}

/// Ends the process here if the environment says so.
pub(crate) fn point(name: &'static str) {
    system::failpoint::pass(&CRASH_POINTS, name);
}
