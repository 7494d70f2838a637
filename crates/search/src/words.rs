//! Words of a text, in the one form that index, queries and snippets share.
//!
//! - A word is a run of letters and digits of any script, in NFKC, in lower case, without diacritics, cut
//!   to [`fold::WORD_BYTES_MAX`] bytes, and without the ending of an English plural.
//! - Scripts written without spaces (Chinese, Japanese, Thai, ...) and Korean give a word at each
//!   character: that character and the next, or it alone at the end of the run. So any part of a run
//!   is a phrase of such pairs.
//! - Marks that only decorate (accents, vowel points, soft hyphens, joiners) are dropped.
//! - Whatever changes here changes what an index holds: `schema::FORMAT` must rise with it.

mod firsts;
mod fold;
mod letters;
mod plural;
mod script;

use std::ops::Range;

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

pub(crate) use firsts::Firsts;
use fold::{fold, fold_ascii, push};
use letters::{Letter, Letters};
use plural::singular;
use script::{Class, class, is_pair_script};

/// Reads the words of a text one by one.
#[derive(Clone)]
pub(crate) struct Words<'t> {
    letters: Letters<'t>,
    /// A letter that was read ahead.
    held: Option<Letter>,
    /// Where the first letter of the last word ends.
    first_end: usize,
}

impl<'t> Words<'t> {
    pub(crate) fn new(text: &'t str) -> Words<'t> {
        Words {
            letters: Letters::new(text),
            held: None,
            first_end: 0,
        }
    }

    /// Puts the next word into `word`; gives where it stands in the text. Ranges ascend; words out of one
    /// character of the text (`½`) share its range.
    pub(crate) fn next_into(&mut self, word: &mut String) -> Option<Range<usize>> {
        let range = self.next_as_written(word)?;
        singular(word);
        Some(range)
    }

    /// As [`Words::next_into`], with the ending of a plural.
    pub(crate) fn next_as_written(&mut self, word: &mut String) -> Option<Range<usize>> {
        word.clear();
        // Most words of most texts: taken at once, without looking at what Unicode says of each letter.
        if self.held.is_none()
            && let Some(range) = self.letters.ascii_word()
        {
            self.first_end = range.start + 1;
            fold_ascii(self.letters.text(&range), word);
            return Some(range);
        }
        let first = self.skip_gap()?;
        Some(self.read(first, Some(word)))
    }

    /// Passes over words that begin like none of `firsts`, up to one that begins at `end` or later; returns how many.
    /// It need not come far: [`Words::next_of`] goes on.
    pub(crate) fn pass(&mut self, firsts: &Firsts, end: usize) -> usize {
        match self.held {
            Some(_) => 0,
            None => self.letters.pass(firsts, end),
        }
    }

    /// As [`Words::next_into`], but leaves `word` empty where the word begins with an ASCII character
    /// with which none of `firsts` begins: it is then only passed over.
    pub(crate) fn next_of(&mut self, firsts: &Firsts, word: &mut String) -> Option<Range<usize>> {
        word.clear();
        let first = self.skip_gap()?;
        if !firsts.may_begin(first.c) {
            return Some(self.read(first, None));
        }
        let range = self.read(first, Some(word));
        singular(word);
        Some(range)
    }

    /// Where the first letter of the last word ends.
    pub(crate) fn first_end(&self) -> usize {
        self.first_end
    }

    fn next_letter(&mut self) -> Option<Letter> {
        self.held.take().or_else(|| self.letters.next())
    }

    /// Takes the first letter of the next word.
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

    /// Reads on from the first letter of a word, into `word` if there is one.
    fn read(&mut self, first: Letter, word: Option<&mut String>) -> Range<usize> {
        self.first_end = first.end;
        let end = match (class(first.c), word) {
            (Class::Pair, Some(word)) => self.read_pair(first, |c| fold(c, word)),
            (Class::Pair, None) => self.read_pair(first, |_| {}),
            (_, Some(word)) => self.read_word(first, |c| fold_into(c, word)),
            (_, None) => self.read_word(first, |_| {}),
        };
        first.start..end
    }

    fn read_word(&mut self, first: Letter, mut add: impl FnMut(char)) -> usize {
        add(first.c);
        let mut end = first.end;
        loop {
            // ASCII goes byte by byte, past the tables of Unicode: it is most of most texts.
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

    /// The second letter of a pair is held, because it is the first of the next one.
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

/// As [`fold`], quicker for most.
fn fold_into(c: char, word: &mut String) {
    if c.is_ascii() {
        push(word, c.to_ascii_lowercase());
    } else {
        fold(c, word);
    }
}

/// Whether `word`, in the form [`Words`] gives, is one character out of a run of pairs: it stands in
/// the index as the beginning of words.
pub(crate) fn is_half_pair(word: &str) -> bool {
    let mut chars = word.chars();
    chars.next().is_some_and(|c| class(c) == Class::Pair) && chars.next().is_none()
}

/// Whether `word` comes from a run of pairs.
pub(crate) fn is_pair(word: &str) -> bool {
    word.chars().next().is_some_and(|c| class(c) == Class::Pair)
}

/// Whether a line may break beside a character: its script has no spaces.
pub(crate) fn breaks(c: char) -> bool {
    !c.is_ascii() && is_pair_script(c)
}

/// The form in the index of a word that is written as `text`, folded already.
pub(crate) fn singular_of(text: &str) -> String {
    let mut word = text.to_owned();
    singular(&mut word);
    word
}

/// [`Words`] as tantivy wants them.
#[derive(Clone, Default)]
pub(crate) struct WordTokenizer {
    token: Token,
}

/// Stream of [`WordTokenizer`].
pub(crate) struct WordStream<'a> {
    words: Words<'a>,
    token: &'a mut Token,
}

impl Tokenizer for WordTokenizer {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        self.token.reset();
        WordStream {
            words: Words::new(text),
            token: &mut self.token,
        }
    }
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        let Some(range) = self.words.next_into(&mut self.token.text) else {
            return false;
        };
        self.token.offset_from = range.start;
        self.token.offset_to = range.end;
        // tantivy begins at the greatest number, so that the first word is at 0.
        self.token.position = self.token.position.wrapping_add(1);
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

#[cfg(test)]
mod tests;
