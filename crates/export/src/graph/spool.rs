//! Rows in order that can be read several times: in memory while there are few, then in an unnamed
//! temporary file.

use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

use tempfile::SpooledTempFile;

use super::error::GraphError;

/// Bytes of rows in memory before they move to a file.
const MEMORY_BYTES: usize = 4 << 20;

pub(super) struct Spool {
    dir: PathBuf,
    file: SpooledTempFile,
}

/// A spool that is being filled.
pub(super) struct SpoolWriter {
    dir: PathBuf,
    out: BufWriter<SpooledTempFile>,
}

/// Converts a failure of a temporary file.
pub(super) fn scratch(dir: &Path) -> impl Fn(io::Error) -> GraphError + '_ {
    |source| GraphError::Scratch {
        dir: dir.display().to_string(),
        source,
    }
}

impl SpoolWriter {
    pub(super) fn new(dir: &Path) -> SpoolWriter {
        SpoolWriter {
            dir: dir.to_owned(),
            out: BufWriter::new(tempfile::spooled_tempfile_in(MEMORY_BYTES, dir)),
        }
    }

    /// Appends a row after its length (4 bytes, little-endian).
    pub(super) fn push(&mut self, row: &[u8]) -> Result<(), GraphError> {
        let length = (row.len() as u32).to_le_bytes();
        let put = self.out.write_all(&length).and_then(|()| self.out.write_all(row));
        put.map_err(scratch(&self.dir))
    }

    pub(super) fn finish(self) -> Result<Spool, GraphError> {
        let file = self.out.into_inner().map_err(io::IntoInnerError::into_error);
        Ok(Spool {
            file: file.map_err(scratch(&self.dir))?,
            dir: self.dir,
        })
    }
}

impl Spool {
    /// Calls `each` for every row.
    pub(super) fn for_each(
        &mut self,
        each: &mut dyn FnMut(&[u8]) -> Result<(), GraphError>,
    ) -> Result<(), GraphError> {
        self.file.rewind().map_err(scratch(&self.dir))?;
        let mut rows = BufReader::new(&mut self.file);
        let mut row = Vec::new();
        loop {
            let mut length = [0; 4];
            match rows.read_exact(&mut length) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                other => other.map_err(scratch(&self.dir))?,
            }
            row.resize(u32::from_le_bytes(length) as usize, 0);
            rows.read_exact(&mut row).map_err(scratch(&self.dir))?;
            each(&row)?;
        }
    }
}
