//! How the memory that an open archive may take is shared out.
//!
//! The limit is for the whole process, as the operating system counts it. What answers questions and what loads has
//! fixed shares of it, which hold together what was measured: see `docs/performance.md`. What the shares leave over
//! is for rows of an epoch being written, files being merged, and what the allocator keeps between two of them.

/// Memory that a process takes if nothing else is said: 1 GiB.
pub const MEMORY_SIZE_BYTES: u64 = 1 << 30;

/// The least that can be asked for: below it, what does not depend on the limit would be most of it.
pub const MEMORY_SIZE_BYTES_MIN: u64 = 384 << 20;

/// Most for rows in memory, whatever the limit: they are read again from the journal after a crash, 70 MB/s.
const MEMTABLE_BYTES_MAX: u64 = 512 << 20;

/// Most for documents being indexed: tantivy refuses 4 GiB.
const SEARCH_WRITER_BYTES_MAX: u64 = 1 << 30;

/// Most for an epoch: it is one batch of the engine, and what was read is visible only with it.
const EPOCH_BYTES_MAX: u64 = 256 << 20;

/// The limit, and the shares of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory {
    size_bytes: u64,
}

impl Memory {
    /// Memory of about this many bytes in all.
    pub(crate) fn new(size_bytes: Option<u64>) -> Memory {
        let size_bytes = size_bytes.unwrap_or(MEMORY_SIZE_BYTES);
        Memory {
            size_bytes: size_bytes.max(MEMORY_SIZE_BYTES_MIN),
        }
    }

    fn share(self, of_64: u64) -> u64 {
        self.size_bytes / 64 * of_64
    }

    /// Of the index: blocks, rows not yet in files (up to three times this), and pages shown by searches.
    pub(crate) fn index(self) -> weave::Settings {
        let mut settings = weave::Settings::default();
        settings.cache_size_bytes = self.share(12);
        settings.memtable_size_bytes = self.share(8).min(MEMTABLE_BYTES_MAX);
        // A shorter one would write rows to files before there are many.
        settings.journal_size_bytes = 2 * settings.memtable_size_bytes;
        settings.shown_pages_size_bytes = self.share(4);
        settings
    }

    /// Of the search index.
    pub(crate) fn search(self) -> search::Settings {
        search::Settings {
            writer_memory_bytes: self.share(4).min(SEARCH_WRITER_BYTES_MAX) as usize,
            ..search::Settings::default()
        }
    }

    /// Most bytes of captures in one epoch.
    pub(crate) fn epoch_bytes(self) -> u64 {
        self.share(3).min(EPOCH_BYTES_MAX)
    }

    /// Most bytes of records that wait to be extracted.
    pub(crate) fn records_bytes(self) -> u64 {
        self.share(2)
    }

    /// Most bytes of pages that wait to be put into search.
    pub(crate) fn pages_bytes(self) -> u64 {
        self.share(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_leave_room_below_every_limit() {
        for asked in [None, Some(0), Some(MEMORY_SIZE_BYTES_MIN), Some(1 << 40)] {
            let memory = Memory::new(asked);
            let size_bytes = asked.unwrap_or(MEMORY_SIZE_BYTES).max(MEMORY_SIZE_BYTES_MIN);
            let (index, search) = (memory.index(), memory.search());
            let shares = [
                index.cache_size_bytes,
                3 * index.memtable_size_bytes,
                index.shown_pages_size_bytes,
                // As much again waits in its queue.
                2 * search.writer_memory_bytes as u64,
                memory.epoch_bytes(),
                memory.records_bytes(),
                memory.pages_bytes(),
            ];
            let taken: u64 = shares.iter().sum();
            assert!(
                taken <= size_bytes / 64 * 56,
                "{asked:?}: {shares:?} of {size_bytes} bytes"
            );
            assert!(
                shares.iter().all(|share| *share >= 8 << 20),
                "{asked:?}: {shares:?}"
            );
        }
    }
}
