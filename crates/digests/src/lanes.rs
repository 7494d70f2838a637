//! MD5, of one content or of several at once.
//!
//! Each step of MD5 needs the result of the step before, so one computation leaves most of a core
//! idle. Two independent ones take little more time than one, and four fill the vector registers.

use md5::block_api::compress;

/// Bytes of a block.
const BLOCK: usize = 64;

/// Computations that [`Md5::update_all`] advances at once.
pub const LANES: usize = 4;

/// An MD5 computation.
#[derive(Clone)]
pub struct Md5 {
    state: [u32; 4],
    /// The beginning of the next block.
    begun: [u8; BLOCK],
    /// Bytes added so far.
    bytes: u64,
}

impl Default for Md5 {
    #[inline(never)]
    fn default() -> Self {
        Self {
            state: [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476],
            begun: [0; BLOCK],
            bytes: 0,
        }
    }
}

impl Md5 {
    /// Adds bytes.
    #[inline(never)]
    pub fn update(&mut self, bytes: &[u8]) {
        let (blocks, rest) = self.fill(bytes).as_chunks();
        compress(&mut self.state, blocks);
        self.bytes += (blocks.len() * BLOCK) as u64;
        self.fill(rest);
    }

    /// Adds bytes to computations, to each its own, [`LANES`] at a time. This takes less time than one
    /// after the other if the lengths are similar.
    #[inline(never)]
    pub fn update_all(lanes: &mut [(&mut Self, &[u8])]) {
        for (md5, bytes) in lanes.iter_mut() {
            *bytes = md5.fill(bytes);
        }
        loop {
            let mut full: Vec<_> = lanes
                .iter_mut()
                .filter(|(_, bytes)| bytes.len() >= BLOCK)
                .collect();
            match full.as_mut_slice() {
                [] => break,
                [one] => {
                    one.0.update(one.1);
                    one.1 = &[];
                }
                [one, two] => together([one, two]),
                [one, two, three] => together([one, two, three]),
                [one, two, three, four, ..] => together([one, two, three, four]),
            }
        }
        for (md5, bytes) in lanes.iter_mut() {
            md5.update(bytes);
        }
    }

    /// Returns the digest.
    #[inline(never)]
    pub fn finish(mut self) -> [u8; 16] {
        let bits = self.bytes.wrapping_mul(8).to_le_bytes();
        let begun = self.begun_bytes();
        // 0x80, then zeros up to the last 8 bytes of a block.
        let mut padding = [0; BLOCK * 2];
        padding[0] = 0x80;
        let zeros_to = if begun < 56 { 56 - begun } else { 120 - begun };
        padding[zeros_to..zeros_to + 8].copy_from_slice(&bits);
        self.update(&padding[..zeros_to + 8]);
        let mut digest = [0; 16];
        for (four, word) in digest.chunks_exact_mut(4).zip(self.state) {
            four.copy_from_slice(&word.to_le_bytes());
        }
        digest
    }

    /// Returns the digest of `bytes`.
    #[inline(never)]
    pub fn of(bytes: &[u8]) -> [u8; 16] {
        let mut md5 = Self::default();
        md5.update(bytes);
        md5.finish()
    }

    fn begun_bytes(&self) -> usize {
        (self.bytes % BLOCK as u64) as usize
    }

    /// Adds bytes to a block that has begun, or begins one if there are fewer than a block. Returns
    /// the other bytes.
    fn fill<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let begun = self.begun_bytes();
        if begun == 0 && bytes.len() >= BLOCK {
            return bytes;
        }
        let (now, later) = bytes.split_at(bytes.len().min(BLOCK - begun));
        self.begun[begun..begun + now.len()].copy_from_slice(now);
        self.bytes += now.len() as u64;
        if begun + now.len() == BLOCK {
            compress(&mut self.state, &[self.begun]);
        }
        if later.len() < BLOCK && !later.is_empty() {
            return self.fill(later);
        }
        later
    }
}

/// Adds the blocks that all computations have, and leaves the bytes after them.
fn together<const N: usize>(lanes: [&mut (&mut Md5, &[u8]); N]) {
    let blocks = lanes.iter().map(|(_, bytes)| bytes.len() / BLOCK).min();
    let bytes = blocks.unwrap_or(0) * BLOCK;
    let content = lanes.each_ref().map(|(_, all)| all[..bytes].as_chunks().0);
    let mut states = [[0; N]; 4];
    for (lane, (md5, _)) in lanes.iter().enumerate() {
        for (words, word) in states.iter_mut().zip(md5.state) {
            words[lane] = word;
        }
    }
    compress_lanes(&mut states, content);
    for (lane, (md5, rest)) in lanes.into_iter().enumerate() {
        for (words, word) in states.iter().zip(&mut md5.state) {
            *word = words[lane];
        }
        md5.bytes += bytes as u64;
        *rest = &rest[bytes..];
    }
}

/// A word of each computation.
type Words<const N: usize> = [u32; N];

