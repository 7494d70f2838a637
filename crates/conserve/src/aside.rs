//! Writes a file aside, under another name in the same folder, and puts it in its place when it is proved.
//!
//! Every step may be the last one: until the file has its name, nothing under that name is new, and what lies aside
//! begins with `.weft-warc-`. It is removed unless the process is killed.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use warc::{Compression, Writer};

use crate::Each;
use crate::error::WriteError;
use crate::proof::Proof;

/// Number of bytes that are written at once.
const BUFFER_BYTES: usize = 1 << 20;

/// Begins the names of files that are not in their place yet.
pub(crate) const PREFIX: &str = ".weft-warc-";

/// A file that is being written aside.
pub(crate) struct Aside {
    file: NamedTempFile,
    out: PathBuf,
}

/// A file of records that was written aside and is not proved.
#[derive(Debug)]
pub struct Written {
    file: NamedTempFile,
    out: PathBuf,
    proof: Proof,
}

/// A file that was read again and has the records that it has to have.
#[derive(Debug)]
pub struct Proved {
    file: NamedTempFile,
    out: PathBuf,
}

impl Aside {
    /// Makes the file for `out`, in its folder.
    pub(crate) fn new(out: &Path) -> Result<Aside, WriteError> {
        let file = temporary(out)?;
        Ok(Aside {
            file,
            out: out.to_owned(),
        })
    }

    /// The errors of writing.
    pub(crate) fn failed(&self) -> impl Fn(io::Error) -> WriteError + use<> {
        io_error("write", &self.out)
    }

    /// A writer of records to the file.
    pub(crate) fn writer(&mut self, compression: Compression) -> Result<Writer<impl Write + '_>, WriteError> {
        let failed = self.failed();
        let buffered = BufWriter::with_capacity(BUFFER_BYTES, self.file.as_file_mut());
        Writer::new(buffered, compression).map_err(failed)
    }

    /// Ends writing. What was written has to have the records of `proof`.
    pub(crate) fn finish(self, proof: Proof) -> Result<Written, WriteError> {
        self.file
            .as_file()
            .sync_all()
            .map_err(io_error("sync", &self.out))?;
        Ok(Written {
            file: self.file,
            out: self.out,
            proof,
        })
    }
}

impl Written {
    /// Size of the file in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.file
            .as_file()
            .metadata()
            .map_or(0, |metadata| metadata.len())
    }

    /// Where it will be.
    pub(crate) fn out(&self) -> &Path {
        &self.out
    }

    /// Number of records written.
    pub fn records(&self) -> u64 {
        self.proof.records()
    }

    /// Reads the file again, and compares each of its records with what it has to be. `each` is told how far it was
    /// read, and ends it by returning false.
    ///
    /// # Errors
    /// [`WriteError::NotTheSame`], [`WriteError::Read`], [`WriteError::Stopped`]. The file is removed then.
    pub fn prove(self, each: &mut Each<'_>) -> Result<Proved, WriteError> {
        let failed = io_error("read again", &self.out);
        let file = self.file.reopen().map_err(failed)?;
        self.proof.compare(Box::new(file), &self.out, each)?;
        Ok(Proved {
            file: self.file,
            out: self.out,
        })
    }
}

impl Proved {
    /// Gives the file its name. A file of that name is replaced if `replaces`.
    ///
    /// # Errors
    /// [`WriteError::Exists`]; [`WriteError::Io`].
    pub fn put(self, replaces: bool) -> Result<(), WriteError> {
        put(self.file, &self.out, replaces)
    }
}

/// Makes a file for `out`, in its folder.
pub(crate) fn temporary(out: &Path) -> Result<NamedTempFile, WriteError> {
    // As other files are made: within what the mask of the process allows.
    tempfile::Builder::new()
        .prefix(PREFIX)
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder_of(out))
        .map_err(io_error("write", out))
}

/// Gives a file its name, durably.
pub(crate) fn put(file: NamedTempFile, out: &Path, replaces: bool) -> Result<(), WriteError> {
    let named = match replaces {
        true => file.persist(out).map(drop),
        false => file.persist_noclobber(out).map(drop),
    };
    named.map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => WriteError::Exists { path: out.to_owned() },
        _ => io_error("name", out)(error.error),
    })?;
    sync_folder(out)
}

/// Makes the names in the folder of a file durable.
pub(crate) fn sync_folder(out: &Path) -> Result<(), WriteError> {
    let failed = || io_error("sync the folder of", out);
    let folder = File::open(folder_of(out)).map_err(failed())?;
    folder.sync_all().map_err(failed())
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

pub(crate) fn io_error(what: &'static str, path: &Path) -> impl Fn(io::Error) -> WriteError + use<> {
    let path = path.to_owned();
    move |source| WriteError::Io {
        what,
        path: path.clone(),
        source,
    }
}
