//! From a query as understood to tantivy's.

use std::ops::Bound;
use std::sync::Arc;

use tantivy::query::{
    AllQuery, BooleanQuery, ConstScoreQuery, InvertedIndexRangeQuery, Occur, Query, RangeQuery, TermQuery,
    TermSetQuery,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Score, Term};

use crate::bm25::{self, Bm25};
use crate::forms::{Forms, Place, RulesInUse, Silent};
use crate::keys_query::KeysQuery;
use crate::like_query::LikeQuery;
use crate::live::Live;
use crate::near::Near;
use crate::query::{Clause, Leaf, Parsed, Part, Phrase};
use crate::results::Ranking;
use crate::schema::Fields;
use crate::view::{Seen, View};
use crate::visible::Versions;
use crate::words::{self, Word};
use crate::words_query::{Scores, WordsQuery};

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

/// Makes queries for tantivy, with the statistics of one cut of the index.
pub(crate) struct Compiler<'v> {
    fields: &'v Fields,
    rules_in_use: &'v RulesInUse,
    live: &'v Live,
    versions: Versions,
    ranking: Ranking,
    /// Whether who asks may know of all links.
    sees_links: bool,
    /// Words that say nothing in some languages.
    silent: Vec<(Word, Silent)>,
}

/// Whether fewer of such clauses may hold in another mode.
pub(crate) fn is_worded(clause: &Clause) -> bool {
    !clause.negated && clause.any.iter().any(|leaf| matches!(leaf, Leaf::Words(_)))
}

