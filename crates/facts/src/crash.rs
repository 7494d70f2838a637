//! Crash points: where a test may end the process, and why every one of them is harmless (see [`crashpoint`]).
//!
//! In a store there is no other name and no sync: there `publish.before_rename` is before the request that makes the table's
//! commit, and `publish.before_sync` after the store has it.
//!
//! | point | what is on disk | why it is harmless |
//! |---|---|---|
//! | `stage.after_file` | some data files of an epoch that is not committed | no commit names them; the epoch's captures come again, and so does its number: files of the same names replace them, or in a store others with names of their own are named |
//! | `stage.done` | all of them | as before |
//! | `publish.before_rename` | the epoch, with its note; the table's commit under another name | opening publishes what the note says |
//! | `publish.before_sync` | the table's commit, perhaps not yet durable | opening publishes it unless it is there |
//! | `publish.after_table` | the epoch in some of the tables | opening publishes it in the others |
//! | `retract.after_file` | files written anew, without the rows that leave or with another name of their input, which no commit names | opening writes them again under the same names, in a store under others, and publishes |

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
