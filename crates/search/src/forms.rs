//! The forms in which a word of a query is found: as it is written, with other diacritics, by its stem.
//!
//! - Any page with a word that folds to the query's has it. A page in a language with stems also has it where a
//!   word of that page has the stem that the query's word has in the page's language.
//! - A page has one language, so of all stems one at most is looked for in it.
//! - Pages and counts are a function of word and page alone.

use tantivy::columnar::StrColumn;
use tantivy::postings::{Postings, SegmentPostings};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet, InvertedIndexReader, Score, SegmentReader, TERMINATED};

use crate::bm25::{OTHER_DIACRITICS, SAME_STEM};
use crate::schema;
use crate::words::{RULES, Rules, WRITTEN, Word, stem_term};

/// A word, and the stems that it is found by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Forms {
    pub(crate) word: Word,
    /// By the code of their rules; none for a word that is to be found as it is.
    stems: Vec<(&'static str, String)>,
}

/// Languages in which a word of a query says nothing by itself, as primary subtags.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Silent(Vec<&'static str>);

/// The same in a segment.
pub(crate) struct SilentDocs {
    column: Option<StrColumn>,
    ordinals: Vec<u64>,
}

impl Silent {
    /// Where each of a query's words says nothing. In a language whose function words are all there is to the query,
    /// they are what is looked for.
    pub(crate) fn of(words: &[&Word]) -> Vec<Silent> {
        let mut silent = vec![Silent::default(); words.len()];
        for rules in &RULES {
            let is_silent: Vec<bool> = words
                .iter()
                .map(|word| rules.is_function_word(&word.written))
                .collect();
            if is_silent.iter().all(|&is| is) {
                continue;
            }
            for (silent, _) in silent.iter_mut().zip(is_silent).filter(|(_, is)| *is) {
                silent.0.extend(rules.languages);
            }
        }
        silent
    }

    pub(crate) fn open(&self, reader: &SegmentReader) -> tantivy::Result<SilentDocs> {
        if self.0.is_empty() {
            return Ok(SilentDocs {
                column: None,
                ordinals: Vec::new(),
            });
        }
        let column = reader.fast_fields().str(schema::LANGUAGE)?;
        let ordinals = ordinals(column.as_ref(), self.0.iter())?;
        Ok(SilentDocs { column, ordinals })
    }
}

impl SilentDocs {
    /// Whether the word says nothing in a page.
    pub(crate) fn holds(&self, document: DocId) -> bool {
        !self.ordinals.is_empty() && is_in(self.column.as_ref(), &self.ordinals, document)
    }
}

fn is_in(column: Option<&StrColumn>, languages: &[u64], document: DocId) -> bool {
    let language = column.and_then(|column| column.ords().first(document));
    language.is_some_and(|language| languages.contains(&language))
}

/// The fields where words and their stems are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) words: Field,
    pub(crate) stems: Field,
}

impl Forms {
    /// A word that is found with any diacritics, but in no other form.
    pub(crate) fn exact(word: &Word) -> Forms {
        Forms {
            word: word.clone(),
            stems: Vec::new(),
        }
    }

    /// A word that is also found by its stems, as the rules of each language make them.
    pub(crate) fn stemmed(word: &Word) -> Forms {
        let written = Some(word.written.as_str()).filter(|written| *written != word.folded);
        let stem = |rules: &Rules| (rules.code, rules.stem(&word.folded, written));
        Forms {
            word: word.clone(),
            stems: RULES.iter().map(stem).collect(),
        }
    }

    /// The pages of a segment with any of the forms; positions of words only where `option` asks for them.
    pub(crate) fn open(
        &self,
        reader: &SegmentReader,
        place: Place,
        option: IndexRecordOption,
    ) -> tantivy::Result<FormDocs> {
        let words = reader.inverted_index(place.words)?;
        let mut sources = Vec::new();
        let own = self.word.term();
        each_form(&words, &self.word.folded, option, |term, postings| {
            let kind = match term == own.as_bytes() {
                true => Kind::Written,
                false => Kind::OtherDiacritics,
            };
            sources.push(Source { postings, kind });
        })?;
        let mut languages = None;
        if !self.stems.is_empty() {
            let frequencies = match option {
                IndexRecordOption::WithFreqsAndPositions => IndexRecordOption::WithFreqs,
                other => other,
            };
            let stems = reader.inverted_index(place.stems)?;
            self.open_stems(&stems, frequencies, &mut sources)?;
            languages = reader.fast_fields().str(schema::LANGUAGE)?;
            self.open_bases(&words, languages.as_ref(), option, &mut sources)?;
        }
        Ok(FormDocs::new(sources, languages))
    }

