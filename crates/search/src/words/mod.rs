//! Splits a text into words, in the same way for the index, queries and snippets.
//!
//! - A word is a run of letters and digits of any script, in NFKC and lower case, truncated to
//!   [`fold::WORD_BYTES_MAX`] bytes. Its folded form, without diacritics, is used to find pages.
//!   Its written form keeps them and ranks pages with the exact form first.
//! - In scripts written without spaces (Chinese, Japanese, Thai, ...) and in Korean, each character
//!   begins a word: the character and the next one, or the character alone at the end of the run.
//!   Any part of a run is thus a phrase of such pairs.
//! - Purely decorative marks (vowel points, soft hyphens, joiners) are dropped from both forms.
//! - Stems are made from the written form by the rules of a language ([`Rules`]).
//! - Any change here changes the content of the index and must increase `schema::FORMAT`.
//!
//! This module knows texts and languages only, no index and no queries.

mod english;
mod fold;
mod letters;
pub(crate) mod likeness;
mod memo;
mod plural;
mod prefilter;
mod script;
mod stem;
mod stream;
mod text_words;

use std::ops::Range;

use fold::{fold, fold_ascii, lower, push};
use letters::{Letter, Letters};
pub(crate) use memo::{StemMemo, StemMemos};
pub(crate) use prefilter::Prefilter;
use script::{Class, class, is_pair_script};
pub(crate) use stem::{RULES, Rules, primary_language};
pub(crate) use stream::{StemTokenizer, WordTokenizer, in_language, stem_term};
pub use text_words::{TextWords, TextWordsReader};

/// Separates the folded and the written form of a word in the index. No word contains it.
pub(crate) const WRITTEN: char = '\u{1}';

/// A word of a query.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Word {
    /// Without diacritics.
    pub(crate) folded: String,
    /// With diacritics; equal to `folded` for a word without them.
    pub(crate) written: String,
}

impl Word {
    /// Returns the term of the index for exactly this form.
    pub(crate) fn term(&self) -> String {
        if self.written == self.folded {
            return self.folded.clone();
        }
        format!("{}{WRITTEN}{}", self.folded, self.written)
    }
}

/// Returns the number of words of a text, as search counts them.
pub fn word_count(text: &str) -> usize {
    let (mut words, mut word) = (Words::new(text), String::new());
    std::iter::from_fn(|| words.next_into(&mut word)).count()
}

/// Reads the words of a text one by one.
#[derive(Clone)]
pub(crate) struct Words<'t> {
    letters: Letters<'t>,
    /// A letter that was read ahead.
    held: Option<Letter>,
    /// End of the first letter of the last word.
    first_end: usize,
    /// The last word as written; empty if that is its folded form.
    written: String,
}

