//! Words and stems as tantivy wants them.
//!
//! | field | terms of each word |
//! |---|---|
//! | `body` | the folded word, and where it is written otherwise [`WRITTEN`] and the written one behind it: all forms of a folded word stand together in the dictionary |
//! | `stems` | the stem, where it is not the folded word itself; its text is that of `body`, [`in_language`] |
//! | `title`, `url` | both, at one position; their texts are [`in_language`] too |

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use super::memo::{SHORT_SETS, StemMemo, TEXT_SETS};
use super::{Rules, WRITTEN, Words, is_pair};

/// Before and behind the code of the rules in the term of a stem, so that stems stand apart from words.
const STEM: char = '\u{2}';

/// A text for a field with stems, with the rules they are made by.
pub(crate) fn in_language(rules: Option<&Rules>, parts: &[&str]) -> String {
    let length = parts.iter().map(|part| part.len() + 1).sum::<usize>();
    let mut text = String::with_capacity(length + 4);
    // A language that has no rules has a code that none have.
    text.push_str(rules.map_or("-", |rules| rules.code));
    for part in parts {
        text.push('\n');
        text.push_str(part);
    }
    text
}

/// The term of a stem.
pub(crate) fn stem_term(code: &str, stem: &str) -> String {
    let mut term = String::with_capacity(2 + code.len() + stem.len());
    begin_stem_term(code, &mut term);
    term.push_str(stem);
    term
}

/// All of a term but the stem.
fn begin_stem_term(code: &str, term: &mut String) {
    term.push(STEM);
    term.push_str(code);
    term.push(STEM);
}

/// The words of `body`.
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
        if let Some(written) = self.words.written() {
            self.token.text.push(WRITTEN);
            self.token.text.push_str(written);
        }
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

/// The stems of a text that is [`in_language`], with its words or without.
#[derive(Clone)]
pub(crate) struct StemTokenizer {
    with_words: bool,
    token: Token,
    memo: StemMemo,
    stem: String,
}

/// Stream of [`StemTokenizer`].
pub(crate) struct StemStream<'a> {
    words: Words<'a>,
    word: String,
    rules: Option<&'static Rules>,
    /// The last token was a word whose stem has not been given yet.
    is_stem_due: bool,
    tokenizer: &'a mut StemTokenizer,
}

impl StemTokenizer {
    pub(crate) fn new(with_words: bool) -> StemTokenizer {
        StemTokenizer {
            with_words,
            token: Token::default(),
            // With words there are titles and URLs.
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
    /// Puts the stem of the last word into the token, unless it is the word itself.
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
        // Twice: the second time stems are remembered.
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
