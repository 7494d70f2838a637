//! Opens a directory as a volume.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use store_protocol::{Cause, VolumeId};

use super::identity::Identity;
use super::index::Index;
use super::inner::Inner;
use super::life::{Life, LockError, lock};
use super::names::{DIRECTORIES, IDENTITY, INDEX, LOCK, NODE_DIR};
use super::reconcile::Reconciled;
use super::settings::DiskSettings;
use super::state_change::make_directories;
use crate::fixity;
use crate::fixity::FIXITY;
use crate::io::{Disk, Stat, is_gone, make_directory};

/// Why a directory could not be opened as a volume.
#[derive(Debug, thiserror::Error)]
pub enum OpenVolumeError {
    /// Another process has it open: end that process.
    #[error("volume {volume} at {path}: another process has it open")]
    Locked {
        /// The requested volume.
        volume: VolumeId,
        /// Its directory.
        path: PathBuf,
    },
    /// The directory belongs to another volume: correct the path.
    #[error("directory {path} is volume {found}, expected {expected}")]
    OtherVolume {
        /// The directory.
        path: PathBuf,
        /// Volume found there.
        found: VolumeId,
        /// The requested volume.
        expected: VolumeId,
    },
    /// The directory has other files in it: use an empty directory.
    #[error(
        "directory {path} is neither a volume nor empty: it contains {found:?}; specify an empty directory"
    )]
    NotEmpty {
        /// The directory.
        path: PathBuf,
        /// A name found there.
        found: String,
    },
    /// The disk failed.
    #[error("volume {volume}: cannot {verb} {path}: {source}")]
    Io {
        /// The requested volume.
        volume: VolumeId,
        /// The attempted operation.
        verb: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Files and index could not be compared.
    #[error("volume {volume}: {detail}")]
    Index {
        /// The requested volume.
        volume: VolumeId,
        /// The cause.
        detail: String,
    },
}

/// Opens the directory of `settings`, and makes it a volume if it is empty.
pub(super) fn open(
    settings: DiskSettings,
    reindex: bool,
) -> Result<(Arc<Inner>, Reconciled), OpenVolumeError> {
    let opening = Opening { settings };
    let stat = opening.directory()?;
    let (identity, found_empty) = opening.identity()?;
    let root = &opening.settings.path;
    let lock = lock(root).map_err(|error| match error {
        LockError::Held => OpenVolumeError::Locked {
            volume: opening.settings.id.clone(),
            path: root.clone(),
        },
        LockError::Failed(error) => opening.io_error("lock", &root.join(LOCK), error),
    })?;
    // The lock is held: nothing is written into a directory that another process has open.
    opening.complete(&identity, found_empty)?;
    if reindex {
        opening.remove_if_there(&root.join(INDEX))?;
    }
    let index =
        Index::open(&root.join(INDEX), &identity.incarnation).map_err(|error| opening.index_error(&error))?;
    let life = Life {
        state: identity.state(),
        identity,
        index: Arc::new(index),
        index_full: false,
        locks: vec![lock],
    };
    opening.start(stat, life, found_empty)
}

struct Opening {
    settings: DiskSettings,
}

impl Opening {
    fn disk(&self) -> &dyn Disk {
        self.settings.disk.as_ref()
    }

    /// Returns the attributes of the directory. Creates it durably if it does not exist.
    fn directory(&self) -> Result<Stat, OpenVolumeError> {
        let path = &self.settings.path;
        if let Err(error) = self.disk().stat(path)
            && is_gone(&error)
        {
            make_directory(self.disk(), path).map_err(|error| self.io_error("create", path, error))?;
            // The parent of a single name such as `volume` is empty, which means the current
            // directory.
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let parent = parent.unwrap_or(Path::new("."));
            self.disk()
                .sync_dir(parent)
                .map_err(|error| self.io_error("sync", parent, error))?;
        }
        // `.` follows a symbolic link: the device must be that of its target.
        let inside = path.join(".");
        self.disk()
            .stat(&inside)
            .map_err(|error| self.io_error("open directory", path, error))
    }

    /// Returns the identity of the directory, and whether the volume has lost its contents. The
    /// identity is new and not written yet if the directory is empty or has lost it.
    fn identity(&self) -> Result<(Identity, bool), OpenVolumeError> {
        let DiskSettings { path, id, .. } = &self.settings;
        let found =
            Identity::read(path).map_err(|error| self.io_error("read", &path.join(IDENTITY), error))?;
        if let Some(identity) = found {
            if identity.id == *id {
                return Ok((identity, false));
            }
            return Err(OpenVolumeError::OtherVolume {
                path: path.clone(),
                found: identity.id,
                expected: id.clone(),
            });
        }
        let names = self
            .disk()
            .list(path)
            .map_err(|error| self.io_error("list", path, error))?;
        if let Some(name) = names.iter().find(|name| !is_ours(name)) {
            return Err(OpenVolumeError::NotEmpty {
                path: path.clone(),
                found: name.clone(),
            });
        }
        let lost = self.settings.held_before || self.holds_partitions();
        Ok((Identity::new(id, system::wall_ms(), lost), lost))
    }

