//! The words that begin with something: `archiv*`.
//!
//! The index holds words without the ending of an English plural, so `queri*` and `caches*` name words
//! that the index holds as `query` and `cach`. Both are searched: such a word, and every word with the
//! beginning as written.

use std::ops::Bound;

use tantivy::Term;
use tantivy::query::{BooleanQuery, InvertedIndexRangeQuery, Occur, Query, TermSetQuery};
use tantivy::schema::Field;

use crate::words;

/// What words begin with, folded as in the index, the plural's ending kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Beginning {
    start: String,
    /// Words of the index that stand for words with this beginning, and do not have it themselves.
    also: Vec<String>,
}

impl Beginning {
    pub(crate) fn new(start: &str) -> Beginning {
        let written = [start.to_owned(), format!("{start}s"), format!("{start}es")];
        let mut also: Vec<String> = written.iter().map(|word| words::singular_of(word)).collect();
        also.retain(|word| !word.starts_with(start));
        also.dedup();
        Beginning {
            start: start.to_owned(),
            also,
        }
    }

    /// Whether a word of the index is meant.
    pub(crate) fn holds(&self, word: &str) -> bool {
        word.starts_with(&self.start) || self.also.iter().any(|other| other == word)
    }

    /// What the words meant begin with: all of `start` and each of `also`.
    pub(crate) fn starts(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.start).chain(&self.also).map(String::as_str)
    }

    /// The pages with such a word in `field`; without scores.
    pub(crate) fn query(&self, field: Field) -> Box<dyn Query> {
        let begun = beginning(field, &self.start);
        if self.also.is_empty() {
            return begun;
        }
        let terms = self.also.iter().map(|word| Term::from_field_text(field, word));
        let also: Box<dyn Query> = Box::new(TermSetQuery::new(terms));
        Box::new(BooleanQuery::new(vec![
            (Occur::Should, begun),
            (Occur::Should, also),
        ]))
    }
}

/// All terms that begin with `text`.
pub(crate) fn beginning(field: Field, text: &str) -> Box<dyn Query> {
    // The greatest character: no term that begins so comes behind it.
    let last = format!("{text}\u{10FFFF}");
    Box::new(InvertedIndexRangeQuery::new(
        Bound::Included(Term::from_field_text(field, text)),
        Bound::Included(Term::from_field_text(field, &last)),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_whose_plural_has_the_beginning_are_meant() {
        for (start, word, holds) in [
            ("archiv", "archive", true),
            ("queri", "query", true),
            ("caches", "cach", true),
            ("cache", "cached", true),
            ("boxe", "box", true),
            ("boxe", "boy", false),
            ("archive", "archiv", false),
        ] {
            assert_eq!(Beginning::new(start).holds(word), holds, "{start}* {word}");
        }
    }
}
