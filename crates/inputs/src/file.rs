//! Opens local files. Only regular files are opened, because reading anything else may block
//! forever.

use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Opens a regular file for reading.
///
/// # Errors
/// The error of the system if the file cannot be opened. [`ErrorKind::InvalidInput`] with the kind
/// of the file if it is not a regular file.
pub fn open_file(path: &Path) -> io::Result<File> {
    // Check before opening: opening a pipe without a writer blocks forever, and opening some
    // devices moves their tape.
    check(&fs::metadata(path)?)?;
    // The name may have been given to another file since the check; this flag keeps opening it from
    // blocking.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32)
        .open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

/// Distinguishes versions of a file without reading it. Writing to a file or renaming it changes
/// its version. This is not proof: within one tick of the file system's clock, or if a clock is
/// deliberately set back, the version may stay the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileVersion {
    device: u64,
    inode: u64,
    size: u64,
    /// Seconds and nanoseconds of the last change of the content.
    modified: (i64, i64),
    /// Seconds and nanoseconds of the last change of content, name or permissions. Programs cannot
    /// set it.
    changed: (i64, i64),
}

impl FileVersion {
    /// Returns the present version of an open file.
    pub fn of(file: &File) -> io::Result<FileVersion> {
        let now = file.metadata()?;
        Ok(FileVersion {
            device: now.dev(),
            inode: now.ino(),
            size: now.size(),
            modified: (now.mtime(), now.mtime_nsec()),
            changed: (now.ctime(), now.ctime_nsec()),
        })
    }
}

/// Opens a file to be read once from front to back: a regular file, or one that this process
/// inherited open (`/dev/stdin`, or `/dev/fd/63` from a shell's `<(...)`), which has a writer and
/// so does not block forever.
pub(super) fn open_stream(path: &Path) -> io::Result<File> {
    if is_inherited(path) {
        File::open(path)
    } else {
        open_file(path)
    }
}

/// Returns whether a path names a file that this process inherited open.
pub(super) fn is_inherited(path: &Path) -> bool {
    let folders = ["/dev/stdin", "/dev/fd", "/proc/self/fd"];
    folders.iter().any(|folder| path.starts_with(folder))
}

fn check(metadata: &Metadata) -> io::Result<()> {
    match irregular(metadata.file_type()) {
        Some(what) => Err(io::Error::new(ErrorKind::InvalidInput, not_regular(what))),
        None => Ok(()),
    }
}

/// Returns the message for an input that is `what` instead of a regular file.
pub(super) fn not_regular(what: &str) -> String {
    format!("not a regular file but {what}")
}

/// Returns a phrase for the kind of a file; `None` for a regular file.
pub(super) fn irregular(kind: FileType) -> Option<&'static str> {
    match kind {
        kind if kind.is_file() => None,
        kind if kind.is_dir() => Some("a folder"),
        kind if kind.is_fifo() => Some("a named pipe"),
        kind if kind.is_socket() => Some("a socket"),
        kind if kind.is_block_device() || kind.is_char_device() => Some("a device"),
        _ => Some("something else"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_without_a_writer_is_refused_at_once() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("pipe.warc");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
        for open in [open_file, open_stream] {
            let error = open(&path).unwrap_err();
            assert_eq!(error.to_string(), "not a regular file but a named pipe");
        }
        let error = open_file(Path::new("/dev/null")).unwrap_err();
        assert_eq!(error.to_string(), "not a regular file but a device");
    }
}
