//! Completions of the last word of a query, from the words of the pages that somebody sees.
//!
//! Invariants:
//! - An answer is a function of what was typed and of the documents that are seen. A word of hidden pages alone is in none,
//!   and no hidden page moves another word.
//! - It is exact or it is empty: an answer that would take longer than [`TIME_MAX`] is none, never the part of one.
//!
//! How the work is bounded. The dictionary of a segment says for each word how many of its documents have it, hidden and deleted ones
//! included: more than are seen, never fewer. Words are counted in the order of that bound, and the counting ends when no bound
//! reaches the last of the best. So of ten thousand words with a beginning a few dozen are counted, as a rule. Where much is hidden that
//! may be more, and the clock ends it.

use std::time::{Duration, Instant};

use rights::Sight;
use rustc_hash::FxHashMap;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, SegmentReader, TERMINATED};

use crate::compile::{Compiler, Mode};
use crate::doc_bits::DocBits;
use crate::error::SearchError;
use crate::forms::{Forms, Place};
use crate::index::SearchIndex;
use crate::panics::caught;
use crate::query::{self, Parsed};
use crate::results::Ranking;
use crate::view::{Seen, View};
use crate::visible::{Bits, Versions};
use crate::words::{self, WRITTEN, Word, Words};

/// Longest time that an answer may take. Who types goes on within that time; what comes later is not read any more.
const TIME_MAX: Duration = Duration::from_millis(250);

/// Letters of a word before it is completed; of scripts without blanks one is enough.
const LETTERS_MIN: usize = 2;

/// Words that are counted together with the words before them: of the most frequent ones.
const BESIDE_MAX: usize = 50;

/// Most completions of one answer.
const LIMIT_MAX: usize = 50;

/// Words between two looks at the clock.
const WORDS_BETWEEN_LOOKS: usize = 256;

/// Completions of what somebody typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Suggestions {
    /// Epoch that they cover.
    pub epoch: u64,
    /// The most frequent first; equal counts in the order of the words.
    pub rows: Vec<Suggestion>,
}

/// A completion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Suggestion {
    /// All that was typed, with its last word completed.
    pub text: String,
    /// The word.
    pub word: String,
    /// Current pages that are seen and have it, together with the words before it.
    pub pages: u64,
}

impl SearchIndex {
    /// Completes the last word of `text` with words of current pages that `sight` lets through: at most `limit`, and 50.
    ///
    /// # Errors
    /// [`SearchError`] where the index cannot be read; never because of the text.
    pub fn suggest(&self, text: &str, limit: usize, sight: &Sight) -> Result<Suggestions, SearchError> {
        caught(|| {
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

/// What is to be completed.
#[derive(Debug, PartialEq, Eq)]
struct Typed<'t> {
    /// What stands before the last word.
    before: &'t str,
    /// The last word, folded.
    beginning: String,
}

/// The last word of a text, if it may be completed: it ends the text, is long enough, and is no value of a filter.
fn typed(text: &str) -> Option<Typed<'_>> {
    let (mut words, mut word) = (Words::new(text), String::new());
    let mut last = None;
    while let Some(range) = words.next_into(&mut word) {
        last = Some((range, word.clone()));
    }
    let (range, beginning) = last.filter(|(range, _)| range.end == text.len())?;
    let is_long = words::is_pair(&beginning) || beginning.chars().count() >= LETTERS_MIN;
    let before = &text[..range.start];
    let piece = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    (is_long && !piece.contains(':')).then_some(Typed { before, beginning })
}

fn completions(
    view: &View,
    text: &str,
    limit: usize,
    sight: &Sight,
    deadline: Instant,
) -> tantivy::Result<Vec<Suggestion>> {
    let Some(typed) = typed(text).filter(|_| limit > 0) else {
        return Ok(Vec::new());
    };
    let seen = view.seen(sight, Versions::Current)?;
    let segments: Vec<Option<Bits>> = (0..view.searcher.segment_readers().len())
        .map(|segment| seen.visible.of_segment(segment).cloned())
        .collect();
    let parsed = query::parse(typed.before);
    let is_alone = parsed.clauses.is_empty();
    let counter = Counter {
        view,
        deadline,
        place: Place {
            words: view.fields.body,
            stems: view.fields.stems,
            // What links say is for those alone who may know of them all.
            anchors: None,
        },
    };
    let most = if is_alone { limit } else { BESIDE_MAX };
    let Some(mut best) = counter.most_frequent(&typed.beginning, &segments, most)? else {
        return Ok(Vec::new());
    };
    if !is_alone {
        let beside = documents_with(view, &seen, &parsed)?;
        let Some(counted) = counter.counted_in(best, &beside)? else {
            return Ok(Vec::new());
        };
        best = counted;
    }
    best.truncate(limit);
    let row = |(pages, folded): (u64, String)| {
        let word = counter.written(&folded, &segments)?;
        Ok(Suggestion {
            text: format!("{}{word}", typed.before),
            word,
            pages,
        })
    };
    best.into_iter().map(row).collect()
}

/// The documents that are seen and hold for a query by their own words, by segment.
fn documents_with(view: &View, seen: &Seen, parsed: &Parsed) -> tantivy::Result<Vec<Option<Bits>>> {
    let ranking = Ranking {
        anchors: false,
        ..Ranking::default()
    };
    let compiler = Compiler::new(view, seen, parsed, Versions::Current, ranking);
    let query = compiler.compile(parsed, Mode::All)?;
    let visible = &seen.visible;
    let bits = view.searcher.search(&query, &DocBits { visible })?;
    Ok(bits.into_iter().map(Some).collect())
}

/// Counts words.
struct Counter<'v> {
    view: &'v View,
    deadline: Instant,
    place: Place,
}

/// Counts and folded words.
type Counted = Vec<(u64, String)>;

impl Counter<'_> {
    fn is_late(&self) -> bool {
        system::now() > self.deadline
    }

