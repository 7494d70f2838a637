//! Crash points: where a test may end the process (see [`system::failpoint`]).

/// Points at which a test ends the process.
pub const CRASH_POINTS: [&str; 6] = [
    "policy.begun",
    "policy.put",
    "policy.verified",
    "policy.staged",
    "policy.unlinked",
    "policy.acted",
];

/// Points at which a test ends the process.
pub const UNDO_CRASH_POINTS: [&str; 1] = ["policy.taken_back"];
