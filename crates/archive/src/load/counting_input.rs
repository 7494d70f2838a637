//! Counts the bytes read of an input, so that progress is visible inside a large record.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use warc::Input;

use crate::jobs::Job;

/// An input of a load that counts the bytes read.
pub(super) struct CountingInput {
    pub(super) input: Arc<dyn Input>,
    pub(super) job: Arc<Job>,
    /// End of the contiguous range counted so far. It is kept when the input is opened again.
    pub(super) reached: Arc<AtomicU64>,
}

impl Input for CountingInput {
    fn size(&self) -> io::Result<u64> {
        self.input.size()
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let bytes = self.input.read_at(into, offset)?;
        let (end, reached) = (offset + bytes as u64, self.reached.load(Relaxed));
        // The reader looks ahead at the end of a record before it reads the content. Only one
        // thread reads an input.
        if offset <= reached && end > reached {
            self.reached.store(end, Relaxed);
            self.job.counters.bytes_read.add(end - reached);
        }
        Ok(bytes)
    }
}
