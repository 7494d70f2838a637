//! Completes the last word of a query from the words of the pages that the caller can see.
//!
//! Invariants:
//! - An answer depends only on the typed text and the visible documents. It has no word that only
//!   hidden pages have, and hidden pages do not change the order of other words.
//! - An answer is exact or empty. If it takes longer than [`TIME_MAX`], it is empty, never partial.
//!
//! Bounding the work: the dictionary of a segment says for each word how many of its documents have
//! it. That includes hidden and deleted documents, so it is an upper bound. Words are counted in
//! descending order of the bound, and counting stops once no bound reaches the last of the best
//! words. Usually a few dozen of ten thousand words with a prefix are counted. If much is hidden
//! there may be more, and the time limit applies.

use std::sync::Arc;
use std::time::{Duration, Instant};

use access::AccessFilter;
use rustc_hash::FxHashMap;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, SegmentReader, TERMINATED};

use crate::answer::compile::Compiler;
use crate::answer::results::Ranking;
use crate::documents::schema::TextFields;
use crate::error::SearchError;
use crate::filter::doc_bits::DocBits;
use crate::filter::visible::Bits;
use crate::index::SearchIndex;
use crate::index::view::{View, VisibleView};
use crate::panics::catch_panics;
use crate::query::Versions;
use crate::query::{self, ParsedQuery};
use crate::scoring::forms::Forms;
use crate::scoring::wanted::Mode;
use crate::words::{self, WRITTEN, Word, Words};

/// Maximum time for an answer. The user continues typing in that time and would not read a later
/// one.
const TIME_MAX: Duration = Duration::from_millis(250);

/// Minimum number of letters before a word is completed; one in scripts without blanks.
const LETTERS_MIN: usize = 2;

/// Number of the most frequent words that are counted together with the words before them.
const CANDIDATES_MAX: usize = 50;

/// Maximum number of completions in one answer.
const LIMIT_MAX: usize = 50;

/// Number of words between checks of the clock.
const WORDS_BETWEEN_LOOKS: usize = 256;

/// Completions of a typed text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Suggestions {
    /// Epoch that they cover.
    pub epoch: u64,
    /// Most frequent first; equal counts are ordered by word.
    pub rows: Vec<Suggestion>,
}

/// A completion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Suggestion {
    /// The typed text with its last word completed.
    pub text: String,
    /// The completed word.
    pub word: String,
    /// Number of visible current pages that have the word together with the words before it.
    pub pages: u64,
}

impl SearchIndex {
    /// Completes the last word of `text` with words of current pages that `sight` can see. Returns
    /// at most `limit` completions, and never more than 50.
    ///
    /// # Errors
    /// [`SearchError`] if the index cannot be read. The text never causes an error.
    pub fn suggest(
        &self,
        text: &str,
        limit: usize,
        sight: &AccessFilter,
    ) -> Result<Suggestions, SearchError> {
        catch_panics(|| {
            let view = self.view();
            let deadline = system::now() + TIME_MAX;
            let rows = completions(&view, text, limit.min(LIMIT_MAX), sight, deadline)?;
            Ok(Suggestions {
                epoch: view.epoch,
                rows,
            })
        })
    }
}

/// The text to complete.
#[derive(Debug, PartialEq, Eq)]
struct IncompleteWord<'t> {
    /// The text before the last word.
    before: &'t str,
    /// The last word, folded.
    beginning: String,
}

/// Returns the last word of a text if it can be completed: it ends the text, is long enough, and is
/// not the value of a filter.
fn incomplete_word(text: &str) -> Option<IncompleteWord<'_>> {
    let (mut words, mut word) = (Words::new(text), String::new());
    let mut last = None;
    while let Some(range) = words.next_into(&mut word) {
        last = Some((range, word.clone()));
    }
    let (range, beginning) = last.filter(|(range, _)| range.end == text.len())?;
    let is_long = words::is_pair(&beginning) || beginning.chars().count() >= LETTERS_MIN;
    let before = &text[..range.start];
    let piece = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    (is_long && !piece.contains(':')).then_some(IncompleteWord { before, beginning })
}

