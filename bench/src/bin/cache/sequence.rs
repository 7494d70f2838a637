//! An object read in order through a warm disk tier, and from a plain file with the same reads.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use cache::{Cache, User};
use contest::{BLOCK_BYTES, Store};
use futures_util::StreamExt;
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStore, ObjectStoreExt};

use crate::shared::{MadeUp, PIECE_BYTES, median, settings};

const BLOCKS: u64 = 2048;
/// Much less than the object, so that its blocks come from disk.
const MEMORY_BYTES: u64 = 64 << 20;
const AIM: f64 = 0.80;

/// MiB per second of each way.
#[derive(Default)]
struct Way {
    plain: Vec<f64>,
    kept: Vec<f64>,
    store: Vec<f64>,
    tier: Vec<f64>,
}

pub(crate) async fn measure(dir: &Path, rounds: usize) -> anyhow::Result<()> {
    contest::empty(dir)?;
    let (file, tier) = (dir.join("file"), dir.join("tier"));
    let store = Arc::new(Store::new(Duration::from_millis(10)));
    write(&file, &store)?;
    fill(&tier, &store).await?;
    println!(
        "\n{BLOCKS} MiB read in order, parts of 64 KiB, MiB/s, median of {rounds} (aim: {AIM} of the plain file)"
    );
    println!(
        "{:<24}{:>12}{:>12}{:>14}{:>8}{:>8}{:>9}",
        "page cache", "plain file", "plain, *", "object_store", "tier", "ratio", "ratio, *"
    );
    for (name, is_cold) in [("warm", false), ("cold", true)] {
        let mut ways = Way::default();
        for _ in 0..rounds.max(1) {
            if is_cold {
                contest::forget_pages(dir)?;
            }
            ways.plain.push(plain(&file)?);
            if is_cold {
                contest::forget_pages(dir)?;
            }
            ways.kept.push(plain_to_keep(&file)?);
            if is_cold {
                contest::forget_pages(dir)?;
            }
            ways.store.push(through_object_store(dir).await?);
            if is_cold {
                contest::forget_pages(dir)?;
            }
            ways.tier.push(through_tier(&tier, &store).await?);
        }
        let (plain, kept) = (median(ways.plain)?, median(ways.kept)?);
        let (store, tier) = (median(ways.store)?, median(ways.tier)?);
        println!(
            "{name:<24}{plain:>12.0}{kept:>12.0}{store:>14.0}{tier:>8.0}{:>8.2}{:>9.2}",
            tier / plain,
            tier / kept
        );
    }
    println!(
        "* each part in its own buffer, as a caller that keeps the parts needs, with 64 MiB of them kept"
    );
    std::fs::remove_dir_all(dir)?;
    Ok(())
}

fn write(path: &Path, store: &Store) -> anyhow::Result<()> {
    let mut file = File::create(path)?;
    for block in 0..BLOCKS {
        file.write_all(&store.block(block))?;
    }
    Ok(())
}

/// Reads the object into the tier.
async fn fill(dir: &Path, store: &Arc<Store>) -> anyhow::Result<()> {
    let cache = open(dir)?;
    let origin = Arc::new(MadeUp::new(BLOCKS, store.clone()));
    cache.warm(origin, "object", |_| ()).await?;
    ensure!(
        cache.wait_until_stored(Duration::from_secs(60)).await,
        "the tier did not settle in time"
    );
    let kept: u64 = cache
        .stats()
        .directories
        .iter()
        .map(|directory| directory.blocks)
        .sum();
    ensure!(kept == BLOCKS, "{kept} blocks are cached, expected {BLOCKS}");
    Ok(())
}

fn open(dir: &Path) -> anyhow::Result<Cache> {
    Ok(Cache::open(
        &settings(MEMORY_BYTES, Some((dir, 2 * BLOCKS * BLOCK_BYTES))),
        "bench",
    )?)
}

fn plain(path: &Path) -> anyhow::Result<f64> {
    let began = Instant::now();
    let mut file = File::open(path)?;
    let mut part = vec![0; PIECE_BYTES as usize];
    let mut bytes = 0;
    loop {
        match file.read(&mut part)? {
            0 => break,
            read => bytes += read as u64,
        }
    }
    rate(bytes, began)
}

/// Reads the plain file into buffers, and retains as many of them as the tier does in memory.
fn plain_to_keep(path: &Path) -> anyhow::Result<f64> {
    let began = Instant::now();
    let mut file = File::open(path)?;
    let mut kept = VecDeque::new();
    let mut bytes = 0;
    loop {
        let mut part = Vec::with_capacity(PIECE_BYTES as usize);
        let read = Read::by_ref(&mut file).take(PIECE_BYTES).read_to_end(&mut part)?;
        if read == 0 {
            break;
        }
        bytes += read as u64;
        kept.push_back(part);
        if kept.len() as u64 > MEMORY_BYTES / PIECE_BYTES {
            kept.pop_front();
        }
    }
    rate(bytes, began)
}

/// Reads a local file as a program that uses `object_store` for all stores does.
async fn through_object_store(dir: &Path) -> anyhow::Result<f64> {
    let files: Arc<dyn ObjectStore> = Arc::new(LocalFileSystem::new_with_prefix(dir)?);
    let began = Instant::now();
    let mut body = files.get(&ObjectPath::from("file")).await?.into_stream();
    let mut bytes = 0;
    while let Some(part) = body.next().await {
        bytes += part?.len() as u64;
    }
    rate(bytes, began)
}

/// Reads through a newly opened tier, with an empty memory.
async fn through_tier(dir: &Path, store: &Arc<Store>) -> anyhow::Result<f64> {
    let cache = open(dir)?;
    let origin = Arc::new(MadeUp::new(BLOCKS, store.clone()));
    let reads = cache.origin_reader(origin, User::Sql);
    let began = Instant::now();
    let mut body = reads.get("object", None).await?.body;
    let mut bytes = 0;
    while let Some(part) = body.next().await {
        bytes += part?.len() as u64;
    }
    let rate = rate(bytes, began);
    let row = cache
        .stats()
        .users
        .into_iter()
        .find(|row| row.user == User::Sql.name());
    let fetched = row.map_or(0, |row| row.stats.fetched_bytes);
    ensure!(
        fetched == 0,
        "{fetched} bytes were fetched from the store, expected none"
    );
    rate
}

fn rate(bytes: u64, began: Instant) -> anyhow::Result<f64> {
    ensure!(
        bytes == BLOCKS * BLOCK_BYTES,
        "{bytes} bytes were read, which is not the size of the file"
    );
    Ok(BLOCKS as f64 / began.elapsed().as_secs_f64())
}
