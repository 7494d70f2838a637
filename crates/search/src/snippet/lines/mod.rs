//! Concordance lines: each match with the words before and after it (keyword in context).
//!
//! Lines are in the order of the text. Adjacent and overlapping matches are one line.

use super::window::boundary_before;
use super::{LOOK_BYTES, Snippets, joined, parts::PartsBuilder, phrase_spans};
use crate::words::Words;

/// Bytes of text that are read per word of context. With longer words, the line has fewer of them.
const BYTES_OF_A_WORD: usize = 48;

/// A match with the text around it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    /// The words before the match. Ends with a blank if the text has one there.
    pub left: String,
    /// The match as in the text.
    pub matched: String,
    /// The words after the match. Begins with a blank if the text has one there.
    pub right: String,
}

impl Snippets<'_> {
    /// Returns the first `most` matches of a text in a language, each with `words` words on both
    /// sides.
    pub(crate) fn lines(&mut self, text: &str, language: &str, most: usize, words: usize) -> Vec<Line> {
        let text = &text[..boundary_before(text, super::SNIPPET_TEXT_BYTES_MAX)];
        if self.phrases.is_empty() {
            return Vec::new();
        }
        let finder = self.finder(language);
        let finder = &self.finders[finder].1;
        let mut scan = super::finder::Scan::default();
        let (mut read, mut look) = (Words::new(text), LOOK_BYTES);
        while !finder.scan(&mut read, self.memo, &mut scan, look) {
            look = look.saturating_mul(4);
        }
        let spans = phrase_spans(&self.phrases, finder, &scan.found);
        let words = words.max(1);
        let marks = joined(spans.into_iter().map(|span| span.range).collect());
        let line = |mark: &std::ops::Range<usize>| Line {
            left: context_before(text, mark.start, words),
            matched: plain(&text[mark.clone()]),
            right: context_after(text, mark.end, words),
        };
        marks.iter().take(most).map(line).collect()
    }
}

/// Returns the last words before a position.
fn context_before(text: &str, at: usize, words: usize) -> String {
    let mut from = boundary_before(text, at.saturating_sub(words.saturating_mul(BYTES_OF_A_WORD)));
    if from > 0 {
        // The first word may be cut. Without blanks, words are single characters.
        from += text[from..at].find(char::is_whitespace).unwrap_or(0);
    }
    let starts = starts_and_ends(&text[from..at], usize::MAX);
    let Some((start, _)) = starts
        .len()
        .checked_sub(words)
        .map_or(starts.first(), |n| starts.get(n))
    else {
        return String::new();
    };
    let part = &text[from + start..at];
    let mut line = plain(part);
    if part.ends_with(char::is_whitespace) {
        line.push(' ');
    }
    line
}

/// Returns the first words after a position.
fn context_after(text: &str, at: usize, words: usize) -> String {
    let bound = boundary_before(text, at.saturating_add(words.saturating_mul(BYTES_OF_A_WORD)));
    let window = &text[at..bound];
    let ends = starts_and_ends(window, words);
    let mut end = ends.last().map_or(0, |(_, end)| *end);
    if end == window.len() && bound < text.len() {
        // The last word may be cut.
        end = window.rfind(char::is_whitespace).unwrap_or(end);
    }
    // Punctuation at the end of a sentence belongs to it.
    let is_mark = |c: &char| !c.is_whitespace() && !c.is_alphanumeric();
    end += text[at + end..]
        .chars()
        .take_while(is_mark)
        .take(3)
        .map(char::len_utf8)
        .sum::<usize>();
    let part = &text[at..at + end];
    let line = plain(part);
    if part.starts_with(char::is_whitespace) && !line.is_empty() {
        format!(" {line}")
    } else {
        line
    }
}

/// Returns where the first `most` words of a text start and end.
fn starts_and_ends(text: &str, most: usize) -> Vec<(usize, usize)> {
    let (mut words, mut word) = (Words::new(text), String::new());
    let ranges = std::iter::from_fn(|| words.next_into(&mut word));
    ranges.take(most).map(|range| (range.start, range.end)).collect()
}

/// Returns a text as snippets show it.
fn plain(text: &str) -> String {
    let mut parts = PartsBuilder::new(false);
    parts.text(text);
    let parts = parts.finish(false).parts;
    parts.into_iter().map(|part| part.text).collect()
}

#[cfg(test)]
mod tests;