/// Adds blocks of each computation (RFC 1321, 3.4).
fn compress_lanes<const N: usize>(states: &mut [Words<N>; 4], content: [&[[u8; BLOCK]]; N]) {
    let blocks = content.iter().map(|blocks| blocks.len()).min().unwrap_or(0);
    for index in 0..blocks {
        let mut words = [[0; N]; 16];
        for (lane, blocks) in content.iter().enumerate() {
            let (of_block, _) = blocks[index].as_chunks();
            for (word, bytes) in words.iter_mut().zip(of_block) {
                word[lane] = u32::from_le_bytes(*bytes);
            }
        }
        compress_block(states, &words);
    }
}

/// Adds a block of each computation.
#[inline(always)]
fn compress_block<const N: usize>(states: &mut [Words<N>; 4], words: &[Words<N>; 16]) {
    let before = *states;
    round_1(states, words);
    round_2(states, words);
    round_3(states, words);
    round_4(states, words);
    for (words, of_before) in states.iter_mut().zip(before) {
        for (word, before) in words.iter_mut().zip(of_before) {
            *word = word.wrapping_add(before);
        }
    }
}

/// A step: `mix` of the state, the word to change, a word of the block, bits to turn, and a constant.
macro_rules! step {
    ($mix:ident, $s:ident, $w:ident, $at:literal, $word:literal, $turn:literal, $constant:literal) => {
        for lane in 0..N {
            let [x, y, z] = [1, 2, 3].map(|after| $s[($at + after) % 4][lane]);
            let sum = $s[$at][lane]
                .wrapping_add($w[$word][lane])
                .wrapping_add($constant);
            $s[$at][lane] = $mix(sum, x, y, z).rotate_left($turn).wrapping_add(x);
        }
    };
}

#[inline(always)]
fn round_1<const N: usize>(s: &mut [Words<N>; 4], w: &[Words<N>; 16]) {
    step!(mix_1, s, w, 0, 0, 7, 0xd76a_a478);
    step!(mix_1, s, w, 3, 1, 12, 0xe8c7_b756);
    step!(mix_1, s, w, 2, 2, 17, 0x2420_70db);
    step!(mix_1, s, w, 1, 3, 22, 0xc1bd_ceee);
    step!(mix_1, s, w, 0, 4, 7, 0xf57c_0faf);
    step!(mix_1, s, w, 3, 5, 12, 0x4787_c62a);
    step!(mix_1, s, w, 2, 6, 17, 0xa830_4613);
    step!(mix_1, s, w, 1, 7, 22, 0xfd46_9501);
    step!(mix_1, s, w, 0, 8, 7, 0x6980_98d8);
    step!(mix_1, s, w, 3, 9, 12, 0x8b44_f7af);
    step!(mix_1, s, w, 2, 10, 17, 0xffff_5bb1);
    step!(mix_1, s, w, 1, 11, 22, 0x895c_d7be);
    step!(mix_1, s, w, 0, 12, 7, 0x6b90_1122);
    step!(mix_1, s, w, 3, 13, 12, 0xfd98_7193);
    step!(mix_1, s, w, 2, 14, 17, 0xa679_438e);
    step!(mix_1, s, w, 1, 15, 22, 0x49b4_0821);
}

#[inline(always)]
fn round_2<const N: usize>(s: &mut [Words<N>; 4], w: &[Words<N>; 16]) {
    step!(mix_2, s, w, 0, 1, 5, 0xf61e_2562);
    step!(mix_2, s, w, 3, 6, 9, 0xc040_b340);
    step!(mix_2, s, w, 2, 11, 14, 0x265e_5a51);
    step!(mix_2, s, w, 1, 0, 20, 0xe9b6_c7aa);
    step!(mix_2, s, w, 0, 5, 5, 0xd62f_105d);
    step!(mix_2, s, w, 3, 10, 9, 0x0244_1453);
    step!(mix_2, s, w, 2, 15, 14, 0xd8a1_e681);
    step!(mix_2, s, w, 1, 4, 20, 0xe7d3_fbc8);
    step!(mix_2, s, w, 0, 9, 5, 0x21e1_cde6);
    step!(mix_2, s, w, 3, 14, 9, 0xc337_07d6);
    step!(mix_2, s, w, 2, 3, 14, 0xf4d5_0d87);
    step!(mix_2, s, w, 1, 8, 20, 0x455a_14ed);
    step!(mix_2, s, w, 0, 13, 5, 0xa9e3_e905);
    step!(mix_2, s, w, 3, 2, 9, 0xfcef_a3f8);
    step!(mix_2, s, w, 2, 7, 14, 0x676f_02d9);
    step!(mix_2, s, w, 1, 12, 20, 0x8d2a_4c8a);
}