fn completions(
    view: &View,
    text: &str,
    limit: usize,
    sight: &AccessFilter,
    deadline: Instant,
) -> tantivy::Result<Vec<Suggestion>> {
    let Some(incomplete) = incomplete_word(text).filter(|_| limit > 0) else {
        return Ok(Vec::new());
    };
    let visible_view = view.visible_to(sight, Versions::Current)?;
    let segments: Vec<Option<Bits>> = (0..view.searcher.segment_readers().len())
        .map(|segment| visible_view.visible.of_segment(segment).cloned())
        .collect();
    let parsed = query::parse(incomplete.before);
    let is_alone = parsed.clauses.is_empty();
    let counter = WordCounter {
        view,
        deadline,
        text_fields: TextFields {
            words: view.fields.body,
            stems: view.fields.stems,
            // Anchor words are only for callers who may know of all links.
            anchors: None,
        },
    };
    let most = if is_alone { limit } else { CANDIDATES_MAX };
    let Some(mut best) = counter.most_frequent(&incomplete.beginning, &segments, most)? else {
        return Ok(Vec::new());
    };
    if !is_alone {
        let context = documents_with(view, &visible_view, &parsed)?;
        let Some(counted) = counter.count_in(best, &context)? else {
            return Ok(Vec::new());
        };
        best = counted;
    }
    best.truncate(limit);
    let row = |(pages, folded): (u64, String)| {
        let word = counter.written(&folded, &segments)?;
        Ok(Suggestion {
            text: format!("{}{word}", incomplete.before),
            word,
            pages,
        })
    };
    best.into_iter().map(row).collect()
}

/// Returns the visible documents that match a query by their own words, by segment.
fn documents_with(
    view: &View,
    visible_view: &VisibleView,
    parsed: &ParsedQuery,
) -> tantivy::Result<Vec<Option<Bits>>> {
    let ranking = Ranking {
        anchors: false,
        ..Ranking::default()
    };
    let compiler = Compiler::new(view, visible_view, parsed, Versions::Current, ranking);
    let query = compiler.compile(parsed, Mode::Enough)?;
    let visible = &visible_view.visible;
    let bits = view.searcher.search(&*query, &DocBits { visible })?;
    Ok(bits.into_iter().map(Some).collect())
}

/// Counts words.
struct WordCounter<'v> {
    view: &'v View,
    deadline: Instant,
    text_fields: TextFields,
}

/// Counts and folded words.
type WordCounts = Vec<(u64, String)>;

