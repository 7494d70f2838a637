//! Remembers the tokens of words.
//!
//! Texts have few different words, and a look-up takes a tenth of the time of splitting a word.

use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashMap;

/// Maximum number of words. A full memo has about 6 MB and is cleared.
const WORDS_MAX: usize = 1 << 16;

/// Longer pieces are not remembered.
const WORD_BYTES_MAX: usize = 48;

/// Memos that no thread uses at the moment.
#[derive(Default)]
pub(super) struct Memos {
    unused: Mutex<Vec<Memo>>,
}

/// The tokens of words.
#[derive(Default)]
pub(super) struct Memo {
    /// Start and end of the tokens of each word.
    words: FxHashMap<Box<str>, (u32, u32)>,
    tokens: Vec<u32>,
}

impl Memos {
    /// Runs `work` with a memo that no other thread uses.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Memo) -> T) -> T {
        let unused = || self.unused.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = unused().pop();
        let mut memo = taken.unwrap_or_default();
        let result = work(&mut memo);
        unused().push(memo);
        result
    }
}

impl Memo {
    /// Adds the tokens of a word to `tokens`. `split` adds those of a word that is not known yet.
    pub(super) fn add(&mut self, word: &str, tokens: &mut Vec<u32>, split: impl FnOnce(&mut Vec<u32>)) {
        if let Some(&(from, to)) = self.words.get(word) {
            return tokens.extend_from_slice(&self.tokens[from as usize..to as usize]);
        }
        let from = tokens.len();
        split(tokens);
        if word.len() > WORD_BYTES_MAX {
            return;
        }
        if self.words.len() >= WORDS_MAX {
            self.words.clear();
            self.tokens.clear();
        }
        // Below 2^22: a word has at most a token for each byte.
        let start = self.tokens.len() as u32;
        self.tokens.extend_from_slice(&tokens[from..]);
        self.words.insert(word.into(), (start, self.tokens.len() as u32));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_word_is_not_split_again_and_a_full_memo_is_cleared() {
        let memos = Memos::default();
        let tokens_of = |word: usize, is_split: bool| {
            memos.with(|memo| {
                let mut tokens = vec![7];
                let mut split = false;
                memo.add(&word.to_string(), &mut tokens, |tokens| {
                    split = true;
                    tokens.extend([word as u32, 3]);
                });
                assert_eq!(tokens, [7, word as u32, 3]);
                assert_eq!(split, is_split, "{word}");
            });
        };
        (0..WORDS_MAX).for_each(|word| tokens_of(word, true));
        tokens_of(5, false);
        tokens_of(WORDS_MAX, true);
        tokens_of(5, true);
        assert_eq!(memos.unused.lock().unwrap().len(), 1);
    }
}
