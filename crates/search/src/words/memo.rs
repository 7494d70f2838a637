//! A cache of stems. Making a stem takes longer than all other processing of a word.
//!
//! - The result is always that of [`Rules::stem`]. A hash selects the place and words are compared
//!   whole, so a page can only evict entries, never cause a wrong stem.
//! - Memory is bounded. A word has two possible places, in one cache line of the processor, and
//!   replaces the word that was used less recently.
//! - It does not depend on the texts or their order, so one serves all documents of a segment, or
//!   the texts of many answers.

use std::hash::{BuildHasher, BuildHasherDefault};

use parking_lot::Mutex;
use rustc_hash::FxHasher;

use super::Rules;

/// Number of two-word sets for texts: half a megabyte, which fits into the cache of one core. The
/// few thousand most frequent words are nine tenths of most texts.
pub(crate) const TEXT_SETS: usize = 1 << 13;

/// Number of sets for titles, URLs and queries, which are short.
pub(crate) const SHORT_SETS: usize = 1 << 8;

/// Bytes for a word and for the part of its stem that differs from the word's beginning. Longer
/// ones are not cached.
const ENTRY_BYTES: usize = 27;

/// Maximum number of idle memos kept for the next searches. As many exist as searches run at once,
/// and only one search per processor makes progress.
const IDLE_MAX: usize = 8;

/// A cache of stems in any language.
#[derive(Clone)]
pub(crate) struct StemMemo {
    /// Number of sets once they are allocated: a power of two.
    size: usize,
    sets: Vec<Set>,
}

#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Set([Entry; 2]);

/// A word and its stem.
#[derive(Clone, Copy, Default)]
struct Entry {
    /// Code of the rules, padded with zeros.
    code: [u8; 2],
    /// Length of the word in bytes; 0 for an empty entry.
    word: u8,
    /// Bytes of the word that the stem begins with.
    shared: u8,
    /// Further bytes of the stem after these.
    tail: u8,
    /// The word, then the further bytes.
    bytes: [u8; ENTRY_BYTES],
}

impl StemMemo {
    /// Creates a cache with room for twice `sets` words.
    pub(crate) fn new(sets: usize) -> StemMemo {
        debug_assert!(sets.is_power_of_two(), "{sets} sets of stems");
        StemMemo {
            size: sets,
            sets: Vec::new(),
        }
    }

    /// Stores the stem of a word, as [`Rules::stem`] makes it, in `stem`.
    pub(crate) fn stem(&mut self, rules: &Rules, folded: &str, written: Option<&str>, stem: &mut String) {
        stem.clear();
        let word = written.unwrap_or(folded);
        if word.len() > ENTRY_BYTES {
            return stem.push_str(&rules.stem(folded, written));
        }
        // Allocated for the first word, because many memos are made for texts in languages without
        // rules.
        if self.sets.is_empty() {
            self.sets.resize(self.size, Set::default());
        }
        let code = code_of(rules);
        let Set(set) = &mut self.sets[place(word, self.size)];
        if set[0].is_of(code, word) {
            return set[0].append(word, stem);
        }
        set.swap(0, 1);
        if set[0].is_of(code, word) {
            return set[0].append(word, stem);
        }
        let made = rules.stem(folded, written);
        if let Some(entry) = Entry::new(code, word, &made) {
            set[0] = entry;
        }
        stem.push_str(&made);
    }
}

impl Entry {
    /// Returns `None` if the entry is too long.
    fn new(code: [u8; 2], word: &str, stem: &str) -> Option<Entry> {
        let both = word.chars().zip(stem.chars());
        let same = both.take_while(|(a, b)| a == b);
        let shared = same.map(|(c, _)| c.len_utf8()).sum::<usize>();
        let tail = stem.len() - shared;
        let mut bytes = [0; ENTRY_BYTES];
        let (head, rest) = bytes.split_at_mut_checked(word.len())?;
        head.copy_from_slice(word.as_bytes());
        rest.get_mut(..tail)?.copy_from_slice(&stem.as_bytes()[shared..]);
        Some(Entry {
            code,
            word: word.len() as u8,
            shared: shared as u8,
            tail: tail as u8,
            bytes,
        })
    }

