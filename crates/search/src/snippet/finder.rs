//! Finds the words of a query in a text, word by word, from its beginning.

use std::ops::Range;

use crate::beginning::Beginning;
use crate::query::Phrase;
use crate::words::{self, Firsts, Words};

/// Finds the words of a query in a text.
pub(super) struct Finder {
    /// Sorted, without repeats.
    words: Vec<String>,
    /// What words may begin with, and how it was written.
    beginnings: Vec<(String, Beginning)>,
    /// Whether any of the words is one character of a run of pairs, and so the beginning of words.
    has_half_pair: bool,
    firsts: Firsts,
}

/// A word of the query, in the text.
#[derive(Debug)]
pub(super) struct FoundWord {
    /// Number of the word in the text.
    pub(super) position: usize,
    pub(super) range: Range<usize>,
    /// Index among the finder's words, or among its beginnings.
    word: usize,
    is_beginning: bool,
}

/// How far a text was read.
#[derive(Default)]
pub(super) struct Scan {
    position: usize,
    /// By position; one word of the text may be several of the query.
    pub(super) found: Vec<FoundWord>,
    word: String,
}

impl Finder {
    pub(super) fn new(phrases: &[&Phrase]) -> Finder {
        let words = |beginning: bool| {
            let phrases = phrases.iter().filter(move |phrase| phrase.beginning == beginning);
            phrases.flat_map(|phrase| phrase.words.iter().map(|(_, word)| word.clone()))
        };
        let beginnings: Vec<_> = words(true)
            .map(|start| (start.clone(), Beginning::new(&start)))
            .collect();
        let mut words: Vec<String> = words(false).collect();
        words.sort_unstable();
        words.dedup();
        let starts = beginnings.iter().flat_map(|(_, beginning)| beginning.starts());
        Finder {
            has_half_pair: words.iter().any(|word| words::is_half_pair(word)),
            firsts: Firsts::new(words.iter().map(String::as_str), starts),
            words,
            beginnings,
        }
    }

    /// Whether what was found is that word of the query.
    pub(super) fn is(&self, found: &FoundWord, word: &str, beginning: bool) -> bool {
        found.is_beginning == beginning
            && if beginning {
                self.beginnings[found.word].0 == word
            } else {
                self.words[found.word] == word
            }
    }

    /// Reads on to `end`; tells whether the text ended.
    pub(super) fn scan(&self, words: &mut Words<'_>, scan: &mut Scan, end: usize) -> bool {
        loop {
            // Words that begin like none of the query are passed over unread: that is most of a text.
            scan.position += words.pass(&self.firsts, end);
            let Some(mut range) = words.next_of(&self.firsts, &mut scan.word) else {
                return true;
            };
            let start = range.start;
            let mut word = scan.word.as_str();
            if self.has_half_pair && words::is_pair(word) && self.index_of(word).is_none() {
                // One character of the pair is what is looked for. In the text it can be several
                // (decomposed, or in half width): only the reader knows where it ends.
                let first = word.chars().next().map_or(0, char::len_utf8);
                word = &word[..first];
                range.end = words.first_end();
            }
            let mut push = |word: usize, is_beginning: bool| {
                scan.found.push(FoundWord {
                    position: scan.position,
                    range: range.clone(),
                    word,
                    is_beginning,
                });
            };
            if let Some(index) = self.index_of(word) {
                push(index, false);
            }
            // A word that was passed over is empty.
            let begun = |(_, beginning): &(String, Beginning)| !word.is_empty() && beginning.holds(word);
            for index in (0..self.beginnings.len()).filter(|&index| begun(&self.beginnings[index])) {
                push(index, true);
            }
            scan.position += 1;
            if start >= end {
                return false;
            }
        }
    }

    fn index_of(&self, word: &str) -> Option<usize> {
        self.words
            .binary_search_by(|candidate| candidate.as_str().cmp(word))
            .ok()
    }
}
