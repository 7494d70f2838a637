//! Name, idempotence and time limit of an operation on the wire.

use std::time::Duration;

/// The properties of an operation that the wire needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperationSpec {
    /// Its name in the path of a request, in counters and logs.
    pub operation: &'static str,
    /// Whether it changes anything. If so, a request is carried out at most once, however often it
    /// arrives.
    pub writes: bool,
    /// Longest time for the whole response (for a stream: for its head).
    pub limit: Duration,
}

/// Limit for reading an index or a table in memory.
pub const QUICK: Duration = Duration::from_secs(10);

/// Limit for an operation that syncs. A disk with a full queue takes seconds for it.
pub const DURABLE: Duration = Duration::from_secs(30);

/// Limit for an operation that waits for durable changes on other nodes.
pub const JOINT: Duration = Duration::from_secs(60);

/// Limit for reading whole partitions or objects, or receiving an upload. Pings detect a dead node
/// long before.
pub const LONG: Duration = Duration::from_hours(24);

impl OperationSpec {
    /// Returns the properties of an operation that changes nothing.
    pub const fn reads(operation: &'static str, limit: Duration) -> Self {
        Self {
            operation,
            writes: false,
            limit,
        }
    }

    /// Returns the properties of an operation that changes something.
    pub const fn writes(operation: &'static str, limit: Duration) -> Self {
        Self {
            operation,
            writes: true,
            limit,
        }
    }
}
