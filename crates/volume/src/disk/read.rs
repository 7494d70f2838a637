//! Reads blocks of a replica, whole or damaged, without verification. The reader compares every
//! block with the table, and the table with the digest of the object.
//!
//! No thread waits for a slow reader: each piece is read on demand, with a read-ahead of one. A
//! reader uses the memory of two blocks.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use store_protocol::{
    BLOCK_BYTES, BlockTable, ByteStream, Cause, Key, ReplicaRead, Version, VolumeError, block_count,
};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::index::Entry;
use super::inner::{Inner, named};
use super::names::{hash_of, replica_path};
use crate::io::{DiskFile, is_gone};
use crate::replica;
use crate::replica::CONTENT_AT;

impl Inner {
    pub(super) fn read(
        &self,
        key: &Key,
        version: Version,
        blocks: Range<u64>,
    ) -> Result<ReplicaRead, VolumeError> {
        let entry = self.entry(key, version)?;
        let (file, table) = self.open_replica(&entry)?;
        let size = entry.meta.size;
        let bytes =
            blocks.start.saturating_mul(BLOCK_BYTES)..blocks.end.saturating_mul(BLOCK_BYTES).min(size);
        if blocks.start >= block_count(size) || blocks.end <= blocks.start {
            let detail = format!(
                "read blocks {blocks:?} of the {} bytes of {}",
                size,
                named(&entry.meta)
            );
            return Err(self.failed(detail, &io::ErrorKind::InvalidInput.into()));
        }
        let bytes = content(file, bytes, &self.threads)
            .map_err(|error| self.failed(format!("read {}", named(&entry.meta)), &error))?;
        Ok(ReplicaRead {
            meta: entry.meta,
            table,
            bytes,
        })
    }

    /// Returns the index entry of a version.
    pub(super) fn entry(&self, key: &Key, version: Version) -> Result<Entry, VolumeError> {
        let found = self
            .index()?
            .get(key)
            .map_err(|error| self.index_failed(&error))?;
        found
            .filter(|entry| entry.meta.version == version)
            .ok_or_else(|| self.missing(format!("{key} at version {version}")))
    }

    /// Opens the file of a replica and returns its table as stored. The reader checks the root of
    /// the table, and uses the table of another replica if this one is damaged.
    fn open_replica(&self, entry: &Entry) -> Result<(Arc<dyn DiskFile>, Arc<BlockTable>), VolumeError> {
        let (hash, version) = (hash_of(&entry.meta.key), entry.meta.version);
        let path = replica_path(&self.root, &hash, version);
        let file = self.disk.open(&path).map_err(|error| {
            if is_gone(&error) {
                self.note_missing(&entry.meta.key, version, Cause::Read);
                return self.missing(named(&entry.meta));
            }
            self.failed(format!("open {}", path.display()), &error)
        })?;
        if let Some(table) = self.tables.get(hash, version) {
            return Ok((file, table));
        }
        let stored = replica::stored_table(file.as_ref(), entry.meta.size);
        let table = Arc::new(stored.unwrap_or_else(|_| BlockTable::from_values(Vec::new())));
        // A damaged table is not cached: it may have been repaired by the next read.
        if table.root() == Some(entry.meta.digests.blake3) {
            self.tables.keep(hash, version, table.clone());
        }
        Ok((file, table))
    }
}

/// Returns a range of the content as a stream. A range of at most one block is read immediately.
pub(super) fn content(
    file: Arc<dyn DiskFile>,
    bytes: Range<u64>,
    threads: &Arc<Semaphore>,
) -> io::Result<ByteStream> {
    if bytes.end.saturating_sub(bytes.start) <= BLOCK_BYTES {
        let piece = read_piece(file.as_ref(), &bytes)?;
        return Ok(Box::pin(stream::once(async move { Ok(piece) })));
    }
    let pieces = Pieces {
        file,
        left: bytes,
        coming: None,
        threads: threads.clone(),
    };
    Ok(Box::pin(stream::unfold(pieces, Pieces::next)))
}

/// The rest of the range, and the piece being read.
struct Pieces {
    file: Arc<dyn DiskFile>,
    left: Range<u64>,
    coming: Option<JoinHandle<io::Result<Bytes>>>,
    threads: Arc<Semaphore>,
}

impl Pieces {
    async fn next(mut self) -> Option<(io::Result<Bytes>, Self)> {
        let coming = self.coming.take().or_else(|| self.begin())?;
        // Starts the next read before waiting for this one: a read-ahead of one.
        self.coming = self.begin();
        let piece = coming.await.map_err(io::Error::other).and_then(|piece| piece);
        if piece.is_err() {
            // An error ends the stream.
            self.left = 0..0;
            self.coming = None;
        }
        Some((piece, self))
    }

    /// Starts reading the next piece; returns `None` at the end.
    fn begin(&mut self) -> Option<JoinHandle<io::Result<Bytes>>> {
        if self.left.is_empty() {
            return None;
        }
        let end = self.left.end.min(self.left.start + BLOCK_BYTES);
        let now = self.left.start..end;
        self.left.start = end;
        let (file, threads) = (self.file.clone(), self.threads.clone());
        Some(tokio::spawn(async move {
            let _permit = threads.acquire_owned().await;
            let reading = system::blocking(move || read_piece(file.as_ref(), &now));
            reading.await.map_err(io::Error::other)?
        }))
    }
}

/// Reads a range of the content, of at most one block.
pub(super) fn read_piece(file: &dyn DiskFile, bytes: &Range<u64>) -> io::Result<Bytes> {
    let length = bytes.end.saturating_sub(bytes.start).min(BLOCK_BYTES);
    // The length is at most a block, so it fits into `usize`.
    let mut piece = vec![0; length as usize];
    file.read_at(&mut piece, CONTENT_AT + bytes.start)?;
    Ok(piece.into())
}