impl WordCounter<'_> {
    fn is_late(&self) -> bool {
        system::now() > self.deadline
    }

    /// Returns the words with a prefix that most documents of `among` have, most frequent first.
    /// `None` if that takes too long.
    fn most_frequent(
        &self,
        beginning: &str,
        among: &[Option<Bits>],
        most: usize,
    ) -> tantivy::Result<Option<WordCounts>> {
        let Some(bounds) = self.bounds(beginning)? else {
            return Ok(None);
        };
        let mut best: WordCounts = Vec::with_capacity(most + 1);
        for (bound, folded) in bounds {
            if best.len() == most && best.last().is_some_and(|(last, _)| bound < *last) {
                break;
            }
            if self.is_late() {
                return Ok(None);
            }
            let count = self.count(&exact(&folded), among)?;
            if count == 0 {
                continue;
            }
            let at =
                best.partition_point(|(other, word)| *other > count || *other == count && *word < folded);
            best.insert(at, (count, folded));
            best.truncate(most);
        }
        Ok(Some(best))
    }

    /// Returns the words with a prefix, each with an upper bound of its documents, greatest bound
    /// first. `None` if that takes too long.
    fn bounds(&self, beginning: &str) -> tantivy::Result<Option<WordCounts>> {
        let mut bounds: FxHashMap<String, u64> = FxHashMap::default();
        let last = format!("{beginning}\u{10FFFF}");
        for reader in self.view.searcher.segment_readers() {
            let index = reader.inverted_index(self.text_fields.words)?;
            let mut terms = index.terms().range().ge(beginning).le(&last).into_stream()?;
            let mut number = 0_usize;
            while terms.advance() {
                number += 1;
                if number.is_multiple_of(WORDS_BETWEEN_LOOKS) && self.is_late() {
                    return Ok(None);
                }
                let Ok(term) = std::str::from_utf8(terms.key()) else {
                    continue;
                };
                let folded = term.split(WRITTEN).next().unwrap_or(term);
                let documents = u64::from(terms.value().doc_freq);
                match bounds.get_mut(folded) {
                    Some(bound) => *bound += documents,
                    None => drop(bounds.insert(folded.to_owned(), documents)),
                }
            }
        }
        let mut bounds: WordCounts = bounds.into_iter().map(|(word, bound)| (bound, word)).collect();
        bounds.sort_unstable_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        Ok(Some(bounds))
    }

    /// Counts the same words in other documents. Words without any are left out.
    fn count_in(&self, words: WordCounts, among: &[Option<Bits>]) -> tantivy::Result<Option<WordCounts>> {
        let mut counted = Vec::with_capacity(words.len());
        for (_, folded) in words {
            if self.is_late() {
                return Ok(None);
            }
            let count = self.count(&exact(&folded), among)?;
            if count > 0 {
                counted.push((count, folded));
            }
        }
        counted.sort_unstable_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        Ok(Some(counted))
    }

    fn count(&self, forms: &Arc<Forms>, among: &[Option<Bits>]) -> tantivy::Result<u64> {
        let mut count = 0;
        for (reader, bits) in self.view.searcher.segment_readers().iter().zip(among) {
            let docs = self
                .view
                .lists
                .open(forms, reader, self.text_fields, IndexRecordOption::Basic)?;
            count += docs.count_live(reader, bits.as_ref());
        }
        Ok(count)
    }

    /// Returns how most of the pages write a word.
    fn written(&self, folded: &str, among: &[Option<Bits>]) -> tantivy::Result<String> {
        let mut counts: FxHashMap<String, u64> = FxHashMap::default();
        for (reader, bits) in self.view.searcher.segment_readers().iter().zip(among) {
            each_written(
                reader,
                self.text_fields,
                folded,
                bits.as_ref(),
                &mut |written, count| {
                    *counts.entry(written.to_owned()).or_default() += count;
                },
            )?;
        }
        let most = counts.into_iter().filter(|(_, count)| *count > 0);
        let most = most.max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(&a.0)));
        Ok(most.map_or_else(|| folded.to_owned(), |(written, _)| written))
    }
}

/// Calls `each` with every written form of a word in a segment, and the number of documents of
/// `among` that have it.
fn each_written(
    reader: &SegmentReader,
    text_fields: TextFields,
    folded: &str,
    among: Option<&Bits>,
    each: &mut dyn FnMut(&str, u64),
) -> tantivy::Result<()> {
    let index = reader.inverted_index(text_fields.words)?;
    let last = format!("{folded}{WRITTEN}\u{10FFFF}");
    let mut terms = index.terms().range().ge(folded).le(&last).into_stream()?;
    while terms.advance() {
        let written = std::str::from_utf8(terms.key())
            .ok()
            .and_then(|term| term.split(WRITTEN).nth(1));
        let mut postings = index.read_postings_from_terminfo(terms.value(), IndexRecordOption::Basic)?;
        let mut count = 0;
        while postings.doc() != TERMINATED {
            let document = postings.doc();
            let is_seen = among.is_none_or(|bits| bits.has(document)) && !reader.is_deleted(document);
            count += u64::from(is_seen);
            postings.advance();
        }
        each(written.unwrap_or(folded), count);
    }
    Ok(())
}

fn exact(folded: &str) -> Arc<Forms> {
    Arc::new(Forms::exact(&Word {
        folded: folded.to_owned(),
        written: folded.to_owned(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<(&str, &str)>) {
        let found = incomplete_word(text);
        let found = found
            .as_ref()
            .map(|incomplete| (incomplete.before, incomplete.beginning.as_str()));
        assert_eq!(found, expected);
    }

    #[test]
    fn the_last_word_is_completed() {
        check("root zo", Some(("root ", "zo")));
        check("\"root Zö", Some(("\"root ", "zo")));
        check("-zon", Some(("-", "zon")));
        check("e-ma", Some(("e-", "ma")));
        check("lang:en ro", Some(("lang:en ", "ro")));
        check("東京", Some(("東", "京")));
        for none in [
            "",
            "z",
            "root ",
            "root zone\"",
            "archiv*",
            "site:ian",
            "lang:en-gb",
        ] {
            check(none, None);
        }
    }
}
