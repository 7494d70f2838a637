//! An invented language: words of syllables, with short common words, drawn by Zipf's law.

use super::random::{Random, scatter};

const ONSETS: [&str; 16] = [
    "b", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w", "z",
];

/// A rime ends in a vowel, or in a consonant that cannot be confused with the onset of the next
/// syllable. A text of syllables can therefore be split in only one way, and different numbers give
/// different names.
const RIMES: [&str; 16] = [
    "a", "e", "i", "o", "u", "an", "el", "in", "us", "ar", "en", "is", "on", "ur", "ia", "eo",
];

/// Base-2 logarithm of the number of words.
const VOCABULARY_LOG2: u32 = 15;

/// One in this many rare words has a letter beyond ASCII.
const ACCENTED_EVERY: usize = 16;

/// The words of the language, most common first.
#[derive(Debug)]
pub(super) struct Words {
    words: Vec<String>,
}

impl Words {
    /// Returns the language of `seed`.
    pub(super) fn new(seed: u64) -> Words {
        let words = (0..1 << VOCABULARY_LOG2).map(|rank| word(rank, seed)).collect();
        Words { words }
    }

    /// Appends a word; common ones are more likely.
    pub(super) fn append(&self, random: &mut Random, out: &mut String) {
        out.push_str(&self.words[random.zipf(VOCABULARY_LOG2) as usize]);
    }

    /// Appends a plain ASCII word for a path; all are about equally likely.
    pub(super) fn append_plain(&self, random: &mut Random, out: &mut String) {
        let rank = random.below(1 << VOCABULARY_LOG2) as usize;
        let rank = if is_accented(rank) { rank - 1 } else { rank };
        out.push_str(&self.words[rank]);
    }

    /// Appends `count` words with spaces between them.
    pub(super) fn append_phrase(&self, count: u64, random: &mut Random, out: &mut String) {
        for i in 0..count {
            if i > 0 {
                out.push(' ');
            }
            self.append(random, out);
        }
    }
}

fn is_accented(rank: usize) -> bool {
    rank >= 64 && rank.is_multiple_of(ACCENTED_EVERY)
}

fn word(rank: usize, seed: u64) -> String {
    let syllables = match rank {
        0..64 => 1,
        64..2048 => 2,
        _ => 3,
    };
    let mut word = String::new();
    append_syllables(scatter(rank as u32, seed as u32), syllables, &mut word);
    if is_accented(rank) {
        word = word
            .replacen('a', "ä", 1)
            .replacen('o', "ø", 1)
            .replacen('e', "é", 1);
    }
    word
}

/// Appends `count` (at most 4) syllables, one for each byte of `number`.
pub(super) fn append_syllables(number: u32, count: u32, out: &mut String) {
    for place in 0..count {
        let byte = (number >> (8 * place)) as u8;
        out.push_str(ONSETS[usize::from(byte >> 4)]);
        out.push_str(RIMES[usize::from(byte & 15)]);
    }
}
