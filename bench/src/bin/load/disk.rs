//! Sizes on disk.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Unit of `st_blocks` (stat(2)).
const BLOCK_BYTES: u64 = 512;

/// One entry of an archive's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// Its name.
    pub(crate) name: String,
    /// Disk space of all files in it, in bytes. Less than their length if a journal is not filled
    /// yet.
    pub(crate) bytes: u64,
}

/// Returns the disk space of `path` and all files below it, in bytes.
pub(crate) fn bytes(path: &Path) -> io::Result<u64> {
    let metadata = fs::symlink_metadata(path)?;
    if !metadata.is_dir() {
        return Ok(metadata.blocks() * BLOCK_BYTES);
    }
    fs::read_dir(path)?.map(|entry| bytes(&entry?.path())).sum()
}

/// Returns the entries of a folder, largest first.
pub(crate) fn parts(folder: &Path) -> io::Result<Vec<Part>> {
    let mut parts = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        parts.push(Part {
            name,
            bytes: bytes(&entry.path())?,
        });
    }
    parts.sort_by_key(|part| std::cmp::Reverse(part.bytes));
    Ok(parts)
}
