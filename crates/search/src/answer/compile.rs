//! Compiles a parsed query to a tantivy query.

use std::cell::RefCell;
use std::ops::Bound;
use std::sync::Arc;

use tantivy::query::{
    AllQuery, BooleanQuery, ConstScoreQuery, InvertedIndexRangeQuery, Occur, Query, RangeQuery, TermQuery,
    TermSetQuery,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Score, Term};

use crate::answer::results::Ranking;
use crate::documents::schema::Fields;
use crate::documents::schema::TextFields;
use crate::filter::keys_query::KeysQuery;
use crate::filter::like_query::LikeQuery;
use crate::index::view::{View, VisibleView};
use crate::query::Versions;
use crate::query::{Clause, Leaf, ParsedQuery, Part, Phrase};
use crate::scoring::bm25::{self, Bm25};
use crate::scoring::forms::{Forms, FunctionWordLanguages, StemRulesInUse};
use crate::scoring::lists::Lists;
use crate::scoring::live::LiveStatistics;
use crate::scoring::near::Near;
use crate::scoring::rank;
use crate::scoring::wanted::{self, Mode, WantedQuery, WantedWord, Weighed};
use crate::scoring::words_query::{Scores, WordsQuery};
use crate::words::{self, Word};

/// Up to this number of other words, function words score as well: `about us`.
const FEW_WORDS: usize = 2;

/// Compiles queries for tantivy, with the statistics of one snapshot of the index.
pub(crate) struct Compiler<'v> {
    fields: &'v Fields,
    rules_in_use: &'v StemRulesInUse,
    lists: &'v Arc<Lists>,
    live: &'v LiveStatistics,
    /// Statistics of the pages that the caller can see. They decide what matches.
    seen: &'v LiveStatistics,
    versions: Versions,
    ranking: Ranking,
    /// Whether the caller may know of all links.
    sees_links: bool,
    /// Function words of the query, with the languages in which they are ignored.
    function_words: Vec<(Word, FunctionWordLanguages)>,
    /// Whether function words score all the same, because the query has few other words.
    all_words_score: bool,
    /// Words of the query with the forms to search for, and whether stems are among them.
    forms: RefCell<Vec<(bool, Arc<Forms>)>>,
}

