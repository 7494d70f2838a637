//! Several files that are written to a temporary folder, verified and published together. The
//! folder is renamed in one step, so that either all files exist or none.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::{WriteError, io_error};
use crate::progress::Progress;
use crate::record_digests::RecordDigests;
use crate::temp_file::{PREFIX, folder_of, sync_folder};
use crate::temp_output::UnverifiedFile;

/// A temporary folder that is being filled.
pub(crate) struct Folder {
    dir: TempDir,
    out: PathBuf,
}

/// A folder of files that are written but not verified.
#[derive(Debug)]
pub struct WrittenFolder {
    dir: TempDir,
    out: PathBuf,
    files: Vec<UnverifiedFile>,
    /// Files that already have their final name in the folder.
    named: Vec<(PathBuf, RecordDigests)>,
}

/// A folder of files that have the expected records.
#[derive(Debug)]
pub struct VerifiedFolder {
    dir: TempDir,
    out: PathBuf,
}

impl Folder {
    /// Creates the temporary folder for `out`, next to it.
    pub(crate) fn new(out: &Path) -> Result<Folder, WriteError> {
        let dir = tempfile::Builder::new()
            .prefix(PREFIX)
            .permissions(Permissions::from_mode(0o777))
            .tempdir_in(folder_of(out))
            .map_err(io_error("write", out))?;
        Ok(Folder {
            dir,
            out: out.to_owned(),
        })
    }

    /// Returns the path in the folder for a file with the name of an input.
    pub(crate) fn name_of(&self, input: &Path, files: &[UnverifiedFile]) -> Result<PathBuf, WriteError> {
        let name = input.file_name().unwrap_or(input.as_os_str());
        let path = self.dir.path().join(name);
        if files.iter().any(|file| file.out() == path) {
            Err(WriteError::SameName {
                path: input.to_owned(),
            })
        } else {
            Ok(path)
        }
    }

    /// Returns the current path of the folder.
    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Finishes writing.
    pub(crate) fn finish(self, files: Vec<UnverifiedFile>) -> WrittenFolder {
        WrittenFolder {
            dir: self.dir,
            out: self.out,
            files,
            named: Vec::new(),
        }
    }

    /// Finishes writing of files that were written to the folder under their final names, and
    /// synced.
    pub(crate) fn finish_named(self, named: Vec<(PathBuf, RecordDigests)>) -> WrittenFolder {
        WrittenFolder {
            dir: self.dir,
            out: self.out,
            files: Vec::new(),
            named,
        }
    }
}

impl WrittenFolder {
    /// Returns the size of all files in bytes.
    pub fn size_bytes(&self) -> u64 {
        let named = self.named.iter().map(|(path, _)| size_of(path));
        self.files
            .iter()
            .map(UnverifiedFile::size_bytes)
            .chain(named)
            .sum()
    }

    /// Reads the files again and compares each of their records with the expected one. `each` is
    /// called with the bytes read so far, and stops the work by returning false.
    ///
    /// # Errors
    /// As [`UnverifiedFile::verify`].
    pub fn verify(self, each: &mut Progress<'_>) -> Result<VerifiedFolder, WriteError> {
        let mut before = 0;
        for file in self.files {
            let size_bytes = file.size_bytes();
            file.verify(&mut |at| each(before + at))?.put(false)?;
            before += size_bytes;
        }
        for (path, record_digests) in self.named {
            let file = File::open(&path).map_err(io_error("read again", &path))?;
            record_digests.compare(Box::new(file), &path, &mut |at| each(before + at))?;
            before += size_of(&path);
        }
        Ok(VerifiedFolder {
            dir: self.dir,
            out: self.out,
        })
    }
}

impl VerifiedFolder {
    /// Renames the folder to its path, durably. An existing folder must be empty.
    ///
    /// # Errors
    /// [`WriteError::FolderExists`]; [`WriteError::Io`].
    pub fn put(self) -> Result<(), WriteError> {
        let sync = || io_error("sync", &self.out);
        File::open(self.dir.path())
            .and_then(|dir| dir.sync_all())
            .map_err(sync())?;
        // The rename replaces only an empty folder (rename(2)), so no files are lost.
        fs::rename(self.dir.path(), &self.out).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists
            | io::ErrorKind::DirectoryNotEmpty
            | io::ErrorKind::NotADirectory => WriteError::FolderExists {
                path: self.out.clone(),
            },
            _ => io_error("rename the temporary folder to", &self.out)(error),
        })?;
        // The folder has been renamed, so there is nothing to remove.
        let _ = self.dir.keep();
        sync_folder(&self.out)
    }
}

fn size_of(path: &Path) -> u64 {
    path.metadata().map_or(0, |metadata| metadata.len())
}
