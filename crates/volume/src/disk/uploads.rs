//! Uploads: content that arrives in a temporary file, which becomes a replica when it is prepared.
//!
//! Invariants:
//!  - an upload is known under its name from its first byte until it is committed, given up, or an hour
//!    without activity;
//!  - what is prepared for a write is never given up by itself, and is found again after a crash
//!    ([`recover`]): the process that decides the key may count on it;
//!  - any other end (a body's error, a full disk, a caller that goes away) removes the file;
//!  - memory for one upload is two pieces of [`PIECE_BYTES`] and the block table.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use contract::{
    Abandon, BLOCK_BYTES, BlockHasher, BlockTable, ByteStream, Key, Meta, Pending, Purpose, Receipt,
    UploadId, UploadRead, Version, VolumeError, block_count,
};
use futures_util::StreamExt;
use invariant::{Broken, holds};
use parking_lot::Mutex;

use super::index::Index;
use super::inner::{Inner, blocking, named};
use super::io::{DiskFile, Space};
use super::life::is_gone;
use super::names::staging_path;
use super::read;
use super::verify::bad_blocks;
use crate::replica;

/// Content is hashed and written in pieces of about this length, in bytes: one block.
const PIECE_BYTES: usize = BLOCK_BYTES as usize;

/// An upload without activity for this long is given up. Clients' own time limits are minutes.
const IDLE_MAX: Duration = Duration::from_secs(60 * 60);

/// Content is accepted only while more than this is free (or an eighth of a small file system, where that is
/// less). The rest is kept for tombstones, the index and the fixity log, without which a full volume could
/// not even delete.
const RESERVE_BYTES: u64 = 64 << 20;

/// Number of finished uploads that are remembered, for callers that ask again because an answer was lost.
const COMMITTED_KEPT: usize = 4096;

/// The uploads of a volume.
#[derive(Default)]
pub(super) struct Uploads(Mutex<Known>);

#[derive(Default)]
struct Known {
    uploads: BTreeMap<UploadId, Upload>,
    /// Uploads prepared for a write and not committed yet, including those that are being committed.
    pending: BTreeMap<(Key, UploadId), Meta>,
    committed: VecDeque<UploadId>,
}

struct Upload {
    progress: Progress,
    touched: Instant,
}

impl Known {
    /// Ends an upload that was committed, or lost to a later one: only its name is kept.
    fn end(&mut self, upload: UploadId) {
        self.uploads.remove(&upload);
        self.pending.retain(|(_, pending), _| *pending != upload);
        self.committed.push_back(upload);
        if self.committed.len() > COMMITTED_KEPT {
            self.committed.pop_front();
        }
        debug_assert!(
            self.pending
                .keys()
                .all(|(_, pending)| self.uploads.contains_key(pending)),
            "something is pending of an upload that has ended: {:?}",
            self.pending.keys()
        );
    }
}

impl Upload {
    fn is_prepared(&self) -> bool {
        matches!(self.progress, Progress::Prepared(_))
    }
}

/// How far an upload is.
enum Progress {
    /// Content arrives, or the file is being completed or moved.
    Busy,
    Received(Received),
    Prepared(Prepared),
}

/// Content that has arrived whole.
struct Received {
    file: Arc<dyn DiskFile>,
    table: BlockTable,
    size: u64,
    blake3: [u8; 32],
}

/// A whole replica under a temporary name, synced.
#[derive(Clone)]
pub(super) struct Prepared {
    pub(super) meta: Meta,
    pub(super) file_bytes: u64,
    purpose: Purpose,
}

impl Uploads {
    /// Returns the number of uploads known at this moment.
    pub(super) fn count(&self) -> u64 {
        self.0.lock().uploads.len() as u64
    }

    fn set(&self, upload: UploadId, progress: Progress) {
        let touched = ambient::now();
        let mut known = self.0.lock();
        if let Progress::Prepared(Prepared {
            meta,
            purpose: Purpose::Write,
            ..
        }) = &progress
        {
            known.pending.insert((meta.key.clone(), upload), meta.clone());
        }
        known.uploads.insert(upload, Upload { progress, touched });
    }

    /// Returns the newest version of a key that is prepared for a write.
    pub(super) fn pending(&self, key: &Key) -> Option<Pending> {
        let known = self.0.lock();
        let of_key = known
            .pending
            .range((key.clone(), UploadId(0))..=(key.clone(), UploadId(u128::MAX)));
        let (newest, meta) = of_key.max_by_key(|(_, meta)| meta.version)?;
        Some(Pending {
            upload: newest.1,
            meta: meta.clone(),
        })
    }

