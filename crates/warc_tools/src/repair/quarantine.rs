//! Quarantine: the bytes that are not records. `OUT.quarantine` holds them one after the other.
//! `OUT.quarantine.jsonl` has a line for each piece, with its place in the input, the reason, and
//! its place in the first file.
//!
//! Neither file is created if it would be empty.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;
use warc::Span;

use crate::error::{WriteError, io_error};
use crate::temp_file;

/// A piece of a file that is not a record, or is not certain to be one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QuarantinedPiece {
    /// Its offset in the input, in stored bytes.
    pub offset: u64,
    /// Number of stored bytes of the input that contain it.
    pub length: u64,
    /// One of the words in [`warc::reason`].
    pub reason: &'static str,
    /// What was found.
    pub detail: String,
    /// Its offset in the quarantine file.
    pub at: u64,
    /// Its length in the quarantine file, in bytes.
    pub bytes: u64,
    /// Whether it is decoded, being a part of a compressed member.
    pub decoded: bool,
}

/// Collects the pieces.
pub(super) struct Quarantine {
    paths: [PathBuf; 2],
    input: File,
    file: Option<NamedTempFile>,
    hasher: Sha256,
    pieces: Vec<QuarantinedPiece>,
    written_bytes: u64,
}

/// Both files, as temporary files.
#[derive(Debug)]
pub(super) struct TempFiles {
    paths: [PathBuf; 2],
    files: Option<[NamedTempFile; 2]>,
    digest: [u8; 32],
}

pub(super) fn paths(out: &Path) -> [PathBuf; 2] {
    let with = |end: &str| {
        let mut name = OsString::from(out);
        name.push(end);
        PathBuf::from(name)
    };
    [with(".quarantine"), with(".quarantine.jsonl")]
}

impl Quarantine {
    /// Creates a quarantine for `out` that takes bytes from `input`.
    pub(super) fn new(out: &Path, input: File) -> Result<Quarantine, WriteError> {
        Ok(Quarantine {
            paths: paths(out),
            input,
            file: None,
            hasher: Sha256::new(),
            pieces: Vec::new(),
            written_bytes: 0,
        })
    }

    /// Adds stored bytes of the input.
    pub(super) fn stored(
        &mut self,
        span: Span,
        reason: &'static str,
        detail: &str,
    ) -> Result<(), WriteError> {
        let mut piece = vec![0; 1 << 20];
        let mut at = span.offset;
        while at < span.end() {
            let wanted = (span.end() - at).min(piece.len() as u64) as usize;
            let read = self
                .input
                .read_at(&mut piece[..wanted], at)
                .map_err(self.unread())?;
            if read == 0 {
                return Err(self.unread()(io::Error::from(io::ErrorKind::UnexpectedEof)));
            }
            self.push(&piece[..read])?;
            at += read as u64;
        }
        self.note(span, reason, detail, span.length, false);
        Ok(())
    }

    /// Adds decoded bytes from within `span`.
    pub(super) fn decoded(
        &mut self,
        span: Span,
        bytes: &[u8],
        reason: &'static str,
        detail: &str,
    ) -> Result<(), WriteError> {
        self.push(bytes)?;
        self.note(span, reason, detail, bytes.len() as u64, true);
        Ok(())
    }

    /// Reads bytes of the input.
    pub(super) fn read(&self, span: Span) -> Result<Vec<u8>, WriteError> {
        let mut bytes = vec![0; span.length as usize];
        self.input
            .read_exact_at(&mut bytes, span.offset)
            .map_err(self.unread())?;
        Ok(bytes)
    }

    fn unread(&self) -> impl Fn(io::Error) -> WriteError + use<> {
        io_error("read the input again for", &self.paths[0])
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(temp_file::temporary(&self.paths[0])?),
        };
        file.write_all(bytes).map_err(io_error("write", &self.paths[0]))?;
        self.hasher.update(bytes);
        Ok(())
    }

    fn note(&mut self, span: Span, reason: &'static str, detail: &str, bytes: u64, decoded: bool) {
        self.pieces.push(QuarantinedPiece {
            offset: span.offset,
            length: span.length,
            reason,
            detail: detail.to_owned(),
            at: self.written_bytes,
            bytes,
            decoded,
        });
        self.written_bytes += bytes;
    }

    /// Finishes writing.
    pub(super) fn finish(self) -> Result<(TempFiles, Vec<QuarantinedPiece>), WriteError> {
        let files = match self.file {
            Some(file) => {
                file.as_file()
                    .sync_all()
                    .map_err(io_error("sync", &self.paths[0]))?;
                Some([file, list(&self.pieces, &self.paths[1])?])
            }
            None => None,
        };
        let written = TempFiles {
            paths: self.paths,
            files,
            digest: self.hasher.finalize().into(),
        };
        Ok((written, self.pieces))
    }
}

fn list(pieces: &[QuarantinedPiece], path: &Path) -> Result<NamedTempFile, WriteError> {
    let failed = io_error("write", path);
    let mut lines = Vec::new();
    for piece in pieces {
        serde_json::to_writer(&mut lines, piece).map_err(|error| failed(error.into()))?;
        lines.push(b'\n');
    }
    let mut file = temp_file::temporary(path)?;
    file.write_all(&lines).map_err(&failed)?;
    file.as_file().sync_all().map_err(&failed)?;
    Ok(file)
}

impl TempFiles {
    /// Reads the written bytes again and compares them.
    pub(super) fn verify(&self) -> Result<(), WriteError> {
        let Some([file, _]) = &self.files else {
            return Ok(());
        };
        let failed = io_error("read again", &self.paths[0]);
        let mut file = file.reopen().map_err(&failed)?;
        file.seek(SeekFrom::Start(0)).map_err(&failed)?;
        let mut hasher = Sha256::new();
        let mut piece = vec![0; 1 << 20];
        loop {
            match file.read(&mut piece).map_err(&failed)? {
                0 => break,
                bytes => hasher.update(&piece[..bytes]),
            }
        }
        let found: [u8; 32] = hasher.finalize().into();
        if found == self.digest {
            Ok(())
        } else {
            Err(WriteError::NotTheSame {
                path: self.paths[0].display().to_string(),
                number: 0,
                detail: "the content of the quarantine differs".to_owned(),
            })
        }
    }

    /// Renames the files to their paths, and returns these.
    pub(super) fn put(self, replaces: bool) -> Result<Vec<PathBuf>, WriteError> {
        let mut named: Vec<PathBuf> = Vec::new();
        let Some(files) = self.files else { return Ok(named) };
        for (file, path) in files.into_iter().zip(&self.paths) {
            if let Err(error) = temp_file::put(file, path, replaces) {
                for path in named.iter().filter(|_| !replaces) {
                    let _ = std::fs::remove_file(path);
                }
                return Err(error);
            }
            named.push(path.clone());
        }
        Ok(named)
    }
}
