//! Receives content into a temporary file, and reads it from there.
//!
//! If the body ends early (an error, a full disk, a caller that disconnects), the file is removed.
//! An upload uses the memory of the pieces of three chunks of [`CHUNK_BYTES`] and the block table.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use store_protocol::{
    BlockHasher, ByteStream, ContentBlocks, HashedContent, Receipt, UploadId, UploadRead, VolumeError,
};

use super::chunk::{CHUNK_BYTES, Chunk};
use super::inner::{Inner, blocking};
use super::names::staging_path;
use super::read;
use super::uploads::{Progress, Received};
use crate::io::DiskFile;
use crate::replica;

/// Receives content into a temporary file. Its blocks are hashed here unless the caller does that.
pub(super) async fn receive(
    inner: &Arc<Inner>,
    upload: UploadId,
    body: ByteStream,
    blocks: Option<ContentBlocks>,
) -> Result<Receipt, VolumeError> {
    // `gather` polls once more after the end, which not every stream allows.
    let mut body: ByteStream = Box::pin(body.fuse());
    let is_hashed = blocks.is_some();
    let begin = move |inner: &Arc<Inner>| Receiving::begin(inner, upload, is_hashed);
    let mut receiving = blocking(inner.clone(), begin).await?;
    let mut next = gather(&mut body).await?;
    while let Some(pieces) = next {
        // One piece is written while the next one is received.
        let writing = blocking(inner.clone(), move |_| receiving.write(&pieces));
        let (written, gathered) = futures_util::future::join(writing, gather(&mut body)).await;
        receiving = written?;
        next = gathered?;
    }
    let hashed = match blocks {
        None => None,
        Some(blocks) => {
            let cut_short = || VolumeError::Body("the content was cut short".to_owned());
            Some(blocks.await.ok_or_else(cut_short)?)
        }
    };
    blocking(inner.clone(), move |_| receiving.finish(hashed)).await
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

/// Returns the next pieces of a body, together about [`CHUNK_BYTES`]; `None` at its end.
async fn gather(body: &mut ByteStream) -> Result<Option<Vec<Bytes>>, VolumeError> {
    let (mut pieces, mut bytes) = (Vec::new(), 0);
    while bytes < CHUNK_BYTES {
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
    /// `None` if the caller hashes the content.
    hasher: Option<BlockHasher>,
    size: u64,
    /// `None` while the whole content is less than a chunk.
    chunk: Option<Chunk>,
    finished: bool,
}

impl Receiving {
    fn begin(inner: &Arc<Inner>, upload: UploadId, is_hashed: bool) -> Result<Self, VolumeError> {
        inner.require_room()?;
        let file = inner.create_upload(upload)?;
        Ok(Self {
            inner: inner.clone(),
            upload,
            file,
            hasher: (!is_hashed).then(BlockHasher::default),
            size: 0,
            chunk: None,
            finished: false,
        })
    }

    fn write(mut self, pieces: &[Bytes]) -> Result<Self, VolumeError> {
        self.inner.require_room()?;
        let bytes: usize = pieces.iter().map(Bytes::len).sum();
        if self.chunk.is_none() && (self.size > 0 || bytes >= CHUNK_BYTES) {
            self.chunk = Some(Chunk::at(replica::CONTENT_AT + self.size));
        }
        for piece in pieces {
            let written = match &mut self.chunk {
                Some(chunk) => chunk.add(piece, self.file.as_ref()),
                None => self.file.write_at(piece, replica::CONTENT_AT + self.size),
            };
            written.map_err(|error| self.inner.write_failed(self.upload, &error))?;
            if let Some(hasher) = &mut self.hasher {
                hasher.update(piece);
            }
            self.size += piece.len() as u64;
        }
        Ok(self)
    }

    /// Writes the rest of the content. `hashed` is given if the caller has hashed it.
    fn finish(mut self, hashed: Option<Arc<HashedContent>>) -> Result<Receipt, VolumeError> {
        let inner = &self.inner;
        let rest = self.chunk.as_mut().map(|chunk| chunk.write(self.file.as_ref()));
        rest.unwrap_or(Ok(()))
            .and_then(|()| inner.disk.step("stage.received"))
            .map_err(|error| inner.write_failed(self.upload, &error))?;
        let (table, blake3) = match (hashed, self.hasher.take()) {
            (Some(hashed), _) => (hashed.table.clone(), hashed.blake3),
            (None, hasher) => hasher.unwrap_or_default().finish(),
        };
        let (file, size) = (self.file.clone(), self.size);
        self.finished = true;
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