    /// Words whose stem is not the word itself.
    fn open_stems(
        &self,
        index: &InvertedIndexReader,
        option: IndexRecordOption,
        sources: &mut Vec<Source>,
    ) -> tantivy::Result<()> {
        for (code, stem) in &self.stems {
            if let Some(info) = index.terms().get(stem_term(code, stem))? {
                let postings = index.read_postings_from_terminfo(&info, option)?;
                let with_word = *stem != self.word.folded;
                let kind = Kind::Stem { with_word };
                sources.push(Source { postings, kind });
            }
        }
        Ok(())
    }

    /// Words that are the stem themselves: such words have no stem in the index, so the language of each page is
    /// looked at.
    fn open_bases(
        &self,
        index: &InvertedIndexReader,
        languages: Option<&StrColumn>,
        option: IndexRecordOption,
        sources: &mut Vec<Source>,
    ) -> tantivy::Result<()> {
        let mut bases: Vec<&str> = self.stems.iter().map(|(_, stem)| stem.as_str()).collect();
        bases.sort_unstable();
        bases.dedup();
        for base in bases.into_iter().filter(|base| *base != self.word.folded) {
            let rules = RULES.iter().filter(|rules| {
                let mut stems = self.stems.iter();
                stems.any(|(code, stem)| *code == rules.code && stem == base)
            });
            let ordinals = ordinals(languages, rules.flat_map(|rules| rules.languages))?;
            if ordinals.is_empty() {
                continue;
            }
            each_form(index, base, option, |_, postings| {
                let kind = Kind::Base {
                    languages: ordinals.clone(),
                };
                sources.push(Source { postings, kind });
            })?;
        }
        Ok(())
    }
}

/// Calls `found` for every written form of a folded word.
fn each_form(
    index: &InvertedIndexReader,
    folded: &str,
    option: IndexRecordOption,
    mut found: impl FnMut(&[u8], SegmentPostings),
) -> tantivy::Result<()> {
    let last = format!("{folded}{WRITTEN}\u{10FFFF}");
    let mut terms = index.terms().range().ge(folded).le(last).into_stream()?;
    while terms.advance() {
        found(
            terms.key(),
            index.read_postings_from_terminfo(terms.value(), option)?,
        );
    }
    Ok(())
}

/// Ordinals of languages in a segment.
fn ordinals<'l>(
    column: Option<&StrColumn>,
    languages: impl Iterator<Item = &'l &'static str>,
) -> tantivy::Result<Vec<u64>> {
    let Some(column) = column else {
        return Ok(Vec::new());
    };
    let mut ordinals = Vec::new();
    for language in languages {
        ordinals.extend(column.dictionary().term_ord(language.as_bytes())?);
    }
    Ok(ordinals)
}

/// What pages a list of postings is of.
#[derive(Debug)]
enum Kind {
    /// With the word as the query writes it.
    Written,
    /// With the word, with other diacritics.
    OtherDiacritics,
    /// With the stem in the language of its rules; `with_word` where the query's word is among those counted.
    Stem { with_word: bool },
    /// With the stem as a word, if in one of these languages (by ordinal in the segment).
    Base { languages: Vec<u64> },
}

struct Source {
    postings: SegmentPostings,
    kind: Kind,
}

/// How often a page has the forms of a word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) written: u32,
    pub(crate) other_diacritics: u32,
    pub(crate) same_stem: u32,
}

impl Counts {
    /// What BM25 takes for the frequency.
    pub(crate) fn frequency(self) -> Score {
        self.written as Score
            + self.other_diacritics as Score * OTHER_DIACRITICS
            + self.same_stem as Score * SAME_STEM
    }
}

