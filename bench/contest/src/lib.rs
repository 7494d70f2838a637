//! A measurement of the disk tier of a cache, run in a separate process for each tier: a burst of
//! blocks from many readers, how many of the blocks are kept after a restart, and how fast they are
//! read in order.

mod files;
mod store;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::ensure;
use async_trait::async_trait;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

pub use files::{forget_pages, space_bytes};
pub use store::{Store, is_block};

/// Length of a block.
pub const BLOCK_BYTES: u64 = 1 << 20;
/// Memory that a tier may use for blocks.
pub const MEMORY_BYTES: u64 = 128 << 20;
/// Maximum time to wait until the blocks are on disk.
const SETTLE_MAX: Duration = Duration::from_secs(300);

/// Parameters of the measurement.
#[derive(Debug, Clone, clap::Args)]
pub struct Task {
    /// Directory of the tier, empty
    #[arg(long, value_name = "DIR")]
    pub dir: PathBuf,
    /// Blocks of 1 MiB
    #[arg(long, value_name = "N", default_value_t = 2000)]
    pub blocks: u64,
    /// Readers at a time
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub readers: u64,
    /// Milliseconds that the store takes to answer
    #[arg(long, value_name = "MS", default_value_t = 10)]
    pub delay_ms: u64,
}

impl Task {
    /// Returns the quota: space for all blocks and a quarter more, so that no block is dropped for
    /// lack of space.
    pub fn quota_bytes(&self) -> u64 {
        (self.blocks * BLOCK_BYTES / 4 * 5).max(1 << 28)
    }
}

/// A cache of memory and disk over a store of blocks.
#[async_trait]
pub trait DiskTier: Send + Sync + Sized + 'static {
    /// Opens the tier on a directory that may have content from an earlier one.
    ///
    /// # Errors
    /// The tier cannot be opened.
    async fn open(task: &Task, store: Arc<Store>) -> anyhow::Result<Self>;

    /// Returns a block, from the tier or from the store, and keeps it in the tier. The pieces are
    /// those the tier returns.
    ///
    /// # Errors
    /// Neither has the block.
    async fn read(&self, block: u64) -> anyhow::Result<Vec<Bytes>>;

    /// Returns a block if the tier has it.
    ///
    /// # Errors
    /// The tier failed. A missing block is not an error.
    async fn find(&self, block: u64) -> anyhow::Result<Option<Vec<Bytes>>>;

    /// Closes the tier in its regular way, including pending writes. Returns the number of blocks
    /// that it reports as not kept; `None` if it does not report them.
    ///
    /// # Errors
    /// The tier cannot be closed.
    async fn close(self, wait_max: Duration) -> anyhow::Result<Option<u64>>;
}

/// The outcome of the measurement.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Figures {
    /// From the first read until the tier was closed, with all kept blocks written.
    pub burst_s: f64,
    /// The part of it until all readers had ended.
    pub readers_s: f64,
    /// Number of blocks that the tier reports as not kept; `None` if it does not report them.
    pub told_lost: Option<u64>,
    /// Time to open the directory again.
    pub open_s: f64,
    /// Blocks found after that.
    pub kept: u64,
    /// Disk space.
    pub space_bytes: u64,
    /// Read rate in order, with the files in the page cache.
    pub warm_mib_per_s: f64,
    /// The same after the files were dropped from the page cache.
    pub cold_mib_per_s: f64,
}

/// Measures a tier.
///
/// # Errors
/// The tier failed, or returned other bytes than the store has.
pub async fn measure<T: DiskTier>(task: &Task) -> anyhow::Result<Figures> {
    let store = Arc::new(Store::new(Duration::from_millis(task.delay_ms)));
    let tier = Arc::new(T::open(task, store.clone()).await?);
    let began = Instant::now();
    burst(&tier, task).await?;
    let readers_s = began.elapsed().as_secs_f64();
    let tier = Arc::into_inner(tier).ok_or_else(|| anyhow::anyhow!("a reader is still running"))?;
    let told_lost = tier.close(SETTLE_MAX).await?;
    let burst_s = began.elapsed().as_secs_f64();
    let space_bytes = space_bytes(&task.dir)?;

    forget_pages(&task.dir)?;
    let (_, _, cold_mib_per_s) = opened::<T>(task, &store).await?;
    // The run before has brought the files into the page cache.
    let (open_s, kept, warm_mib_per_s) = opened::<T>(task, &store).await?;
    Ok(Figures {
        burst_s,
        readers_s,
        told_lost,
        open_s,
        kept,
        space_bytes,
        warm_mib_per_s,
        cold_mib_per_s,
    })
}

/// Reads each block once, by any reader that is free.
async fn burst<T: DiskTier>(tier: &Arc<T>, task: &Task) -> anyhow::Result<()> {
    let next = Arc::new(AtomicU64::new(0));
    let mut readers = tokio::task::JoinSet::new();
    for _ in 0..task.readers {
        let (tier, next, blocks) = (tier.clone(), next.clone(), task.blocks);
        readers.spawn(async move {
            loop {
                let block = next.fetch_add(1, Ordering::Relaxed);
                if block >= blocks {
                    return anyhow::Ok(());
                }
                let bytes = tier.read(block).await?;
                ensure!(is_block(block, &bytes), "block {block} differs from the store");
            }
        });
    }
    while let Some(reader) = readers.join_next().await {
        reader??;
    }
    Ok(())
}

/// Returns the seconds to open, the number of blocks found, and their rate in MiB per second.
async fn opened<T: DiskTier>(task: &Task, store: &Arc<Store>) -> anyhow::Result<(f64, u64, f64)> {
    let began = Instant::now();
    let tier = T::open(task, store.clone()).await?;
    let open_s = began.elapsed().as_secs_f64();
    let began = Instant::now();
    let mut kept = 0;
    for block in 0..task.blocks {
        if let Some(bytes) = tier.find(block).await? {
            ensure!(
                is_block(block, &bytes),
                "block {block} differs from what was written"
            );
            kept += 1;
        }
    }
    let mib_per_s = kept as f64 / began.elapsed().as_secs_f64();
    tier.close(SETTLE_MAX).await?;
    Ok((open_s, kept, mib_per_s))
}

/// Creates an empty directory.
///
/// # Errors
/// The directory cannot be created.
pub fn empty(dir: &Path) -> anyhow::Result<()> {
    if dir.exists() {
        std::fs::remove_dir_all(dir)?;
    }
    std::fs::create_dir_all(dir)?;
    Ok(())
}
