//! Files below a directory: their space on disk, and the system's page cache of them.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Advice, fadvise};

/// Returns the disk space of files and folders below a directory, in bytes.
///
/// # Errors
/// The directory cannot be read. Files removed in the meantime are not an error.
pub fn space_bytes(dir: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    walk(dir, &mut |_, meta| {
        bytes += meta.blocks() * 512;
        Ok(())
    })?;
    Ok(bytes)
}

/// Writes back the cached pages of the files below a directory, and drops them from the page cache.
///
/// # Errors
/// The files cannot be read or written.
pub fn forget_pages(dir: &Path) -> anyhow::Result<()> {
    walk(dir, &mut |path, meta| {
        if meta.is_file() {
            let file = File::open(path)?;
            file.sync_data()?;
            fadvise(&file, 0, None, Advice::DontNeed)?;
        }
        Ok(())
    })
}

fn walk(
    dir: &Path,
    visit: &mut dyn FnMut(&Path, &std::fs::Metadata) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let Ok(meta) = entry.metadata() else { continue };
        visit(&entry.path(), &meta)?;
        if meta.is_dir() {
            walk(&entry.path(), visit)?;
        }
    }
    Ok(())
}
