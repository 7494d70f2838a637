//! Receives content into a temporary file, and reads it from there.
//!
//! If the body ends early (an error, a full disk, a caller that disconnects), the file is removed.
//! An upload uses the memory of two pieces of [`PIECE_BYTES`] and the block table.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use store_protocol::{BLOCK_BYTES, BlockHasher, ByteStream, Receipt, UploadId, UploadRead, VolumeError};

use super::inner::{Inner, blocking};
use super::names::staging_path;
use super::read;
use super::uploads::{Progress, Received};
use crate::io::DiskFile;
use crate::replica;

/// Approximate length in bytes of the pieces in which content is hashed and written: one block.
pub(super) const PIECE_BYTES: usize = BLOCK_BYTES as usize;

/// Receives content into a temporary file.
pub(super) async fn receive(
    inner: &Arc<Inner>,
    upload: UploadId,
    body: ByteStream,
) -> Result<Receipt, VolumeError> {
    // `gather` polls once more after the end, which not every stream allows.
    let mut body: ByteStream = Box::pin(body.fuse());
    let mut receiving = blocking(inner.clone(), move |inner| Receiving::begin(inner, upload)).await?;
    let mut next = gather(&mut body).await?;
    while let Some(pieces) = next {
        // One piece is written while the next one is received.
        let writing = blocking(inner.clone(), move |_| receiving.write(&pieces));
        let (written, gathered) = futures_util::future::join(writing, gather(&mut body)).await;
        receiving = written?;
        next = gathered?;
    }
    blocking(inner.clone(), move |_| receiving.finish()).await
}

/// Opens the content of an upload. Every piece read counts as activity.
pub(super) fn read_upload(inner: &Arc<Inner>, upload: UploadId) -> Result<UploadRead, VolumeError> {
    inner.index()?;
    let size = inner
        .uploads
        .size(upload)
        .ok_or_else(|| inner.missing(format!("the content of upload {upload}")))?;
    let path = staging_path(&inner.root, upload);
    let bytes = inner
        .disk
        .open(&path)
        .and_then(|file| read::content(file, 0..size, &inner.threads))
        .map_err(|error| inner.failed(format!("read {}", path.display()), &error))?;
    let active = inner.clone();
    Ok(UploadRead {
        size,
        bytes: Box::pin(bytes.inspect(move |_| active.uploads.touch(upload))),
    })
}

/// Returns the next pieces of a body, together about [`PIECE_BYTES`]; `None` at its end.
async fn gather(body: &mut ByteStream) -> Result<Option<Vec<Bytes>>, VolumeError> {
    let (mut pieces, mut bytes) = (Vec::new(), 0);
    while bytes < PIECE_BYTES {
        let Some(piece) = body.next().await else {
            break;
        };
        let piece = piece.map_err(|error| VolumeError::Body(error.to_string()))?;
        bytes += piece.len();
        pieces.push(piece);
    }
    Ok((!pieces.is_empty()).then_some(pieces))
}

/// An upload whose content is being received. Dropping it before the end removes its file.
struct Receiving {
    inner: Arc<Inner>,
    upload: UploadId,
    file: Arc<dyn DiskFile>,
    hasher: BlockHasher,
    finished: bool,
}

impl Receiving {
    fn begin(inner: &Arc<Inner>, upload: UploadId) -> Result<Self, VolumeError> {
        inner.require_room()?;
        let file = inner.create_upload(upload)?;
        Ok(Self {
            inner: inner.clone(),
            upload,
            file,
            hasher: BlockHasher::default(),
            finished: false,
        })
    }

    fn write(mut self, pieces: &[Bytes]) -> Result<Self, VolumeError> {
        self.inner.require_room()?;
        for piece in pieces {
            let at = replica::CONTENT_AT + self.hasher.size();
            self.file
                .write_at(piece, at)
                .map_err(|error| self.inner.write_failed(self.upload, &error))?;
            self.hasher.update(piece);
        }
        Ok(self)
    }

    fn finish(mut self) -> Result<Receipt, VolumeError> {
        let inner = &self.inner;
        inner
            .disk
            .step("stage.received")
            .map_err(|error| inner.write_failed(self.upload, &error))?;
        let hasher = std::mem::take(&mut self.hasher);
        let size = hasher.size();
        let (table, blake3) = hasher.finish();
        self.finished = true;
        let file = self.file.clone();
        inner.uploads.set(
            self.upload,
            Progress::Received(Received {
                file,
                table,
                size,
                blake3,
            }),
        );
        Ok(Receipt { size, blake3 })
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        let (inner, upload) = (self.inner.clone(), self.upload);
        let discard = move || inner.discard(upload);
        // Removing a long file takes a while, so it does not run on a runtime thread.
        match tokio::runtime::Handle::try_current() {
            Ok(_) => drop(system::blocking(discard)),
            Err(_) => discard(),
        }
    }
}
