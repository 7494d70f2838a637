//! The forms in which a word of a query matches: as written, with other diacritics, or by its stem.
//!
//! - A page matches if it has a word that folds to the same text as the query's. If the page's
//!   language has stems, it also matches with a word that has the same stem in that language as the
//!   query's word.
//! - A page has one language, so at most one stem is searched for in it.
//! - Matches and counts depend only on the word and the page.

use tantivy::columnar::StrColumn;
use tantivy::postings::{Postings, SegmentPostings};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, InvertedIndexReader, Searcher, SegmentReader, TERMINATED};

use crate::documents::schema::{self, TextFields};
use crate::filter::visible::Bits;
use crate::scoring::form_counts::FormCounts;
use crate::words::{RULES, WRITTEN, Word, stem_term};

/// A word, and the stems that it is searched by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Forms {
    pub(crate) word: Word,
    /// Each with the number of its rules. Empty if the word is not searched by stems.
    stems: Vec<(usize, String)>,
}

/// The numbers of the [`RULES`] that made stems in this index. Stems by other rules need not be
/// searched for.
#[derive(Debug)]
pub(crate) struct StemRulesInUse(Vec<usize>);

impl StemRulesInUse {
    pub(crate) fn read(searcher: &Searcher) -> tantivy::Result<StemRulesInUse> {
        let mut in_use = [false; RULES.len()];
        for reader in searcher.segment_readers() {
            let languages = reader.fast_fields().str(schema::LANGUAGE)?;
            for (rules, in_use) in RULES.iter().zip(&mut in_use).filter(|(_, in_use)| !**in_use) {
                *in_use = !ordinals(languages.as_ref(), rules.languages.iter())?.is_empty();
            }
        }
        Ok(StemRulesInUse(
            (0..RULES.len()).filter(|&rules| in_use[rules]).collect(),
        ))
    }
}

/// Languages in which a word of a query is a function word, as primary subtags.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FunctionWordLanguages(Vec<&'static str>);

/// The same, opened for a segment.
pub(crate) struct LanguageDocs {
    column: Option<StrColumn>,
    ordinals: Vec<u64>,
}

impl FunctionWordLanguages {
    /// Returns for each word of a query the languages in which it is ignored. If a query has only
    /// function words of a language, they are not ignored in that language.
    pub(crate) fn of(words: &[&Word]) -> Vec<FunctionWordLanguages> {
        let mut function_words = vec![FunctionWordLanguages::default(); words.len()];
        for rules in &RULES {
            let is_silent: Vec<bool> = words
                .iter()
                .map(|word| rules.is_function_word(&word.written))
                .collect();
            if is_silent.iter().all(|&is| is) {
                continue;
            }
            for (function_words, _) in function_words.iter_mut().zip(is_silent).filter(|(_, is)| *is) {
                function_words.0.extend(rules.languages);
            }
        }
        function_words
    }

    /// Returns whether the word is a function word of any language.
    pub(crate) fn is_any(&self) -> bool {
        !self.0.is_empty()
    }

    /// Returns the ordinals of the languages in a segment.
    pub(crate) fn ordinals(&self, column: Option<&StrColumn>) -> tantivy::Result<Vec<u64>> {
        ordinals(column, self.0.iter())
    }

    pub(crate) fn open(&self, reader: &SegmentReader) -> tantivy::Result<LanguageDocs> {
        if self.0.is_empty() {
            return Ok(LanguageDocs {
                column: None,
                ordinals: Vec::new(),
            });
        }
        let column = reader.fast_fields().str(schema::LANGUAGE)?;
        let ordinals = ordinals(column.as_ref(), self.0.iter())?;
        Ok(LanguageDocs { column, ordinals })
    }
}

impl LanguageDocs {
    /// Returns whether the word is ignored in a page.
    pub(crate) fn holds(&self, document: DocId) -> bool {
        !self.ordinals.is_empty() && is_in(self.column.as_ref(), &self.ordinals, document)
    }
}

fn is_in(column: Option<&StrColumn>, languages: &[u64], document: DocId) -> bool {
    let language = column.and_then(|column| column.ords().first(document));
    language.is_some_and(|language| languages.contains(&language))
}

