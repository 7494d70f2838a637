//! From a query as understood to tantivy's.

use std::ops::Bound;

use tantivy::Term;
use tantivy::query::{
    AllQuery, BooleanQuery, ConstScoreQuery, Occur, PhraseQuery, Query, RangeQuery, TermQuery, TermSetQuery,
};
use tantivy::schema::{Field, IndexRecordOption};

use crate::beginning::{Beginning, beginning};
use crate::query::{Clause, Leaf, Parsed, Part, Phrase};
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
        // Negations alone: without something that must hold, tantivy finds nothing.
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
        Leaf::Words(phrase) => words_query(phrase, times, fields),
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
    // Zero, so that filters and their order change no score.
    Box::new(ConstScoreQuery::new(query, 0.0))
}

fn exact(term: Term) -> Box<dyn Query> {
    Box::new(TermQuery::new(term, IndexRecordOption::Basic))
}

/// The query of words, in the part of the page where they must be.
fn words_query(phrase: &Phrase, times: u32, fields: &Fields) -> Box<dyn Query> {
    let part = match phrase.part {
        Part::Any => return scored_query(phrase, times, fields),
        Part::Title => fields.title,
        Part::Url => fields.url,
    };
    // `body` has the words of title and URL too: words found there count as they do in any query.
    let there = filter(unscored_query(phrase, part));
    let scored = scored_query(phrase, times, fields);
    Box::new(BooleanQuery::intersection(vec![there, scored]))
}

/// The query of words next to each other anywhere: what scores, and that so many times. Beginnings of
/// words do not score.
pub(crate) fn scored_query(phrase: &Phrase, times: u32, fields: &Fields) -> Box<dyn Query> {
    let query = unscored_query(phrase, fields.body);
    if phrase.beginning || half_pair(phrase).is_some() {
        return filter(query);
    }
    Box::new(Rounded::new(query, times))
}

/// The pages with the words of a phrase in a field.
fn unscored_query(phrase: &Phrase, field: Field) -> Box<dyn Query> {
    let term = |word: &str| Term::from_field_text(field, word);
    if let Some(word) = half_pair(phrase) {
        return beginning(field, word);
    }
    match phrase.words.as_slice() {
        [(_, word)] if phrase.beginning => Beginning::new(word).query(field),
        [(_, word)] => Box::new(TermQuery::new(term(word), IndexRecordOption::WithFreqs)),
        words => {
            // With offsets, because a phrase may leave a word out: the half pair at the end of a run.
            let terms = words.iter().map(|(offset, word)| (*offset, term(word)));
            Box::new(PhraseQuery::new_with_offset(terms.collect()))
        }
    }
}

/// The word of a phrase that is one character out of a run of pairs.
fn half_pair(phrase: &Phrase) -> Option<&str> {
    match phrase.words.as_slice() {
        [(_, word)] => Some(word.as_str()).filter(|word| words::is_half_pair(word)),
        _ => None,
    }
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
