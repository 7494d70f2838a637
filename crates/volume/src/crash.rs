//! Crash points: where tests kill the process, with the state on disk and why a crash there is
//! harmless (see [`crashpoint`]).
//!
//! - `volume.before_identity`: a structure without `volume.json`, empty except for the node's
//!   files. The next open creates the rest.
//! - `stage.received`: content in `staging/`, not synced. Opening removes incomplete replicas.
//! - `prepare.before_sync`: a whole replica in `staging/`, perhaps not durable. Opening keeps it if
//!   every block is intact, as if it had been prepared.
//! - `prepare.after_sync`: a whole replica in `staging/`. Opening keeps it, because a decider may
//!   count on it; the next request for the key completes the write.
//! - `commit.before_rename`: as before. The write was not acknowledged, so it may be completed or
//!   not.
//! - `commit.after_rename`: the replica in its place, perhaps not durable, and not indexed. Opening
//!   indexes it, or it is gone. Both are right, because the write was not acknowledged.
//! - `commit.after_dir_sync`: the replica, durable but not indexed. Opening indexes it.
//! - `commit.after_index`: the new and the old version. Opening removes the older one.
//! - `commit.after_remove`: only the new version. The operation is complete.
//! - `remove.after_index`: the file, no longer indexed. Opening indexes it again; the removal did
//!   not happen.
//! - `remove.after_unlink`: as before, if the file is still there after a power failure.
//! - `settle.after_rename`: a stray under its right name or in `lost+found/`. Opening indexes it if
//!   it is in its place.
//! - `begin_anew.before_identity`: as in `volume.before_identity`. Opening initializes the volume
//!   again.

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

/// Ends the process here if the environment names this crash point.
pub(super) fn point(name: &'static str) {
    system::failpoint::pass(&CRASH_POINTS, name);
}
