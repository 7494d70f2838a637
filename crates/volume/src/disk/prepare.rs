//! Prepares an upload: turns the received content into a whole replica under a temporary name,
//! synced.

use std::io;

use bytes::Bytes;
use store_protocol::{BLOCK_BYTES, BlockHasher, Meta, Purpose, UploadId, VolumeError, block_count};
use system::{Broken, holds};

use super::chunk::Chunk;
use super::inner::{Inner, named};
use super::names::staging_path;
use super::uploads::{Prepared, Progress, Received};
use crate::io::DiskFile;
use crate::replica;

impl Inner {
    pub(super) fn prepare(&self, upload: UploadId, meta: &Meta, purpose: Purpose) -> Result<(), VolumeError> {
        self.index()?;
        let received = match self.uploads.take(upload) {
            Some(Progress::Received(received)) => received,
            // The caller retries because the answer was lost.
            Some(Progress::Prepared(prepared)) if prepared.meta == *meta => {
                self.uploads.set(upload, Progress::Prepared(prepared));
                return Ok(());
            }
            None if meta.deleted => self.receive_nothing(upload)?,
            None => return Err(self.missing(format!("upload {upload}"))),
            Some(Progress::Prepared(prepared)) => {
                self.uploads.set(upload, Progress::Prepared(prepared));
                return Err(self.misused(upload, "is prepared with different metadata"));
            }
            Some(Progress::Busy) => return Err(self.misused(upload, "is busy")),
        };
        let prepared = self
            .check_received(meta, received.size, received.blake3)
            .and_then(|()| self.complete(upload, meta, &received, None, purpose));
        self.settle(upload, prepared)
    }

    pub(super) fn prepare_whole(
        &self,
        upload: UploadId,
        meta: &Meta,
        content: &Bytes,
    ) -> Result<(), VolumeError> {
        self.require_room()?;
        let mut hasher = BlockHasher::default();
        hasher.update(content);
        let (table, blake3) = hasher.finish();
        let size = content.len() as u64;
        self.check_received(meta, size, blake3)?;
        let file = self.create_upload(upload)?;
        let received = Received {
            file,
            table,
            size,
            blake3,
        };
        let prepared = self.complete(upload, meta, &received, Some(content), Purpose::Write);
        self.settle(upload, prepared)
    }

    /// Creates the empty content of a tombstone, which may use the reserve.
    fn receive_nothing(&self, upload: UploadId) -> Result<Received, VolumeError> {
        let file = self.create_upload(upload)?;
        let (table, blake3) = BlockHasher::default().finish();
        Ok(Received {
            file,
            table,
            size: 0,
            blake3,
        })
    }

    fn check_received(&self, meta: &Meta, size: u64, blake3: [u8; 32]) -> Result<(), VolumeError> {
        if size != meta.size {
            return Err(self.corrupt(format!("length of {}", named(meta)), size, meta.size));
        }
        if blake3 != meta.digests.blake3 && !meta.deleted {
            let hex = |digest: &[u8; 32]| data_encoding::HEXLOWER.encode(digest);
            let what = format!("BLAKE3 of {}", named(meta));
            return Err(self.corrupt(what, hex(&blake3), hex(&meta.digests.blake3)));
        }
        Ok(())
    }

    /// Writes everything around the content, and the content itself if it is not written yet; then
    /// syncs the file.
    fn complete(
        &self,
        upload: UploadId,
        meta: &Meta,
        received: &Received,
        content: Option<&Bytes>,
        purpose: Purpose,
    ) -> Result<Prepared, VolumeError> {
        let write_failed = |error| self.write_failed(upload, &error);
        let head = replica::head(meta);
        let trailer = replica::trailer(meta, &received.table).map_err(write_failed)?;
        let trailer_at = replica::CONTENT_AT + received.size;
        let file = received.file.as_ref();
        match content {
            Some(content) => write_in_one(file, [&head, content, &trailer]),
            None => file
                .write_at(&trailer, trailer_at)
                .and_then(|()| file.write_at(&head, 0)),
        }
        .map_err(write_failed)?;
        check_whole(meta, received).map_err(|broken| self.broken(&broken))?;
        self.disk.step("prepare.before_sync").map_err(write_failed)?;
        file.sync()
            .map_err(|error| self.sync_failed(&staging_path(&self.root, upload), &error))?;
        // The name is synced too, so that a prepared upload survives a crash.
        let staging = self.root.join("staging");
        self.disk
            .sync_dir(&staging)
            .map_err(|error| self.sync_failed(&staging, &error))?;
        self.disk.step("prepare.after_sync").map_err(write_failed)?;
        Ok(Prepared {
            meta: meta.clone(),
            file_bytes: trailer_at + trailer.len() as u64,
            purpose,
        })
    }

    /// Marks an upload as prepared, or removes it.
    fn settle(&self, upload: UploadId, prepared: Result<Prepared, VolumeError>) -> Result<(), VolumeError> {
        match prepared {
            Ok(prepared) => {
                self.uploads.set(upload, Progress::Prepared(prepared));
                Ok(())
            }
            Err(error) => {
                self.discard(upload);
                Err(error)
            }
        }
    }
}

/// Checks that the content matches its description and that the table has a digest for each block.
fn check_whole(meta: &Meta, received: &Received) -> Result<(), Broken> {
    let blocks = received.table.values().len() as u64;
    holds!(
        "volume.digests",
        (meta.deleted || received.blake3 == meta.digests.blake3)
            && received.size == meta.size
            && blocks == block_count(meta.size),
        "{}: received {} bytes in {blocks} blocks, expected {} bytes",
        named(meta),
        received.size,
        meta.size
    );
    Ok(())
}

/// Writes the parts of a file one after the other, in one call if they are short. Longer content
/// does not pass through the cache.
fn write_in_one(file: &dyn DiskFile, parts: [&[u8]; 3]) -> io::Result<()> {
    if parts[1].len() as u64 <= BLOCK_BYTES {
        return file.write_at(&parts.concat(), 0);
    }
    let mut chunk = Chunk::at(0);
    for part in parts {
        chunk.add(part, file)?;
    }
    chunk.write(file)
}
