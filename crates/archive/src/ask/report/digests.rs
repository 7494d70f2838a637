//! Counts content fetched twice. Captures are sorted by digest, in files if there are many.

use std::io;
use std::path::{Path, PathBuf};

use index::Sorter;

use crate::AskError;
use crate::question::ReportDuplicates;

/// Bytes of a row after the digest: whether the capture has no payload, time, length.
const TAIL_BYTES: usize = 1 + 8 + 8;

pub(super) struct Digests {
    dir: PathBuf,
    sorter: Sorter,
    row: Vec<u8>,
    counted: ReportDuplicates,
}

impl Digests {
    pub(super) fn new(dir: &Path) -> Digests {
        Digests {
            dir: dir.to_owned(),
            sorter: Sorter::new(dir),
            row: Vec::new(),
            counted: ReportDuplicates::default(),
        }
    }

    /// Adds a capture that has its payload (`holds`), or a revisit.
    pub(super) fn add(
        &mut self,
        digest: &str,
        holds: bool,
        time_ms: i64,
        bytes: u64,
    ) -> Result<(), AskError> {
        if !holds {
            self.counted.revisits += 1;
            self.counted.revisit_bytes += bytes;
        }
        if digest.is_empty() {
            return Ok(());
        }
        // Captures with the payload sort before revisits, the earliest first. The sign bit is
        // flipped so that times before 1970 sort correctly.
        self.row.clear();
        self.row.extend_from_slice(digest.as_bytes());
        self.row.push(u8::from(!holds));
        self.row
            .extend_from_slice(&(time_ms as u64 ^ 1 << 63).to_be_bytes());
        self.row.extend_from_slice(&bytes.to_be_bytes());
        self.sorter.push(&self.row).map_err(failed(&self.dir))
    }

    pub(super) fn finish(self) -> Result<ReportDuplicates, AskError> {
        let mut counted = self.counted;
        let mut digest: Vec<u8> = Vec::new();
        // Length of the earliest record with the payload of `digest`.
        let mut original_bytes = None;
        for row in self.sorter.finish().map_err(failed(&self.dir))? {
            let row = row.map_err(failed(&self.dir))?;
            let (of, tail) = row.split_at(row.len().saturating_sub(TAIL_BYTES));
            let bytes = tail
                .last_chunk::<8>()
                .map_or(0, |bytes| u64::from_be_bytes(*bytes));
            if of != digest {
                digest = of.to_vec();
                original_bytes = None;
            }
            match (tail.first() == Some(&0), original_bytes) {
                (true, None) => original_bytes = Some(bytes),
                (true, Some(_)) => {
                    counted.repeated += 1;
                    counted.repeated_bytes += bytes;
                }
                (false, Some(original)) => counted.saved_bytes += original.saturating_sub(bytes),
                (false, None) => {}
            }
        }
        Ok(counted)
    }
}

fn failed(dir: &Path) -> impl Fn(io::Error) -> AskError + '_ {
    |error| {
        AskError::unavailable(format!(
            "sort digests in temporary files in {}: {error}",
            dir.display()
        ))
    }
}
