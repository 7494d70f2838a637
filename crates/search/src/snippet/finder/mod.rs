//! Finds the words of a query in a text, word by word.

use std::ops::Range;

use crate::query::Phrase;
use crate::words::{self, Prefilter, Rules, StemMemo, Words};

/// Finds the words of a query in a text.
pub(super) struct Finder {
    /// Folded and sorted, without duplicates.
    words: Vec<String>,
    /// Prefixes that match all words beginning with them.
    beginnings: Vec<String>,
    /// Stems by the rules of the text's language, and the index of their word.
    stems: Vec<(String, usize)>,
    /// `None` if no stems are searched for.
    rules: Option<&'static Rules>,
    /// Whether one of the words is a single character of a run of pairs, and so a prefix of words.
    has_half_pair: bool,
    prefilter: Prefilter,
}

/// A word of the query found in the text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FoundWord {
    /// Number of the word in the text.
    pub(super) position: usize,
    pub(super) range: Range<usize>,
    /// Index into the finder's words or beginnings.
    word: usize,
    as_what: As,
}

/// How a word of the text matches one of the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum As {
    Word,
    Stem,
    Beginning,
}

/// ASCII letters, for languages whose stems may begin with another letter than their words.
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";

/// How far a text has been read.
#[derive(Default)]
pub(super) struct Scan {
    position: usize,
    /// By position. One word of the text may match several of the query.
    pub(super) found: Vec<FoundWord>,
    word: String,
    /// Stem of the last word.
    stem: String,
}

impl Finder {
    /// Creates a finder for texts in a language with these rules.
    pub(super) fn new(phrases: &[&Phrase], rules: Option<&'static Rules>) -> Finder {
        let words = |beginning: bool| {
            let phrases = phrases.iter().filter(move |phrase| phrase.beginning == beginning);
            phrases.flat_map(|phrase| phrase.words.iter().map(|(_, word)| word.folded.clone()))
        };
        let beginnings: Vec<_> = words(true).collect();
        let mut words: Vec<String> = words(false).collect();
        words.sort_unstable();
        words.dedup();
        let mut stems = Vec::new();
        if let Some(rules) = rules {
            for phrase in phrases.iter().filter(|phrase| phrase.takes_stems()) {
                let (_, word) = &phrase.words[0];
                let written = Some(word.written.as_str()).filter(|written| *written != word.folded);
                let index = words.binary_search(&word.folded);
                stems.extend(index.map(|index| (rules.stem(&word.folded, written), index)));
            }
        }
        let rules = rules.filter(|_| !stems.is_empty());
        let with_rules = rules.into_iter();
        let begun = with_rules.flat_map(|rules| stems.iter().map(|(stem, _)| rules.beginning(stem)));
        // Words with such stems can begin with any letter.
        let any = rules.filter(|rules| rules.begins_alike == 0).into_iter();
        let any = any.flat_map(|_| (0..LETTERS.len()).map(|at| &LETTERS[at..=at]));
        let starts = beginnings.iter().map(String::as_str).chain(begun).chain(any);
        Finder {
            has_half_pair: words.iter().any(|word| words::is_half_pair(word)),
            prefilter: Prefilter::new(words.iter().map(String::as_str), starts),
            words,
            beginnings,
            stems,
            rules,
        }
    }

    /// Returns whether a found word is the given word of a phrase.
    pub(super) fn is(&self, found: &FoundWord, phrase: &Phrase, word: &str) -> bool {
        match found.as_what {
            As::Word => !phrase.beginning && self.words[found.word] == word,
            As::Stem => phrase.takes_stems() && self.words[found.word] == word,
            As::Beginning => phrase.beginning && self.beginnings[found.word] == word,
        }
    }

    /// Reads up to `end`. Returns whether the text has ended.
    pub(super) fn scan(
        &self,
        words: &mut Words<'_>,
        memo: &mut StemMemo,
        scan: &mut Scan,
        end: usize,
    ) -> bool {
        loop {
            // Skip words that do not begin like any of the query. That is most of a text.
            scan.position += words.skip_to_candidate(&self.prefilter, end);
            let Some(mut range) = words.next_candidate(&self.prefilter, &mut scan.word) else {
                return true;
            };
            let start = range.start;
            let mut word = scan.word.as_str();
            if self.has_half_pair && words::is_pair(word) && self.index_of(word).is_none() {
                // The query has one character of the pair. In the text it may be several characters
                // (decomposed, or in half width), so only the reader knows where it ends.
                let first = word.chars().next().map_or(0, char::len_utf8);
                word = &word[..first];
                range.end = words.first_end();
            }
            let mut push = |word: usize, as_what: As| {
                scan.found.push(FoundWord {
                    position: scan.position,
                    range: range.clone(),
                    word,
                    as_what,
                });
            };
            let own = self.index_of(word);
            if let Some(index) = own {
                push(index, As::Word);
            }
            // A skipped word is empty.
            if let Some(rules) = self.rules.filter(|_| !word.is_empty() && !words::is_pair(word)) {
                memo.stem(rules, word, words.written(), &mut scan.stem);
                let has_it = self.stems.iter().filter(|(stem, _)| *stem == scan.stem);
                for (_, index) in has_it.filter(|(_, index)| own != Some(*index)) {
                    push(*index, As::Stem);
                }
            }
            let begun = |start: &String| !word.is_empty() && word.starts_with(start.as_str());
            for index in (0..self.beginnings.len()).filter(|&index| begun(&self.beginnings[index])) {
                push(index, As::Beginning);
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

#[cfg(test)]
mod tests;
