//! The cache tier: its costs and gains, compared with other disk tiers and eviction orders.
//!
//! `cargo run --release -p bench --bin cache` measures all parts in one run, or only those named:
//!
//! - *hits*: a read of 64 KiB from memory;
//! - *sequence*: an object read in order through the disk tier, and from a plain file;
//! - *contest*: a burst of blocks from many readers, and how many are kept, compared with foyer and
//!   cacache (built by `cargo build --release -p peers`);
//! - *rates*: hit rates under Zipf's law with scans, compared with LRU, FIFO and quick_cache;
//! - *bounds*: memory and disk use, compared with their settings;
//! - *opening*: a directory of many blocks.
//!
//! `-- far --archive DIR` asks questions over facts in a remote store (`far.rs`). It needs
//! `weft-sql` next to `weft`, and for Spark a `--python` with `pyspark`. `--dir` is on the disk to
//! measure; up to 13 GB are written there with `--blocks 10000`, and removed.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

mod bounds;
mod contestants;
mod far;
mod far_report;
mod hits;
mod link;
mod opening;
mod ours;
mod rates;
mod requests;
mod sequence;
mod shared;
mod spark;
mod trace;

// The allocator of the program itself, because memory use depends on it.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Measures the cache tier.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Args {
    /// What to measure [default: all]
    #[arg(value_enum)]
    parts: Vec<Part>,
    /// Blocks of 1 MiB in the burst
    #[arg(long, value_name = "N", default_value_t = 2000)]
    blocks: u64,
    /// Blocks in the directory that is opened
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    open_blocks: u64,
    /// Rounds; medians are printed
    #[arg(long, value_name = "N", default_value_t = 3)]
    rounds: usize,
    /// Folder for the tiers, on the disk to measure [default: a temporary one]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    #[command(subcommand)]
    alone: Option<Alone>,
}

/// Parts that this program runs in a separate process, and parts that need other programs.
#[derive(Debug, Subcommand)]
enum Alone {
    /// The tier in the contest; prints figures as JSON
    #[command(hide = true, name = "alone-contest")]
    Contest(contest::Task),
    /// Memory and disk of a tier; prints figures as JSON
    #[command(hide = true, name = "alone-bounds")]
    Bounds(bounds::Task),
    /// Four questions over facts in a remote store
    Far(far::Task),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Hits,
    Sequence,
    Contest,
    Rates,
    Bounds,
    Opening,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let runtime = tokio::runtime::Runtime::new()?;
    match &args.alone {
        Some(Alone::Contest(task)) => {
            let figures = runtime.block_on(contest::measure::<ours::Ours>(task))?;
            println!("{}", serde_json::to_string(&figures)?);
            return Ok(());
        }
        Some(Alone::Bounds(task)) => return runtime.block_on(bounds::alone(task)),
        Some(Alone::Far(task)) => return runtime.block_on(far::measure(task)),
        None => {}
    }
    let temporary = tempfile::tempdir()?;
    let dir = args.dir.clone().unwrap_or_else(|| temporary.path().to_path_buf());
    std::fs::create_dir_all(&dir)?;
    let is_wanted = |part| args.parts.is_empty() || args.parts.contains(&part);
    if is_wanted(Part::Hits) {
        runtime.block_on(hits::measure(args.rounds))?;
    }
    if is_wanted(Part::Sequence) {
        runtime.block_on(sequence::measure(&dir.join("sequence"), args.rounds))?;
    }
    if is_wanted(Part::Contest) {
        contestants::measure(&dir.join("contest"), args.blocks, args.rounds)?;
    }
    if is_wanted(Part::Rates) {
        runtime.block_on(rates::measure())?;
    }
    if is_wanted(Part::Bounds) {
        bounds::measure(&dir.join("bounds"))?;
    }
    if is_wanted(Part::Opening) {
        runtime.block_on(opening::measure(
            &dir.join("opening"),
            args.open_blocks,
            args.rounds,
        ))?;
    }
    Ok(())
}
