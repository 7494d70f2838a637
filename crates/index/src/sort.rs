//! External sorting: sorted runs in temporary files, then one merge.
//!
//! Invariants, whatever the number of rows:
//! - While rows are added, at most [`RUN_BYTES`] of rows and their positions are in memory.
//! - At most [`FAN_IN`] runs of each tier wait for the merge, each with one row and one buffer in
//!   memory: every full tier becomes one run of the next.
//!
//! The files have no name, so a crash leaves nothing behind.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Memory for rows before they are written as a run, in bytes.
const RUN_BYTES: usize = 64 << 20;

/// Runs of one tier that are merged into one of the next. With this value, rows of 64 GiB pass two
/// merges.
const FAN_IN: usize = 32;

/// Sizes of file buffers, in bytes.
const WRITE_BUFFER_BYTES: usize = 256 << 10;
const READ_BUFFER_BYTES: usize = 64 << 10;

/// Collects rows (byte strings) in any order and returns them sorted.
pub struct Sorter {
    dir: PathBuf,
    run_bytes: usize,
    fan_in: usize,
    held: RowBuffer,
    /// Runs on disk by tier: a run of tier `n` is merged from `fan_in` runs of tier `n - 1`.
    tiers: Vec<Vec<File>>,
}

impl Sorter {
    /// Creates a sorter with temporary files in `dir`.
    pub fn new(dir: &Path) -> Sorter {
        Sorter {
            dir: dir.to_owned(),
            run_bytes: RUN_BYTES,
            fan_in: FAN_IN,
            held: RowBuffer::default(),
            tiers: Vec::new(),
        }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// If a temporary file cannot be written.
    pub fn push(&mut self, row: &[u8]) -> io::Result<()> {
        self.held.push(row);
        if self.held.memory_bytes() >= self.run_bytes {
            self.held.sort();
            let mut run = RunWriter::new(&self.dir)?;
            self.held.rows().try_for_each(|row| run.push(row))?;
            self.held.clear();
            self.keep(run.finish()?, 0)?;
        }
        Ok(())
    }

    /// Adds a run to its tier, and merges the tier if it is full.
    fn keep(&mut self, run: File, tier: usize) -> io::Result<()> {
        if self.tiers.len() <= tier {
            self.tiers.push(Vec::new());
        }
        self.tiers[tier].push(run);
        if self.tiers[tier].len() < self.fan_in {
            return Ok(());
        }
        let mut merged = RunWriter::new(&self.dir)?;
        for row in Merge::of(std::mem::take(&mut self.tiers[tier]))? {
            merged.push(&row?)?;
        }
        self.keep(merged.finish()?, tier + 1)
    }

    /// Returns all rows, sorted bytewise. Equal rows are kept.
    ///
    /// # Errors
    /// If a temporary file cannot be read.
    pub fn finish(mut self) -> io::Result<Sorted> {
        self.held.sort();
        Ok(Sorted {
            merge: Merge::of(self.tiers.into_iter().flatten().collect())?,
            held: self.held,
            next_held: 0,
        })
    }
}

/// Rows in memory, in one buffer.
#[derive(Default)]
struct RowBuffer {
    bytes: Vec<u8>,
    slices: Vec<RowSlice>,
}

/// Position of a row in [`RowBuffer::bytes`].
#[derive(Clone, Copy)]
struct RowSlice {
    /// The row's first 8 bytes as a number, padded with zeros. It decides most comparisons.
    beginning: u64,
    from: usize,
    bytes: usize,
}

impl RowBuffer {
    fn push(&mut self, row: &[u8]) {
        let mut beginning = [0; 8];
        let known = row.len().min(8);
        beginning[..known].copy_from_slice(&row[..known]);
        self.slices.push(RowSlice {
            beginning: u64::from_be_bytes(beginning),
            from: self.bytes.len(),
            bytes: row.len(),
        });
        self.bytes.extend_from_slice(row);
    }

    fn memory_bytes(&self) -> usize {
        self.bytes.len() + self.slices.len() * size_of::<RowSlice>()
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        self.slices.sort_unstable_by(|a, b| {
            // With the same beginning, one row may be a prefix of the other, so the whole rows are
            // compared.
            a.beginning
                .cmp(&b.beginning)
                .then_with(|| a.row(bytes).cmp(b.row(bytes)))
        });
    }

    fn row(&self, number: usize) -> Option<&[u8]> {
        self.slices.get(number).map(|place| place.row(&self.bytes))
    }

    fn rows(&self) -> impl Iterator<Item = &[u8]> {
        self.slices.iter().map(|place| place.row(&self.bytes))
    }

