//! Divides the memory that an open archive may use.
//!
//! The limit is for the whole process, as the operating system counts it. Questions and loads have
//! fixed shares of it, which together cover the measured use: see `docs/performance.md`. The
//! remainder is for rows of an epoch being written, files being merged, and memory that the
//! allocator keeps in between.

/// Default limit of memory: 1 GiB.
pub const MEMORY_SIZE_BYTES: u64 = 1 << 30;

/// Lowest limit. Below it, memory that does not depend on the limit would be most of it.
pub const MEMORY_SIZE_BYTES_MIN: u64 = 384 << 20;

/// Maximum for rows in memory, under any limit: after a crash they are read again from the journal,
/// at 70 MB/s.
const MEMTABLE_BYTES_MAX: u64 = 512 << 20;

/// Maximum for documents being indexed: tantivy refuses 4 GiB.
const SEARCH_WRITER_BYTES_MAX: u64 = 1 << 30;

/// Memory for images being indexed: the least that tantivy takes. They are short texts.
const IMAGES_WRITER_BYTES: usize = 15_000_000;

/// Maximum for an epoch: it is one batch of the engine, and its captures become visible only with
/// it.
const EPOCH_BYTES_MAX: u64 = 256 << 20;

/// The limit, and its shares.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory {
    size_bytes: u64,
}

impl Memory {
    /// Makes a limit of about this many bytes in total.
    pub(crate) fn new(size_bytes: Option<u64>) -> Memory {
        let size_bytes = size_bytes.unwrap_or(MEMORY_SIZE_BYTES);
        Memory {
            size_bytes: size_bytes.max(MEMORY_SIZE_BYTES_MIN),
        }
    }

    fn share(self, of_64: u64) -> u64 {
        self.size_bytes / 64 * of_64
    }

    /// Returns the shares of the index: blocks, rows not yet in files (up to three times this), and
    /// pages shown by searches.
    pub(crate) fn index(self) -> index::Settings {
        let mut settings = index::Settings::default();
        settings.cache_size_bytes = self.share(12);
        settings.memtable_size_bytes = self.share(8).min(MEMTABLE_BYTES_MAX);
        // A shorter journal would write rows to files before there are many.
        settings.journal_size_bytes = 2 * settings.memtable_size_bytes;
        settings.shown_pages_size_bytes = self.share(4);
        settings
    }

    /// Returns the shares of the search index.
    pub(crate) fn search(self) -> search::Settings {
        search::Settings {
            writer_memory_bytes: self.share(4).min(SEARCH_WRITER_BYTES_MAX) as usize,
            ..search::Settings::default()
        }
    }

    /// Returns the settings of the index of images.
    pub(crate) fn images(self) -> search::Settings {
        search::Settings {
            writer_memory_bytes: IMAGES_WRITER_BYTES,
            ..search::Settings::default()
        }
    }

    /// Returns the maximum size of the captures in one epoch, in bytes.
    pub(crate) fn epoch_bytes(self) -> u64 {
        self.share(3).min(EPOCH_BYTES_MAX)
    }

    /// Returns the maximum size of the records that wait for extraction, in bytes.
    pub(crate) fn records_bytes(self) -> u64 {
        self.share(2)
    }

    /// Returns the maximum size of the pages that wait for the search index, in bytes.
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
                // The same amount may wait in its queue.
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
