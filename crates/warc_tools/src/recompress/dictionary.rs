//! Trains a compression dictionary on a sample of a file's records.

use std::path::Path;

use std::io::Read;

use crate::Progress;
use crate::error::WriteError;
use crate::record_digests;
use crate::source::Source;

/// Size of a dictionary in bytes, as zstd recommends.
const DICTIONARY_BYTES_MAX: usize = 110 << 10;

/// Bytes of a record that are sampled. Records mostly resemble each other at the beginning.
const SAMPLE_BYTES_MAX: u64 = 32 << 10;

/// Bytes of samples above which every second one is dropped: a hundred times the dictionary, as
/// zstd recommends, and some room.
const SAMPLES_BYTES_MAX: usize = 24 << 20;

/// Trains a dictionary on records from the whole file. Large records are kept in a temporary file
/// next to `out`. `each` is called with the bytes read so far, and stops the work by returning
/// false.
///
/// # Errors
/// [`WriteError::Untrained`] if zstd finds too little in common. Other errors as for writing.
pub fn train(input: &Path, out: &Path, each: &mut Progress<'_>) -> Result<Vec<u8>, WriteError> {
    let mut source = Source::open(input, out)?;
    let keep = record_digests::keep(out);
    let mut samples = Samples::default();
    while let Some(record) = source.next()? {
        if samples.wants_next() {
            let mut sample = source.reader.header_bytes().to_vec();
            let block = source.reader.block(&record).map_err(&keep)?;
            block
                .take(SAMPLE_BYTES_MAX)
                .read_to_end(&mut sample)
                .map_err(&keep)?;
            samples.push(sample);
        }
        source.reader.recycle(record);
        if !each(source.reader.position()) {
            return Err(WriteError::Stopped);
        }
    }
    warc::train_dictionary(&samples.kept, DICTIONARY_BYTES_MAX).map_err(|source| WriteError::Untrained {
        path: input.display().to_string(),
        samples: samples.kept.len(),
        source,
    })
}

/// Evenly spaced samples from a file of unknown length, in bounded memory.
struct Samples {
    kept: Vec<Vec<u8>>,
    bytes: usize,
    /// One record of this many is sampled.
    stride: u64,
    seen: u64,
}

impl Default for Samples {
    fn default() -> Samples {
        Samples {
            kept: Vec::new(),
            bytes: 0,
            stride: 1,
            seen: 0,
        }
    }
}

impl Samples {
    /// Counts a record. Returns whether to sample it.
    fn wants_next(&mut self) -> bool {
        self.seen += 1;
        (self.seen - 1).is_multiple_of(self.stride)
    }

    fn push(&mut self, sample: Vec<u8>) {
        self.bytes += sample.len();
        self.kept.push(sample);
        if self.bytes > SAMPLES_BYTES_MAX {
            let mut number = 0;
            self.kept.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.bytes = self.kept.iter().map(Vec::len).sum();
            self.stride *= 2;
        }
    }
}
