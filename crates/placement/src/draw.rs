//! Draws: one number for every pair of partition and volume, the only randomness of a placement.
//!
//! A volume's numbers depend only on the seed and its name, so a change of other volumes never
//! changes them. All arithmetic is on integers, with the same result on every machine.
//! `docs/format-layout.md` has the exact rule.

use crate::ids::VolumeId;
use crate::partition::PARTITIONS;

/// Prefix of the hash. Another placement rule would use another text.
const DOMAIN: &[u8] = b"weft layout 1\0";

/// Fractional bits of a score and a price.
const SCORE_BITS: u32 = 26;

/// Fractional bits of [`Log2::of`].
const LOG_BITS: u32 = 32;

/// `floor(2^32 * log2(1 + i/256))` for i in 0..=256.
static LOG2: [u64; 257] = {
    let mut table = [0; 257];
    let mut i = 0;
    while i < 257 {
        table[i] = fraction(i as u64);
        i += 1;
    }
    table
};

/// A volume's draw for one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Draw {
    /// log2 of an exponentially distributed number, in units of 2^-26. The lowest scores are
    /// chosen.
    pub score: u32,
    /// Order among the chosen volumes.
    pub turn: u32,
}

/// Returns `log2(x)` in units of 2^-32, by table and linear interpolation, rounded down. 0 counts
/// as 1.
fn log2(x: u64) -> u64 {
    let x = x.max(1);
    let whole = x.ilog2();
    let aligned = x << (63 - whole);
    let i = usize::from((aligned >> 55) as u8);
    let rest = (aligned >> 23) & 0xffff_ffff;
    let step = LOG2[i + 1] - LOG2[i];
    (u64::from(whole) << LOG_BITS) + LOG2[i] + ((step * rest) >> 32)
}

/// Returns `log2(x)` in units of a score.
pub(super) fn log2_score(x: u64) -> i64 {
    // At most 64 * 2^26.
    (log2(x) >> (LOG_BITS - SCORE_BITS)).cast_signed()
}

/// Converts 8 bytes of a volume's stream to a draw.
fn draw(bytes: [u8; 8]) -> Draw {
    let number = u64::from_be_bytes(bytes);
    // -log2 of the number as a fraction of 2^64: between 1 and 2^38.
    let exponential = (64 << LOG_BITS) - log2(number);
    Draw {
        // At most 38 * 2^26, which is less than 2^32.
        score: (log2(exponential) >> (LOG_BITS - SCORE_BITS)) as u32,
        turn: number as u32,
    }
}

/// Returns `floor(2^32 * log2(1 + i/256))`, computed bit by bit: squaring doubles a logarithm.
const fn fraction(i: u64) -> u64 {
    if i == 256 {
        return 1 << LOG_BITS;
    }
    let mut mantissa = (256 + i) << 55;
    let mut bits = 0_u64;
    let mut round = 0;
    while round < LOG_BITS {
        let square = mantissa as u128 * mantissa as u128;
        let carry = (square >> 127) as u64; // 1 if the square is 2 or more
        mantissa = (square >> (63 + carry)) as u64;
        bits = bits << 1 | carry;
        round += 1;
    }
    bits
}

/// Returns the endless byte stream of a volume.
fn stream(seed: u64, volume: &VolumeId) -> blake3::OutputReader {
    let mut hasher = blake3::Hasher::new();
    hasher.update(DOMAIN);
    hasher.update(&seed.to_be_bytes());
    hasher.update(volume.0.as_bytes());
    hasher.finalize_xof()
}

/// Returns a volume's draws for all partitions, in order.
pub(super) fn all(seed: u64, volume: &VolumeId) -> Vec<Draw> {
    let mut bytes = vec![0; 8 * usize::from(PARTITIONS)];
    stream(seed, volume).fill(&mut bytes);
    let (numbers, _) = bytes.as_chunks::<8>();
    numbers.iter().map(|number| draw(*number)).collect()
}

/// Returns a volume's draw for one partition.
pub(super) fn one(seed: u64, volume: &VolumeId, partition: u16) -> Draw {
    let mut stream = stream(seed, volume);
    stream.set_position(8 * u64::from(partition));
    let mut bytes = [0; 8];
    stream.fill(&mut bytes);
    draw(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_close_and_never_decrease() {
        let mut last = 0;
        for x in (1..70_000).chain((0..64).map(|bit| u64::MAX >> (63 - bit))) {
            let found = log2(x);
            let exact = (x as f64).log2() * (1_u64 << LOG_BITS) as f64;
            assert!(
                (found as f64 - exact).abs() < 16_384.0,
                "log2({x}) is {found}, expected {exact}"
            );
            assert!(found >= last || x < 70_000, "log2({x}) decreases");
            last = found;
        }
        assert!(log2(u64::MAX) < 64 << LOG_BITS);
    }

    #[test]
    fn one_draw_is_one_of_all() {
        let volume = VolumeId::from("a/1".to_owned());
        for (partition, draw) in (0..).zip(all(7, &volume)) {
            assert_eq!(draw, one(7, &volume, partition), "partition {partition}");
        }
    }
}
