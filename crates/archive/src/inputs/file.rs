//! Opening files of this machine: regular ones only, so that nothing is waited for that may never come.

use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Opens a regular file for reading.
///
/// # Errors
/// The system's error if the file cannot be opened; [`ErrorKind::InvalidInput`], naming what it is, if it is no regular file.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    // Opening alone waits for ever where a pipe has no writer, and moves the tape of some devices.
    check(&fs::metadata(path)?)?;
    // Something else may have taken the name since; without this flag its opening could wait all the same.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32)
        .open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

/// What tells one version of a file from another without reading it: writing to the file changes it, and so does renaming
/// it. It is no proof: within one tick of the file system's clock, or where a clock is set back on purpose, it may stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileVersion {
    device: u64,
    inode: u64,
    size: u64,
    /// Seconds and nanoseconds of the last change of the content.
    modified: (i64, i64),
    /// The same of the content, the name or the permissions; no program can set it.
    changed: (i64, i64),
}

impl FileVersion {
    /// The version that an open file has now.
    ///
    /// # Errors
    /// The system's error if the file cannot be looked at.
    pub(crate) fn of(file: &File) -> io::Result<FileVersion> {
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

/// Opens what is read once, from front to back: a regular file, or an input that this process was given open
/// (`/dev/stdin`, `/dev/fd/63` of a shell's `<(...)`), which has a writer.
pub(super) fn open_stream(path: &Path) -> io::Result<File> {
    let given_open = ["/dev/stdin", "/dev/fd", "/proc/self/fd"];
    match given_open.iter().any(|folder| path.starts_with(folder)) {
        true => File::open(path),
        false => open_file(path),
    }
}

fn check(metadata: &Metadata) -> io::Result<()> {
    match irregular(metadata.file_type()) {
        Some(what) => Err(io::Error::new(ErrorKind::InvalidInput, not_regular(what))),
        None => Ok(()),
    }
}

/// What is wrong with an input that is `what`.
pub(super) fn not_regular(what: &str) -> String {
    format!("not a regular file but {what}")
}

/// What a file is that is no regular one, in words; `None` for a regular one.
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
