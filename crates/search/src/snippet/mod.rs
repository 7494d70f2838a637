//! Chooses the part of a text to show with a result: the one where the most phrases match closest
//! together.
//!
//! This module uses `words` and `query`. It does not know the index.

mod finder;
mod lines;
mod parts;
mod window;

use std::ops::Range;

use finder::{Finder, FoundWord, Scan};
pub use lines::Line;
use parts::PartsBuilder;
pub use parts::{Snippet, SnippetPart};
use window::{Span, best_group, boundary_before, window};

use crate::query::{ParsedQuery, Phrase};
use crate::words::primary_language;
use crate::words::{Rules, StemMemo, Words};

/// Bytes of a text that are read for a snippet. Callers need not provide more.
pub const SNIPPET_TEXT_BYTES_MAX: usize = 128 << 10;

/// Bytes after which to check for the first time whether the best part has been found; then after
/// four times as many, and so on. Most texts have all words of the query near their beginning, and
/// reading 128 KiB for each of twenty results would be slow.
const LOOK_BYTES: usize = 4 << 10;

/// Makes snippets for one query.
pub(crate) struct Snippets<'q> {
    phrases: Vec<&'q Phrase>,
    /// By the code of the rules for the text's language; `None` for languages without stems.
    finders: Vec<(Option<&'static str>, Finder)>,
    memo: &'q mut StemMemo,
}

impl<'q> Snippets<'q> {
    pub(crate) fn new(parsed: &'q ParsedQuery, memo: &'q mut StemMemo) -> Snippets<'q> {
        let phrases: Vec<&Phrase> = parsed.phrases().map(|(phrase, _)| phrase).collect();
        Snippets {
            phrases,
            finders: Vec::new(),
            memo,
        }
    }

    /// Returns the snippet of a text in a language: around the closest matches of the most phrases
    /// or, without a match, the beginning.
    pub(crate) fn best(&mut self, text: &str, language: &str) -> Snippet {
        let text = &text[..boundary_before(text, SNIPPET_TEXT_BYTES_MAX)];
        let finder = self.finder(language);
        let spans = spans(&self.phrases, &self.finders[finder].1, self.memo, text);
        let (start, end) = window(text, &spans, self.phrases.len());
        let spans = spans
            .iter()
            .filter(|span| span.range.start >= start && span.range.end <= end);
        let marks = joined(spans.map(|span| span.range.clone()).collect());
        parts_of(text, start..end, &marks)
    }

    /// Returns the index of the finder for texts in a language. Most results are in one or two
    /// languages.
    fn finder(&mut self, language: &str) -> usize {
        let rules = Rules::of(primary_language(&language.to_lowercase()));
        let code = rules.map(|rules| rules.code);
        let known = self.finders.iter().position(|(known, _)| *known == code);
        known.unwrap_or_else(|| {
            self.finders.push((code, Finder::new(&self.phrases, rules)));
            self.finders.len() - 1
        })
    }
}

/// Returns the matches, in the order of the text. Stops once the best part is known.
fn spans(phrases: &[&Phrase], finder: &Finder, memo: &mut StemMemo, text: &str) -> Vec<Span> {
    if phrases.is_empty() {
        return Vec::new();
    }
    let mut scan = Scan::default();
    let mut look = LOOK_BYTES;
    let mut words = Words::new(text);
    loop {
        let ended = finder.scan(&mut words, memo, &mut scan, look);
        let spans = phrase_spans(phrases, finder, &scan.found);
        let best = best_group(&spans, phrases.len());
        // No part is better than one with all phrases, so the rest of the text is not read.
        if ended || best.is_some_and(|group| group.phrases == phrases.len()) {
            return spans;
        }
        // The scan continues from here, but all matches are grouped again. With steps of four, that
        // is at most a third more work.
        look *= 4;
    }
}

fn phrase_spans(phrases: &[&Phrase], finder: &Finder, found: &[FoundWord]) -> Vec<Span> {
    let mut spans = Vec::new();
    for (index, phrase) in phrases.iter().enumerate() {
        let first = &phrase.words[0].1.folded;
        for (place, start) in found.iter().enumerate() {
            if !finder.is(start, phrase, first) {
                continue;
            }
            if let Some(end) = phrase_end(finder, phrase, &found[place..]) {
                spans.push(Span {
                    range: start.range.start..end,
                    phrase: index,
                });
            }
        }
    }
    spans.sort_by_key(|span| (span.range.start, span.range.end));
    spans
}

/// Returns the end of the phrase that begins with the first of `found`.
fn phrase_end(finder: &Finder, phrase: &Phrase, found: &[FoundWord]) -> Option<usize> {
    let start = found.first()?.position;
    let mut end = found[0].range.end;
    for (offset, word) in &phrase.words[1..] {
        let position = start + offset;
        let index = found.partition_point(|candidate| candidate.position < position);
        let mut there = found[index..]
            .iter()
            .take_while(|found| found.position == position);
        let next = there.find(|candidate| finder.is(candidate, phrase, &word.folded))?;
        end = next.range.end;
    }
    Some(end)
}

/// Merges adjacent and overlapping ranges. They must be sorted.
fn joined(ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// Splits the part of a text into matches and the text between them.
fn parts_of(text: &str, part: Range<usize>, marks: &[Range<usize>]) -> Snippet {
    let mut parts = PartsBuilder::new(part.start > 0);
    let mut at = part.start;
    for mark in marks {
        parts.text(&text[at..mark.start]);
        parts.matched(&text[mark.clone()]);
        at = mark.end;
    }
    parts.text(&text[at..part.end]);
    // Trailing white space does not count as omitted text.
    parts.finish(part.end < text.trim_end().len())
}

#[cfg(test)]
mod tests;