impl<'t> Words<'t> {
    pub(crate) fn new(text: &'t str) -> Words<'t> {
        Words {
            letters: Letters::new(text),
            held: None,
            first_end: 0,
            written: String::new(),
        }
    }

    /// Stores the folded form of the next word in `word` and returns its range in the text. Ranges
    /// are ascending. Words that come from the same character (`½`) share its range.
    pub(crate) fn next_into(&mut self, word: &mut String) -> Option<Range<usize>> {
        word.clear();
        self.written.clear();
        if let Some(range) = self.ascii_word() {
            fold_ascii(self.letters.text(&range), word);
            return Some(range);
        }
        let first = self.skip_gap()?;
        Some(self.read(first, Some(word)))
    }

    /// Returns the last word as written, if that differs from its folded form.
    pub(crate) fn written(&self) -> Option<&str> {
        Some(self.written.as_str()).filter(|written| !written.is_empty())
    }

    /// Returns the next word in both forms, and its range.
    pub(crate) fn next_word(&mut self) -> Option<(Word, Range<usize>)> {
        let mut folded = String::new();
        let range = self.next_into(&mut folded)?;
        let written = self.written().unwrap_or(&folded).to_owned();
        Some((Word { folded, written }, range))
    }

    /// Skips words that `prefilter` rules out, up to a word that begins at `end` or later. Returns
    /// how many were skipped. It may stop early; [`Words::next_candidate`] continues from there.
    pub(crate) fn skip_to_candidate(&mut self, prefilter: &Prefilter, end: usize) -> usize {
        match self.held {
            Some(_) => 0,
            None => self.letters.skip_to_candidate(prefilter, end),
        }
    }

    /// Like [`Words::next_into`], but may leave `word` empty if `prefilter` rules the word out. The
    /// word is then only skipped.
    pub(crate) fn next_candidate(
        &mut self,
        prefilter: &Prefilter,
        word: &mut String,
    ) -> Option<Range<usize>> {
        word.clear();
        self.written.clear();
        if let Some(range) = self.ascii_word() {
            let letters = self.letters.text(&range);
            if prefilter.may_begin_ascii(letters) {
                fold_ascii(letters, word);
            }
            return Some(range);
        }
        let first = self.skip_gap()?;
        if !prefilter.may_begin(first.c) {
            return Some(self.read(first, None));
        }
        Some(self.read(first, Some(word)))
    }

    /// Returns where the first letter of the last word ends.
    pub(crate) fn first_end(&self) -> usize {
        self.first_end
    }

    /// Returns the next word if it is ASCII, as most words of most texts are. This avoids looking
    /// up the Unicode properties of each letter.
    fn ascii_word(&mut self) -> Option<Range<usize>> {
        let range = match self.held {
            Some(_) => None,
            None => self.letters.ascii_word(),
        };
        if let Some(range) = &range {
            self.first_end = range.start + 1;
        }
        range
    }

    fn next_letter(&mut self) -> Option<Letter> {
        self.held.take().or_else(|| self.letters.next())
    }

    /// Reads the first letter of the next word.
    fn skip_gap(&mut self) -> Option<Letter> {
        loop {
            while self.held.is_none()
                && self
                    .letters
                    .ascii()
                    .is_some_and(|byte| !byte.is_ascii_alphanumeric())
            {
                self.letters.take_ascii();
            }
            let letter = self.next_letter()?;
            if matches!(class(letter.c), Class::Letter | Class::Pair) {
                return Some(letter);
            }
        }
    }

    /// Reads the rest of a word after its first letter, into `word` if given.
    fn read(&mut self, first: Letter, word: Option<&mut String>) -> Range<usize> {
        self.first_end = first.end;
        let end = match (class(first.c), word) {
            (Class::Pair, Some(word)) => self.read_pair(first, |c| fold(c, word)),
            (Class::Pair, None) => self.read_pair(first, |_| {}),
            (_, Some(word)) => self.read_both(first, word),
            (_, None) => self.read_word(first, |_| {}),
        };
        first.start..end
    }

    fn read_both(&mut self, first: Letter, word: &mut String) -> usize {
        let mut written = std::mem::take(&mut self.written);
        let end = self.read_word(first, |c| {
            fold_into(c, word);
            lower(c, &mut written);
        });
        if written == *word {
            written.clear();
        }
        self.written = written;
        end
    }

    fn read_word(&mut self, first: Letter, mut add: impl FnMut(char)) -> usize {
        add(first.c);
        let mut end = first.end;
        loop {
            // ASCII is read byte by byte without the Unicode tables, because it is most of most
            // texts.
            while let Some(byte) = self.letters.ascii().filter(|_| self.held.is_none()) {
                if !byte.is_ascii_alphanumeric() {
                    return end;
                }
                add(byte as char);
                end = self.letters.take_ascii();
            }
            let Some(letter) = self.next_letter() else {
                return end;
            };
            match class(letter.c) {
                Class::Letter => add(letter.c),
                Class::Mark => {}
                Class::Pair | Class::Gap => {
                    self.held = Some(letter);
                    return end;
                }
            }
            end = letter.end;
        }
    }

    /// Reads a pair. The second letter is held, because it also begins the next pair.
    fn read_pair(&mut self, first: Letter, mut add: impl FnMut(char)) -> usize {
        add(first.c);
        while let Some(letter) = self.next_letter() {
            let class = class(letter.c);
            if class == Class::Mark {
                continue;
            }
            self.held = Some(letter);
            if class == Class::Pair {
                add(letter.c);
                return letter.end;
            }
            break;
        }
        first.end
    }
}

/// Like [`fold`], with a fast path for ASCII.
fn fold_into(c: char, word: &mut String) {
    if c.is_ascii() {
        push(word, c.to_ascii_lowercase());
    } else {
        fold(c, word);
    }
}

/// Returns whether `word`, in the form that [`Words`] returns, is one character of a run of pairs.
/// In the index it is a prefix of words.
pub(crate) fn is_half_pair(word: &str) -> bool {
    let mut chars = word.chars();
    chars.next().is_some_and(|c| class(c) == Class::Pair) && chars.next().is_none()
}

/// Returns whether `word` comes from a run of pairs.
pub(crate) fn is_pair(word: &str) -> bool {
    word.chars().next().is_some_and(|c| class(c) == Class::Pair)
}

/// Returns whether a line may break next to a character, because its script has no spaces.
pub(crate) fn breaks(c: char) -> bool {
    !c.is_ascii() && is_pair_script(c)
}

#[cfg(test)]
pub(crate) mod model;
#[cfg(test)]
mod tests;
