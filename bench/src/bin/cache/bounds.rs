//! Compares memory and disk use with their settings, while four times as much data passes through.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use bench::process;
use cache::{Cache, User};
use contest::{BLOCK_BYTES, Store};
use serde::{Deserialize, Serialize};

use crate::shared::{MadeUp, PIECE_BYTES, bytes, pieces, settings};
use crate::trace::Dice;

const MEMORY_BYTES: u64 = 512 << 20;
const QUOTA_BYTES: u64 = 1 << 30;
const BLOCKS: u64 = 4096;
const READERS: u64 = 8;
/// Maximum excess over the settings.
const AIM: f64 = 0.02;
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Parameters of the measurement in a separate process.
#[derive(Debug, clap::Args)]
pub(crate) struct Task {
    /// Directory of the tier, empty
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// Blocks to read, in order and then at random
    #[arg(long, value_name = "N")]
    blocks: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Figures {
    memory_told: u64,
    memory_bytes: u64,
    disk_told: u64,
    disk_bytes_max: u64,
}

/// Measures, and prints the figures as JSON.
pub(crate) async fn alone(task: &Task) -> anyhow::Result<()> {
    let cache = Cache::open(&settings(MEMORY_BYTES, Some((&task.dir, QUOTA_BYTES))), "bench")?;
    let origin = Arc::new(MadeUp::new(
        BLOCKS,
        Arc::new(Store::new(Duration::from_millis(10))),
    ));
    let mut readers = tokio::task::JoinSet::new();
    for reader in 0..READERS {
        let (through, blocks) = (cache.origin_reader(origin.clone(), User::Sql), task.blocks);
        readers.spawn(async move {
            for block in (reader..blocks).step_by(READERS as usize) {
                pieces(
                    through
                        .get("data", bytes(block * BLOCK_BYTES, BLOCK_BYTES))
                        .await?,
                )
                .await?;
            }
            let mut dice = Dice::new(reader);
            for _ in 0..blocks {
                let start = dice.below(blocks * BLOCK_BYTES / PIECE_BYTES) * PIECE_BYTES;
                pieces(through.get("data", bytes(start, PIECE_BYTES)).await?).await?;
            }
            anyhow::Ok(())
        });
    }
    let mut disk_bytes_max = 0;
    loop {
        let next = tokio::time::timeout(LOOK_EVERY, readers.join_next()).await;
        disk_bytes_max = disk_bytes_max.max(contest::space_bytes(&task.dir)?);
        match next {
            Ok(Some(reader)) => reader??,
            Ok(None) => break,
            Err(_) => {}
        }
    }
    let stats = cache.stats();
    let disk_told = stats
        .directories
        .iter()
        .map(|directory| directory.used_bytes)
        .sum();
    let figures = Figures {
        memory_told: stats.memory.used_bytes,
        memory_bytes: process::memory_bytes_max(std::process::id()).context("own memory")?,
        disk_told,
        disk_bytes_max,
    };
    println!("{}", serde_json::to_string(&figures)?);
    Ok(())
}

pub(crate) fn measure(dir: &Path) -> anyhow::Result<()> {
    let none = run(dir, READERS)?;
    let figures = run(dir, BLOCKS)?;
    let part = |is: u64, setting: u64| 100.0 * is as f64 / setting as f64;
    // Subtract what the process uses without the tier.
    let growth = figures.memory_bytes - none.memory_bytes + none.memory_told;
    println!(
        "\nbounds: {BLOCKS} MiB read through a cache of {} MiB in memory and {} MiB on disk; maxima (aim: \
         {:.0} %)",
        MEMORY_BYTES >> 20,
        QUOTA_BYTES >> 20,
        100.0 * (1.0 + AIM)
    );
    println!(
        "memory: the process grew by {} MiB, {:.1} % of the setting; the tier counts {} MiB",
        growth >> 20,
        part(growth, MEMORY_BYTES),
        figures.memory_told >> 20
    );
    println!(
        "disk: {} MiB, {:.1} %; the tier counts {} MiB",
        figures.disk_bytes_max >> 20,
        part(figures.disk_bytes_max, QUOTA_BYTES),
        figures.disk_told >> 20
    );
    Ok(())
}

fn run(dir: &Path, blocks: u64) -> anyhow::Result<Figures> {
    contest::empty(dir)?;
    let output = Command::new(std::env::current_exe()?)
        .args(["alone-bounds", "--dir"])
        .arg(dir)
        .args(["--blocks", &blocks.to_string()])
        .output()
        .context("start this program")?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    std::fs::remove_dir_all(dir)?;
    Ok(serde_json::from_slice(&output.stdout)?)
}
