//! Opens databases without writing to their directories.
//!
//! The engines of the index, the search index and the catalogue of files write when they open a
//! database: locks, journals, lists of their files, sometimes a new format. So they get a separate
//! temporary directory (an overlay). Small files are copied to it. Tables and segments never change
//! after they are written, so they are linked. Deleting a file there deletes only a link, and added
//! files are removed with the overlay.
//!
//! Invariant: nothing in the original directory is written, created or removed. The links stay
//! valid while the caller holds a lock that is shared with other readers and excludes owners.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Directories of the index whose files never change.
const UNCHANGING: [&str; 2] = ["tables", "blobs"];

/// Hexadecimal digits at the beginning of the name of a search segment's file. Such files never
/// change.
const SEGMENT_DIGITS: usize = 32;

/// The directory that replaces index and search index while an archive is open. Dropping it removes
/// the directory.
#[derive(Debug)]
pub struct Overlay {
    folder: TempDir,
}

impl Overlay {
    /// Creates an overlay for those directories `names` that exist in the archive at `dir`.
    ///
    /// # Errors
    /// If the archive cannot be read, or the directory for temporary files cannot be written.
    pub fn over(dir: &Path, names: &[&str]) -> io::Result<Overlay> {
        let folder = tempfile::Builder::new().prefix("weft-read-only-").tempdir()?;
        for name in names {
            let from = dir.join(name);
            if from.is_dir() {
                lay(&from, &folder.path().join(name))?;
            }
        }
        Ok(Overlay { folder })
    }

    /// The path of the overlay, which contains the overlaid directories by name.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

fn lay(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    let unchanging = from
        .file_name()
        .is_some_and(|name| UNCHANGING.iter().any(|known| name == *known));
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target): (PathBuf, PathBuf) = (entry.path(), to.join(entry.file_name()));
        match entry.file_type()? {
            kind if kind.is_dir() => lay(&source, &target)?,
            kind if !kind.is_file() => {}
            _ if unchanging || is_of_segment(&entry.file_name()) => symlink(&source, &target)?,
            _ => copy(&source, &target).map_err(|error| named(&source, &error))?,
        }
    }
    Ok(())
}

fn is_of_segment(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.len() > SEGMENT_DIGITS
        && name[..SEGMENT_DIGITS].iter().all(u8::is_ascii_hexdigit)
        && name[SEGMENT_DIGITS] == b'.'
}

/// Adds the file to the error, and a remedy if the file is not readable.
fn named(file: &Path, error: &io::Error) -> io::Error {
    let remedy = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "; run a weft command as the owner of the archive (weft status), or chmod -R, to make its \
             files readable"
        }
        _ => "",
    };
    io::Error::new(error.kind(), format!("{}: {error}{remedy}", file.display()))
}

/// Copies a file without its permissions, because they may forbid writing.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    io::copy(&mut fs::File::open(from)?, &mut fs::File::create_new(to)?)?;
    Ok(())
}
