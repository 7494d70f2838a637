//! Measures opening a directory of many blocks.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use cache::{Cache, User};
use contest::{BLOCK_BYTES, Store};

use crate::shared::{MadeUp, PIECE_BYTES, bytes, median, pieces, settings};

/// Blocks of each object.
const BLOCKS: u64 = 256;
const READERS: u64 = 64;
const MEMORY_BYTES: u64 = 64 << 20;

pub(crate) async fn measure(dir: &Path, blocks: u64, rounds: usize) -> anyhow::Result<()> {
    contest::empty(dir)?;
    let quota = blocks * (2 * PIECE_BYTES);
    let open = || Cache::open(&settings(MEMORY_BYTES, Some((dir, quota))), "bench");
    fill(&open()?, blocks).await?;
    let (mut cold, mut warm) = (Vec::new(), Vec::new());
    for _ in 0..rounds.max(1) {
        contest::forget_pages(dir)?;
        for times in [&mut cold, &mut warm] {
            let began = Instant::now();
            let cache = open()?;
            times.push(began.elapsed().as_secs_f64());
            let there: u64 = cache
                .stats()
                .directories
                .iter()
                .map(|directory| directory.blocks)
                .sum();
            ensure!(there == blocks, "{there} blocks were found, expected {blocks}");
        }
    }
    println!(
        "\nopening a directory of {blocks} blocks (one piece each, {BLOCKS} per object): {:.2} s; opened \
         again immediately: {:.2} s",
        median(cold)?,
        median(warm)?
    );
    std::fs::remove_dir_all(dir)?;
    Ok(())
}

/// Fills the directory with one piece of each block.
async fn fill(cache: &Cache, blocks: u64) -> anyhow::Result<()> {
    let origin = Arc::new(MadeUp::new(
        BLOCKS,
        Arc::new(Store::new(Duration::from_millis(10))),
    ));
    let mut readers = tokio::task::JoinSet::new();
    for reader in 0..READERS {
        let through = cache.origin_reader(origin.clone(), User::Sql);
        readers.spawn(async move {
            for block in (reader..blocks).step_by(READERS as usize) {
                let path = format!("object-{}", block / BLOCKS);
                let start = block % BLOCKS * BLOCK_BYTES;
                pieces(through.get(&path, bytes(start, PIECE_BYTES)).await?).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(reader) = readers.join_next().await {
        reader??;
    }
    ensure!(
        cache.wait_until_stored(Duration::from_secs(120)).await,
        "the tier did not settle in time"
    );
    Ok(())
}
