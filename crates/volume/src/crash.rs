//! Crash points: where a test may end the process, and why every one of them is harmless (see
//! [`crashpoint`]).
//!
//! | point | what is on disk | why it is harmless |
//! |---|---|---|
//! | `volume.before_identity` | an empty structure without `volume.json`, perhaps with the node's files | the next opening makes the rest |
//! | `stage.received` | content in `staging/`, not synced | opening removes what is no whole replica |
//! | `prepare.before_sync` | a whole replica in `staging/`, perhaps not durable | opening keeps it if every block is right: then it is as if it had been prepared |
//! | `prepare.after_sync` | a whole replica in `staging/` | opening keeps it, as somebody may count on it; whoever asks for the key next brings the write to its end |
//! | `commit.before_rename` | the same | the same: the write may or may not be done, nobody was told |
//! | `commit.after_rename` | the replica in its place, perhaps not durably; unknown to the index | opening indexes it, or it is gone: both are right, as nobody was told |
//! | `commit.after_dir_sync` | the replica, durable; unknown to the index | opening indexes it |
//! | `commit.after_index` | new and old version | opening knows that the old one is older, and removes it |
//! | `commit.after_remove` | the new version alone | this is the end |
//! | `remove.after_index` | the file, no longer indexed | opening indexes it again: the removal has not happened |
//! | `remove.after_unlink` | the file perhaps still there after a power cut | the same |
//! | `settle.after_rename` | a stray under its right name or in `lost+found/` | opening indexes what is in its place |
//! | `begin_anew.before_identity` | the same | opening finds it so and begins anew again |

/// Names of all crash points.
pub const CRASH_POINTS: [&str; 13] = [
    "volume.before_identity",
    "stage.received",
    "prepare.before_sync",
    "prepare.after_sync",
    "commit.before_rename",
    "commit.after_rename",
    "commit.after_dir_sync",
    "commit.after_index",
    "commit.after_remove",
    "remove.after_index",
    "remove.after_unlink",
    "settle.after_rename",
    "begin_anew.before_identity",
];

/// Ends the process here if the environment says so.
pub(super) fn point(name: &'static str) {
    system::failpoint::pass(&CRASH_POINTS, name);
}