    /// Keeps the memory for the next run.
    fn clear(&mut self) {
        self.bytes.clear();
        self.slices.clear();
    }
}

impl RowSlice {
    fn row(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.from..self.from + self.bytes]
    }
}

/// Writes a run: each row after its length (4 bytes, little-endian).
struct RunWriter(BufWriter<File>);

impl RunWriter {
    fn new(dir: &Path) -> io::Result<RunWriter> {
        let file = tempfile::tempfile_in(dir)?;
        Ok(RunWriter(BufWriter::with_capacity(WRITE_BUFFER_BYTES, file)))
    }

    fn push(&mut self, row: &[u8]) -> io::Result<()> {
        self.0.write_all(&(row.len() as u32).to_le_bytes())?;
        self.0.write_all(row)
    }

    /// Returns the run, rewound to its beginning.
    fn finish(self) -> io::Result<File> {
        let mut file = self.0.into_inner().map_err(io::IntoInnerError::into_error)?;
        // Only this handle can read the file, because it has no name.
        file.rewind()?;
        Ok(file)
    }
}

/// Merges the sorted rows of several runs.
struct Merge {
    runs: Vec<BufReader<File>>,
    /// The next row of every run.
    heap: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
}

impl Merge {
    fn of(runs: Vec<File>) -> io::Result<Merge> {
        let runs = runs.into_iter();
        let mut merge = Merge {
            runs: runs
                .map(|file| BufReader::with_capacity(READ_BUFFER_BYTES, file))
                .collect(),
            heap: BinaryHeap::new(),
        };
        for run in 0..merge.runs.len() {
            merge.refill(run)?;
        }
        Ok(merge)
    }

    fn refill(&mut self, run: usize) -> io::Result<()> {
        let mut length = [0; 4];
        match self.runs[run].read_exact(&mut length) {
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            other => other?,
        }
        let mut row = vec![0; u32::from_le_bytes(length) as usize];
        self.runs[run].read_exact(&mut row)?;
        self.heap.push(Reverse((row, run)));
        Ok(())
    }

    fn peek(&self) -> Option<&[u8]> {
        self.heap.peek().map(|Reverse((row, _))| row.as_slice())
    }

    fn pop(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(Reverse((row, run))) = self.heap.pop() else {
            return Ok(None);
        };
        self.refill(run)?;
        Ok(Some(row))
    }
}

impl Iterator for Merge {
    type Item = io::Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.pop().transpose()
    }
}

/// Sorted rows; see [`Sorter::finish`].
pub struct Sorted {
    merge: Merge,
    /// The last run, which stayed in memory.
    held: RowBuffer,
    next_held: usize,
}

impl Iterator for Sorted {
    type Item = io::Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        match (self.held.row(self.next_held), self.merge.peek()) {
            // The order of two equal rows does not matter, because whole rows are compared.
            (Some(held), merged) if merged.is_none_or(|merged| held <= merged) => {
                let row = held.to_vec();
                self.next_held += 1;
                Some(Ok(row))
            }
            _ => self.merge.next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Checks with runs of a few rows, so that tiers fill and their runs are merged several times.
    fn check(rows: &[Vec<u8>], run_bytes: usize, fan_in: usize) {
        let dir = tempfile::tempdir().unwrap();
        let mut sorter = Sorter {
            run_bytes,
            fan_in,
            ..Sorter::new(dir.path())
        };
        for row in rows {
            sorter.push(row).unwrap();
            assert!(sorter.held.memory_bytes() < run_bytes);
            assert!(sorter.tiers.iter().all(|tier| tier.len() < fan_in));
        }
        let sorted: Vec<_> = sorter.finish().unwrap().map(Result::unwrap).collect();
        let mut expected = rows.to_vec();
        expected.sort();
        assert_eq!(sorted, expected);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn rows_come_back_sorted(rows: Vec<Vec<u8>>, run_bytes in 1usize..2000, fan_in in 2usize..5) {
            check(&rows, run_bytes, fan_in);
        }

        /// Short rows of few distinct bytes: many are equal, or prefixes of others.
        #[test]
        fn like_rows_come_back_sorted(
            rows in proptest::collection::vec(proptest::collection::vec(0u8..2, 0..12), 0..300),
            run_bytes in 1usize..400,
            fan_in in 2usize..4,
        ) {
            check(&rows, run_bytes, fan_in);
        }
    }

    #[test]
    fn tiers_are_merged_many_times() {
        let rows: Vec<Vec<u8>> = (0..5000u32)
            .map(|n| (n * 7919 % 5000).to_be_bytes().to_vec())
            .collect();
        check(&rows, 1, 2);
        check(&rows, 100, 3);
    }
}
