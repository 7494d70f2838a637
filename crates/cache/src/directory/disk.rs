//! File operations of a directory, and handling of disk failures.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::index::EvictedBlock;
use super::new_block::{Effort, block_bytes};
use super::{DirectoryTier, LOOK_EVERY_BYTES, NewBlock, STRIPES};
use crate::block::{BlockKey, ObjectId, PIECE_BYTES, Pieces};
use crate::block_file::{self, Fault};
use crate::counts::add;
use crate::device::Gauge;
use crate::rules::Treatment;

impl DirectoryTier {
    /// Reads the wanted pieces of a block that are present and undamaged. Gives up after the
    /// timeout for this disk.
    pub(crate) async fn read(self: &Arc<Self>, key: BlockKey, wanted: u16, store: &Gauge) -> Option<Pieces> {
        {
            let mut state = self.state.lock();
            state.ring.touch(&key);
            if let Some(waiting) = state.waiting.get(&key)
                && waiting.mask() & wanted == wanted
            {
                return Some(waiting.clone());
            }
        }
        let bytes = u64::from(wanted.count_ones()) * PIECE_BYTES;
        let began = system::now();
        let tier = self.clone();
        let work = system::blocking(move || block_file::read(&tier.layout.block(&key), &key, wanted));
        let read_timeout = self.device.read_timeout(store, bytes);
        let fault = match tokio::time::timeout(read_timeout, work).await {
            Ok(Ok(Ok((pieces, mask)))) => {
                self.device.worked();
                self.device.reads.note(pieces.bytes(), system::since(began));
                self.device.compare(store);
                if let Some(block) = self.state.lock().blocks.get_mut(&key) {
                    block.mask.get_or_insert(mask);
                }
                return Some(pieces);
            }
            Ok(Ok(Err(fault))) => fault,
            // The thread panicked. Problems of the disk must not fail a read.
            Ok(Err(_)) => Fault::Io(io::Error::other("the reading thread panicked")),
            Err(_) => {
                add(&self.counts.slow_reads, 1);
                self.device.failed("it does not answer in time");
                return None;
            }
        };
        self.handle_fault(&key, fault);
        None
    }

    fn handle_fault(self: &Arc<Self>, key: &BlockKey, fault: Fault) {
        let counter = match &fault {
            // Removed by hand, with its object, or by another process.
            Fault::Gone => None,
            Fault::Unfinished => Some(&self.counts.unfinished_blocks),
            Fault::Corrupt(what) => {
                tracing::warn!(path = %self.layout.block(key).display(), what, "a block of the cache is damaged and is fetched again");
                Some(&self.counts.corrupt_blocks)
            }
            Fault::Io(error) => {
                tracing::warn!(path = %self.layout.block(key).display(), %error, "cannot read a block of the cache");
                self.device.failed("it fails");
                Some(&self.counts.io_errors)
            }
        };
        if let Some(counter) = counter {
            add(counter, 1);
        }
        self.remove_files_later(self.evict(&[*key]));
    }

    /// Removes files in the background, because the disk may hang.
    pub(super) fn remove_files_later(self: &Arc<Self>, gone: Vec<EvictedBlock>) {
        if !gone.is_empty() {
            let tier = self.clone();
            system::blocking(move || tier.remove_files(&gone));
        }
    }

    pub(super) fn write(&self, block: &NewBlock) {
        let _alone = self.stripe(block.key.object);
        let began = system::now();
        let path = self.layout.block(&block.key);
        let result = self
            .layout
            .make_object(&block.info)
            .and_then(|()| block_file::write(&path, &block.key, block.block_bytes, &block.pieces))
            .and_then(|mask| {
                if self.layout.is_guest() {
                    self.layout.record_change(&block.key).map(|()| mask)
                } else {
                    Ok(mask)
                }
            });
        let bytes = block.pieces.bytes();
        let is_wanted = {
            let mut state = self.state.lock();
            if let Some(waited) = state.waiting.remove(&block.key) {
                state.waiting_bytes -= waited.bytes();
                // Another part of the same block arrived meanwhile and is queued for its own write.
                let mut rest = Pieces::default();
                for (place, piece) in waited
                    .iter()
                    .filter(|(place, _)| block.pieces.get(*place).is_none())
                {
                    rest.set(place, piece.clone());
                }
                if rest.mask() != 0 {
                    state.waiting_bytes += rest.bytes();
                    state.waiting.insert(block.key, rest);
                }
            }
            match (&result, state.blocks.get_mut(&block.key)) {
                (Ok(mask), Some(known)) => {
                    known.mask = Some(*mask);
                    state.grow(block.key.object, bytes);
                    true
                }
                // Evicted during the write, or the write failed.
                _ => false,
            }
        };
        match result {
            Ok(_) => {
                self.device.worked();
                self.device.writes.note(bytes, system::since(began));
                add(&self.counts.stored_blocks, 1);
                add(&self.counts.stored_bytes, bytes);
                if !is_wanted {
                    let _ = self.layout.remove(&block.key, false);
                }
            }
            Err(error) => {
                drop(_alone);
                self.handle_write_error(&block.key, &error);
            }
        }
    }

