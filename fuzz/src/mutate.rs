//! Mutations that tend to reach code that ordinary inputs do not.

use crate::random::Random;

/// Maximum length of an input. Longer ones are truncated: shorter ones find most failures, and
/// faster.
pub(crate) const INPUT_BYTES_MAX: usize = 64 << 10;

/// Boundary values of numeric fields.
const EDGES: &[&[u8]] = &[
    b"0",
    b"-1",
    b"127",
    b"255",
    b"256",
    b"65535",
    b"4294967295",
    b"4294967296",
    b"9223372036854775807",
    b"18446744073709551615",
    b"99999999999999999999",
    b"1e308",
];

/// Mutates `input` in one to eight places. `others` are inputs to copy pieces from, `tokens` the
/// target's words.
pub(crate) fn mutate(input: &mut Vec<u8>, others: &[Vec<u8>], tokens: &[&[u8]], random: &mut Random) {
    for _ in 0..=random.below(8) {
        change(input, others, tokens, random);
    }
    input.truncate(INPUT_BYTES_MAX);
}

fn change(input: &mut Vec<u8>, others: &[Vec<u8>], tokens: &[&[u8]], random: &mut Random) {
    let at = random.below(input.len() + 1);
    match random.below(10) {
        0 => flip_bit(input, random),
        1 => set_byte(input, random),
        2 => drop(input.drain(stretch(input, random))),
        3 => repeat(input, at, random),
        4 => input.truncate(at),
        5 => insert(input, at, EDGES[random.below(EDGES.len())]),
        6 | 7 if !tokens.is_empty() => insert(input, at, tokens[random.below(tokens.len())]),
        8 if !others.is_empty() => {
            let other = &others[random.below(others.len())];
            let piece = other[stretch(other, random)].to_vec();
            insert(input, at, &piece);
        }
        9 if !others.is_empty() => {
            // The start of one input and the end of another, so that a length may differ from the
            // data after it.
            let other = &others[random.below(others.len())];
            input.truncate(at);
            input.extend_from_slice(&other[random.below(other.len() + 1)..]);
        }
        _ => move_stretch(input, random),
    }
}

/// Returns a random range of `bytes`, usually short.
fn stretch(bytes: &[u8], random: &mut Random) -> std::ops::Range<usize> {
    let start = random.below(bytes.len() + 1);
    let longest = if random.below(4) == 0 { bytes.len() } else { 32 };
    let length = random.below(longest.min(bytes.len() - start) + 1);
    start..start + length
}

fn flip_bit(input: &mut [u8], random: &mut Random) {
    let at = random.below(input.len());
    if let Some(byte) = input.get_mut(at) {
        *byte ^= 1 << random.below(8);
    }
}

fn set_byte(input: &mut [u8], random: &mut Random) {
    let at = random.below(input.len());
    if let Some(byte) = input.get_mut(at) {
        *byte = random.next() as u8;
    }
}

fn insert(input: &mut Vec<u8>, at: usize, piece: &[u8]) {
    input.splice(at..at, piece.iter().copied());
}

fn repeat(input: &mut Vec<u8>, at: usize, random: &mut Random) {
    let piece = input[stretch(input, random)].to_vec();
    for _ in 0..=random.below(20) {
        insert(input, at, &piece);
    }
}

fn move_stretch(input: &mut Vec<u8>, random: &mut Random) {
    let piece: Vec<u8> = input.drain(stretch(input, random)).collect();
    let at = random.below(input.len() + 1);
    insert(input, at, &piece);
}
