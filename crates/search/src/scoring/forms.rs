//! The forms in which a word of a query matches: as written, with other diacritics, or by its stem.
//!
//! - A page matches if it has a word that folds to the same text as the query's. If the page's
//!   language has stems, it also matches with a word that has the same stem in that language as the
//!   query's word.
//! - A page has one language, so at most one stem is searched for in it.
//! - Matches and counts depend only on the word and the page.

use std::sync::Arc;

use tantivy::columnar::StrColumn;
use tantivy::postings::{Postings, SegmentPostings, TermInfo};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet, InvertedIndexReader, Searcher, SegmentReader, TERMINATED};

use crate::documents::schema::{self, TextFields};
use crate::filter::visible::Bits;
use crate::scoring::form_counts::FormCounts;
use crate::scoring::lists::Lists;
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

    pub(crate) fn open(&self, reader: &SegmentReader, lists: &Lists) -> tantivy::Result<LanguageDocs> {
        if self.0.is_empty() {
            return Ok(LanguageDocs {
                column: None,
                ordinals: Vec::new(),
            });
        }
        let column = lists.languages(reader)?;
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

    /// Looks the forms up in the dictionaries of a segment with these languages.
    pub(crate) fn find(
        &self,
        reader: &SegmentReader,
        text_fields: TextFields,
        languages: Option<&StrColumn>,
    ) -> tantivy::Result<FormLists> {
        let TextFields {
            words,
            stems,
            anchors,
        } = text_fields;
        let mut lists = Vec::new();
        if !self.stems.is_empty() {
            self.find_stems(stems, &*reader.inverted_index(stems)?, &mut lists)?;
            self.find_bases(words, &*reader.inverted_index(words)?, languages, &mut lists)?;
        }
        let stemmed: Vec<usize> = lists.iter().filter_map(|list| list.kind.rules()).collect();
        self.find_words(words, &*reader.inverted_index(words)?, &stemmed, &mut lists)?;
        let anchors_from = lists.len();
        if let Some(anchors) = anchors {
            self.find_words(anchors, &*reader.inverted_index(anchors)?, &[], &mut lists)?;
        }
        Ok(FormLists { lists, anchors_from })
    }

    /// Adds the lists of the word itself. `stemmed` are the rules by which words are counted by
    /// stem.
    fn find_words(
        &self,
        field: Field,
        index: &InvertedIndexReader,
        stemmed: &[usize],
        lists: &mut Vec<FormList>,
    ) -> tantivy::Result<()> {
        let own = self.word.term();
        each_form(index, &self.word.folded, |term, written, info| {
            let has_stem = |&rules: &usize| self.is_stem(rules, &self.word.folded, written);
            let kind = if term == own.as_bytes() {
                Kind::Written
            } else {
                Kind::OtherDiacritics {
                    among: stemmed.iter().copied().filter(has_stem).collect(),
                }
            };
            lists.push(FormList { field, info, kind });
        })
    }

    /// Returns whether a word has the same stem as the query's word by these rules.
    fn is_stem(&self, rules: usize, folded: &str, written: Option<&str>) -> bool {
        let stem = RULES[rules].stem(folded, written);
        self.stems.iter().any(|(of, own)| *of == rules && *own == stem)
    }

    /// Adds the lists of words whose stem differs from the word itself.
    fn find_stems(
        &self,
        field: Field,
        index: &InvertedIndexReader,
        lists: &mut Vec<FormList>,
    ) -> tantivy::Result<()> {
        for &(rules, ref stem) in &self.stems {
            if let Some(info) = index.terms().get(stem_term(RULES[rules].code, stem))? {
                let with_word = *stem != self.word.folded;
                let kind = Kind::Stem { rules, with_word };
                lists.push(FormList { field, info, kind });
            }
        }
        Ok(())
    }

    /// Adds the lists of words that are their own stem. Such words have no stem in the index, so
    /// the language of each page is checked.
    fn find_bases(
        &self,
        field: Field,
        index: &InvertedIndexReader,
        languages: Option<&StrColumn>,
        lists: &mut Vec<FormList>,
    ) -> tantivy::Result<()> {
        let mut bases: Vec<&String> = self.stems.iter().map(|(_, stem)| stem).collect();
        bases.sort_unstable();
        bases.dedup();
        for base in bases.into_iter().filter(|base| **base != self.word.folded) {
            let mut failed = Ok(());
            each_form(index, base, |_, written, info| {
                // A stem is not always the stem of itself.
                let rules = self.stems.iter().filter(|(_, stem)| stem == base);
                let rules = rules.filter(|(rules, _)| self.is_stem(*rules, base, written));
                match ordinals(languages, rules.flat_map(|(rules, _)| RULES[*rules].languages)) {
                    Ok(languages) if languages.is_empty() => {}
                    Ok(languages) => {
                        let kind = Kind::Base { languages };
                        lists.push(FormList { field, info, kind });
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
/// the folded one, and where its postings are.
fn each_form(
    index: &InvertedIndexReader,
    folded: &str,
    mut found: impl FnMut(&[u8], Option<&str>, TermInfo),
) -> tantivy::Result<()> {
    let last = format!("{folded}{WRITTEN}\u{10FFFF}");
    let mut terms = index.terms().range().ge(folded).le(last).into_stream()?;
    while terms.advance() {
        let written = terms.key().get(folded.len() + WRITTEN.len_utf8()..);
        let written = written.and_then(|written| std::str::from_utf8(written).ok());
        found(terms.key(), written, terms.value().clone());
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

/// A posting list of a segment.
#[derive(Debug)]
struct FormList {
    field: Field,
    info: TermInfo,
    kind: Kind,
}

/// The posting lists of the forms of a word in a segment.
#[derive(Debug)]
pub(crate) struct FormLists {
    /// In this order: stems, words that are the stem, the word itself, and the word in anchors.
    lists: Vec<FormList>,
    /// Index of the first list in anchors.
    anchors_from: usize,
}

impl FormLists {
    /// Returns the number of lists.
    pub(crate) fn count(&self) -> usize {
        self.lists.len()
    }

    /// Returns whether any list applies to some of its documents only.
    pub(crate) fn is_conditional(&self) -> bool {
        self.lists
            .iter()
            .any(|list| matches!(list.kind, Kind::Base { .. }))
    }
}

/// The pages of a segment with any form of a word.
pub(crate) struct FormDocs {
    lists: Arc<FormLists>,
    /// In the order of `lists`.
    postings: Vec<SegmentPostings>,
    /// The current document of each list. Kept in one array, because every document is compared
    /// with all of them.
    heads: Vec<DocId>,
    languages: Option<StrColumn>,
    /// Whether any list applies to some documents only.
    is_conditional: bool,
    /// The current document: the least of `heads` that has the word.
    doc: DocId,
}

impl FormDocs {
    /// Opens lists of a segment. Positions are read only if `option` asks for them.
    pub(crate) fn open(
        lists: Arc<FormLists>,
        reader: &SegmentReader,
        languages: Option<StrColumn>,
        option: IndexRecordOption,
    ) -> tantivy::Result<FormDocs> {
        let mut postings = Vec::with_capacity(lists.lists.len());
        for list in &lists.lists {
            let option = match (&list.kind, option) {
                (Kind::Stem { .. }, IndexRecordOption::WithFreqsAndPositions) => IndexRecordOption::WithFreqs,
                (_, option) => option,
            };
            let index = reader.inverted_index(list.field)?;
            postings.push(index.read_postings_from_terminfo(&list.info, option)?);
        }
        let heads: Vec<DocId> = postings.iter().map(SegmentPostings::doc).collect();
        let mut docs = FormDocs {
            doc: heads.iter().copied().min().unwrap_or(TERMINATED),
            is_conditional: lists.is_conditional(),
            lists,
            postings,
            heads,
            languages,
        };
        docs.settle();
        Ok(docs)
    }

    /// Advances to the next document that has the word, unless the current one has it.
    fn settle(&mut self) {
        while self.is_conditional && self.doc != TERMINATED && !self.is_match() {
            self.step();
        }
    }

    /// Returns whether the current document has the word.
    fn is_match(&self) -> bool {
        self.here().any(|index| self.counts(index))
    }

    /// Returns the indexes of the lists positioned at the current document.
    fn here(&self) -> impl Iterator<Item = usize> {
        let heads = self.heads.iter().enumerate();
        heads.filter_map(|(index, &head)| (head == self.doc).then_some(index))
    }

    fn kind(&self, index: usize) -> &Kind {
        &self.lists.lists[index].kind
    }

    /// Returns whether a list applies to the current document.
    fn counts(&self, index: usize) -> bool {
        match self.kind(index) {
            Kind::Base { languages } => is_in(self.languages.as_ref(), languages, self.doc),
            _ => true,
        }
    }

    /// Advances to the next document of any list.
    fn step(&mut self) {
        let mut next = TERMINATED;
        for (head, postings) in self.heads.iter_mut().zip(&mut self.postings) {
            if *head == self.doc {
                *head = postings.advance();
            }
            next = next.min(*head);
        }
        self.doc = next;
    }

    /// Returns how often the document has each form.
    pub(crate) fn occurrences(&self) -> FormCounts {
        let mut counts = FormCounts::default();
        // A page has one language, so it has at most one list of stems. Lists of words come after
        // it.
        let mut stemmed = None;
        for index in self.here().filter(|&index| self.counts(index)) {
            let count = self.postings[index].term_freq();
            if index >= self.lists.anchors_from {
                stemmed = None;
                counts.in_anchors += count;
            }
            let mut among = 0;
            match self.kind(index) {
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
        let with_positions = self.here().filter(|&index| self.has_positions(index));
        with_positions.map(|index| self.postings[index].term_freq()).sum()
    }

    /// Returns whether a list has positions in the current document.
    fn has_positions(&self, index: usize) -> bool {
        !matches!(self.kind(index), Kind::Stem { .. }) && self.counts(index)
    }

    /// Replaces `positions` with the ascending positions of the document's words, each plus
    /// `offset`. Words found only by their stem have none.
    pub(crate) fn positions(&mut self, offset: u32, positions: &mut Vec<u32>) {
        positions.clear();
        let mut lists = 0;
        for index in 0..self.postings.len() {
            if self.heads[index] != self.doc || !self.has_positions(index) {
                continue;
            }
            lists += 1;
            let in_anchors = index >= self.lists.anchors_from;
            let begin = if in_anchors { ANCHORS_AT } else { 0 };
            self.postings[index].append_positions_with_offset(begin + offset, positions);
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
        match (self.postings.as_slice(), reader.alive_bitset()) {
            ([], _) => 0,
            ([one], None) if !self.is_conditional => u64::from(one.size_hint()),
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
            for (head, postings) in self.heads.iter_mut().zip(&mut self.postings) {
                if *head < target {
                    *head = postings.seek(target);
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
        let sizes = self.postings.iter().map(DocSet::size_hint);
        sizes.fold(0, u32::saturating_add)
    }
}
