//! One measurement that each disk tier of a cache goes through, in a process of its own: a burst of blocks that many
//! readers bring, what of them is there after a restart, and how fast they come back one after the other.

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
/// Longest wait for what was brought to be on the disk.
const SETTLE_MAX: Duration = Duration::from_secs(300);

/// What is measured.
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
    /// Milliseconds that the store takes for an answer
    #[arg(long, value_name = "MS", default_value_t = 10)]
    pub delay_ms: u64,
}

impl Task {
    /// Space for all blocks, and a quarter more: what a tier does not keep has not left for want of space.
    pub fn quota_bytes(&self) -> u64 {
        (self.blocks * BLOCK_BYTES / 4 * 5).max(1 << 28)
    }
}

/// A cache of memory and disk over a store of blocks.
#[async_trait]
pub trait DiskTier: Send + Sync + Sized + 'static {
    /// Opens the tier on a directory that may have what an earlier one left.
    ///
    /// # Errors
    /// It cannot be opened.
    async fn open(task: &Task, store: Arc<Store>) -> anyhow::Result<Self>;

    /// A block, from here or from the store; then it is to be kept. In pieces, as the tier has it.
    ///
    /// # Errors
    /// Neither has it.
    async fn read(&self, block: u64) -> anyhow::Result<Vec<Bytes>>;

    /// A block, if it is here.
    ///
    /// # Errors
    /// The tier failed, which is not that the block is not here.
    async fn find(&self, block: u64) -> anyhow::Result<Option<Vec<Bytes>>>;

    /// Ends the tier as it wants to be ended: what waits to be written is written. Returns how many blocks it says it has
    /// not kept; `None` if it does not say.
    ///
    /// # Errors
    /// It cannot be ended.
    async fn close(self, wait_max: Duration) -> anyhow::Result<Option<u64>>;
}

/// What was measured.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Figures {
    /// From the first block brought until the tier was closed, all that it keeps written.
    pub burst_s: f64,
    /// Part of this that the readers waited.
    pub readers_s: f64,
    /// Blocks that the tier says it has not kept; `None` if it does not say.
    pub told_lost: Option<u64>,
    /// Time to open the directory again.
    pub open_s: f64,
    /// Blocks that are there after that.
    pub kept: u64,
    /// Space on the disk.
    pub space_bytes: u64,
    /// Blocks a second, read one after the other, the system having the files in memory.
    pub warm_mib_per_s: f64,
    /// The same after the system was told to forget them.
    pub cold_mib_per_s: f64,
}

/// Measures a tier.
///
/// # Errors
/// It failed, or gave other bytes than the store has.
pub async fn measure<T: DiskTier>(task: &Task) -> anyhow::Result<Figures> {
    let store = Arc::new(Store::new(Duration::from_millis(task.delay_ms)));
    let tier = Arc::new(T::open(task, store.clone()).await?);
    let began = Instant::now();
    burst(&tier, task).await?;
    let readers_s = began.elapsed().as_secs_f64();
    let tier = Arc::into_inner(tier).ok_or_else(|| anyhow::anyhow!("a reader has not ended"))?;
    let told_lost = tier.close(SETTLE_MAX).await?;
    let burst_s = began.elapsed().as_secs_f64();
    let space_bytes = space_bytes(&task.dir)?;

    forget_pages(&task.dir)?;
    let (_, _, cold_mib_per_s) = opened::<T>(task, &store).await?;
    // The run before has brought the files into the system's memory.
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

/// Each block is read once, by whichever reader is free.
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
                ensure!(is_block(block, &bytes), "block {block} is not what the store has");
            }
        });
    }
    while let Some(reader) = readers.join_next().await {
        reader??;
    }
    Ok(())
}

/// Seconds to open, blocks found, and MiB a second of these.
async fn opened<T: DiskTier>(task: &Task, store: &Arc<Store>) -> anyhow::Result<(f64, u64, f64)> {
    let began = Instant::now();
    let tier = T::open(task, store.clone()).await?;
    let open_s = began.elapsed().as_secs_f64();
    let began = Instant::now();
    let mut kept = 0;
    for block in 0..task.blocks {
        if let Some(bytes) = tier.find(block).await? {
            ensure!(is_block(block, &bytes), "block {block} is not what was written");
            kept += 1;
        }
    }
    let mib_per_s = kept as f64 / began.elapsed().as_secs_f64();
    tier.close(SETTLE_MAX).await?;
    Ok((open_s, kept, mib_per_s))
}

/// Makes an empty directory.
///
/// # Errors
/// It cannot be made.
pub fn empty(dir: &Path) -> anyhow::Result<()> {
    if dir.exists() {
        std::fs::remove_dir_all(dir)?;
    }
    std::fs::create_dir_all(dir)?;
    Ok(())
}
