//! A trace of reads that follow Zipf's law, mixed with scans.

/// Random numbers (xorshift), repeatable for a seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 11) % bound
    }

    /// Returns a number from 0 to 1.
    fn part(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Number of blocks of the data.
pub(crate) const BLOCKS: u64 = 20_000;
/// Number of reads of the trace.
pub(crate) const READS: usize = 300_000;
/// Zipf's exponent.
const SKEW: f64 = 0.9;
/// Blocks of one scan: a tenth of the data, from a random start.
const SCAN_BLOCKS: u64 = BLOCKS / 10;
/// Fraction of the reads that belong to scans.
const SCAN_PART: f64 = 0.2;

/// Returns the block of each read. Ranks are shuffled over the blocks, so that a scan meets hot and
/// cold blocks in random order. While a scan runs, every other read belongs to it.
pub(crate) fn reads(seed: u64) -> Vec<u64> {
    let mut dice = Dice::new(seed);
    let mut sums = Vec::with_capacity(BLOCKS as usize);
    let mut sum = 0.0;
    for rank in 1..=BLOCKS {
        sum += (rank as f64).powf(-SKEW);
        sums.push(sum);
    }
    let mut places: Vec<u64> = (0..BLOCKS).collect();
    for last in (1..BLOCKS).rev() {
        places.swap(last as usize, dice.below(last + 1) as usize);
    }
    // Number of ordinary reads between scans for each read of a scan: those per scan read, less the
    // one that alternates with it. It gives the probability that a scan begins.
    let between = (1.0 - SCAN_PART) / SCAN_PART - 1.0;
    let scan_begins = 1.0 / (between * SCAN_BLOCKS as f64);
    let mut reads = Vec::with_capacity(READS);
    let mut scan: Option<(u64, u64)> = None;
    while reads.len() < READS {
        let wanted = dice.part() * sum;
        let rank = sums.partition_point(|up_to_here| *up_to_here < wanted);
        reads.push(places[rank.min(places.len() - 1)]);
        scan = match scan {
            Some((at, left)) => {
                reads.push(at % BLOCKS);
                (left > 1).then_some((at + 1, left - 1))
            }
            None => (dice.part() < scan_begins).then(|| (dice.below(BLOCKS), SCAN_BLOCKS)),
        };
    }
    reads
}
