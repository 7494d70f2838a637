//! Sorts any number of rows of bytes: sorted runs in temporary files are merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Seek, Write};

/// Bytes of rows sorted in memory at a time.
const RUN_BYTES: usize = 32 << 20;

/// Memory of a row in addition to its bytes.
const ROW_BYTES: usize = size_of::<Vec<u8>>() + 16;

/// Collects rows in any order.
pub(crate) struct SortedRows {
    run: Vec<Vec<u8>>,
    run_bytes: usize,
    run_bytes_max: usize,
    runs: Vec<File>,
}

impl Default for SortedRows {
    fn default() -> SortedRows {
        SortedRows::of_runs(RUN_BYTES)
    }
}

impl SortedRows {
    fn of_runs(run_bytes_max: usize) -> SortedRows {
        SortedRows {
            run: Vec::new(),
            run_bytes: 0,
            run_bytes_max,
            runs: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, row: Vec<u8>) -> io::Result<()> {
        self.run_bytes += row.len() + ROW_BYTES;
        self.run.push(row);
        if self.run_bytes < self.run_bytes_max {
            Ok(())
        } else {
            self.end_run()
        }
    }

    /// Writes the run, each row after its length (4 bytes, little-endian).
    fn end_run(&mut self) -> io::Result<()> {
        // Equal rows are the same bytes, so their order does not matter.
        self.run.sort_unstable();
        let mut file = BufWriter::new(tempfile::tempfile()?);
        for row in self.run.drain(..) {
            let length = u32::try_from(row.len()).map_err(io::Error::other)?;
            file.write_all(&length.to_le_bytes())?;
            file.write_all(&row)?;
        }
        self.run_bytes = 0;
        let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        self.runs.push(file);
        Ok(())
    }

    /// Returns all rows in order.
    pub(crate) fn finish(mut self) -> io::Result<Rows> {
        self.end_run()?;
        let mut rows = Rows {
            runs: self.runs.into_iter().map(BufReader::new).collect(),
            heads: BinaryHeap::new(),
        };
        for run in 0..rows.runs.len() {
            rows.read_head(run)?;
        }
        Ok(rows)
    }
}

/// Rows in order. One row of each run is in memory.
pub(crate) struct Rows {
    runs: Vec<BufReader<File>>,
    /// The next row of each run that has one.
    heads: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
}

impl Rows {
    /// Returns the next row without removing it.
    pub(crate) fn peek(&self) -> Option<&[u8]> {
        self.heads.peek().map(|Reverse((row, _))| row.as_slice())
    }

    /// Removes and returns the next row.
    pub(crate) fn pop(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(Reverse((row, run))) = self.heads.pop() else {
            return Ok(None);
        };
        self.read_head(run)?;
        Ok(Some(row))
    }

    fn read_head(&mut self, run: usize) -> io::Result<()> {
        let mut length = [0; 4];
        match self.runs[run].read_exact(&mut length) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            other => other?,
        }
        let mut row = vec![0; u32::from_le_bytes(length) as usize];
        self.runs[run].read_exact(&mut row)?;
        self.heads.push(Reverse((row, run)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_in_order_whatever_the_runs() {
        for run_bytes in [1, 100, 333, 1 << 20] {
            let mut rows = SortedRows::of_runs(run_bytes);
            let mut expected: Vec<Vec<u8>> = (0..50_u64)
                .map(|n| vec![(n * 31 % 17) as u8; (n * 7 % 5) as usize])
                .collect();
            for row in &expected {
                rows.push(row.clone()).unwrap();
            }
            expected.sort_unstable();
            let mut rows = rows.finish().unwrap();
            let mut found = Vec::new();
            while let Some(next) = rows.peek().map(<[u8]>::to_vec) {
                assert_eq!(rows.pop().unwrap().as_ref(), Some(&next));
                found.push(next);
            }
            assert_eq!(found, expected, "runs of {run_bytes} bytes");
        }
    }
}