    pub(super) fn handle_write_error(&self, key: &BlockKey, error: &io::Error) {
        if matches!(
            error.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
        ) {
            add(&self.counts.no_space, 1);
            let mut state = self.state.lock();
            // The present contents are taken as the capacity until the next check of the free
            // space.
            let used = state.ring.used();
            state.ring.set_capacity(used.saturating_sub(LOOK_EVERY_BYTES));
        } else {
            tracing::warn!(path = %self.layout.block(key).display(), %error, "cannot write a block of the cache");
            add(&self.counts.io_errors, 1);
            self.device.failed("it fails");
        }
        self.forget(&[*key]);
    }

    /// Reduces the capacity if the disk has less free space than required, and restores it later.
    pub(super) fn check_free_space(&self, bytes: u64) {
        let unlooked = self.unlooked.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let is_short = self.state.lock().ring.capacity() < self.quota;
        if unlooked < LOOK_EVERY_BYTES && !is_short {
            return;
        }
        self.unlooked.store(0, Ordering::Relaxed);
        let Ok(free) = self.layout.free_bytes() else {
            return;
        };
        let gone = {
            let mut state = self.state.lock();
            let used = state.ring.used();
            let may_use = (used + free)
                .saturating_sub(self.free_min)
                .saturating_sub(state.waiting_bytes);
            state.ring.set_capacity(may_use.min(self.quota));
            let gone = state.ring.shrink();
            state.evict(&gone)
        };
        add(&self.counts.evicted_blocks, gone.len() as u64);
        self.remove_files(&gone);
    }

    /// Reads the blocks that move to the next directory, before their files are removed.
    pub(super) fn read_demoted(&self, gone: &[EvictedBlock]) -> Vec<(EvictedBlock, Pieces)> {
        let read = |evicted: &EvictedBlock| {
            let (pieces, _) =
                block_file::read(&self.layout.block(&evicted.key), &evicted.key, u16::MAX).ok()?;
            Some((evicted.clone(), pieces))
        };
        gone.iter()
            .filter(|evicted| !evicted.is_timed)
            .filter_map(read)
            .collect()
    }

    pub(super) fn demote(&self, moved: Vec<(EvictedBlock, Pieces)>) {
        let Some(next) = &self.next else { return };
        for (evicted, pieces) in moved {
            let block = NewBlock {
                key: evicted.key,
                block_bytes: block_bytes(&evicted.key, &evicted.info),
                info: evicted.info,
                treatment: Arc::new(Treatment::for_demoted()),
                pieces,
                effort: Effort::Usual,
            };
            if next.layout.is_guest() || next.device.off().is_some() {
                return;
            }
            if let Some(gone) = next.admit(&block) {
                next.remove_files(&gone);
                next.write(&block);
                add(&self.counts.demoted_blocks, 1);
            }
        }
    }

    pub(super) fn stripe(&self, object: ObjectId) -> parking_lot::MutexGuard<'_, ()> {
        self.stripes[(object.0 % STRIPES as u128) as usize].lock()
    }

    pub(super) fn remove_files(&self, gone: &[EvictedBlock]) {
        for evicted in gone {
            let _alone = self.stripe(evicted.key.object);
            // It may have been added again meanwhile.
            let (is_back, is_object_back) = {
                let state = self.state.lock();
                (
                    state.blocks.contains_key(&evicted.key),
                    state.objects.contains_key(&evicted.key.object),
                )
            };
            if !is_back
                && let Err(error) = self
                    .layout
                    .remove(&evicted.key, evicted.with_object && !is_object_back)
            {
                add(&self.counts.io_errors, 1);
                tracing::warn!(path = %self.layout.block(&evicted.key).display(), %error, "cannot remove a block of the cache");
            }
        }
    }
}