/// Offset of positions in anchors. Greater than any position in a text, so that no phrase spans
/// both.
const ANCHORS_AT: u32 = 1 << 30;

impl Forms {
    /// Matches the word with any diacritics, but in no other form.
    pub(crate) fn exact(word: &Word) -> Forms {
        Forms {
            word: word.clone(),
            stems: Vec::new(),
        }
    }

    /// Matches the word, and also its stems by the rules of each language in use.
    pub(crate) fn stemmed(word: &Word, in_use: &StemRulesInUse) -> Forms {
        let written = Some(word.written.as_str()).filter(|written| *written != word.folded);
        let stem = |&rules: &usize| (rules, RULES[rules].stem(&word.folded, written));
        Forms {
            word: word.clone(),
            stems: in_use.0.iter().map(stem).collect(),
        }
    }

    /// Opens the pages of a segment that have any of the forms. Positions are read only if `option`
    /// asks for them.
    pub(crate) fn open(
        &self,
        reader: &SegmentReader,
        text_fields: TextFields,
        option: IndexRecordOption,
    ) -> tantivy::Result<FormDocs> {
        let words = reader.inverted_index(text_fields.words)?;
        let mut sources = Vec::new();
        let mut languages = None;
        if !self.stems.is_empty() {
            let frequencies = match option {
                IndexRecordOption::WithFreqsAndPositions => IndexRecordOption::WithFreqs,
                other => other,
            };
            let stems = reader.inverted_index(text_fields.stems)?;
            self.open_stems(&stems, frequencies, &mut sources)?;
            languages = reader.fast_fields().str(schema::LANGUAGE)?;
            self.open_bases(&words, languages.as_ref(), option, &mut sources)?;
        }
        let stemmed: Vec<usize> = sources.iter().filter_map(|source| source.kind.rules()).collect();
        self.open_words(&words, &stemmed, option, &mut sources)?;
        let anchors_from = sources.len();
        if let Some(anchors) = text_fields.anchors {
            let anchors = reader.inverted_index(anchors)?;
            self.open_words(&anchors, &[], option, &mut sources)?;
        }
        Ok(FormDocs::new(sources, anchors_from, languages))
    }

    /// Adds the postings of the word itself. `stemmed` are the rules by which words are counted by
    /// stem.
    fn open_words(
        &self,
        index: &InvertedIndexReader,
        stemmed: &[usize],
        option: IndexRecordOption,
        sources: &mut Vec<Source>,
    ) -> tantivy::Result<()> {
        let own = self.word.term();
        each_form(index, &self.word.folded, option, |term, written, postings| {
            let has_stem = |&rules: &usize| self.is_stem(rules, &self.word.folded, written);
            let kind = if term == own.as_bytes() {
                Kind::Written
            } else {
                Kind::OtherDiacritics {
                    among: stemmed.iter().copied().filter(has_stem).collect(),
                }
            };
            sources.push(Source { postings, kind });
        })
    }

    /// Returns whether a word has the same stem as the query's word by these rules.
    fn is_stem(&self, rules: usize, folded: &str, written: Option<&str>) -> bool {
        let stem = RULES[rules].stem(folded, written);
        self.stems.iter().any(|(of, own)| *of == rules && *own == stem)
    }

    /// Adds the postings of words whose stem differs from the word itself.
    fn open_stems(
        &self,
        index: &InvertedIndexReader,
        option: IndexRecordOption,
        sources: &mut Vec<Source>,
    ) -> tantivy::Result<()> {
        for &(rules, ref stem) in &self.stems {
            if let Some(info) = index.terms().get(stem_term(RULES[rules].code, stem))? {
                let postings = index.read_postings_from_terminfo(&info, option)?;
                let with_word = *stem != self.word.folded;
                let kind = Kind::Stem { rules, with_word };
                sources.push(Source { postings, kind });
            }
        }
        Ok(())
    }

