//! From a query as understood to tantivy's.

use std::ops::Bound;

use tantivy::Term;
use tantivy::query::{
    AllQuery, BooleanQuery, ConstScoreQuery, InvertedIndexRangeQuery, Occur, PhraseQuery, Query, RangeQuery,
    TermQuery, TermSetQuery,
};
use tantivy::schema::IndexRecordOption;

use crate::query::{Clause, Leaf, Parsed, Phrase};
use crate::rank::Rounded;
use crate::schema::Fields;
use crate::words;

/// How many of the clauses with words must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// All: the rule.
    All,
    /// Half of them, rounded up: where all gives nothing.
    Most,
    /// One: for measuring the ranking.
    Any,
}

/// The query for tantivy. Only words and phrases score.
pub(crate) fn compile(parsed: &Parsed, fields: &Fields, mode: Mode) -> BooleanQuery {
    let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
    let mut worded: Vec<(Occur, Box<dyn Query>)> = Vec::new();
    for clause in &parsed.clauses {
        let query = any_of(clause, fields);
        if clause.negated {
            clauses.push((Occur::MustNot, query));
        } else if mode != Mode::All && is_worded(clause) {
            worded.push((Occur::Should, query));
        } else {
            clauses.push((Occur::Must, query));
        }
    }
    if !worded.is_empty() {
        let wanted = match mode {
            Mode::Most => worded.len().div_ceil(2),
            _ => 1,
        };
        let some = BooleanQuery::with_minimum_required_clauses(worded, wanted);
        clauses.push((Occur::Must, Box::new(some)));
    }
    if !clauses.iter().any(|(occur, _)| *occur == Occur::Must) {
        clauses.push((Occur::Must, filter(Box::new(AllQuery))));
    }
    BooleanQuery::new(clauses)
}

/// Whether fewer of such clauses may hold in another mode.
pub(crate) fn is_worded(clause: &Clause) -> bool {
    !clause.negated && clause.any.iter().any(|leaf| matches!(leaf, Leaf::Words(_)))
}

fn any_of(clause: &Clause, fields: &Fields) -> Box<dyn Query> {
    let query = |leaf| leaf_query(leaf, clause.times, fields);
    if let [leaf] = clause.any.as_slice() {
        return query(leaf);
    }
    let leaves = clause.any.iter().map(|leaf| (Occur::Should, query(leaf)));
    Box::new(BooleanQuery::new(leaves.collect()))
}

fn leaf_query(leaf: &Leaf, times: u32, fields: &Fields) -> Box<dyn Query> {
    match leaf {
        Leaf::Words(phrase) => phrase_query(phrase, times, fields),
        Leaf::Site(host) => filter(exact(Term::from_field_text(fields.site, host))),
        Leaf::Type(value) => filter(type_query(value, fields)),
        Leaf::Language(value) => filter(exact(Term::from_field_text(fields.lang, value))),
        Leaf::Collection(value) => filter(exact(Term::from_field_text(fields.collection, value))),
        Leaf::Date { first, last, .. } => filter(Box::new(RangeQuery::new(
            Bound::Included(Term::from_field_u64(fields.date, *first)),
            Bound::Included(Term::from_field_u64(fields.date, *last)),
        ))),
    }
}

fn filter(query: Box<dyn Query>) -> Box<dyn Query> {
    Box::new(ConstScoreQuery::new(query, 0.0))
}

fn exact(term: Term) -> Box<dyn Query> {
    Box::new(TermQuery::new(term, IndexRecordOption::Basic))
}

/// The query of words next to each other; what scores, and that so many times.
pub(crate) fn phrase_query(phrase: &Phrase, times: u32, fields: &Fields) -> Box<dyn Query> {
    let term = |word: &str| Term::from_field_text(fields.body, word);
    if let [(_, word)] = phrase.words.as_slice() {
        if words::is_half_pair(word) {
            return filter(beginning(fields.body, word));
        }
        let query = TermQuery::new(term(word), IndexRecordOption::WithFreqs);
        return Box::new(Rounded::new(query, times));
    }
    let terms = phrase.words.iter().map(|(offset, word)| (*offset, term(word)));
    let query = PhraseQuery::new_with_offset(terms.collect());
    Box::new(Rounded::new(query, times))
}

fn type_query(value: &str, fields: &Fields) -> Box<dyn Query> {
    if value.contains('/') {
        return beginning(fields.kind, value.trim_end_matches('*'));
    }
    let terms = Leaf::type_terms(value);
    Box::new(TermSetQuery::new(
        terms
            .into_iter()
            .map(|text| Term::from_field_text(fields.kind, text)),
    ))
}

/// All terms that begin with `text`.
fn beginning(field: tantivy::schema::Field, text: &str) -> Box<dyn Query> {
    let last = format!("{text}\u{10FFFF}");
    Box::new(InvertedIndexRangeQuery::new(
        Bound::Included(Term::from_field_text(field, text)),
        Bound::Included(Term::from_field_text(field, &last)),
    ))
}
