//! Settings of an index, as plain values.

/// Limits of memory and disk use.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// Memory for cached blocks, in bytes. It must hold the filters of all tables to look up
    /// missing rows quickly: 1.3 bytes per row.
    pub cache_size_bytes: u64,
    /// Memory for pages that searches have shown, uncompressed, in bytes.
    pub shown_pages_size_bytes: u64,
    /// Memory for rows that are not yet in sorted files, in bytes. Up to three times as much for a
    /// short time, if the disk does not keep up.
    pub memtable_size_bytes: u64,
    /// Size of the journal, in bytes, at least 64 MiB. The journal is replayed when the index is
    /// opened after a crash.
    pub journal_size_bytes: u64,
    /// Maximum size of rows left in the journal when the index is closed, in bytes. They are
    /// replayed at the next opening.
    pub unsettled_size_bytes_max: u64,
    /// A scope (a domain, or all) with more URIs than this has a stored ranking of its best URIs.
    /// The rest is found by reading the scope's URIs.
    pub ranking_rows_max: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            // A larger cache does not speed up a load of a million pages, because the system caches
            // files as well.
            cache_size_bytes: 192 << 20,
            // Holds the best thousands of pages, which most searches share.
            shown_pages_size_bytes: 64 << 20,
            memtable_size_bytes: 128 << 20,
            journal_size_bytes: 256 << 20,
            // Replayed in about 0.1 s.
            unsettled_size_bytes_max: 8 << 20,
            ranking_rows_max: 4096,
        }
    }
}
