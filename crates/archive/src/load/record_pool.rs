//! Extracted records whose memory the readers reuse.
//!
//! Readers and extraction run on different threads. Memory allocated by one thread and freed by
//! another is slow for the allocator, and memory returned to the system has to be cleared again.

use parking_lot::Mutex;
use warc::{Reader, Record};

/// Limit of chunks whose records are kept. A reader takes one for each chunk that it sends.
const CHUNKS_MAX: usize = 8;

/// Larger chunks hold a large record, which is rare, so they are not kept.
const CHUNK_BYTES_MAX: u64 = 2 << 20;

/// The records of extracted chunks.
#[derive(Default)]
pub(super) struct RecordPool(Mutex<Vec<Vec<Record>>>);

impl RecordPool {
    /// Keeps the records of a chunk of `bytes` bytes for readers, if there is room for them.
    pub(super) fn give(&self, records: Vec<Record>, bytes: u64) {
        let mut chunks = self.0.lock();
        if bytes <= CHUNK_BYTES_MAX && chunks.len() < CHUNKS_MAX {
            chunks.push(records);
        }
    }

    /// Gives the memory of one chunk to a reader.
    pub(super) fn take(&self, reader: &mut Reader) {
        let records = self.0.lock().pop();
        for record in records.into_iter().flatten() {
            reader.recycle(record);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_bounded() {
        let record_pool = RecordPool::default();
        let check = |chunks: usize| assert_eq!(record_pool.0.lock().len(), chunks);
        record_pool.give(Vec::new(), CHUNK_BYTES_MAX + 1);
        check(0);
        for _ in 0..2 * CHUNKS_MAX {
            record_pool.give(Vec::new(), CHUNK_BYTES_MAX);
        }
        check(CHUNKS_MAX);
        let input = Box::new(Vec::new());
        let mut reader = Reader::from_input(input, "empty", warc::ReaderSettings::default()).unwrap();
        record_pool.take(&mut reader);
        check(CHUNKS_MAX - 1);
    }
}
