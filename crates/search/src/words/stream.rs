//! Tokenizers that give words and stems to tantivy.
//!
//! - `body`: the folded word, followed by [`WRITTEN`] and the written word if they differ. All
//!   forms of a folded word are adjacent in the dictionary.
//! - `stems`: the stem, if it differs from the folded word. The text is that of `body`, prepared by
//!   [`in_language`].
//! - `title`, `url`: both, at the same position. The texts are prepared by [`in_language`] too.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use super::memo::{SHORT_SETS, StemMemo, TEXT_SETS};
use super::{Rules, WRITTEN, Words, is_pair};

/// Encloses the code of the rules in the term of a stem, so that stems and words never collide.
const STEM: char = '\u{2}';

/// Returns a text for a field with stems, with the code of their rules before it.
pub(crate) fn in_language(rules: Option<&Rules>, parts: &[&str]) -> String {
    let length = parts.iter().map(|part| part.len() + 1).sum::<usize>();
    let mut text = String::with_capacity(length + 4);
    // A language without rules gets a code that no rules have.
    text.push_str(rules.map_or("-", |rules| rules.code));
    for part in parts {
        text.push('\n');
        text.push_str(part);
    }
    text
}

/// Returns the term of a stem.
pub(crate) fn stem_term(code: &str, stem: &str) -> String {
    let mut term = String::with_capacity(2 + code.len() + stem.len());
    begin_stem_term(code, &mut term);
    term.push_str(stem);
    term
}

/// Writes the part of a term before the stem.
fn begin_stem_term(code: &str, term: &mut String) {
    term.push(STEM);
    term.push_str(code);
    term.push(STEM);
}

/// Tokenizer of `body`.
#[derive(Clone, Default)]
pub(crate) struct WordTokenizer {
    token: Token,
}

/// Token stream of [`WordTokenizer`].
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
        if let Some(written) = self.words.written() {
            self.token.text.push(WRITTEN);
            self.token.text.push_str(written);
        }
        self.token.offset_from = range.start;
        self.token.offset_to = range.end;
        // tantivy starts at the greatest number, so that the first word has position 0.
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

/// Tokenizer of stems, with or without their words, for texts prepared by [`in_language`].
#[derive(Clone)]
pub(crate) struct StemTokenizer {
    with_words: bool,
    token: Token,
    memo: StemMemo,
    stem: String,
}

/// Token stream of [`StemTokenizer`].
pub(crate) struct StemStream<'a> {
    words: Words<'a>,
    word: String,
    rules: Option<&'static Rules>,
    /// Whether the stem of the last word has not been returned yet.
    is_stem_due: bool,
    tokenizer: &'a mut StemTokenizer,
}

impl StemTokenizer {
    pub(crate) fn new(with_words: bool) -> StemTokenizer {
        StemTokenizer {
            with_words,
            token: Token::default(),
            // Fields with words are titles and URLs.
            memo: StemMemo::new(if with_words { SHORT_SETS } else { TEXT_SETS }),
            stem: String::new(),
        }
    }
}

impl Tokenizer for StemTokenizer {
    type TokenStream<'a> = StemStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> StemStream<'a> {
        self.token.reset();
        let (code, text) = text.split_once('\n').unwrap_or(("-", text));
        StemStream {
            words: Words::new(text),
            word: String::new(),
            rules: Rules::of(code),
            is_stem_due: false,
            tokenizer: self,
        }
    }
}

impl StemStream<'_> {
    /// Puts the stem of the last word into the token, unless it equals the word.
    fn take_stem(&mut self) -> bool {
        let Some(rules) = self.rules.filter(|_| !is_pair(&self.word)) else {
            return false;
        };
        let StemTokenizer {
            token, memo, stem, ..
        } = &mut *self.tokenizer;
        memo.stem(rules, &self.word, self.words.written(), stem);
        if *stem == self.word {
            return false;
        }
        token.text.clear();
        begin_stem_term(rules.code, &mut token.text);
        token.text.push_str(stem);
        true
    }
}

impl TokenStream for StemStream<'_> {
    fn advance(&mut self) -> bool {
        if std::mem::take(&mut self.is_stem_due) && self.take_stem() {
            return true;
        }
        while let Some(range) = self.words.next_into(&mut self.word) {
            let token = &mut self.tokenizer.token;
            token.offset_from = range.start;
            token.offset_to = range.end;
            token.position = token.position.wrapping_add(1);
            if self.tokenizer.with_words {
                token.text.clear();
                token.text.push_str(&self.word);
                if let Some(written) = self.words.written() {
                    token.text.push(WRITTEN);
                    token.text.push_str(written);
                }
                self.is_stem_due = true;
                return true;
            }
            if self.take_stem() {
                return true;
            }
        }
        false
    }

    fn token(&self) -> &Token {
        &self.tokenizer.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.tokenizer.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(with_words: bool, language: &str, text: &str, expected: &[(usize, &str)]) {
        let mut tokenizer = StemTokenizer::new(with_words);
        // Twice: the second time, stems come from the cache.
        for _ in 0..2 {
            let text = in_language(Rules::of(language), &[text]);
            let mut stream = tokenizer.token_stream(&text);
            let mut found = Vec::new();
            while stream.advance() {
                found.push((
                    stream.token().position,
                    stream.token().text.replace(['\u{1}', '\u{2}'], "/"),
                ));
            }
            let found: Vec<(usize, &str)> = found.iter().map(|(at, text)| (*at, text.as_str())).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn stems_stand_where_their_words_do() {
        check(
            true,
            "en",
            "The pages",
            &[(0, "the"), (1, "pages"), (1, "/en/page")],
        );
        check(
            false,
            "en",
            "The pages of Pages",
            &[(1, "/en/page"), (3, "/en/page")],
        );
        check(true, "fr", "Cafés", &[(0, "cafes/cafés"), (0, "/fr/caf")]);
        check(false, "pl", "pages", &[]);
        check(false, "", "pages", &[(0, "//page")]);
        check(true, "ja", "東京 pages", &[(0, "東京"), (1, "京"), (2, "pages")]);
    }
}