    /// Adds the postings of words that are their own stem. Such words have no stem in the index, so
    /// the language of each page is checked.
    fn open_bases(
        &self,
        index: &InvertedIndexReader,
        languages: Option<&StrColumn>,
        option: IndexRecordOption,
        sources: &mut Vec<Source>,
    ) -> tantivy::Result<()> {
        let mut bases: Vec<&String> = self.stems.iter().map(|(_, stem)| stem).collect();
        bases.sort_unstable();
        bases.dedup();
        for base in bases.into_iter().filter(|base| **base != self.word.folded) {
            let mut failed = Ok(());
            each_form(index, base, option, |_, written, postings| {
                // A stem is not always the stem of itself.
                let rules = self.stems.iter().filter(|(_, stem)| stem == base);
                let rules = rules.filter(|(rules, _)| self.is_stem(*rules, base, written));
                match ordinals(languages, rules.flat_map(|(rules, _)| RULES[*rules].languages)) {
                    Ok(languages) if languages.is_empty() => {}
                    Ok(languages) => {
                        let kind = Kind::Base { languages };
                        sources.push(Source { postings, kind });
                    }
                    Err(error) => failed = Err(error),
                }
            })?;
            failed?;
        }
        Ok(())
    }
}

/// Calls `found` for every form of a folded word with its term, its written form if it differs from
/// the folded one, and its postings.
fn each_form(
    index: &InvertedIndexReader,
    folded: &str,
    option: IndexRecordOption,
    mut found: impl FnMut(&[u8], Option<&str>, SegmentPostings),
) -> tantivy::Result<()> {
    let last = format!("{folded}{WRITTEN}\u{10FFFF}");
    let mut terms = index.terms().range().ge(folded).le(last).into_stream()?;
    while terms.advance() {
        let written = terms.key().get(folded.len() + WRITTEN.len_utf8()..);
        let written = written.and_then(|written| std::str::from_utf8(written).ok());
        let postings = index.read_postings_from_terminfo(terms.value(), option)?;
        found(terms.key(), written, postings);
    }
    Ok(())
}

/// Returns the ordinals of languages in a segment.
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

/// Which form of the word the pages of a posting list have.
#[derive(Debug)]
enum Kind {
    /// The word as the query writes it.
    Written,
    /// The word with other diacritics. `among` lists the [`RULES`] by which it has the same stem as
    /// the query's word and is counted by that stem; diacritics can change the stem.
    OtherDiacritics { among: Vec<usize> },
    /// A word with the stem by these of the [`RULES`]. `with_word` is true if the query's word is
    /// among those counted.
    Stem { rules: usize, with_word: bool },
    /// The stem as a word, if the page is in one of these languages (by ordinal in the segment).
    Base { languages: Vec<u64> },
}

impl Kind {
    fn rules(&self) -> Option<usize> {
        match self {
            Kind::Stem { rules, .. } => Some(*rules),
            _ => None,
        }
    }
}

struct Source {
    postings: SegmentPostings,
    kind: Kind,
}

impl Source {
    /// Returns whether the source applies to some of its documents only.
    fn is_conditional(&self) -> bool {
        matches!(self.kind, Kind::Base { .. })
    }
}

/// The pages of a segment with any form of a word.
pub(crate) struct FormDocs {
    /// In this order: stems, words that are the stem, the word itself, and the word in anchors.
    sources: Vec<Source>,
    /// The current document of each source. Kept in one array, because every document is compared
    /// with all of them.
    heads: Vec<DocId>,
    /// Index of the first source in anchors.
    anchors_from: usize,
    languages: Option<StrColumn>,
    /// Whether any source applies to some documents only.
    is_conditional: bool,
    /// The current document: the least of `heads` that has the word.
    doc: DocId,
}

impl FormDocs {
    fn new(sources: Vec<Source>, anchors_from: usize, languages: Option<StrColumn>) -> FormDocs {
        let heads: Vec<DocId> = sources.iter().map(|source| source.postings.doc()).collect();
        let mut docs = FormDocs {
            doc: heads.iter().copied().min().unwrap_or(TERMINATED),
            is_conditional: sources.iter().any(Source::is_conditional),
            sources,
            heads,
            anchors_from,
            languages,
        };
        docs.settle();
        docs
    }

    /// Advances to the next document that has the word, unless the current one has it.
    fn settle(&mut self) {
        while self.is_conditional && self.doc != TERMINATED && !self.is_match() {
            self.step();
        }
    }

    /// Returns whether the current document has the word.
    fn is_match(&self) -> bool {
        self.here().any(|(_, source)| self.counts(source))
    }

