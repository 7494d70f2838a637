//! Writes a temporary file in the folder of the output, and renames it once its content is
//! verified.
//!
//! The process may be killed at any step: until the rename, nothing under the output's name has
//! changed. The names of temporary files begin with `.weft-warc-`. They are removed unless the
//! process is killed.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use warc::{Compression, Writer};

use crate::error::{WriteError, io_error};
use crate::progress::Progress;
use crate::record_digests::RecordDigests;
use crate::temp_file::{put, temporary};

/// Size of the write buffer in bytes.
const BUFFER_BYTES: usize = 1 << 20;

/// A temporary file that is being written.
pub(crate) struct TempOutput {
    file: NamedTempFile,
    out: PathBuf,
}

/// A temporary file of records that is written but not verified.
#[derive(Debug)]
pub struct UnverifiedFile {
    file: NamedTempFile,
    out: PathBuf,
    record_digests: RecordDigests,
}

/// A file that has been read again and has the expected records.
#[derive(Debug)]
pub struct Verified {
    file: NamedTempFile,
    out: PathBuf,
}

impl TempOutput {
    /// Creates the temporary file for `out`, in its folder.
    pub(crate) fn new(out: &Path) -> Result<TempOutput, WriteError> {
        let file = temporary(out)?;
        Ok(TempOutput {
            file,
            out: out.to_owned(),
        })
    }

    /// Returns a function that wraps write errors.
    pub(crate) fn failed(&self) -> impl Fn(io::Error) -> WriteError + use<> {
        io_error("write", &self.out)
    }

    /// Returns a writer of records to the file.
    pub(crate) fn writer(&mut self, compression: Compression) -> Result<Writer<impl Write + '_>, WriteError> {
        let failed = self.failed();
        let buffered = BufWriter::with_capacity(BUFFER_BYTES, self.file.as_file_mut());
        Writer::new(buffered, compression).map_err(failed)
    }

    /// Finishes writing. The file must have the records of `record_digests`.
    pub(crate) fn finish(self, record_digests: RecordDigests) -> Result<UnverifiedFile, WriteError> {
        self.file
            .as_file()
            .sync_all()
            .map_err(io_error("sync", &self.out))?;
        Ok(UnverifiedFile {
            file: self.file,
            out: self.out,
            record_digests,
        })
    }
}

impl UnverifiedFile {
    /// Returns the size of the file in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.file
            .as_file()
            .metadata()
            .map_or(0, |metadata| metadata.len())
    }

    /// Returns the path that the file will get.
    pub(crate) fn out(&self) -> &Path {
        &self.out
    }

    /// Returns the number of records written.
    pub fn records(&self) -> u64 {
        self.record_digests.records()
    }

    /// Reads the file again and compares each of its records with the expected one. `each` is
    /// called with the bytes read so far, and stops the work by returning false.
    ///
    /// # Errors
    /// [`WriteError::NotTheSame`], [`WriteError::Read`], [`WriteError::Stopped`]. The file is
    /// removed then.
    pub fn verify(self, each: &mut Progress<'_>) -> Result<Verified, WriteError> {
        let failed = io_error("read again", &self.out);
        let file = self.file.reopen().map_err(failed)?;
        self.record_digests.compare(Box::new(file), &self.out, each)?;
        Ok(Verified {
            file: self.file,
            out: self.out,
        })
    }
}

impl Verified {
    /// Renames the file to its path. An existing file is replaced only if `replaces`.
    ///
    /// # Errors
    /// [`WriteError::Exists`]; [`WriteError::Io`].
    pub fn put(self, replaces: bool) -> Result<(), WriteError> {
        put(self.file, &self.out, replaces)
    }
}
