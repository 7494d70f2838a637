//! Skips words that cannot match any of the words searched for, which are most of a text.
//!
//! ASCII words are tested by their first two characters, 64 bytes of the text at a time. A bit mask
//! marks letters and digits, and a word begins at each set bit that follows an unset one.
//! Everything else (words with other characters, or next to one that may combine with them) is left
//! to the reader.

/// The possible first and second characters of the words searched for.
#[derive(Debug, Clone)]
pub(crate) struct Prefilter {
    /// Indexed by the number of the first character: a bit set of the numbers of second characters.
    /// Bit 0 is set if the word may end after the first character.
    seconds: [u64; NUMBERS],
}

/// Where skipping stopped.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SkipEnd {
    /// A position outside of words. A word begins there, or the reader must continue from it.
    pub(super) at: usize,
    pub(super) words: usize,
}

/// Letters and digits are numbered from 1; 0 is any other character.
const NUMBERS: usize = 37;

/// Returns the number of an ASCII character, which is the same for upper and lower case.
const fn number(byte: u8) -> usize {
    match byte {
        b'a'..=b'z' => (byte - b'a') as usize + 1,
        b'A'..=b'Z' => (byte - b'A') as usize + 1,
        b'0'..=b'9' => (byte - b'0') as usize + 27,
        _ => 0,
    }
}

/// [`number`] of every byte.
const NUMBER: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = number(byte as u8) as u8;
        byte += 1;
    }
    table
};

/// Bytes that are tested together.
const BLOCK: usize = 64;

impl Prefilter {
    /// Takes whole words and prefixes of words, in the form of the index.
    pub(crate) fn new<'w>(
        words: impl Iterator<Item = &'w str>,
        beginnings: impl Iterator<Item = &'w str>,
    ) -> Prefilter {
        let mut prefilter = Prefilter {
            seconds: [0; NUMBERS],
        };
        words.for_each(|word| prefilter.add(word, 1));
        beginnings.for_each(|start| prefilter.add(start, u64::MAX));
        prefilter
    }

    /// Adds a word; `ends` are its second characters if it has only one character.
    fn add(&mut self, word: &str, ends: u64) {
        let Some((&first, rest)) = word.as_bytes().split_first() else {
            return;
        };
        // Other characters than ASCII have number 0. An ASCII text has no such word.
        let first = number(first);
        self.seconds[first] |= match rest.first() {
            None => ends,
            Some(&second) => 1 << number(second),
        };
    }

    /// Returns whether a word that begins with `c` may match. Characters other than ASCII may fold
    /// to anything.
    pub(super) fn may_begin(&self, c: char) -> bool {
        u8::try_from(c)
            .ok()
            .filter(u8::is_ascii)
            .is_none_or(|byte| self.seconds[number(byte)] != 0)
    }

    /// Returns whether an ASCII word may match.
    pub(super) fn may_begin_ascii(&self, word: &str) -> bool {
        match *word.as_bytes() {
            [first] => self.may_begin_with(first, b' '),
            [first, second, ..] => self.may_begin_with(first, second),
            [] => false,
        }
    }

    fn may_begin_with(&self, first: u8, second: u8) -> bool {
        let (first, second) = (NUMBER[usize::from(first)], NUMBER[usize::from(second)]);
        self.seconds[usize::from(first)] >> second & 1 == 1
    }

    /// Skips words from `at` on, which must be outside of words, up to one that may match or one
    /// that begins at `end` or later.
    pub(super) fn skip_to_candidate(&self, text: &str, mut at: usize, end: usize) -> SkipEnd {
        let bytes = text.as_bytes();
        let mut words = 0;
        // Not attempted next to other characters, so that a text in another script is not read
        // twice.
        if bytes[at..].iter().take(2).any(|byte| !byte.is_ascii()) {
            return SkipEnd { at, words };
        }
        while at < bytes.len() {
            let block = Block::of(&bytes[at..]);
            let starts = block.finished_starts();
            let mut left = starts;
            while left != 0 {
                let start = at + left.trailing_zeros() as usize;
                let second = bytes.get(start + 1).copied().unwrap_or(b' ');
                if start >= end || self.may_begin_with(bytes[start], second) {
                    words += (starts.count_ones() - left.count_ones()) as usize;
                    return SkipEnd { at: start, words };
                }
                left &= left - 1;
            }
            words += starts.count_ones() as usize;
            let skipped = block.skipped();
            at = (at + skipped).min(bytes.len());
            if skipped == 0 || block.limit < BLOCK {
                break;
            }
        }
        SkipEnd { at, words }
    }
}

/// A block of text, up to its first byte that is not ASCII.
struct Block {
    /// Number of bytes before the first one that is not ASCII.
    limit: usize,
    /// Bit mask of letters and digits among them.
    letters: u64,
}

