//! The node's own files: `node/` in the directory of each of its volumes. Formats:
//! `docs/format-cluster.md`.
//!
//! Invariant: a file holds its old or its new text at any time, whatever crashes. [`replace`]
//! returns once the new text is durable.
//!
//! Crash points of [`replace`]: before the rename the file has the old text (and there is a
//! temporary file, which the next `replace` removes); after it the old or the new text, each whole;
//! after the sync of the directory the new one.

#![expect(
    clippy::disallowed_methods,
    reason = "this module writes the node's own files durably"
)]

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use store_protocol::VolumeId;
use volume::{DiskVolume, NODE_DIR};

/// Why a file of the node is on none of its volumes, or not on one of them.
#[derive(Debug, thiserror::Error)]
pub enum NodeFileError {
    /// The directory is not this volume: its disk may be unmounted.
    #[error("{0} is not volume {1} at present")]
    OtherDirectory(PathBuf, VolumeId),
    /// The file cannot be written.
    #[error("write {0}: {1}")]
    Write(PathBuf, io::Error),
    /// No volume got the file, each for its own reason.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Everywhere(Vec<NodeFileError>),
}

/// Calls `write` for every volume that is present, to write its file of this name. One success is
/// enough; the other failures are logged.
pub(super) fn write_to_any(
    places: &[(VolumeId, PathBuf)],
    name: &str,
    write: impl Fn(&VolumeId, &Path) -> io::Result<()>,
) -> Result<(), NodeFileError> {
    let write_if_there = |(volume, dir): &(VolumeId, PathBuf)| {
        if !is_volume(dir, volume) {
            return Some(NodeFileError::OtherDirectory(dir.clone(), volume.clone()));
        }
        let error = write(volume, dir).err()?;
        Some(NodeFileError::Write(path_of(dir, name), error))
    };
    let failures: Vec<_> = places.iter().filter_map(write_if_there).collect();
    if failures.len() == places.len() && !places.is_empty() {
        return Err(NodeFileError::Everywhere(failures));
    }
    failures.iter().for_each(|failure| tracing::warn!("{failure}"));
    Ok(())
}

/// Returns whether a directory identifies itself as this volume. If it does not, a disk may have
/// been unmounted, and nothing must be written there.
pub(super) fn is_volume(dir: &Path, volume: &VolumeId) -> bool {
    DiskVolume::id_in(dir).is_ok_and(|id| id.as_ref() == Some(volume))
}

/// Returns the path of a file of the node on a volume.
pub(super) fn path_of(volume: &Path, name: &str) -> PathBuf {
    volume.join(NODE_DIR).join(name)
}

/// Replaces the content of a file with `value`, durably. Only its owner can read the file.
pub(super) fn replace(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    make_dir(dir)?;
    let temporary = path.with_extension("json.new");
    // A crash may have left one behind, and `write_private` refuses a file that exists.
    match remove(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    write_private(&temporary, &serde_json::to_vec_pretty(value)?)?;
    fs::rename(&temporary, path)?;
    // A rename is durable only after its directory is synced.
    File::open(dir)?.sync_all()
}

/// Removes a file. After a crash it may reappear.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)
}

/// Returns the content of a file, or `None` if it does not exist.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    match fs::read(path) {
        Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes and syncs a new file that only its owner may read.
pub(super) fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = system::private::file().write(true).create_new(true).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Makes a directory that only its owner may read, and syncs its parent. The parent must exist: if
/// a volume's own directory is gone, a disk may have been unmounted, and nothing must be written to
/// the disk below.
pub(super) fn make_dir(dir: &Path) -> io::Result<()> {
    match system::private::create_dir(dir) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Err(_) => Ok(()),
        Ok(()) => {
            let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty());
            File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
        }
    }
}
