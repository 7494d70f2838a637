//! Several processes on one directory: the owner decides which blocks to evict. Guests write what
//! they fetched and report it to the owner.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustc_hash::FxHashSet;

use super::new_block::share;
use super::{DirectoryTier, GUEST_PART, OBJECT_SPACE, WAIT_MAX};
use crate::block::BlockKey;
use crate::counts::add;
use crate::layout::FoundBlock;
use crate::rules::Rules;

/// Interval between checks whether the owner has caught up.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

impl DirectoryTier {
    /// Returns whether more bytes may be written; false if the disk does not answer in time.
    pub(super) async fn may_write_soon(self: &Arc<Self>, bytes: u64) -> bool {
        let tier = self.clone();
        let looked = tokio::time::timeout(WAIT_MAX, system::blocking(move || tier.may_write(bytes))).await;
        match looked {
            Ok(Ok(may)) => may,
            Ok(Err(_)) => false,
            Err(_) => {
                self.device.failed("it does not answer in time");
                false
            }
        }
    }

    /// Returns whether more bytes may be written.
    fn may_write(&self, bytes: u64) -> bool {
        if !self.layout.is_guest() {
            self.check_free_space(bytes);
            return true;
        }
        // Blocks written by guests exceed the quota until the owner has made room for them.
        let limit = self.quota / GUEST_PART;
        if self.unlooked.load(Ordering::Relaxed).saturating_add(bytes) > limit {
            if !self.layout.has_no_changes() {
                return false;
            }
            self.unlooked.store(0, Ordering::Relaxed);
        }
        let free = self.layout.free_bytes().unwrap_or(0);
        let may = bytes <= limit && free > self.free_min.saturating_add(bytes);
        if may {
            self.unlooked.fetch_add(bytes, Ordering::Relaxed);
        }
        may
    }

    /// Waits until the owner has accounted for the writes of this guest. Returns whether more bytes
    /// may be written.
    pub(super) async fn owner_followed(self: &Arc<Self>, bytes: u64) -> bool {
        let began = system::now();
        while self.layout.is_guest() && system::since(began) < WAIT_MAX {
            tokio::time::sleep(LOOK_AGAIN).await;
            if self.may_write_soon(bytes).await {
                return true;
            }
        }
        false
    }

    /// Adds the blocks written by guests to the index.
    pub(crate) fn take_over(&self, rules: &Rules) {
        if self.layout.is_guest() {
            return;
        }
        for block in self.layout.take_changes() {
            let treatment = rules.of(&block.info.root, &block.info.path);
            let (share, weight) = (
                share(block.key.class, &treatment),
                block.space_bytes + OBJECT_SPACE,
            );
            let gone = {
                let mut state = self.state.lock();
                let is_new = !state.blocks.contains_key(&block.key);
                let Some(dropped) = state.ring.insert(block.key, weight, share, treatment.is_pinned) else {
                    drop(state);
                    add(&self.counts.refused_blocks, 1);
                    let _ = self.layout.remove(&block.key, false);
                    continue;
                };
                if is_new {
                    let expires_ms = treatment.ttl_ms.map(|ttl| block.written_ms.saturating_add(ttl));
                    state.enter(
                        block.key,
                        &block.info,
                        expires_ms,
                        None,
                        block.space_bytes,
                        treatment.is_pinned,
                    );
                } else if let Some(known) = state.blocks.get_mut(&block.key) {
                    // The file has the pieces of both writers, or only those of the later one. The
                    // next read shows which.
                    known.mask = None;
                }
                state.evict(&dropped)
            };
            add(&self.counts.evicted_blocks, gone.len() as u64);
            self.remove_files(&gone);
        }
    }

    /// Updates a guest's index from the files on disk.
    pub(crate) fn rescan(&self, rules: &Rules) {
        let Ok(found) = self.layout.scan() else { return };
        {
            let mut state = self.state.lock();
            let there: FxHashSet<BlockKey> = found.iter().map(|block| block.key).collect();
            let is_gone = |key: &&BlockKey| !there.contains(key) && !state.waiting.contains_key(key);
            let gone: Vec<BlockKey> = state.blocks.keys().filter(is_gone).copied().collect();
            for key in &gone {
                state.ring.remove(key);
            }
            state.evict(&gone);
        }
        let is_new = |block: &FoundBlock| !self.state.lock().blocks.contains_key(&block.key);
        self.restore(found.into_iter().filter(is_new).collect(), rules);
    }
}