    /// Takes out the prepared uploads of a key that are older than a version that was committed. They count
    /// as committed from then on: a late commit of one returns `Ok`, as if the two had come one after the
    /// other. An upload that is being committed at this moment stays, and finds out by itself that it is too
    /// old.
    pub(super) fn supersede(&self, key: &Key, version: Version) -> Vec<UploadId> {
        let mut known = self.0.lock();
        let of_key = known
            .pending
            .range((key.clone(), UploadId(0))..=(key.clone(), UploadId(u128::MAX)));
        let older = of_key.filter(|(_, meta)| meta.version < version);
        let mut uploads: Vec<_> = older.map(|((_, upload), _)| *upload).collect();
        uploads.retain(|upload| known.uploads.get(upload).is_some_and(Upload::is_prepared));
        for upload in &uploads {
            known.end(*upload);
        }
        uploads
    }

    /// Returns the keys that begin with `prefix` and have something pending.
    pub(super) fn unsettled(&self, prefix: &str) -> Vec<Key> {
        let known = self.0.lock();
        let keys = known.pending.keys().map(|(key, _)| key);
        let mut keys: Vec<_> = keys
            .filter(|key| key.as_str().starts_with(prefix))
            .cloned()
            .collect();
        // Keys come in order, so equal ones are neighbours.
        keys.dedup();
        keys
    }

    /// Reserves the name of an upload; returns false if it is taken.
    fn reserve(&self, upload: UploadId) -> bool {
        let mut known = self.0.lock();
        if known.uploads.contains_key(&upload) {
            return false;
        }
        let (progress, touched) = (Progress::Busy, ambient::now());
        known.uploads.insert(upload, Upload { progress, touched });
        true
    }

    /// Takes an upload's progress and leaves it busy.
    fn take(&self, upload: UploadId) -> Option<Progress> {
        let mut known = self.0.lock();
        let entry = known.uploads.get_mut(&upload)?;
        entry.touched = ambient::now();
        Some(std::mem::replace(&mut entry.progress, Progress::Busy))
    }

    /// Returns the length of the content, in bytes, of an upload that has been received.
    fn size(&self, upload: UploadId) -> Option<u64> {
        match &self.0.lock().uploads.get(&upload)?.progress {
            Progress::Busy => None,
            Progress::Received(received) => Some(received.size),
            Progress::Prepared(prepared) => Some(prepared.meta.size),
        }
    }

    /// Notes that an upload is in use.
    fn touch(&self, upload: UploadId) {
        if let Some(entry) = self.0.lock().uploads.get_mut(&upload) {
            entry.touched = ambient::now();
        }
    }

    fn forget(&self, upload: UploadId) {
        let mut known = self.0.lock();
        known.uploads.remove(&upload);
        known.pending.retain(|(_, pending), _| *pending != upload);
    }

    /// Forgets an upload that was committed; its name is remembered.
    pub(super) fn committed(&self, upload: UploadId) {
        self.0.lock().end(upload);
    }

    /// Whether an upload was committed lately.
    pub(super) fn was_committed(&self, upload: UploadId) -> bool {
        self.0.lock().committed.contains(&upload)
    }

    /// Returns the uploads that nobody works on and nobody touched for [`IDLE_MAX`].
    fn idle(&self, now: Instant) -> Vec<UploadId> {
        let known = self.0.lock();
        let is_ours = |progress: &Progress| match progress {
            Progress::Busy => false,
            Progress::Received(_) => true,
            Progress::Prepared(prepared) => prepared.purpose == Purpose::Copy,
        };
        let idle = |entry: &Upload| {
            is_ours(&entry.progress) && now.saturating_duration_since(entry.touched) >= IDLE_MAX
        };
        let found = known.uploads.iter().filter(|(_, entry)| idle(entry));
        found.map(|(upload, _)| *upload).collect()
    }
}

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
        // One piece is written while the next one comes.
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
        .ok_or_else(|| inner.missing(format!("upload {upload}, received")))?;
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

/// An upload whose content arrives. If it is dropped before its end, its file is removed.
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

/// Only content that is what its description says becomes a replica, with a digest for each of its blocks.
fn check_whole(meta: &Meta, received: &Received) -> Result<(), Broken> {
    let blocks = received.table.values().len() as u64;
    holds!(
        "volume.digests",
        (meta.deleted || received.blake3 == meta.digests.blake3)
            && received.size == meta.size
            && blocks == block_count(meta.size),
        "{}: {} bytes in {blocks} blocks were received, {} described",
        named(meta),
        received.size,
        meta.size
    );
    Ok(())
}

impl Drop for Receiving {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        let (inner, upload) = (self.inner.clone(), self.upload);
        let discard = move || inner.discard(upload);
        // Removing a long file takes a while, so it does not run on a thread that serves others.
        match tokio::runtime::Handle::try_current() {
            Ok(_) => drop(ambient::blocking(discard)),
            Err(_) => discard(),
        }
    }
}

