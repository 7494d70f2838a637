//! Reading a query. Any text is one: what cannot be used is left out, and a note says so.
//!
//! Grammar, loosely: clauses stand side by side and must all hold; `a OR b` are alternatives; `-clause`
//! or `NOT clause` must not hold; a clause is a word, a `"phrase"`, the beginning of a word (`archiv*`),
//! words of one part of the page (`title:` and `url:`), or a filter `name:value`. What looks like one word
//! but is several (`e-mail`, `iana.org`, a run of Chinese) is a phrase.

mod parsed;
mod parser;
mod pieces;

pub(crate) use parsed::{Clause, Leaf, Parsed, Part, Phrase};
use parser::Parser;
#[cfg(test)]
pub(crate) use parser::WORDS_MAX;
use pieces::pieces;

/// Reads a query.
pub(crate) fn parse(text: &str) -> Parsed {
    let mut parser = Parser::default();
    let text = parser.cut(text);
    let pieces = pieces(&text);
    for piece in &pieces {
        parser.take(piece);
    }
    parser.finish(&pieces)
}

/// `query` narrowed by a filter, as text.
pub(crate) fn narrowed(query: &str, name: &str, value: &str) -> String {
    let clause = parsed::filter_text(name, value);
    if query.is_empty() {
        return clause;
    }
    format!("{query} {clause}")
}

#[cfg(test)]
mod tests;
