//! Settings of an index: plain values.

/// How much memory the index may take, and the like.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// Memory for cached blocks, in bytes. Reads of missing rows need the filters of all tables in it: 1.3
    /// bytes a row.
    pub cache_size_bytes: u64,
    /// Memory for pages that searches showed, unpacked, in bytes.
    pub shown_pages_size_bytes: u64,
    /// Memory for rows not yet in sorted files, in bytes; up to three times as much for moments in which the
    /// disk does not keep up.
    pub memtable_size_bytes: u64,
    /// Disk for the journal, in bytes, at least 64 MiB: what must be read again when the index is opened
    /// after a crash.
    pub journal_size_bytes: u64,
    /// Rows that are left to the journal when the index is closed, in bytes: it is read again at the next opening.
    pub unsettled_size_bytes_max: u64,
    /// A ranking is kept for the best of a scope (a domain, all) with more URIs than this; the rest is found
    /// by reading the scope's URIs.
    pub ranking_rows_max: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            // A larger one makes a load of a million pages no quicker: the system keeps files in memory, too.
            cache_size_bytes: 192 << 20,
            // The best thousands of pages: most searches share them.
            shown_pages_size_bytes: 64 << 20,
            memtable_size_bytes: 128 << 20,
            journal_size_bytes: 256 << 20,
            // Read again in about 0.1 s.
            unsettled_size_bytes_max: 8 << 20,
            ranking_rows_max: 4096,
        }
    }
}
