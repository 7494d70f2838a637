//! What is counted. Only people read it; no decision depends on it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Who reads through the tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum User {
    /// Inputs that are loaded, from front to back.
    Inputs,
    /// Single records: previews, the sandbox, `weft record`.
    Records,
    /// Tables that SQL reads.
    Sql,
    /// Clients of the S3 gateway.
    Gateway,
    /// `weft cache warm`.
    Warm,
}

impl User {
    /// All of them, in the order of their numbers.
    pub const ALL: [User; 5] = [User::Inputs, User::Records, User::Sql, User::Gateway, User::Warm];

    /// As metrics and commands name it.
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
            pub(crate) fn shown(&self) -> $shown {
                $shown {
                    $($field: self.$field.load(Ordering::Relaxed),)*
                }
            }
        }
    };
}

counters! {
    /// What one user has read.
    UserCounts, UserStats {
        /// Reads of a range of an object.
        reads,
        /// Bytes that came from memory.
        memory_bytes,
        /// Bytes that came from a disk.
        disk_bytes,
        /// Bytes that were fetched from the store for this user.
        fetched_bytes,
        /// Bytes that somebody else was fetching already.
        joined_bytes,
        /// Bytes of objects that the rules leave alone, passed on from the store.
        passed_bytes,
        /// Requests to the store for bytes.
        fetches,
        /// Requests to the store whether an object is still the same.
        checks,
        /// Microseconds spent waiting for disks and stores.
        wait_us,
        /// Reads that failed, with the store's error.
        errors,
    }
}

counters! {
    /// What a directory has done since the process began.
    DirectoryCounts, DirectoryEvents {
        /// Blocks, or parts of them, that were written.
        stored_blocks,
        /// Their bytes.
        stored_bytes,
        /// Blocks dropped because others needed the space.
        evicted_blocks,
        /// Blocks that moved to the next directory instead.
        demoted_blocks,
        /// Blocks removed because their time was over.
        expired_blocks,
        /// Blocks not kept because the disk is slower than the store, or did not answer.
        bypassed_blocks,
        /// Blocks not kept because everything that could leave is pinned, or because a quota is too small.
        refused_blocks,
        /// Blocks of one pass over everything that were not kept, because others would have had to leave.
        scan_blocks,
        /// Blocks that were not what was written: dropped, and fetched again.
        corrupt_blocks,
        /// Blocks that a kill left unfinished.
        unfinished_blocks,
        /// Errors of the disk.
        io_errors,
        /// Writes for which there was no space.
        no_space,
        /// Reads that took so long that the store was asked.
        slow_reads,
    }
}

pub(crate) fn add(counter: &AtomicU64, number: u64) {
    counter.fetch_add(number, Ordering::Relaxed);
}

pub(crate) fn add_time(counter: &AtomicU64, time: Duration) {
    add(counter, u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
}