/// The pages of a segment with any form of a word.
pub(crate) struct FormDocs {
    /// In no order.
    sources: Vec<Source>,
    languages: Option<StrColumn>,
    /// The least document of all sources that has the word.
    doc: DocId,
}

impl FormDocs {
    fn new(sources: Vec<Source>, languages: Option<StrColumn>) -> FormDocs {
        let mut docs = FormDocs {
            sources,
            languages,
            doc: 0,
        };
        docs.settle();
        docs
    }

    /// Finds the next document from where the sources stand.
    fn settle(&mut self) {
        if let [source] = self.sources.as_slice()
            && !matches!(source.kind, Kind::Base { .. })
        {
            self.doc = source.postings.doc();
            return;
        }
        loop {
            let docs = self.sources.iter().map(|source| source.postings.doc());
            self.doc = docs.min().unwrap_or(TERMINATED);
            if self.doc == TERMINATED || self.is_match() {
                return;
            }
            self.step();
        }
    }

    /// Whether the least document has the word.
    fn is_match(&self) -> bool {
        let mut here = self.sources.iter().filter(|source| source.postings.doc() == self.doc);
        here.any(|source| self.counts(source))
    }

    /// Whether a source counts in the document where it stands.
    fn counts(&self, source: &Source) -> bool {
        match &source.kind {
            Kind::Base { languages } => is_in(self.languages.as_ref(), languages, source.postings.doc()),
            _ => true,
        }
    }

    fn step(&mut self) {
        let doc = self.doc;
        for source in &mut self.sources {
            if source.postings.doc() == doc {
                source.postings.advance();
            }
        }
    }

    /// How often the document has each form.
    pub(crate) fn occurrences(&self) -> Counts {
        let mut counts = Counts::default();
        let (mut stems, mut is_word_among_stems) = (0, false);
        for source in &self.sources {
            if source.postings.doc() != self.doc || !self.counts(source) {
                continue;
            }
            let count = source.postings.term_freq();
            match source.kind {
                Kind::Written => counts.written += count,
                Kind::OtherDiacritics => counts.other_diacritics += count,
                Kind::Stem { with_word } => {
                    stems += count;
                    is_word_among_stems |= with_word;
                }
                Kind::Base { .. } => stems += count,
            }
        }
        let words = counts.written + counts.other_diacritics;
        counts.same_stem = match is_word_among_stems {
            // A word whose diacritics give it another stem is not among them, hence the bound.
            true => stems.saturating_sub(words),
            false => stems,
        };
        counts
    }

    /// Adds the positions of the document's words, each with `offset`, ascending. Words whose stem is no word of the
    /// query have none.
    pub(crate) fn positions(&mut self, offset: u32, positions: &mut Vec<u32>) {
        positions.clear();
        let mut lists = 0;
        for index in 0..self.sources.len() {
            let source = &self.sources[index];
            let has_none = matches!(source.kind, Kind::Stem { .. });
            if has_none || source.postings.doc() != self.doc || !self.counts(source) {
                continue;
            }
            lists += 1;
            self.sources[index]
                .postings
                .append_positions_with_offset(offset, positions);
        }
        if lists > 1 {
            positions.sort_unstable();
        }
    }

    /// Live documents among all.
    pub(crate) fn count_live(mut self, reader: &SegmentReader) -> u64 {
        match (self.sources.as_slice(), reader.alive_bitset()) {
            ([], _) => 0,
            ([one], None) if !matches!(one.kind, Kind::Base { .. }) => u64::from(one.postings.size_hint()),
            (_, Some(alive)) => u64::from(self.count(alive)),
            (_, None) => u64::from(self.count_including_deleted()),
        }
    }
}

impl DocSet for FormDocs {
    fn advance(&mut self) -> DocId {
        if self.doc != TERMINATED {
            self.step();
            self.settle();
        }
        self.doc
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if self.doc < target {
            for source in &mut self.sources {
                if source.postings.doc() < target {
                    source.postings.seek(target);
                }
            }
            self.settle();
        }
        self.doc
    }

    fn doc(&self) -> DocId {
        self.doc
    }

    fn size_hint(&self) -> u32 {
        let sizes = self.sources.iter().map(|source| source.postings.size_hint());
        sizes.fold(0, u32::saturating_add)
    }
}
