//! The temporary files of uploads in `staging/`: created, found again and removed.
//!
//! Prepared uploads are found again after a crash ([`Inner::recover`]).

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use store_protocol::{AbortScope, Purpose, UploadId, VolumeError};

use super::index::Index;
use super::inner::Inner;
use super::names::staging_path;
use super::uploads::{Prepared, Progress};
use super::verify::bad_blocks;
use crate::io::{DiskFile, is_gone};
use crate::replica;

impl Inner {
    /// Creates a temporary file and registers the upload.
    pub(super) fn create_upload(&self, upload: UploadId) -> Result<Arc<dyn DiskFile>, VolumeError> {
        self.index()?;
        if !self.uploads.reserve(upload) {
            return Err(self.misused(upload, "already exists"));
        }
        let path = staging_path(&self.root, upload);
        let created = self.disk.create(&path).or_else(|error| {
            if !is_gone(&error) {
                return Err(error);
            }
            // The directory may have been wiped, or the disk unmounted.
            self.check_directories()?;
            self.disk.create(&path)
        });
        created.map_err(|error| {
            self.uploads.forget(upload);
            self.write_failed(upload, &error)
        })
    }

    /// Takes a prepared upload, to commit it.
    pub(super) fn take_prepared(&self, upload: UploadId) -> Result<Prepared, VolumeError> {
        match self.uploads.take(upload) {
            Some(Progress::Prepared(prepared)) => Ok(prepared),
            None => Err(self.missing(format!("upload {upload}"))),
            Some(Progress::Busy) => Err(self.misused(upload, "is busy")),
            Some(received @ Progress::Received(_)) => {
                self.uploads.set(upload, received);
                Err(self.misused(upload, "is not prepared"))
            }
        }
    }

    /// Puts back an upload that could not be committed: it stays prepared, unless its file is gone.
    pub(super) fn not_committed(&self, upload: UploadId, prepared: Prepared) {
        if self.disk.stat(&staging_path(&self.root, upload)).is_ok() {
            self.uploads.set(upload, Progress::Prepared(prepared));
        } else {
            self.uploads.forget(upload);
        }
    }

    pub(super) fn abort(&self, upload: UploadId, what: AbortScope) {
        match self.uploads.take(upload) {
            None => {}
            // The thread that works on the upload ends it.
            Some(Progress::Busy) => {}
            Some(Progress::Prepared(prepared)) if !what.includes(&prepared.meta, prepared.purpose) => {
                self.uploads.set(upload, Progress::Prepared(prepared));
            }
            Some(Progress::Received(_) | Progress::Prepared(_)) => self.discard(upload),
        }
    }

    /// Removes the file and the state of an upload.
    pub(super) fn discard(&self, upload: UploadId) {
        let path = staging_path(&self.root, upload);
        if let Err(error) = self.disk.remove(&path)
            && !is_gone(&error)
        {
            tracing::warn!(path = %path.display(), %error, "cannot remove a temporary file; it stays until the volume is opened again");
        }
        self.uploads.forget(upload);
    }

    /// Discards abandoned uploads.
    pub(super) fn expire_uploads(&self, now: Instant) {
        for upload in self.uploads.idle(now) {
            tracing::info!(volume = %self.id, %upload, "an upload was discarded after an hour without activity");
            self.discard(upload);
        }
    }

    /// Finds the uploads that were prepared when the volume was closed: whole replicas with every
    /// block intact, newer than the volume's version of the key. Removes everything else in
    /// `staging/`.
    pub(super) fn recover(&self, index: &Index) -> Result<(), VolumeError> {
        let staging = self.root.join("staging");
        let names = self
            .disk
            .list(&staging)
            .map_err(|error| self.failed(format!("list {}", staging.display()), &error))?;
        for name in names {
            let path = staging.join(&name);
            let prepared = parse_upload(&name).and_then(|upload| Some((upload, self.found_prepared(&path)?)));
            let held = |prepared: &Prepared| index.get(&prepared.meta.key).ok().flatten();
            match prepared {
                Some((upload, prepared))
                    if held(&prepared).is_none_or(|held| held.meta.version < prepared.meta.version) =>
                {
                    self.uploads.set(upload, Progress::Prepared(prepared));
                }
                _ => self.remove_file(&path)?,
            }
        }
        Ok(())
    }

    fn found_prepared(&self, path: &Path) -> Option<Prepared> {
        let file = self.disk.open(path).ok()?;
        let replica = replica::read(file.as_ref()).ok()?;
        if !bad_blocks(file.as_ref(), &replica.table, replica.meta.size).is_empty() {
            return None;
        }
        // The file may have been read from a cache that never reached the disk, and other nodes
        // rely on it from now on.
        file.sync().ok()?;
        Some(Prepared {
            meta: replica.meta,
            file_bytes: replica.file_bytes,
            purpose: Purpose::Write,
        })
    }

    pub(super) fn write_failed(&self, upload: UploadId, error: &io::Error) -> VolumeError {
        self.failed(format!("write upload {upload}"), error)
    }

    pub(super) fn misused(&self, upload: UploadId, detail: &str) -> VolumeError {
        VolumeError::Failed {
            volume: self.id.clone(),
            detail: format!("upload {upload} {detail}"),
        }
    }
}

/// Parses the upload id from the name of a file in `staging/`.
fn parse_upload(name: &str) -> Option<UploadId> {
    let upload = UploadId(u128::from_str_radix(name, 16).ok()?);
    (upload.to_string() == name).then_some(upload)
}