impl Inner {
    pub(super) fn prepare(&self, upload: UploadId, meta: &Meta, purpose: Purpose) -> Result<(), VolumeError> {
        self.index()?;
        let received = match self.uploads.take(upload) {
            Some(Progress::Received(received)) => received,
            // The caller asks again because the answer was lost.
            Some(Progress::Prepared(prepared)) if prepared.meta == *meta => {
                self.uploads.set(upload, Progress::Prepared(prepared));
                return Ok(());
            }
            None if meta.deleted => self.receive_nothing(upload)?,
            None => return Err(self.missing(format!("upload {upload}"))),
            Some(Progress::Prepared(prepared)) => {
                self.uploads.set(upload, Progress::Prepared(prepared));
                return Err(self.misused(upload, "is prepared with other meta"));
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

    pub(super) fn abort(&self, upload: UploadId, what: Abandon) {
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

    /// Puts back what could not be committed: it stays prepared, unless its file is gone.
    pub(super) fn not_committed(&self, upload: UploadId, prepared: Prepared) {
        if self.disk.stat(&staging_path(&self.root, upload)).is_ok() {
            self.uploads.set(upload, Progress::Prepared(prepared));
        } else {
            self.uploads.forget(upload);
        }
    }

    /// Finds the uploads that were prepared when the volume was closed: whole replicas with every block
    /// right, newer than what the volume holds of the key. Everything else in `staging/` is removed.
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
        // The file may have been read from memory that never reached the disk; from now on others rely on it.
        file.sync().ok()?;
        Some(Prepared {
            meta: replica.meta,
            file_bytes: replica.file_bytes,
            purpose: Purpose::Write,
        })
    }

    /// Takes a prepared upload to be committed.
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

    /// Removes what is left of an upload.
    pub(super) fn discard(&self, upload: UploadId) {
        let path = staging_path(&self.root, upload);
        if let Err(error) = self.disk.remove(&path)
            && !is_gone(&error)
        {
            tracing::warn!(path = %path.display(), %error, "a temporary file stays until the volume is opened again");
        }
        self.uploads.forget(upload);
    }

    /// Gives up uploads that nobody finishes.
    pub(super) fn expire_uploads(&self, now: Instant) {
        for upload in self.uploads.idle(now) {
            tracing::info!(volume = %self.id, %upload, "an upload was given up after an hour without activity");
            self.discard(upload);
        }
    }

    /// Creates a temporary file; the upload is known from now on.
    fn create_upload(&self, upload: UploadId) -> Result<Arc<dyn DiskFile>, VolumeError> {
        self.index()?;
        if !self.uploads.reserve(upload) {
            return Err(self.misused(upload, "is there already"));
        }
        let path = staging_path(&self.root, upload);
        let created = self.disk.create(&path).or_else(|error| {
            if !is_gone(&error) {
                return Err(error);
            }
            // The directory may have been wiped, or the disk unmounted.
            self.look_after_directories()?;
            self.disk.create(&path)
        });
        created.map_err(|error| {
            self.uploads.forget(upload);
            self.write_failed(upload, &error)
        })
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

    /// Writes everything around the content, and the content itself if it is not there yet; then syncs the
    /// file.
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
        // The name is synced too: what is prepared outlives a crash.
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

    /// Notes that an upload is prepared, or removes it.
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

    /// Refuses content when the volume is nearly full.
    pub(super) fn require_room(&self) -> Result<(), VolumeError> {
        let space = match self.disk.space(&self.root) {
            Ok(space) => space,
            Err(error) => {
                // The directory may have been removed.
                self.look_after_identity();
                self.index()?;
                return Err(self.failed("look at the room left", &error));
            }
        };
        let reserve = reserve_bytes(&space);
        if space.free_bytes >= reserve {
            return Ok(());
        }
        Err(VolumeError::Full {
            volume: self.id.clone(),
            detail: format!(
                "{} bytes are free, {reserve} are kept in reserve",
                space.free_bytes
            ),
        })
    }

    fn write_failed(&self, upload: UploadId, error: &io::Error) -> VolumeError {
        self.failed(format!("write upload {upload}"), error)
    }

    fn misused(&self, upload: UploadId, detail: &str) -> VolumeError {
        VolumeError::Failed {
            volume: self.id.clone(),
            detail: format!("upload {upload} {detail}"),
        }
    }
}

/// Returns the upload that a file in `staging/` is named for.
fn parse_upload(name: &str) -> Option<UploadId> {
    let upload = UploadId(u128::from_str_radix(name, 16).ok()?);
    (upload.to_string() == name).then_some(upload)
}

/// Returns the number of bytes of a file system that content must leave free.
pub(super) fn reserve_bytes(space: &Space) -> u64 {
    RESERVE_BYTES.min(space.capacity_bytes / 8)
}

/// Writes the parts of a file one after the other; small parts share one call.
fn write_in_one(file: &dyn DiskFile, parts: [&[u8]; 3]) -> io::Result<()> {
    if parts[1].len() <= PIECE_BYTES {
        return file.write_at(&parts.concat(), 0);
    }
    let mut at = 0;
    for part in parts {
        file.write_at(part, at)?;
        at += part.len() as u64;
    }
    Ok(())
}
