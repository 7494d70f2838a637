//! Weft's tier in the contest.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::ensure;
use async_trait::async_trait;
use bytes::Bytes;
use cache::{Cache, CachedOrigin, OriginError, User};
use contest::{BLOCK_BYTES, DiskTier, MEMORY_BYTES, Store, Task};

use crate::shared::{MadeUp, bytes, pieces, settings};

/// The object whose blocks are read.
const OBJECT: &str = "burst";

pub(crate) struct Ours {
    cache: Cache,
    origin: Arc<MadeUp>,
    reads: CachedOrigin,
}

impl Ours {
    async fn get(&self, block: u64) -> Result<Vec<Bytes>, OriginError> {
        let got = self
            .reads
            .get(OBJECT, bytes(block * BLOCK_BYTES, BLOCK_BYTES))
            .await?;
        pieces(got).await
    }
}

#[async_trait]
impl DiskTier for Ours {
    async fn open(task: &Task, store: Arc<Store>) -> anyhow::Result<Ours> {
        let directory = (task.dir.as_path(), task.quota_bytes());
        let cache = Cache::open(&settings(MEMORY_BYTES, Some(directory)), "bench")?;
        let origin = Arc::new(MadeUp::new(task.blocks, store));
        let reads = cache.origin_reader(origin.clone(), User::Sql);
        Ok(Ours { cache, origin, reads })
    }

    async fn read(&self, block: u64) -> anyhow::Result<Vec<Bytes>> {
        Ok(self.get(block).await?)
    }

    async fn find(&self, block: u64) -> anyhow::Result<Option<Vec<Bytes>>> {
        self.origin.is_closed.store(true, Ordering::Relaxed);
        Ok(self.get(block).await.ok())
    }

    async fn close(self, wait_max: Duration) -> anyhow::Result<Option<u64>> {
        ensure!(
            self.cache.wait_until_stored(wait_max).await,
            "the tier did not settle in time"
        );
        let stats = self.cache.stats();
        let lost = |directory: &cache::DirectoryStats| {
            let events = &directory.events;
            events.bypassed_blocks + events.refused_blocks + events.evicted_blocks + events.scan_blocks
        };
        Ok(Some(stats.directories.iter().map(lost).sum()))
    }
}