impl<'v> Compiler<'v> {
    /// For one query.
    pub(crate) fn new(
        view: &'v View,
        seen: &'v Seen,
        parsed: &Parsed,
        versions: Versions,
        ranking: Ranking,
    ) -> Compiler<'v> {
        let single = parsed.phrases().map(|(phrase, _)| phrase);
        let single: Vec<&Word> = single.filter_map(Phrase::single).collect();
        let silent = Silent::of(&single);
        Compiler {
            fields: &view.fields,
            rules_in_use: &view.rules_in_use,
            live: &seen.live,
            versions,
            ranking,
            sees_links: seen.sees_links,
            silent: single.into_iter().cloned().zip(silent).collect(),
        }
    }

    /// The statistics that scores are made from.
    pub(crate) fn live(&self) -> &'v Live {
        self.live
    }

    /// The query for tantivy. Only words and phrases score.
    pub(crate) fn compile(&self, parsed: &Parsed, mode: Mode) -> tantivy::Result<BooleanQuery> {
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        let mut worded: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        for clause in &parsed.clauses {
            let query = self.any_of(clause)?;
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
        Ok(BooleanQuery::new(clauses))
    }

    fn any_of(&self, clause: &Clause) -> tantivy::Result<Box<dyn Query>> {
        let query = |leaf| self.leaf_query(leaf, clause.times);
        if let [leaf] = clause.any.as_slice() {
            return query(leaf);
        }
        let leaves = clause.any.iter().map(|leaf| Ok((Occur::Should, query(leaf)?)));
        let leaves: tantivy::Result<Vec<_>> = leaves.collect();
        Ok(Box::new(BooleanQuery::new(leaves?)))
    }

    fn leaf_query(&self, leaf: &Leaf, times: u32) -> tantivy::Result<Box<dyn Query>> {
        let fields = self.fields;
        Ok(match leaf {
            Leaf::Words(phrase) => return self.words_query(phrase, times),
            Leaf::Site(host) => filter(exact(Term::from_field_text(fields.site, host))),
            Leaf::Address { keys, .. } => filter(Box::new(KeysQuery(keys.clone()))),
            Leaf::Suffix(suffix) => filter(exact(Term::from_field_text(fields.suffix, suffix))),
            Leaf::Type(value) => filter(type_query(value, fields)),
            Leaf::Language(value) => filter(exact(Term::from_field_text(fields.lang, value))),
            Leaf::Collection(value) => filter(exact(Term::from_field_text(fields.collection, value))),
            Leaf::Like(likeness) => filter(Box::new(LikeQuery(*likeness))),
            // Of the current versions alone nothing but their own capture counts.
            Leaf::At { last, .. } | Leaf::Date { name: "to", last, .. }
                if self.versions == Versions::Current =>
            {
                filter(Box::new(RangeQuery::new(
                    Bound::Unbounded,
                    Bound::Included(Term::from_field_u64(fields.date, *last)),
                )))
            }
            Leaf::At { last, .. } => {
                let began = RangeQuery::new(
                    Bound::Unbounded,
                    Bound::Included(Term::from_field_u64(fields.since, *last)),
                );
                let ends = RangeQuery::new(
                    Bound::Excluded(Term::from_field_u64(fields.until, *last)),
                    Bound::Unbounded,
                );
                filter(Box::new(BooleanQuery::intersection(vec![
                    Box::new(began),
                    Box::new(ends),
                ])))
            }
            // A version is of a span of time, from its first capture to its last, and so is what is asked for.
            Leaf::Date { name: "to", last, .. } => filter(Box::new(RangeQuery::new(
                Bound::Unbounded,
                Bound::Included(Term::from_field_u64(fields.since, *last)),
            ))),
            Leaf::Date { first, last, .. } => filter(Box::new(RangeQuery::new(
                Bound::Included(Term::from_field_u64(fields.date, *first)),
                Bound::Included(Term::from_field_u64(fields.date, *last)),
            ))),
        })
    }

    /// The query of words, in the part of the page where they must be.
    fn words_query(&self, phrase: &Phrase, times: u32) -> tantivy::Result<Box<dyn Query>> {
        let part = match phrase.part {
            Part::Any => return self.scored_query(phrase, times),
            Part::Title => self.fields.title,
            Part::Url => self.fields.url,
        };
        // `body` has the words of title and URL too: words found there count as they do in any query.
        let there = filter(self.unscored_query(phrase, both(part)));
        let scored = self.scored_query(phrase, times)?;
        Ok(Box::new(BooleanQuery::intersection(vec![there, scored])))
    }

    /// The query of words next to each other anywhere: what scores, and that so many times. Beginnings of
    /// words do not score.
    fn scored_query(&self, phrase: &Phrase, times: u32) -> tantivy::Result<Box<dyn Query>> {
        Ok(match self.scored(phrase, times)? {
            Some(query) => Box::new(query),
            None => filter(self.unscored_query(phrase, self.anywhere())),
        })
    }

    /// The words of a phrase with their scores, if they score.
    pub(crate) fn scored(&self, phrase: &Phrase, times: u32) -> tantivy::Result<Option<WordsQuery>> {
        if phrase.beginning || half_pair(phrase).is_some() {
            return Ok(None);
        }
        let words = self.forms(phrase);
        let mut idf = 0.0;
        for (_, forms) in &words {
            idf += self.idf(forms)?;
        }
        let bm25 = Arc::new(Bm25::new(idf, self.live.length_mean()));
        Ok(Some(WordsQuery {
            words,
            place: self.anywhere(),
            scores: Some(Scores {
                bm25,
                times,
                silent: self.silent(phrase),
            }),
        }))
    }

    /// The words whose nearness counts: single ones that need not be in a certain form.
    pub(crate) fn near(&self, parsed: &Parsed) -> tantivy::Result<Near> {
        let mut words = Vec::new();
        for (phrase, _) in parsed.phrases().filter(|_| self.ranking.near) {
            if phrase.single().is_some()
                && let Some((_, forms)) = self.forms(phrase).into_iter().next()
            {
                let idf = self.idf(&forms)?;
                words.push((forms, idf, self.silent(phrase)));
            }
        }
        Ok(Near::new(words, self.anywhere()))
    }

    /// Where a word of the query says nothing by itself; a phrase always says something.
    fn silent(&self, phrase: &Phrase) -> Silent {
        let known = phrase.single().and_then(|word| {
            let mut silent = self.silent.iter();
            silent.find(|(other, _)| other == word)
        });
        known.map(|(_, silent)| silent.clone()).unwrap_or_default()
    }

    fn idf(&self, forms: &Forms) -> tantivy::Result<Score> {
        let pages = self.live.pages_with(forms)?;
        Ok(bm25::idf(pages, self.live.documents()))
    }

    /// The words of a phrase in the forms that they are looked for: only a word alone, not in quotes, by its stems.
    pub(crate) fn forms(&self, phrase: &Phrase) -> Vec<(usize, Forms)> {
        let by_stems = phrase.takes_stems() && self.ranking.stems;
        let forms = |word| match by_stems {
            true => Forms::stemmed(word, self.rules_in_use),
            false => Forms::exact(word),
        };
        let words = phrase.words.iter();
        words.map(|(offset, word)| (*offset, forms(word))).collect()
    }

    /// Title, URL, text and anchors.
    pub(crate) fn anywhere(&self) -> Place {
        let place = self.fields.anywhere();
        Place {
            anchors: place.anchors.filter(|_| self.sees_links && self.ranking.anchors),
            ..place
        }
    }

    /// The pages with the words of a phrase.
    fn unscored_query(&self, phrase: &Phrase, place: Place) -> Box<dyn Query> {
        if let Some(word) = half_pair(phrase) {
            return beginnings(place, word);
        }
        if let ([(_, word)], true) = (phrase.words.as_slice(), phrase.beginning) {
            return beginnings(place, &word.folded);
        }
        Box::new(WordsQuery {
            words: self.forms(phrase),
            place,
            scores: None,
        })
    }
}

/// The place of words and stems that are in one field.
fn both(field: Field) -> Place {
    Place {
        words: field,
        stems: field,
        anchors: None,
    }
}

/// All words of a place that begin with `text`.
fn beginnings(place: Place, text: &str) -> Box<dyn Query> {
    let fields = [Some(place.words), place.anchors].into_iter().flatten();
    let queries = fields.map(|field| beginning(field, text)).collect();
    Box::new(BooleanQuery::union(queries))
}

/// All terms that begin with `text`.
fn beginning(field: Field, text: &str) -> Box<dyn Query> {
    // The greatest character: no term that begins so comes behind it.
    let last = format!("{text}\u{10FFFF}");
    Box::new(InvertedIndexRangeQuery::new(
        Bound::Included(Term::from_field_text(field, text)),
        Bound::Included(Term::from_field_text(field, &last)),
    ))
}

fn filter(query: Box<dyn Query>) -> Box<dyn Query> {
    // Zero, so that filters and their order change no score.
    Box::new(ConstScoreQuery::new(query, 0.0))
}

fn exact(term: Term) -> Box<dyn Query> {
    Box::new(TermQuery::new(term, IndexRecordOption::Basic))
}

/// The word of a phrase that is one character out of a run of pairs.
fn half_pair(phrase: &Phrase) -> Option<&str> {
    match phrase.words.as_slice() {
        [(_, word)] => Some(word.folded.as_str()).filter(|word| words::is_half_pair(word)),
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
