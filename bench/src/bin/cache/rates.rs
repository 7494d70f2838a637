//! Compares hit rates with other eviction orders.

use std::collections::{HashSet, VecDeque};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use cache::{Cache, User};
use contest::{BLOCK_BYTES, Store};

use crate::shared::{MadeUp, PIECE_BYTES, bytes, pieces, settings};
use crate::trace;

/// Sizes of the cache, in per cent of the data.
const PERCENT: [u64; 4] = [1, 5, 10, 20];
/// Overhead that the tier counts per block, in addition to its bytes.
const ENTRY_BYTES: u64 = 700;

pub(crate) async fn measure() -> anyhow::Result<()> {
    let reads = trace::reads(1);
    println!(
        "\nhit rates in per cent: {} reads, Zipf 0.9 over {} blocks, a fifth of them in scans of a tenth \
         of the data",
        reads.len(),
        trace::BLOCKS
    );
    println!(
        "{:<28}{:>8}{:>8}{:>8}{:>14}",
        "cache size, of the data", "tier", "LRU", "FIFO", "quick_cache"
    );
    for percent in PERCENT {
        let blocks = trace::BLOCKS * percent / 100;
        println!(
            "{:<28}{:>8.1}{:>8.1}{:>8.1}{:>14.1}",
            format!("{percent} %"),
            100.0 * tier(&reads, blocks).await?,
            100.0 * lru(&reads, blocks)?,
            100.0 * fifo(&reads, blocks),
            100.0 * quick(&reads, blocks)
        );
    }
    Ok(())
}

/// Reads the first piece of each block through the tier.
async fn tier(reads: &[u64], blocks: u64) -> anyhow::Result<f64> {
    let cache = Cache::open(&settings(blocks * (PIECE_BYTES + ENTRY_BYTES), None), "bench")?;
    let origin = Arc::new(MadeUp::new(trace::BLOCKS, Arc::new(Store::new(Duration::ZERO))));
    let through = cache.origin_reader(origin, User::Sql);
    for block in reads {
        pieces(
            through
                .get("data", bytes(block * BLOCK_BYTES, PIECE_BYTES))
                .await?,
        )
        .await?;
    }
    let stats = cache.stats();
    let row = stats.users.iter().find(|row| row.user == User::Sql.name());
    row.and_then(cache::UserRow::hit_rate)
        .context("the tier counted no reads")
}

fn lru(reads: &[u64], blocks: u64) -> anyhow::Result<f64> {
    let capacity = NonZeroUsize::new(blocks as usize).context("the cache has no capacity")?;
    let mut kept = lru::LruCache::new(capacity);
    Ok(rate(reads, |block| kept.put(block, ()).is_some()))
}

fn fifo(reads: &[u64], blocks: u64) -> f64 {
    let (mut order, mut kept) = (VecDeque::new(), HashSet::new());
    rate(reads, |block| {
        if !kept.insert(block) {
            return true;
        }
        order.push_back(block);
        if order.len() as u64 > blocks
            && let Some(oldest) = order.pop_front()
        {
            kept.remove(&oldest);
        }
        false
    })
}

fn quick(reads: &[u64], blocks: u64) -> f64 {
    let mut kept = quick_cache::unsync::Cache::new(blocks as usize);
    rate(reads, |block| {
        let is_hit = kept.get(&block).is_some();
        if !is_hit {
            kept.insert(block, ());
        }
        is_hit
    })
}

/// Returns the fraction of reads that are hits.
fn rate(reads: &[u64], mut read: impl FnMut(u64) -> bool) -> f64 {
    let hits = reads.iter().filter(|block| read(**block)).count();
    hits as f64 / reads.len() as f64
}