impl<'v> Compiler<'v> {
    /// Creates the compiler for one query.
    pub(crate) fn new(
        view: &'v View,
        visible_view: &'v VisibleView,
        parsed: &ParsedQuery,
        versions: Versions,
        ranking: Ranking,
    ) -> Compiler<'v> {
        let single = parsed.phrases().map(|(phrase, _)| phrase);
        let single: Vec<&Word> = single.filter_map(Phrase::single).collect();
        let function_words = FunctionWordLanguages::of(&single);
        let others = function_words
            .iter()
            .filter(|languages| !languages.is_any())
            .count();
        Compiler {
            fields: &view.fields,
            rules_in_use: &view.rules_in_use,
            lists: &view.lists,
            live: &visible_view.live,
            seen: &visible_view.seen,
            versions,
            ranking,
            sees_links: visible_view.sees_links,
            function_words: single.into_iter().cloned().zip(function_words).collect(),
            all_words_score: others <= FEW_WORDS,
            forms: RefCell::default(),
        }
    }

    /// Returns the statistics that scores are computed from.
    pub(crate) fn live(&self) -> &'v LiveStatistics {
        self.live
    }

    /// Compiles the query. Only words and phrases score.
    pub(crate) fn compile(&self, parsed: &ParsedQuery, mode: Mode) -> tantivy::Result<Box<dyn Query>> {
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        for clause in parsed.clauses.iter().filter(|clause| clause.wanted().is_none()) {
            let occur = if clause.negated {
                Occur::MustNot
            } else {
                Occur::Must
            };
            clauses.push((occur, self.any_of(clause)?));
        }
        let wanted = self.wanted(parsed, mode)?;
        match (wanted.words.as_slice(), wanted.demanded.as_slice()) {
            ([], _) => {}
            // The only word is needed.
            ([word], []) if !wanted.is_optional => clauses.push((Occur::Must, Box::new(word.query.clone()))),
            _ => clauses.push((Occur::Must, Box::new(wanted))),
        }
        if !clauses.iter().any(|(occur, _)| *occur == Occur::Must) {
            // tantivy finds nothing for a query of negations only, so add a clause that all
            // documents match.
            clauses.push((Occur::Must, filter(Box::new(AllQuery))));
        }
        if clauses.len() == 1
            && let Some((Occur::Must, only)) = clauses.pop()
        {
            // The collector bounds the scores of a query that stands alone.
            return Ok(only);
        }
        Ok(Box::new(BooleanQuery::new(clauses)))
    }

    /// Compiles the wanted words of a query.
    pub(crate) fn wanted(&self, parsed: &ParsedQuery, mode: Mode) -> tantivy::Result<WantedQuery> {
        let (mut words, mut most) = (Vec::new(), Vec::new());
        for (phrase, times) in parsed.wanted() {
            let weighed = self.weighed(phrase)?;
            if mode == Mode::Enough || weighed.is_known {
                most.push(rank::rounded(self.idf_of(phrase)? * bm25::MOST) * times as Score);
            }
            if let Some(query) = self.scored(phrase, times)? {
                words.push(WantedWord { query, weighed });
            }
        }
        let demanded = parsed.clauses.iter().filter(|clause| clause.wanted().is_none());
        let demanded = demanded.filter_map(Clause::demanded_words);
        let demanded = demanded.filter(|phrase| scores(phrase));
        let demanded = demanded
            .map(|phrase| self.weighed(phrase))
            .collect::<tantivy::Result<Vec<Weighed>>>()?;
        // Beside alternatives only, function words are not needed.
        let is_optional = parsed.clauses.iter().any(Clause::has_alternative_words)
            && demanded.is_empty()
            && words.iter().all(|word| word.weighed.function_words.is_any());
        Ok(WantedQuery {
            words,
            demanded,
            mode,
            lists: Arc::clone(self.lists),
            function_words_score: self.all_words_score,
            all_words: wanted::all_words_score(&most),
            is_optional,
        })
    }

    /// Returns what a word or phrase weighs: its idf among the pages that the caller sees.
    fn weighed(&self, phrase: &Phrase) -> tantivy::Result<Weighed> {
        let (mut weight, mut is_known) = (0, true);
        for (_, forms) in self.forms(phrase) {
            let pages = self.seen.pages_with(&forms)?;
            // Past versions are not counted, so they may have a word that no page has.
            is_known &= pages > 0 || self.versions == Versions::All;
            let idf = bm25::idf(pages, self.seen.documents());
            // A word of nearly all pages weighs little, but something.
            weight += rank::units(rank::rounded(idf)).max(1);
        }
        Ok(Weighed {
            weight,
            is_known,
            function_words: self.function_words(phrase),
        })
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
            // If only current versions are searched, only the time of their own capture counts.
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
            // A version covers the time from its first to its last capture. It matches if that
            // range overlaps the range of the query.
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

    /// Returns the query for words, restricted to the part of the page that the phrase names.
    fn words_query(&self, phrase: &Phrase, times: u32) -> tantivy::Result<Box<dyn Query>> {
        let part = match phrase.part {
            Part::Any => return self.scored_query(phrase, times),
            Part::Title => self.fields.title,
            Part::Url => self.fields.url,
        };
        // `body` also has the words of the title and the URL, so they score there as they do in any
        // other query.
        let there = filter(self.unscored_query(phrase, both(part)));
        let scored = self.scored_query(phrase, times)?;
        Ok(Box::new(BooleanQuery::intersection(vec![there, scored])))
    }

    /// Returns the query for adjacent words in any part of the page, scored and multiplied by
    /// `times`. Prefixes of words do not score.
    fn scored_query(&self, phrase: &Phrase, times: u32) -> tantivy::Result<Box<dyn Query>> {
        Ok(match self.scored(phrase, times)? {
            Some(query) => Box::new(query),
            None => filter(self.unscored_query(phrase, self.anywhere())),
        })
    }

    /// Returns the words of a phrase with their scores, or `None` if they do not score.
    pub(crate) fn scored(&self, phrase: &Phrase, times: u32) -> tantivy::Result<Option<WordsQuery>> {
        if !scores(phrase) {
            return Ok(None);
        }
        let bm25 = Bm25::new(self.idf_of(phrase)?, self.live.fractions());
        Ok(Some(WordsQuery {
            words: self.forms(phrase),
            text_fields: self.anywhere(),
            lists: Arc::clone(self.lists),
            scores: Some(Scores {
                bm25,
                times,
                function_words: self.silent(phrase),
            }),
        }))
    }

    /// Returns the words whose proximity scores: single words that are not quoted.
    pub(crate) fn near(&self, parsed: &ParsedQuery) -> tantivy::Result<Near> {
        let mut words = Vec::new();
        for (phrase, _) in parsed.phrases().filter(|_| self.ranking.near) {
            if phrase.single().is_some()
                && let Some((_, forms)) = self.forms(phrase).into_iter().next()
            {
                let idf = self.idf(&forms)?;
                words.push((forms, idf, self.silent(phrase)));
            }
        }
        Ok(Near::new(words, self.anywhere(), self.lists))
    }

    /// Returns the languages in which a word of the query does not score.
    fn silent(&self, phrase: &Phrase) -> FunctionWordLanguages {
        if self.all_words_score {
            FunctionWordLanguages::default()
        } else {
            self.function_words(phrase)
        }
    }

    /// Returns the languages in which a word of the query is a function word. A phrase is never
    /// ignored.
    fn function_words(&self, phrase: &Phrase) -> FunctionWordLanguages {
        let known = phrase.single().and_then(|word| {
            let mut function_words = self.function_words.iter();
            function_words.find(|(other, _)| other == word)
        });
        known
            .map(|(_, function_words)| function_words.clone())
            .unwrap_or_default()
    }

    /// Returns the sum of the idf of the words of a phrase.
    fn idf_of(&self, phrase: &Phrase) -> tantivy::Result<Score> {
        let mut idf = 0.0;
        for (_, forms) in self.forms(phrase) {
            idf += self.idf(&forms)?;
        }
        Ok(idf)
    }

    fn idf(&self, forms: &Arc<Forms>) -> tantivy::Result<Score> {
        let pages = self.live.pages_with(forms)?;
        Ok(bm25::idf(pages, self.live.documents()))
    }

    /// Returns the words of a phrase in the forms to search for. Only a single word without quotes
    /// is also searched by its stems.
    pub(crate) fn forms(&self, phrase: &Phrase) -> Vec<(usize, Arc<Forms>)> {
        let by_stems = phrase.takes_stems() && self.ranking.stems;
        let words = phrase.words.iter();
        words
            .map(|(offset, word)| (*offset, self.forms_of(word, by_stems)))
            .collect()
    }

    /// Returns the forms of a word. Stems are made once for each query.
    fn forms_of(&self, word: &Word, by_stems: bool) -> Arc<Forms> {
        let mut made = self.forms.borrow_mut();
        let known = made
            .iter()
            .find(|(stems, forms)| *stems == by_stems && forms.word == *word);
        if let Some((_, forms)) = known {
            return Arc::clone(forms);
        }
        let forms = Arc::new(if by_stems {
            Forms::stemmed(word, self.rules_in_use)
        } else {
            Forms::exact(word)
        });
        made.push((by_stems, Arc::clone(&forms)));
        forms
    }

    /// Returns the fields of title, URL, text and anchors.
    pub(crate) fn anywhere(&self) -> TextFields {
        let text_fields = self.fields.anywhere();
        TextFields {
            anchors: text_fields
                .anchors
                .filter(|_| self.sees_links && self.ranking.anchors),
            ..text_fields
        }
    }

    /// Returns the query for the pages with the words of a phrase, without scores.
    fn unscored_query(&self, phrase: &Phrase, text_fields: TextFields) -> Box<dyn Query> {
        if let Some(word) = half_pair(phrase) {
            return beginnings(text_fields, word);
        }
        if let ([(_, word)], true) = (phrase.words.as_slice(), phrase.beginning) {
            return beginnings(text_fields, &word.folded);
        }
        Box::new(WordsQuery {
            words: self.forms(phrase),
            text_fields,
            lists: Arc::clone(self.lists),
            scores: None,
        })
    }
}

