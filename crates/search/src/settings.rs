//! How an index is opened.

/// Settings of a [`SearchIndex`](crate::SearchIndex).
#[derive(Debug, Clone)]
pub struct Settings {
    /// Memory for documents being indexed, over all threads; at least 15 MB a thread. As much again,
    /// at most, waits in the queue.
    pub writer_memory_bytes: usize,
    /// Indexing threads: 1 leaves the other core to the load.
    pub threads: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            writer_memory_bytes: 64 << 20,
            threads: 1,
        }
    }
}
