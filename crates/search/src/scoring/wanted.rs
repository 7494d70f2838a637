//! Pages that have enough of the words of a query.
//!
//! Each word weighs its idf. Of `n` words that weigh `t` together, a page must have words that
//! weigh at least `t * (2 / n)²`: all of two words, four ninths of the weight of three, a sixteenth
//! of that of eight. Function words of the page's language do not count at all, and those of other
//! languages never count alone. Weights are whole numbers, so the sums do not depend on the order
//! of addition.
//!
//! The lists of the lightest words, which together are not enough, need not be read to find
//! candidates. Words that a page must have anyway ([`WantedQuery::demanded`]) count as well.

use std::sync::Arc;

use tantivy::columnar::StrColumn;
use tantivy::query::{EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::{DocId, DocSet, Score, SegmentReader, TERMINATED};

use crate::scoring::bounded::Bounded;
use crate::scoring::forms::FunctionWordLanguages;
use crate::scoring::lists::Lists;
use crate::scoring::rank::{self, Units};
use crate::scoring::words_query::WordsQuery;

/// Scores are exact below this (`rank`).
const SCORE_MAX: Score = 4095.0;

/// How many of the wanted words a page needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Enough of them. The default.
    Enough,
    /// Enough of those that some page has. Used if no page has enough.
    Known,
    /// One of them. Used if no page has enough of the known ones either.
    One,
}

/// What a word weighs, and where it counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Weighed {
    pub(crate) weight: Units,
    /// Whether a page has the word.
    pub(crate) is_known: bool,
    /// Languages in which the word does not count.
    pub(crate) function_words: FunctionWordLanguages,
}

/// A word that pages should have.
#[derive(Debug, Clone)]
pub(crate) struct WantedWord {
    pub(crate) query: WordsQuery,
    pub(crate) weighed: Weighed,
}

/// Matches pages with enough of the wanted words.
#[derive(Debug, Clone)]
pub(crate) struct WantedQuery {
    /// At most `query::WORDS_MAX`, so that a bit for each fits a number.
    pub(crate) words: Vec<WantedWord>,
    /// Words that other parts of the query demand.
    pub(crate) demanded: Vec<Weighed>,
    pub(crate) mode: Mode,
    pub(crate) lists: Arc<Lists>,
    /// Whether function words score, and are among all words of the next.
    pub(crate) function_words_score: bool,
    /// What a page with all words scores in addition.
    pub(crate) all_words: Score,
    /// Whether a page needs none of the words.
    pub(crate) is_optional: bool,
}

/// Returns what a page with all words scores in addition: as much as they can score at most. Pages
/// with all words therefore come first. `most` is what each word can score; one word is no reason
/// for a bonus.
pub(crate) fn all_words_score(most: &[Score]) -> Score {
    let sum: Score = most.iter().sum();
    if most.len() < 2 {
        return 0.0;
    }
    rank::rounded(sum.min(SCORE_MAX - sum).max(0.0))
}

/// Returns the weight that a page must have of `count` words with this weight.
fn share(total: u64, count: u64) -> u64 {
    let squared = (count * count).max(4);
    (total * 4).div_ceil(squared)
}

/// A word as a bit.
type Bits = u64;

/// What pages in one language need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Need {
    /// The wanted words that are no function words of the language.
    spoken: Bits,
    /// The words that count in this mode.
    counted: Bits,
    /// The words that score. A page with all of them comes first.
    scored: Bits,
    /// The words that are function words of no language. One of them is needed.
    weighty: Bits,
    /// What those that count weigh together.
    total: u64,
    /// The least weight of the wanted words; `None` if no page can match.
    weight: Option<u64>,
}

