//! Parses queries. Any text is a query: unusable parts are left out, with a note.
//!
//! The grammar in brief: plain words are wanted (`scoring::wanted`), other clauses must all match.
//! `+word` and `a AND b` must match too. `a OR b` are alternatives. `-clause` or `NOT clause` must
//! not match. A clause is a word, a `"phrase"`, the beginning of a word
//! (`archiv*`), words in one part of the page (`title:` and `url:`), or a filter `name:value`. Text
//! that looks like one word but consists of several (`e-mail`, `iana.org`, a run of Chinese) is a
//! phrase.
//!
//! This module uses `words`. It does not know the index: `answer::compile` makes queries of
//! tantivy.

pub(crate) mod note;
mod parsed;
mod parser;
mod pieces;

pub(crate) use parsed::{Clause, Leaf, ParsedQuery, Part, Phrase, Versions};
use parser::Parser;
#[cfg(test)]
pub(crate) use parser::WORDS_MAX;
use pieces::pieces;

/// Parses a query.
pub(crate) fn parse(text: &str) -> ParsedQuery {
    let mut parser = Parser::default();
    let text = parser.cut(text);
    let pieces = pieces(&text);
    for piece in &pieces {
        parser.take(piece);
    }
    parser.finish(&pieces)
}

/// Returns the text of `query` narrowed by a filter.
pub(crate) fn narrow(query: &str, name: &str, value: &str) -> String {
    let clause = parsed::filter_text(name, value);
    if query.is_empty() {
        return clause;
    }
    format!("{query} {clause}")
}

#[cfg(test)]
mod tests;
