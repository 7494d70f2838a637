//! Counters for monitoring. No decision depends on them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The users of a tier, for statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum User {
    /// Loads of inputs, which read each object once from start to end.
    Inputs,
    /// Single records: previews, the sandbox, `weft record`.
    Records,
    /// Tables read by SQL.
    Sql,
    /// Clients of the S3 gateway.
    Gateway,
    /// `weft cache warm`.
    Warm,
}

impl User {
    /// All users, in the order of their numbers.
    pub const ALL: [User; 5] = [User::Inputs, User::Records, User::Sql, User::Gateway, User::Warm];

    /// Returns its name in metrics and commands.
    pub fn name(self) -> &'static str {
        match self {
            User::Inputs => "inputs",
            User::Records => "records",
            User::Sql => "sql",
            User::Gateway => "gateway",
            User::Warm => "warm",
        }
    }
}

macro_rules! counters {
    ($(#[$about:meta])* $name:ident, $shown:ident { $($(#[$doc:meta])* $field:ident,)* }) => {
        #[derive(Debug, Default)]
        pub(crate) struct $name {
            $(pub(crate) $field: AtomicU64,)*
        }

        $(#[$about])*
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct $shown {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl $name {
            pub(crate) fn snapshot(&self) -> $shown {
                $shown {
                    $($field: self.$field.load(Ordering::Relaxed),)*
                }
            }
        }
    };
}

counters! {
    /// Counters of the reads of one user.
    UserCounts, UserStats {
        /// Reads of a range of an object.
        reads,
        /// Bytes from memory.
        memory_bytes,
        /// Bytes from a disk.
        disk_bytes,
        /// Bytes fetched from the store for this user.
        fetched_bytes,
        /// Bytes from a fetch that another reader had started.
        joined_bytes,
        /// Bytes of objects excluded by the rules, passed through from the store.
        passed_bytes,
        /// Requests to the store for bytes.
        fetches,
        /// Requests to the store that check whether an object has changed.
        checks,
        /// Microseconds spent waiting for disks and stores.
        wait_us,
        /// Reads that failed with an error of the store.
        errors,
    }
}

counters! {
    /// Counters of a directory since the process started.
    DirectoryCounts, DirectoryEvents {
        /// Blocks, or parts of them, written.
        stored_blocks,
        /// Bytes of these blocks.
        stored_bytes,
        /// Blocks evicted to make room.
        evicted_blocks,
        /// Evicted blocks that moved to the next directory.
        demoted_blocks,
        /// Blocks removed because they expired.
        expired_blocks,
        /// Blocks not stored because the disk is slower than the store or does not answer.
        bypassed_blocks,
        /// Blocks not stored because everything that could be evicted is pinned or because a quota
        /// is too small.
        refused_blocks,
        /// Blocks of a full scan that were not stored because other blocks would have been evicted.
        scan_blocks,
        /// Damaged blocks: dropped, and fetched again.
        corrupt_blocks,
        /// Blocks left unfinished by a kill.
        unfinished_blocks,
        /// I/O errors of the disk.
        io_errors,
        /// Writes that failed because the disk was full.
        no_space,
        /// Reads that timed out, so that the store was asked.
        slow_reads,
    }
}

pub(crate) fn add(counter: &AtomicU64, number: u64) {
    counter.fetch_add(number, Ordering::Relaxed);
}

pub(crate) fn add_time(counter: &AtomicU64, time: Duration) {
    add(counter, u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
}