impl Block {
    /// Reads the first bytes of `bytes`. After the end of the text, the block has gaps.
    fn of(bytes: &[u8]) -> Block {
        let mut padded = [0; BLOCK];
        let block = bytes.first_chunk().unwrap_or_else(|| {
            padded[..bytes.len()].copy_from_slice(bytes);
            &padded
        });
        let limit = limit_of(block);
        let letters = bits(&block.map(|byte| if is_letter(byte) { 0x80 } else { 0 }));
        Block {
            limit,
            letters: letters & below(limit),
        }
    }

    fn starts(&self) -> u64 {
        self.letters & !(self.letters << 1)
    }

    /// Returns the starts of the words that also end here, followed by a gap within the limit.
    fn finished_starts(&self) -> u64 {
        self.starts() & below(self.skipped())
    }

    /// Returns the number of bytes that need not be read again: up to a word that reaches the
    /// limit. A gap before a non-ASCII character is kept, because the two may combine.
    fn skipped(&self) -> usize {
        let ends_in_word = self.limit > 0 && self.letters >> (self.limit - 1) & 1 == 1;
        match (ends_in_word, self.limit) {
            (true, _) => BLOCK - 1 - self.starts().leading_zeros() as usize,
            (false, BLOCK) => BLOCK,
            (false, limit) => limit.saturating_sub(1),
        }
    }
}

/// Returns the lowest `count` bits.
fn below(count: usize) -> u64 {
    1_u64.checked_shl(count as u32).map_or(u64::MAX, |bit| bit - 1)
}

/// The highest bit of each of eight bytes.
const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);

/// Same as `is_ascii_alphanumeric`, in a form that vectorizes.
fn is_letter(byte: u8) -> bool {
    let letter = (byte | 0x20).wrapping_sub(b'a') < 26;
    let digit = byte.wrapping_sub(b'0') < 10;
    letter | digit
}

/// Returns the number of bytes before the first one that is not ASCII.
fn limit_of(block: &[u8; BLOCK]) -> usize {
    // Test all at once first: most blocks of most texts are ASCII.
    let all = block.iter().fold(0, |all, byte| all | byte);
    if all.is_ascii() {
        return BLOCK;
    }
    bits(block).trailing_zeros() as usize
}

/// Collects the highest bit of each byte; the first byte gives the lowest bit.
fn bits(block: &[u8; BLOCK]) -> u64 {
    let eights = block.as_chunks().0.iter().enumerate();
    eights.fold(0, |bits, (index, eight)| {
        bits | gathered(u64::from_le_bytes(*eight) & HIGH) << (8 * index)
    })
}

/// Collects the highest bits of eight bytes into one byte; the first byte gives the lowest bit.
fn gathered(high: u64) -> u64 {
    (high >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn letters_are_those_of_ascii() {
        for byte in 0..=u8::MAX {
            let block = Block::of(&[b' ', byte, b' ']);
            assert_eq!(block.letters == 2, byte.is_ascii_alphanumeric(), "{byte}");
            assert_eq!(block.limit == 1, !byte.is_ascii(), "{byte}");
        }
    }

    #[track_caller]
    fn check(wanted: &str, text: &str, at: usize, words: usize) {
        let prefilter = Prefilter::new(wanted.split(' '), std::iter::empty());
        assert_eq!(
            prefilter.skip_to_candidate(text, 0, usize::MAX),
            SkipEnd { at, words },
            "{wanted} in {text}"
        );
    }

    #[test]
    fn what_may_be_wanted_is_not_passed() {
        check("word", "no wards, Words", 10, 2);
        check("a", "at a", 3, 1);
        check("word", "nothing", 7, 1);
        check("word", "", 0, 0);
        let long = "w".repeat(200);
        check("x", &format!("an {long} x"), 3, 1);
    }

    #[test]
    fn what_other_characters_may_join_is_not_passed() {
        check("word", "no né", 3, 1);
        check("word", "no \u{301}a", 2, 1);
        check("word", "é", 0, 0);
        check("word", "no .é", 3, 1);
    }

    proptest! {
        #[test]
        fn words_are_passed_as_they_are_counted(
            text in "[abcdy .]{0,200}|[abcdyé\u{301} ]{0,100}",
            wanted in "[abcdy]{1,3}",
            end in 0..250_usize,
        ) {
            let prefilter = Prefilter::new(std::iter::once(wanted.as_str()), std::iter::empty());
            let skipped = prefilter.skip_to_candidate(&text, 0, end);
            let before = text[..skipped.at].split(|c: char| !c.is_ascii_alphanumeric());
            let words: Vec<&str> = before.filter(|word| !word.is_empty()).collect();
            prop_assert_eq!(words.len(), skipped.words);
            prop_assert!(words.iter().all(|word| !word.starts_with(&wanted) || wanted.len() == 1 && word.len() > 1));
            prop_assert!(text[..skipped.at].is_ascii());
            let whole = text.is_ascii() && !text.bytes().any(|byte| byte == wanted.as_bytes()[0]);
            prop_assert!(!whole || skipped.at == text.len() || skipped.at >= end);
        }
    }
}
