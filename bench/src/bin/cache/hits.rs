//! Measures a read of 64 KiB from memory.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cache::{Cache, User};
use contest::{BLOCK_BYTES, Store};

use crate::shared::{MadeUp, PIECE_BYTES, bytes, median, pieces, settings};
use crate::trace::Dice;

/// Blocks of the object; all of them fit.
const BLOCKS: u64 = 64;
const READS: u64 = 50_000;
const AIM_US: f64 = 20.0;

pub(crate) async fn measure(rounds: usize) -> anyhow::Result<()> {
    let cache = Cache::open(&settings(2 * BLOCKS * BLOCK_BYTES, None), "bench")?;
    let origin = Arc::new(MadeUp::new(BLOCKS, Arc::new(Store::new(Duration::ZERO))));
    let reads = cache.origin_reader(origin, User::Sql);
    pieces(reads.get("hot", None).await?).await?;
    let mut dice = Dice::new(1);
    let (mut means, mut slow) = (Vec::new(), Vec::new());
    for _ in 0..rounds.max(1) {
        let mut times = Vec::with_capacity(READS as usize);
        for _ in 0..READS {
            let start = dice.below(BLOCKS * BLOCK_BYTES / PIECE_BYTES) * PIECE_BYTES;
            let began = Instant::now();
            pieces(reads.get("hot", bytes(start, PIECE_BYTES)).await?).await?;
            times.push(began.elapsed().as_secs_f64() * 1e6);
        }
        means.push(times.iter().sum::<f64>() / times.len() as f64);
        times.sort_by(f64::total_cmp);
        slow.push(times[times.len() * 99 / 100]);
    }
    println!(
        "\nhit in memory, 64 KiB: mean {:.2} us, p99 {:.2} us (aim: mean below {AIM_US})",
        median(means)?,
        median(slow)?
    );
    Ok(())
}