#[inline(always)]
fn round_3<const N: usize>(s: &mut [Words<N>; 4], w: &[Words<N>; 16]) {
    step!(mix_3, s, w, 0, 5, 4, 0xfffa_3942);
    step!(mix_3, s, w, 3, 8, 11, 0x8771_f681);
    step!(mix_3, s, w, 2, 11, 16, 0x6d9d_6122);
    step!(mix_3, s, w, 1, 14, 23, 0xfde5_380c);
    step!(mix_3, s, w, 0, 1, 4, 0xa4be_ea44);
    step!(mix_3, s, w, 3, 4, 11, 0x4bde_cfa9);
    step!(mix_3, s, w, 2, 7, 16, 0xf6bb_4b60);
    step!(mix_3, s, w, 1, 10, 23, 0xbebf_bc70);
    step!(mix_3, s, w, 0, 13, 4, 0x289b_7ec6);
    step!(mix_3, s, w, 3, 0, 11, 0xeaa1_27fa);
    step!(mix_3, s, w, 2, 3, 16, 0xd4ef_3085);
    step!(mix_3, s, w, 1, 6, 23, 0x0488_1d05);
    step!(mix_3, s, w, 0, 9, 4, 0xd9d4_d039);
    step!(mix_3, s, w, 3, 12, 11, 0xe6db_99e5);
    step!(mix_3, s, w, 2, 15, 16, 0x1fa2_7cf8);
    step!(mix_3, s, w, 1, 2, 23, 0xc4ac_5665);
}

#[inline(always)]
fn round_4<const N: usize>(s: &mut [Words<N>; 4], w: &[Words<N>; 16]) {
    step!(mix_4, s, w, 0, 0, 6, 0xf429_2244);
    step!(mix_4, s, w, 3, 7, 10, 0x432a_ff97);
    step!(mix_4, s, w, 2, 14, 15, 0xab94_23a7);
    step!(mix_4, s, w, 1, 5, 21, 0xfc93_a039);
    step!(mix_4, s, w, 0, 12, 6, 0x655b_59c3);
    step!(mix_4, s, w, 3, 3, 10, 0x8f0c_cc92);
    step!(mix_4, s, w, 2, 10, 15, 0xffef_f47d);
    step!(mix_4, s, w, 1, 1, 21, 0x8584_5dd1);
    step!(mix_4, s, w, 0, 8, 6, 0x6fa8_7e4f);
    step!(mix_4, s, w, 3, 15, 10, 0xfe2c_e6e0);
    step!(mix_4, s, w, 2, 6, 15, 0xa301_4314);
    step!(mix_4, s, w, 1, 13, 21, 0x4e08_11a1);
    step!(mix_4, s, w, 0, 4, 6, 0xf753_7e82);
    step!(mix_4, s, w, 3, 11, 10, 0xbd3a_f235);
    step!(mix_4, s, w, 2, 2, 15, 0x2ad7_d2bb);
    step!(mix_4, s, w, 1, 9, 21, 0xeb86_d391);
}

#[inline(always)]
fn mix_1(sum: u32, x: u32, y: u32, z: u32) -> u32 {
    sum.wrapping_add((x & y) | (!x & z))
}

/// The masked bits do not overlap, so that they can be added one after the other. The second needs
/// `x`, which is known last.
#[inline(always)]
fn mix_2(sum: u32, x: u32, y: u32, z: u32) -> u32 {
    sum.wrapping_add(y & !z).wrapping_add(x & z)
}

#[inline(always)]
fn mix_3(sum: u32, x: u32, y: u32, z: u32) -> u32 {
    sum.wrapping_add(x ^ y ^ z)
}

#[inline(always)]
fn mix_4(sum: u32, x: u32, y: u32, z: u32) -> u32 {
    sum.wrapping_add(y ^ (x | !z))
}

#[cfg(test)]
mod tests {
    use super::*;
    use md5::Digest;

    fn content(bytes: usize, seed: usize) -> Vec<u8> {
        (0..bytes).map(|i| (i * 31 + seed * 7 + i / 256) as u8).collect()
    }

    fn expected(bytes: &[u8]) -> [u8; 16] {
        md5::Md5::digest(bytes).into()
    }

    #[test]
    fn every_length_and_cut_has_the_digest_of_the_whole() {
        for bytes in 0..200 {
            let content = content(bytes, 1);
            assert_eq!(Md5::of(&content), expected(&content), "{bytes} bytes");
            for cut in 0..bytes {
                let mut md5 = Md5::default();
                md5.update(&content[..cut]);
                md5.update(&content[cut..]);
                assert_eq!(md5.finish(), expected(&content), "{bytes} bytes, cut at {cut}");
            }
        }
    }

    /// Lanes of different lengths, begun at different places in a block.
    #[test]
    fn lanes_do_not_mix() {
        for lanes in 0..=LANES {
            for step in [0, 1, 63, 64, 100, 1000] {
                let contents: Vec<_> = (0..lanes).map(|lane| content(300 + lane * step, lane)).collect();
                let mut states = vec![Md5::default(); lanes];
                let cuts: Vec<_> = (0..lanes).map(|lane| lane * 37).collect();
                for part in 0..2 {
                    let mut jobs: Vec<_> = (states.iter_mut().zip(&contents).zip(&cuts))
                        .map(|((md5, content), cut)| {
                            let (first, second) = content.split_at(*cut);
                            (md5, if part == 0 { first } else { second })
                        })
                        .collect();
                    Md5::update_all(&mut jobs);
                }
                for (md5, content) in states.into_iter().zip(&contents) {
                    assert_eq!(md5.finish(), expected(content), "{lanes} lanes, {step}");
                }
            }
        }
    }
}