    /// Returns whether there are partitions. Without `volume.json` they show that a volume was
    /// here.
    fn holds_partitions(&self) -> bool {
        let names = self.disk().list(&self.settings.path.join("objects"));
        names.is_ok_and(|names| !names.is_empty())
    }

    /// Creates the missing directories, and writes the identity if it is new.
    fn complete(&self, identity: &Identity, found_empty: bool) -> Result<(), OpenVolumeError> {
        let root = &self.settings.path;
        make_directories(self.disk(), root)
            .map_err(|error| self.io_error("create the directories of the volume in", root, error))?;
        self.close_to_others();
        let written = Identity::read(root).is_ok_and(|found| found.as_ref() == Some(identity));
        if !written {
            tracing::info!(volume = %identity.id, path = %root.display(), found_empty, "creating a new volume");
            // The node's files precede `volume.json`, so every directory with an identity has them
            // (see `state_change`).
            if let Some(furnish) = &self.settings.write_node_files {
                furnish(root).map_err(|error| self.io_error("write the node's own files in", root, error))?;
            }
            self.disk()
                .step("volume.before_identity")
                .and_then(|()| identity.write(self.disk(), root))
                .map_err(|error| self.io_error("write", &root.join(IDENTITY), error))?;
        }
        Ok(())
    }

    fn start(
        &self,
        stat: Stat,
        life: Life,
        found_empty: bool,
    ) -> Result<(Arc<Inner>, Reconciled), OpenVolumeError> {
        let index = life.index.clone();
        let inner = Inner::new(self.settings.clone(), stat.device, life);
        inner
            .attach_fixity()
            .map_err(|error| self.io_error("open", &self.settings.path.join(FIXITY), error))?;
        if found_empty {
            let detail = "the directory of a volume that took part before was found without volume.json: it begins anew";
            let event = fixity::event("volume-wiped", &inner.id, None, Cause::Request, detail);
            inner.fixity.append(&event, true);
        }
        let found = inner
            .reconcile(&index)
            .and_then(|found| inner.recover(&index).map(|()| found))
            .map_err(|error| self.index_error(&error))?;
        Ok((inner, found))
    }

    /// Removes the permissions of other users that an earlier version granted. A closed directory
    /// also closes the files in it.
    fn close_to_others(&self) {
        let root = &self.settings.path;
        let files = [IDENTITY, INDEX, FIXITY, LOCK];
        for name in DIRECTORIES.iter().chain(&files).chain(&[NODE_DIR]) {
            let path = root.join(name);
            // Only the owner of a file can change its permissions, and may be another user.
            if let Err(error) = system::private::close(&path) {
                tracing::warn!(path = %path.display(), %error, "the permissions are left as they are");
            }
        }
    }

    fn remove_if_there(&self, path: &Path) -> Result<(), OpenVolumeError> {
        match self.disk().remove(path) {
            Err(error) if !is_gone(&error) => Err(self.io_error("remove", path, error)),
            _ => Ok(()),
        }
    }

    fn io_error(&self, verb: &'static str, path: &Path, source: io::Error) -> OpenVolumeError {
        OpenVolumeError::Io {
            volume: self.settings.id.clone(),
            verb,
            path: path.to_owned(),
            source,
        }
    }

    fn index_error(&self, error: &impl ToString) -> OpenVolumeError {
        OpenVolumeError::Index {
            volume: self.settings.id.clone(),
            detail: error.to_string(),
        }
    }
}

/// Returns the sign that a directory was a volume before; `None` if it shows no sign of use.
pub(super) fn sign_of_use(path: &Path) -> io::Result<Option<&'static str>> {
    if path.join(IDENTITY).try_exists()? {
        return Ok(Some("volume.json"));
    }
    match std::fs::read_dir(path.join("objects")) {
        Ok(mut objects) => Ok(objects.next().map(|_| "replicas in objects/")),
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns whether a name may occur in the directory of a volume.
fn is_ours(name: &str) -> bool {
    let files = [IDENTITY, "volume.json.new", INDEX, FIXITY, LOCK];
    DIRECTORIES.contains(&name) || files.contains(&name) || name == NODE_DIR
}
