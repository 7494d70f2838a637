//! Sizes on the disk.

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
    /// What all files in it take, in bytes: less than their length where a journal is not filled yet.
    pub(crate) bytes: u64,
}

/// Returns what all files below `path`, or `path` itself, take on the disk, in bytes.
pub(crate) fn bytes(path: &Path) -> io::Result<u64> {
    let metadata = fs::symlink_metadata(path)?;
    if !metadata.is_dir() {
        return Ok(metadata.blocks() * BLOCK_BYTES);
    }
    fs::read_dir(path)?.map(|entry| bytes(&entry?.path())).sum()
}

/// The entries of a folder, largest first.
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