impl WantedQuery {
    /// Returns what pages need in a language in which these words do not count.
    fn need(&self, is_silent: impl Fn(&FunctionWordLanguages) -> bool) -> Need {
        let is_left_out = |word: &Weighed| self.mode != Mode::Enough && !word.is_known;
        let counts = |word: &Weighed| !is_left_out(word) && !is_silent(&word.function_words);
        let (mut spoken, mut counted, mut scored, mut weighty) = (0, 0, 0, 0);
        let (mut total, mut count) = (0, 0);
        for (bit, word) in self.words.iter().enumerate() {
            spoken |= u64::from(!is_silent(&word.weighed.function_words)) << bit;
            let scores = self.function_words_score && !is_left_out(&word.weighed);
            scored |= u64::from(scores || counts(&word.weighed)) << bit;
            if counts(&word.weighed) {
                counted |= 1 << bit;
                weighty |= u64::from(!word.weighed.function_words.is_any()) << bit;
                total += u64::from(word.weighed.weight);
                count += 1;
            }
        }
        let demanded = self.demanded.iter().filter(|word| counts(word));
        let (mut held, mut holds_weighty) = (0, false);
        for word in demanded {
            held += u64::from(word.weight);
            holds_weighty |= !word.function_words.is_any();
            count += 1;
        }
        let is_weighty = |word: &Weighed| !word.function_words.is_any();
        let has_weighty = self.words.iter().any(|word| is_weighty(&word.weighed));
        if holds_weighty || !has_weighty {
            // Any word will do.
            weighty = counted;
        }
        let least = match self.mode {
            _ if self.is_optional => 0,
            Mode::Enough | Mode::Known => share(total + held, count),
            Mode::One => 1,
        };
        Need {
            spoken,
            counted,
            scored,
            weighty,
            total,
            weight: (count > 0 || self.is_optional).then(|| least.saturating_sub(held)),
        }
    }

    fn open_words(
        &self,
        open: impl Fn(&WordsQuery) -> tantivy::Result<Box<dyn Scorer>>,
    ) -> tantivy::Result<Vec<OpenWord>> {
        let mut words = Vec::with_capacity(self.words.len());
        for (bit, word) in self.words.iter().enumerate() {
            words.push(OpenWord {
                docs: open(&word.query)?,
                most: word.query.most(),
                weight: u64::from(word.weighed.weight),
                bit: 1 << bit,
            });
        }
        Ok(words)
    }

    /// Opens the words in a segment, to tell which of them a page has.
    pub(crate) fn open_presence(&self, reader: &SegmentReader) -> tantivy::Result<Presence> {
        Ok(Presence {
            words: self.open_words(|word| word.open_unscored(reader))?,
            needs: Needs::open(self, reader)?,
        })
    }

    fn open(&self, reader: &SegmentReader) -> tantivy::Result<WantedScorer> {
        let needs = Needs::open(self, reader)?;
        let mut words = self.open_words(|word| word.open(reader))?;
        let is_weighty = |word: &WantedWord| {
            let is_left_out = self.mode != Mode::Enough && !word.weighed.is_known;
            !is_left_out && !word.weighed.function_words.is_any()
        };
        let weighty = self.words.iter().enumerate();
        let weighty = weighty.filter(|(_, word)| is_weighty(word));
        let weighty = weighty.fold(0, |bits: Bits, (bit, _)| bits | 1 << bit);
        // Heaviest first.
        words.sort_by_key(|word| (std::cmp::Reverse(word.weight), word.bit));
        let least = needs.least();
        let mut rest = 0;
        let mut leading = words.len();
        while leading > 0 && rest + words[leading - 1].weight < least {
            leading -= 1;
            rest += words[leading].weight;
        }
        let mut scorer = WantedScorer {
            most_without_all: words.iter().map(|word| word.most).sum(),
            words,
            leading,
            weighty,
            needs_all: false,
            is_any_document: least == 0,
            needs,
            doc: 0,
            documents: reader.max_doc(),
            held: 0,
            all_words: self.all_words,
        };
        scorer.settle();
        Ok(scorer)
    }
}

/// What pages of a segment need, by their language.
struct Needs {
    column: Option<StrColumn>,
    /// By the ordinal of the language.
    by_language: Vec<Need>,
    without_language: Need,
}

impl Needs {
    fn open(query: &WantedQuery, reader: &SegmentReader) -> tantivy::Result<Needs> {
        let without_language = query.need(|_| false);
        let mut column = None;
        let mut by_language = Vec::new();
        let words = query
            .words
            .iter()
            .map(|word| &word.weighed)
            .chain(&query.demanded);
        if words.clone().any(|word| word.function_words.is_any()) {
            column = query.lists.languages(reader)?;
            let mut silent = Vec::new();
            for word in words {
                silent.push((
                    &word.function_words,
                    word.function_words.ordinals(column.as_ref())?,
                ));
            }
            let languages = column.as_ref().map_or(0, |column| column.num_terms() as u64);
            let is_silent = |language: u64, word: &FunctionWordLanguages| {
                let word = silent.iter().find(|(other, _)| *other == word);
                word.is_some_and(|(_, ordinals)| ordinals.contains(&language))
            };
            let need = |language| query.need(|word| is_silent(language, word));
            by_language = (0..languages).map(need).collect();
        }
        Ok(Needs {
            column,
            by_language,
            without_language,
        })
    }

