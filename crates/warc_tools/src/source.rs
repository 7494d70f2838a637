//! An input to copy: returns its records one after the other, each complete, and skips nothing.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use warc::{Defect, Entry, Format, ReadError, Reader, ReaderSettings, Record, Span};

use crate::defects::loses;
use crate::error::WriteError;
use crate::record_digests;
use crate::temp_file::folder_of;

/// The beginning of a ZIP file with members.
const ZIP_MARK: [u8; 4] = *b"PK\x03\x04";

/// A file that is read, and must not change meanwhile.
pub(crate) struct Original {
    path: PathBuf,
    file: File,
    /// Size and modification time when it was opened.
    state: (u64, Option<SystemTime>),
}

impl Original {
    /// Opens a file.
    pub(crate) fn open(path: &Path) -> Result<Original, WriteError> {
        // Check the type before opening, because opening a pipe waits for a writer.
        if !path.metadata().map_err(unread(path))?.is_file() {
            return Err(unread(path)(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it is not a regular file",
            ))
            .into());
        }
        let file = File::open(path).map_err(unread(path))?;
        let state = state_of(&file).map_err(unread(path))?;
        // Records in a package can be found, but a copy would lose its index and its lists of pages.
        let mut beginning = [0; ZIP_MARK.len()];
        if file.read_exact_at(&mut beginning, 0).is_ok() && beginning == ZIP_MARK {
            return Err(WriteError::Package {
                path: path.display().to_string(),
            });
        }
        Ok(Original {
            path: path.to_owned(),
            file,
            state,
        })
    }

    /// Returns its path as text, for messages.
    pub(crate) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Returns a handle on the file, to read bytes of it.
    pub(crate) fn file(&self) -> Result<File, WriteError> {
        Ok(self.file.try_clone().map_err(unread(&self.path))?)
    }

    /// Returns a reader of its records. Large ones are kept in temporary files next to `out`.
    pub(crate) fn reader(&self, out: &Path) -> Result<Reader, WriteError> {
        Ok(record_digests::open(
            Box::new(self.file()?),
            &self.name(),
            folder_of(out),
        )?)
    }

    /// Returns the bytes from an offset on that are not a record, if there are any.
    pub(crate) fn quarantined_at(&self, offset: u64) -> Result<Option<Span>, WriteError> {
        let mut settings = ReaderSettings::default();
        settings.start_offset = offset;
        settings.body_bytes_max = 0;
        let mut reader = Reader::from_input(Box::new(self.file()?), &self.name(), settings)?;
        Ok(match reader.next_entry()? {
            Some(Entry::Quarantined(span, _)) if span.offset == offset => Some(span),
            _ => None,
        })
    }

    /// Fails if the file was changed since it was opened.
    pub(crate) fn check_unchanged(&self) -> Result<(), WriteError> {
        match state_of(&self.file) {
            Ok(state) if state == self.state => Ok(()),
            _ => Err(WriteError::Changed {
                path: self.path.clone(),
            }),
        }
    }
}

fn unread(path: &Path) -> impl Fn(io::Error) -> ReadError + use<> {
    let path = path.display().to_string();
    move |source| ReadError::Io {
        path: path.clone(),
        offset: 0,
        source,
    }
}

/// An undamaged input whose records are copied.
pub(crate) struct Source {
    original: Original,
    pub(crate) reader: Reader,
    out: PathBuf,
    /// Bytes without data: line ends between records, empty members.
    pub(crate) padding_bytes: u64,
}

impl Source {
    /// Opens a file. Large records are kept in temporary files next to `out`.
    pub(crate) fn open(path: &Path, out: &Path) -> Result<Source, WriteError> {
        let original = Original::open(path)?;
        Ok(Source {
            reader: original.reader(out)?,
            original,
            out: out.to_owned(),
            padding_bytes: 0,
        })
    }

    /// Like [`Source::open`], and verifies declared digests.
    pub(crate) fn open_verifying(path: &Path, out: &Path) -> Result<Source, WriteError> {
        let mut source = Source::open(path, out)?;
        let original = &source.original;
        let file = Box::new(original.file()?);
        source.reader = record_digests::open_with(file, &original.name(), folder_of(out), true)?;
        Ok(source)
    }

    /// Returns the next record, which a copy must include.
    ///
    /// # Errors
    /// [`WriteError::Damaged`] if the input has bytes that a copy of its records would lack.
    pub(crate) fn next(&mut self) -> Result<Option<Record>, WriteError> {
        loop {
            match self.reader.next_entry()? {
                Some(Entry::Record(record)) => {
                    if let Some(defect) = record.defects.iter().find(|defect| loses(defect)) {
                        return Err(self.damaged(record.span.offset, defect));
                    }
                    return Ok(Some(record));
                }
                Some(Entry::Quarantined(span, defect)) => return Err(self.damaged(span.offset, &defect)),
                Some(other) => self.padding_bytes += other.span().length,
                None => return Ok(None),
            }
        }
    }

    /// Returns the line ends that the format requires after a record. Those of ARC are copied,
    /// because the length of the first block of an ARC file often includes them.
    pub(crate) fn line_ends(&mut self, format: Format) -> Result<Vec<u8>, WriteError> {
        match format {
            Format::Arc(_) if self.reader.after_block_bytes() > 0 => {
                let mut line_ends = Vec::new();
                let keep = record_digests::keep(&self.out);
                let mut after = self.reader.after_block().map_err(&keep)?;
                after.read_to_end(&mut line_ends).map_err(&keep)?;
                Ok(line_ends)
            }
            Format::Arc(_) => Ok(b"\n".to_vec()),
            _ => Ok(b"\r\n\r\n".to_vec()),
        }
    }

    /// Fails if the file was changed since it was opened.
    pub(crate) fn check_unchanged(&self) -> Result<(), WriteError> {
        self.original.check_unchanged()
    }

    fn damaged(&self, offset: u64, defect: &Defect) -> WriteError {
        WriteError::Damaged {
            path: self.original.name(),
            offset,
            reason: defect.reason,
            detail: defect.detail.clone(),
        }
    }
}

fn state_of(file: &File) -> io::Result<(u64, Option<SystemTime>)> {
    let metadata = file.metadata()?;
    Ok((metadata.len(), metadata.modified().ok()))
}
