//! Sorting more rows than memory holds: sorted runs in temporary files, then one merge.
//!
//! Invariant: at most [`RUN_BYTES`] of rows are in memory while they come in, and one row of every run while they
//! go out. The files have no name, so that nothing stays behind after a crash.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

/// Rows held before they are written as a run.
const RUN_BYTES: usize = 64 << 20;

/// Collects rows (byte strings) in any order and gives them sorted.
pub(crate) struct Sorter<'d> {
    dir: &'d Path,
    run_bytes: usize,
    rows: Vec<Vec<u8>>,
    held_bytes: usize,
    runs: Vec<File>,
}

impl<'d> Sorter<'d> {
    /// Temporary files go to `dir`.
    pub(crate) fn new(dir: &'d Path) -> Sorter<'d> {
        Sorter {
            dir,
            run_bytes: RUN_BYTES,
            rows: Vec::new(),
            held_bytes: 0,
            runs: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, row: Vec<u8>) -> io::Result<()> {
        // A vector's own 24 bytes and the allocator's overhead count too.
        self.held_bytes += row.len() + 48;
        self.rows.push(row);
        if self.held_bytes >= self.run_bytes {
            self.write_run()?;
        }
        Ok(())
    }

    fn write_run(&mut self) -> io::Result<()> {
        self.rows.sort_unstable();
        let mut file = BufWriter::with_capacity(1 << 18, tempfile::tempfile_in(self.dir)?);
        for row in self.rows.drain(..) {
            file.write_all(&(row.len() as u32).to_le_bytes())?;
            file.write_all(&row)?;
        }
        let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        // The file is read from here on; nobody else can open it, as it has no name.
        file.rewind()?;
        self.runs.push(file);
        self.held_bytes = 0;
        Ok(())
    }

    /// All rows, sorted bytewise; equal rows stay as many as they were.
    pub(crate) fn finish(mut self) -> io::Result<Sorted> {
        self.rows.sort_unstable();
        let mut merge = Sorted {
            runs: self
                .runs
                .into_iter()
                .map(|file| BufReader::with_capacity(1 << 16, file))
                .collect(),
            heap: BinaryHeap::new(),
            rest: self.rows.into_iter().peekable(),
        };
        for run in 0..merge.runs.len() {
            merge.refill(run)?;
        }
        Ok(merge)
    }
}

/// Sorted rows; see [`Sorter::finish`].
pub(crate) struct Sorted {
    runs: Vec<BufReader<File>>,
    /// The next row of every run.
    heap: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
    /// The run that never left memory.
    rest: std::iter::Peekable<std::vec::IntoIter<Vec<u8>>>,
}

impl Sorted {
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

    fn pop(&mut self) -> io::Result<Option<Vec<u8>>> {
        let from_memory = match (self.rest.peek(), self.heap.peek()) {
            // Which of two equal rows goes first makes no difference: rows are compared whole.
            (Some(a), Some(Reverse((b, _)))) => a <= b,
            (a, _) => a.is_some(),
        };
        if from_memory {
            return Ok(self.rest.next());
        }
        let Some(Reverse((row, run))) = self.heap.pop() else {
            return Ok(None);
        };
        self.refill(run)?;
        Ok(Some(row))
    }
}

impl Iterator for Sorted {
    type Item = io::Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.pop().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn rows_come_back_sorted(rows: Vec<Vec<u8>>, run_bytes in 1usize..2000) {
            let dir = tempfile::tempdir().unwrap();
            let mut sorter = Sorter { run_bytes, ..Sorter::new(dir.path()) };
            for row in &rows {
                sorter.push(row.clone()).unwrap();
            }
            let sorted: Vec<_> = sorter.finish().unwrap().map(Result::unwrap).collect();
            let mut expected = rows;
            expected.sort();
            prop_assert_eq!(sorted, expected);
        }
    }
}