    /// The words with a beginning that most documents of `among` have, most frequent first; `None` if that takes too long.
    fn most_frequent(
        &self,
        beginning: &str,
        among: &[Option<Bits>],
        most: usize,
    ) -> tantivy::Result<Option<Counted>> {
        let Some(bounds) = self.bounds(beginning)? else {
            return Ok(None);
        };
        let mut best: Counted = Vec::with_capacity(most + 1);
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

    /// The words with a beginning, and how many documents have each at most; the greatest bound first.
    fn bounds(&self, beginning: &str) -> tantivy::Result<Option<Counted>> {
        let mut bounds: FxHashMap<String, u64> = FxHashMap::default();
        let last = format!("{beginning}\u{10FFFF}");
        for reader in self.view.searcher.segment_readers() {
            let index = reader.inverted_index(self.place.words)?;
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
        let mut bounds: Counted = bounds.into_iter().map(|(word, bound)| (bound, word)).collect();
        bounds.sort_unstable_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        Ok(Some(bounds))
    }

    /// The same words by how many documents of others have them; those of none are left out.
    fn counted_in(&self, words: Counted, among: &[Option<Bits>]) -> tantivy::Result<Option<Counted>> {
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

    fn count(&self, forms: &Forms, among: &[Option<Bits>]) -> tantivy::Result<u64> {
        let mut count = 0;
        for (reader, bits) in self.view.searcher.segment_readers().iter().zip(among) {
            let docs = forms.open(reader, self.place, IndexRecordOption::Basic)?;
            count += docs.count_live(reader, bits.as_ref());
        }
        Ok(count)
    }

    /// How most of the pages write a word.
    fn written(&self, folded: &str, among: &[Option<Bits>]) -> tantivy::Result<String> {
        let mut counts: FxHashMap<String, u64> = FxHashMap::default();
        for (reader, bits) in self.view.searcher.segment_readers().iter().zip(among) {
            each_written(
                reader,
                self.place,
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

/// Calls `each` with every way in which a word is written in a segment, and how many documents of `among` have it so.
fn each_written(
    reader: &SegmentReader,
    place: Place,
    folded: &str,
    among: Option<&Bits>,
    each: &mut dyn FnMut(&str, u64),
) -> tantivy::Result<()> {
    let index = reader.inverted_index(place.words)?;
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

fn exact(folded: &str) -> Forms {
    Forms::exact(&Word {
        folded: folded.to_owned(),
        written: folded.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<(&str, &str)>) {
        let found = typed(text);
        let found = found
            .as_ref()
            .map(|typed| (typed.before, typed.beginning.as_str()));
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
