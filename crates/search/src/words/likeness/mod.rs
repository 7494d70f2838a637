//! Similarity of texts: SimHash, 64 bits over shingles of words (Charikar 2002; Manku, Jain and
//! Sarma 2007).
//!
//! Invariants:
//! - The likeness of a text depends only on its words and is the same in every index: it is part of
//!   the format.
//! - Two texts are near-duplicates if their likenesses differ in at most [`DISTANCE_MAX`] bits. The
//!   relation is not transitive: two texts that are both near a third may be further apart.
//!
//! A shingle is [`SHINGLE_WORDS`] adjacent words. It counts once, however often it occurs, so that
//! repeated parts of a page have the same weight as others. Each bit of the likeness is the value
//! that most shingles have in that bit. Texts that share a fraction c of their shingles differ in
//! about 64 * arccos(c) / pi bits.

use crate::words::Words;

/// Words in a shingle. Single words ignore the order; long shingles turn each changed word into
/// many changed shingles.
const SHINGLE_WORDS: usize = 3;

/// Number of words of a text that are read: more than nearly all pages have.
const WORDS_MAX: usize = 20_000;

/// Bits of a count of shingles.
const PLANES: usize = 16;

const _: () = assert!(WORDS_MAX < 1 << PLANES, "every count fits in the planes");

/// Maximum number of bits in which near-duplicates differ. With three words to a shingle, half of
/// the texts in which one word of 50 has changed are within it, and 95 of 100 in which one word of
/// 200 has (measured, docs/search.md).
pub(crate) const DISTANCE_MAX: u32 = 6;

/// Returns the likeness of a text; `None` for a text without words.
pub(crate) fn of_text(text: &str) -> Option<u64> {
    let (mut words, mut word) = (Words::new(text), String::new());
    let mut last = [0_u64; SHINGLE_WORDS];
    let mut shingles = Vec::new();
    let mut count = 0;
    while count < WORDS_MAX && words.next_into(&mut word).is_some() {
        last.rotate_left(1);
        last[SHINGLE_WORDS - 1] = hash_of_word(&word);
        count += 1;
        if count >= SHINGLE_WORDS {
            shingles.push(hash_of_shingle(&last));
        }
    }
    if count == 0 {
        return None;
    }
    if shingles.is_empty() {
        shingles.push(hash_of_shingle(&last));
    }
    shingles.sort_unstable();
    shingles.dedup();
    Some(majority(&shingles))
}

/// Returns a likeness that only documents with the same name have: for another name each bit
/// differs with a probability of one half.
pub(crate) fn of_name(name: &str) -> u64 {
    mixed(hash_of_word(name))
}

/// Returns whether two texts are near-duplicates.
pub(crate) fn are_near(a: u64, b: u64) -> bool {
    (a ^ b).count_ones() <= DISTANCE_MAX
}

/// Formats a likeness as in queries.
pub(crate) fn text(likeness: u64) -> String {
    format!("{likeness:016x}")
}

/// Parses the output of [`text`]; `None` for any other text.
pub(crate) fn read(text: &str) -> Option<u64> {
    let is_hex = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| u64::from_str_radix(text, 16).ok()).flatten()
}

/// Returns the bits that are set in more than half of the hashes.
fn majority(hashes: &[u64]) -> u64 {
    // Bit n of plane p is bit p of the number of hashes that have bit n. All 64 counters are
    // incremented at once.
    let mut planes = [0_u64; PLANES];
    for hash in hashes {
        let mut carry = *hash;
        for plane in &mut planes {
            let both = *plane & carry;
            *plane ^= carry;
            carry = both;
            if carry == 0 {
                break;
            }
        }
    }
    let count = |bit: usize| {
        let planes = planes.iter().enumerate();
        planes.fold(0, |count, (plane, bits)| count | (bits >> bit & 1) << plane)
    };
    let half = hashes.len() as u64 / 2;
    (0..64).fold(0, |likeness, bit| likeness | u64::from(count(bit) > half) << bit)
}

/// Hashes a word with FNV-1a.
fn hash_of_word(word: &str) -> u64 {
    word.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn hash_of_shingle(words: &[u64; SHINGLE_WORDS]) -> u64 {
    words.iter().fold(0, |hash, word| mixed(hash ^ word))
}

/// The finalizer of splitmix64: every output bit depends on every input bit.
fn mixed(hash: u64) -> u64 {
    let hash = hash.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests;