    fn of(&self, document: DocId) -> &Need {
        let column = self.column.as_ref();
        let language = column.and_then(|column| column.ords().first(document));
        let need = language.and_then(|language| self.by_language.get(language as usize));
        need.unwrap_or(&self.without_language)
    }

    /// Returns the least weight that a page of any language needs.
    fn least(&self) -> u64 {
        let needs = self.by_language.iter().chain([&self.without_language]);
        let weights = needs.map(|need| need.weight.unwrap_or(u64::MAX));
        weights.min().unwrap_or(u64::MAX)
    }
}

impl Query for WantedQuery {
    fn weight(&self, _: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(WantedWeight(self.clone())))
    }
}

struct WantedWeight(WantedQuery);

impl Weight for WantedWeight {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        debug_assert!(boost == 1.0, "scores must stay exact, so they are never boosted");
        Ok(Box::new(self.0.open(reader)?))
    }

    fn explain(&self, _: &SegmentReader, _: DocId) -> tantivy::Result<Explanation> {
        // `answer::explain` explains scores in terms of the query's words.
        Ok(Explanation::new("wanted words", 0.0))
    }
}

/// Tells which words pages have. Pages must be asked for in ascending order.
pub(crate) struct Presence {
    words: Vec<OpenWord>,
    needs: Needs,
}

/// Which of the wanted words a page has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    missing: Bits,
    /// Whether it has all words that count.
    pub(crate) has_all: bool,
}

impl Held {
    /// Returns whether the page lacks the word with this number. Function words of its language are
    /// not missed.
    pub(crate) fn lacks(self, word: usize) -> bool {
        self.missing >> word & 1 == 1
    }
}

impl Presence {
    pub(crate) fn held(&mut self, document: DocId) -> Held {
        let mut held = 0;
        for word in &mut self.words {
            if seek(&mut *word.docs, document) == document {
                held |= word.bit;
            }
        }
        let need = self.needs.of(document);
        Held {
            missing: need.spoken & !held,
            has_all: need.scored != 0 && need.scored & !held == 0,
        }
    }
}

struct OpenWord {
    docs: Box<dyn Scorer>,
    /// Upper bound of its score in any page.
    most: Score,
    weight: u64,
    bit: Bits,
}

/// The matching pages of a segment.
pub(crate) struct WantedScorer {
    /// Heaviest first.
    words: Vec<OpenWord>,
    /// Every match has one of the first words, up to this one.
    leading: usize,
    /// The words that count and score in pages of any language.
    weighty: Bits,
    /// Whether only pages with all words that score are looked for.
    needs_all: bool,
    /// Upper bound of the score of pages without all words.
    most_without_all: Score,
    /// Whether even a page without any of the words may match.
    is_any_document: bool,
    needs: Needs,
    doc: DocId,
    documents: DocId,
    /// The words that the current page has.
    held: Bits,
    all_words: Score,
}

impl WantedScorer {
    /// Moves to the next match, starting with the first candidate from the current document on.
    fn settle(&mut self) {
        self.doc = self.candidate(self.doc);
        while self.doc != TERMINATED && !self.is_match() {
            self.doc = self.candidate(self.doc + 1);
        }
    }

    /// Returns the first candidate from a document on.
    fn candidate(&mut self, from: DocId) -> DocId {
        if from >= self.documents {
            return TERMINATED;
        }
        if self.is_any_document {
            return from;
        }
        let mut first = TERMINATED;
        for word in &mut self.words[..self.leading] {
            first = first.min(seek(&mut *word.docs, from));
        }
        first
    }

    /// Returns whether the current document has all of these words.
    fn has_all(&mut self, words: Bits) -> bool {
        let document = self.doc;
        let mut words = self.words.iter_mut().filter(|word| words & word.bit != 0);
        words.all(|word| seek(&mut *word.docs, document) == document)
    }

