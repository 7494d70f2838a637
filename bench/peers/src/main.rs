//! Disk tiers of other projects for the comparison in `bench/cache`, which runs this program if it
//! is built: `cargo build --release -p peers`. It prints the figures as a line of JSON.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use async_trait::async_trait;
use bytes::Bytes;
use cacache::Algorithm;
use clap::{Parser, ValueEnum};
use contest::{DiskTier, MEMORY_BYTES, Store, Task};
use foyer::{BlockEngineConfig, DeviceBuilder, FsDeviceBuilder, HybridCache, HybridCacheBuilder};

/// Measures a disk tier.
#[derive(Debug, Parser)]
struct Args {
    /// Which one
    peer: Peer,
    #[command(flatten)]
    task: Task,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Peer {
    /// foyer's hybrid cache with default settings
    Foyer,
    /// The same with 4 flushers and 512 MiB for pending writes
    FoyerTuned,
    /// A file for each block, addressed by its content
    Cacache,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let figures = match args.peer {
        Peer::Foyer => contest::measure::<Foyer<false>>(&args.task).await?,
        Peer::FoyerTuned => contest::measure::<Foyer<true>>(&args.task).await?,
        Peer::Cacache => contest::measure::<Cacache>(&args.task).await?,
    };
    println!("{}", serde_json::to_string(&figures)?);
    Ok(())
}

struct Foyer<const TUNED: bool> {
    cache: HybridCache<u64, Bytes>,
    store: Arc<Store>,
}

/// Bytes of pending writes in the tuned configuration.
const WAITING_BYTES: usize = 512 << 20;
const FLUSHERS: usize = 4;

#[async_trait]
impl<const TUNED: bool> DiskTier for Foyer<TUNED> {
    async fn open(task: &Task, store: Arc<Store>) -> anyhow::Result<Self> {
        let device = FsDeviceBuilder::new(&task.dir)
            .with_capacity(task.quota_bytes() as usize)
            .build()?;
        let mut engine = BlockEngineConfig::new(device);
        if TUNED {
            engine = engine
                .with_flushers(FLUSHERS)
                .with_buffer_pool_size(WAITING_BYTES)
                .with_submit_queue_size_threshold(WAITING_BYTES);
        }
        let cache = HybridCacheBuilder::new()
            .memory(MEMORY_BYTES as usize)
            .with_weighter(|_, value: &Bytes| value.len())
            .storage()
            .with_engine_config(engine)
            .build()
            .await?;
        Ok(Foyer { cache, store })
    }

    async fn read(&self, block: u64) -> anyhow::Result<Vec<Bytes>> {
        let store = self.store.clone();
        let fetch = || async move {
            store.wait().await;
            anyhow::Ok(store.block(block))
        };
        let entry = self.cache.get_or_fetch(&block, fetch).await?;
        Ok(vec![entry.value().clone()])
    }

    async fn find(&self, block: u64) -> anyhow::Result<Option<Vec<Bytes>>> {
        let found = self.cache.get(&block).await?;
        Ok(found.map(|entry| vec![entry.value().clone()]))
    }

    async fn close(self, _: Duration) -> anyhow::Result<Option<u64>> {
        self.cache.close().await?;
        Ok(None)
    }
}

struct Cacache {
    dir: PathBuf,
    store: Arc<Store>,
}

impl Cacache {
    /// Runs in a blocking thread, as its own asynchronous functions do.
    async fn ask<T: Send + 'static>(
        &self,
        block: u64,
        ask: impl FnOnce(PathBuf, String) -> T + Send + 'static,
    ) -> anyhow::Result<T> {
        let (dir, key) = (self.dir.clone(), block.to_string());
        tokio::task::spawn_blocking(move || ask(dir, key))
            .await
            .context("the blocking thread panicked")
    }
}

#[async_trait]
impl DiskTier for Cacache {
    async fn open(task: &Task, store: Arc<Store>) -> anyhow::Result<Self> {
        let dir = task.dir.clone();
        Ok(Cacache { dir, store })
    }

    async fn read(&self, block: u64) -> anyhow::Result<Vec<Bytes>> {
        if let Some(found) = self.find(block).await? {
            return Ok(found);
        }
        self.store.wait().await;
        let bytes = self.store.block(block);
        let written = bytes.clone();
        // The fastest of its digests, which is not cryptographic.
        let write = |dir, key| cacache::write_sync_with_algo(Algorithm::Xxh3, dir, key, written);
        self.ask(block, write).await??;
        Ok(vec![bytes])
    }

    async fn find(&self, block: u64) -> anyhow::Result<Option<Vec<Bytes>>> {
        match self.ask(block, cacache::read_sync).await? {
            Ok(bytes) => Ok(Some(vec![bytes.into()])),
            Err(cacache::Error::EntryNotFound(..)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn close(self, _: Duration) -> anyhow::Result<Option<u64>> {
        // Writes are synchronous, so none is pending.
        Ok(Some(0))
    }
}