    fn is_of(&self, code: [u8; 2], word: &str) -> bool {
        usize::from(self.word) == word.len()
            && self.code == code
            && &self.bytes[..word.len()] == word.as_bytes()
    }

    /// Appends the stem; `word` must be the entry's word.
    fn append(&self, word: &str, stem: &mut String) {
        stem.push_str(&word[..usize::from(self.shared)]);
        if self.tail > 0 {
            let tail = &self.bytes[word.len()..][..usize::from(self.tail)];
            // The bytes were cut at a character boundary.
            stem.push_str(&String::from_utf8_lossy(tail));
        }
    }
}

fn code_of(rules: &Rules) -> [u8; 2] {
    let code = rules.code.as_bytes();
    debug_assert!(code.len() <= 2, "a code of {} bytes", code.len());
    [
        code.first().copied().unwrap_or_default(),
        code.get(1).copied().unwrap_or_default(),
    ]
}

fn place(word: &str, sets: usize) -> usize {
    let hash = BuildHasherDefault::<FxHasher>::default().hash_one(word);
    // Use the upper bits: this hash mixes the lower ones poorly.
    (hash >> 32) as usize & (sets - 1)
}

/// A pool of memos for searches. The next search finds most of its words in them.
#[derive(Default)]
pub(crate) struct StemMemos {
    idle: Mutex<Vec<StemMemo>>,
}

impl StemMemos {
    /// Runs `work` with a memo that no one else uses.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut StemMemo) -> T) -> T {
        let idle = self.idle.lock().pop();
        let mut memo = idle.unwrap_or_else(|| StemMemo::new(TEXT_SETS));
        let done = work(&mut memo);
        let mut idle = self.idle.lock();
        if idle.len() < IDLE_MAX {
            idle.push(memo);
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::words::{RULES, Words};

    /// For all words of a text and all rules, the memo returns the stem of the rules, the first
    /// time and later.
    #[track_caller]
    fn check(memo: &mut StemMemo, text: &str) {
        let mut words = Words::new(text);
        let (mut word, mut stem) = (String::new(), String::new());
        while words.next_into(&mut word).is_some() {
            let written = words.written();
            for rules in &RULES {
                for _ in 0..2 {
                    memo.stem(rules, &word, written, &mut stem);
                    assert_eq!(
                        stem,
                        rules.stem(&word, written),
                        "{word} {written:?} by {}",
                        rules.code
                    );
                }
            }
        }
    }

    #[test]
    fn words_of_one_place_do_not_take_each_others_stems() {
        // One set: every word is evicted by the second one after it.
        let mut memo = StemMemo::new(1);
        let text = "running runs ran dying Häuser haus straße strasse książki العربية книгами gelopen";
        check(&mut memo, text);
        check(&mut memo, &format!("{text} {}s", "word".repeat(30)));
    }

    #[test]
    fn a_memo_is_lent_and_given_back() {
        let memos = StemMemos::default();
        memos.with(|_| memos.with(|_| ()));
        assert_eq!(memos.idle.lock().len(), 2);
        for _ in 0..3 {
            memos.with(|_| ());
        }
        assert_eq!(memos.idle.lock().len(), 2);
    }

    proptest! {
        #[test]
        fn stems_met_before_are_the_same(
            texts in prop::collection::vec("([a-eyst]{1,7}(ing|ies|ed|ly|s|en|er|é|ação|ия|ам)? ?|\\PC){0,12}", 1..6),
            sets in 0..4_u32,
        ) {
            let mut memo = StemMemo::new(1 << sets);
            for text in texts.iter().chain(&texts) {
                check(&mut memo, text);
            }
        }
    }
}