    /// Returns whether the current document has enough words, and notes which.
    fn is_match(&mut self) -> bool {
        let need = *self.needs.of(self.doc);
        let Some(least) = need.weight else {
            return false;
        };
        if self.needs_all && !self.has_all(need.scored) {
            return false;
        }
        let (mut weight, mut held, mut left) = (0, 0, need.total);
        for word in self.words.iter_mut().filter(|word| need.counted & word.bit != 0) {
            if weight + left < least {
                return false;
            }
            left -= word.weight;
            if seek(&mut *word.docs, self.doc) == self.doc {
                held |= word.bit;
                weight += word.weight;
            }
        }
        if weight < least || held & need.weighty == 0 && least > 0 {
            return false;
        }
        for word in self
            .words
            .iter_mut()
            .filter(|word| need.scored & !need.counted & word.bit != 0)
        {
            held |= if seek(&mut *word.docs, self.doc) == self.doc {
                word.bit
            } else {
                0
            };
        }
        self.held = held;
        true
    }
}

/// Moves to a document or behind it, never back.
fn seek(docs: &mut dyn Scorer, target: DocId) -> DocId {
    if docs.doc() < target {
        docs.seek(target)
    } else {
        docs.doc()
    }
}

impl Scorer for WantedScorer {
    fn score(&mut self) -> Score {
        self.score_from(0.0).unwrap_or_default()
    }
}

impl Bounded for WantedScorer {
    fn most(&self) -> Score {
        self.most_without_all + self.all_words
    }

    /// Only pages with all words score more than all words can at most. The first of the words that
    /// count everywhere is then the only list to read in full.
    fn require(&mut self, wanted: Score) {
        if self.needs_all || wanted <= self.most_without_all {
            return;
        }
        let weighty = |word: &OpenWord| self.weighty & word.bit != 0;
        if let Some(first) = self.words.iter().position(weighty) {
            self.words.swap(0, first);
            self.leading = 1;
            self.is_any_document = false;
            self.needs_all = true;
        }
    }

    /// Scores the heaviest words first, and ends once the others cannot reach the wanted score.
    fn score_from(&mut self, wanted: Score) -> Option<Score> {
        let held = self.held;
        let has_word = |word: &OpenWord| held & word.bit != 0;
        let words = self.words.iter().filter(|word| has_word(word));
        // Rounded scores and bounds add up exactly (`rank`).
        let mut most: Score = words.map(|word| word.most).sum();
        let all = self.needs.of(self.doc).scored;
        if all != 0 && held & all == all {
            most += self.all_words;
        }
        if most < wanted {
            return None;
        }
        for word in self.words.iter_mut().filter(|word| has_word(word)) {
            most -= word.most - word.docs.score();
            if most < wanted {
                return None;
            }
        }
        Some(most)
    }
}

impl DocSet for WantedScorer {
    fn advance(&mut self) -> DocId {
        if self.doc != TERMINATED {
            self.doc += 1;
            self.settle();
        }
        self.doc
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if self.doc < target {
            self.doc = target;
            self.settle();
        }
        self.doc
    }

    fn doc(&self) -> DocId {
        self.doc
    }

    fn size_hint(&self) -> u32 {
        if self.is_any_document {
            return self.documents;
        }
        let sizes = self.words[..self.leading]
            .iter()
            .map(|word| word.docs.size_hint());
        sizes.fold(0, u32::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_words_are_all_needed_and_of_many_a_small_share() {
        // The words weigh 360 together.
        let shares: Vec<u64> = (1..=8).map(|count| share(360, count)).collect();
        assert_eq!(shares, [360, 360, 160, 90, 58, 40, 30, 23]);
        assert_eq!(share(1000, 64), 1);
        assert_eq!(share(0, 0), 0);
    }

    #[test]
    fn all_words_score_as_much_again_while_sums_stay_exact() {
        assert_eq!(all_words_score(&[10.0]), 0.0);
        assert_eq!(all_words_score(&[10.0, 5.5]), 15.5);
        assert_eq!(all_words_score(&[2000.0, 1000.0]), 1095.0);
        assert_eq!(all_words_score(&[3000.0, 3000.0]), 0.0);
    }
}
