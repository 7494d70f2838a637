//! How to open an index.

use std::sync::Arc;

use vectors::Vectors;

/// Settings of a [`SearchIndex`](crate::SearchIndex).
#[derive(Debug, Clone)]
pub struct Settings {
    /// Memory for documents being indexed, over all threads; at least 15 MB per thread. At most the
    /// same amount again waits in the queue.
    pub writer_memory_bytes: usize,
    /// Number of indexing threads. 1 leaves the other core to the loader.
    pub threads: usize,
    /// Word vectors that the best matches are reordered by; `None` to order by words alone.
    pub vectors: Option<Arc<Vectors>>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            writer_memory_bytes: 64 << 20,
            threads: 1,
            vectors: None,
        }
    }
}