/// Returns whether the words of a phrase score.
fn scores(phrase: &Phrase) -> bool {
    !phrase.beginning && half_pair(phrase).is_none()
}

/// Returns the place for a field that holds both words and stems.
fn both(field: Field) -> TextFields {
    TextFields {
        words: field,
        stems: field,
        anchors: None,
    }
}

/// Matches all words of a place that begin with `text`.
fn beginnings(text_fields: TextFields, text: &str) -> Box<dyn Query> {
    let fields = [Some(text_fields.words), text_fields.anchors]
        .into_iter()
        .flatten();
    let queries = fields.map(|field| beginning(field, text)).collect();
    Box::new(BooleanQuery::union(queries))
}

/// Matches all terms that begin with `text`.
fn beginning(field: Field, text: &str) -> Box<dyn Query> {
    // The greatest character, so that every term with this prefix is in the range.
    let last = format!("{text}\u{10FFFF}");
    Box::new(InvertedIndexRangeQuery::new(
        Bound::Included(Term::from_field_text(field, text)),
        Bound::Included(Term::from_field_text(field, &last)),
    ))
}

fn filter(query: Box<dyn Query>) -> Box<dyn Query> {
    // Filters score zero, so that neither they nor their order change a score.
    Box::new(ConstScoreQuery::new(query, 0.0))
}

fn exact(term: Term) -> Box<dyn Query> {
    Box::new(TermQuery::new(term, IndexRecordOption::Basic))
}

/// Returns the word of a phrase if it is a single character of a run of pairs.
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