    /// Returns the sources positioned at the current document, with their index.
    fn here(&self) -> impl Iterator<Item = (usize, &Source)> {
        let sources = self.heads.iter().zip(&self.sources).enumerate();
        sources.filter_map(|(index, (&head, source))| (head == self.doc).then_some((index, source)))
    }

    /// Returns whether a source applies to the current document.
    fn counts(&self, source: &Source) -> bool {
        match &source.kind {
            Kind::Base { languages } => is_in(self.languages.as_ref(), languages, self.doc),
            _ => true,
        }
    }

    /// Advances to the next document of any source.
    fn step(&mut self) {
        let mut next = TERMINATED;
        for (head, source) in self.heads.iter_mut().zip(&mut self.sources) {
            if *head == self.doc {
                *head = source.postings.advance();
            }
            next = next.min(*head);
        }
        self.doc = next;
    }

    /// Returns how often the document has each form.
    pub(crate) fn occurrences(&self) -> FormCounts {
        let mut counts = FormCounts::default();
        // A page has one language, so it has at most one source of stems. Sources of words come
        // after it.
        let mut stemmed = None;
        for (index, source) in self.here().filter(|(_, source)| self.counts(source)) {
            let count = source.postings.term_freq();
            if index >= self.anchors_from {
                stemmed = None;
                counts.in_anchors += count;
            }
            let mut among = 0;
            match &source.kind {
                Kind::Stem { rules, with_word } => {
                    counts.same_stem += count;
                    stemmed = Some(*rules).filter(|_| *with_word);
                }
                Kind::Base { .. } => counts.same_stem += count,
                Kind::Written => {
                    counts.written += count;
                    among = if stemmed.is_some() { count } else { 0 };
                }
                Kind::OtherDiacritics { among: rules } => {
                    counts.other_diacritics += count;
                    among = if stemmed.is_some_and(|stemmed| rules.contains(&stemmed)) {
                        count
                    } else {
                        0
                    };
                }
            }
            debug_assert!(among <= counts.same_stem, "a word is more frequent than its stem");
            counts.same_stem = counts.same_stem.saturating_sub(among);
        }
        counts
    }

    /// Returns the number of positions of the document's words ([`FormDocs::positions`]).
    pub(crate) fn position_count(&self) -> u32 {
        let with_positions = self.here().filter(|(_, source)| self.has_positions(source));
        with_positions
            .map(|(_, source)| source.postings.term_freq())
            .sum()
    }

    /// Returns whether a source has positions in the current document.
    fn has_positions(&self, source: &Source) -> bool {
        !matches!(source.kind, Kind::Stem { .. }) && self.counts(source)
    }

    /// Replaces `positions` with the ascending positions of the document's words, each plus
    /// `offset`. Words found only by their stem have none.
    pub(crate) fn positions(&mut self, offset: u32, positions: &mut Vec<u32>) {
        positions.clear();
        let mut lists = 0;
        for index in 0..self.sources.len() {
            if self.heads[index] != self.doc || !self.has_positions(&self.sources[index]) {
                continue;
            }
            lists += 1;
            let begin = if index < self.anchors_from { 0 } else { ANCHORS_AT };
            self.sources[index]
                .postings
                .append_positions_with_offset(begin + offset, positions);
        }
        if lists > 1 {
            positions.sort_unstable();
        }
    }

    /// Returns the number of live documents, of all or of the visible ones.
    pub(crate) fn count_live(mut self, reader: &SegmentReader, visible: Option<&Bits>) -> u64 {
        if let Some(visible) = visible {
            let mut count = 0;
            while self.doc != TERMINATED {
                count += u64::from(visible.has(self.doc) && !reader.is_deleted(self.doc));
                self.advance();
            }
            return count;
        }
        match (self.sources.as_slice(), reader.alive_bitset()) {
            ([], _) => 0,
            ([one], None) if !self.is_conditional => u64::from(one.postings.size_hint()),
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
            let mut next = TERMINATED;
            for (head, source) in self.heads.iter_mut().zip(&mut self.sources) {
                if *head < target {
                    *head = source.postings.seek(target);
                }
                next = next.min(*head);
            }
            self.doc = next;
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
