//! Chooses the part of a text to show: which matches, and where the part begins and ends.

use std::ops::Range;

/// Approximate length of a snippet in characters.
const CHARS: usize = 200;

/// Approximate number of characters before the first match.
const CHARS_BEFORE: usize = 50;

/// A match in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) range: Range<usize>,
    /// Index of the phrase.
    pub(super) phrase: usize,
}

/// Matches that fit into one snippet.
pub(super) struct Group {
    first: usize,
    last: usize,
    /// Number of different phrases among them.
    pub(super) phrases: usize,
}

/// Returns the group with the most different phrases, then with the most matches; the first of
/// equal ones.
pub(super) fn best_group(spans: &[Span], phrases: usize) -> Option<Group> {
    let mut best: Option<(usize, usize, Group)> = None;
    let mut counts = vec![0_u32; phrases];
    let mut distinct = 0;
    let mut last = 0;
    for first in 0..spans.len() {
        while last < spans.len() && spans[last].range.end <= spans[first].range.start + CHARS {
            distinct += usize::from(counts[spans[last].phrase] == 0);
            counts[spans[last].phrase] += 1;
            last += 1;
        }
        // A match longer than a snippet is a group alone.
        let count = last.saturating_sub(first).max(1);
        let better = best
            .as_ref()
            .is_none_or(|&(d, c, _)| (distinct.max(1), count) > (d, c));
        if better {
            let group = Group {
                first,
                last: first + count - 1,
                phrases: distinct.max(1),
            };
            best = Some((distinct.max(1), count, group));
        }
        if last > first {
            counts[spans[first].phrase] -= 1;
            distinct -= usize::from(counts[spans[first].phrase] == 0);
        } else {
            last = first + 1;
        }
    }
    best.map(|(_, _, group)| group)
}

/// Returns start and end of the part to show, at character boundaries.
pub(super) fn window(text: &str, spans: &[Span], phrases: usize) -> (usize, usize) {
    let Some(group) = best_group(spans, phrases) else {
        return (0, end_of_word(text, chars_after(text, 0, CHARS)));
    };
    let from = spans[group.first].range.start;
    let start = start_of_word(text, chars_before(text, from, CHARS_BEFORE), from);
    let end = chars_after(text, start, CHARS).max(spans[group.last].range.end);
    (start, end_of_word(text, end))
}

fn chars_after(text: &str, from: usize, count: usize) -> usize {
    let mut rest = text[from..].char_indices();
    rest.nth(count).map_or(text.len(), |(offset, _)| from + offset)
}

fn chars_before(text: &str, from: usize, count: usize) -> usize {
    let before = text[..from].char_indices().rev().take(count).last();
    before.map_or(from, |(offset, _)| offset)
}

/// Returns the start of the first whole word from `at` on, but not beyond `limit`.
fn start_of_word(text: &str, at: usize, limit: usize) -> usize {
    if at == 0 || text[..at].ends_with(char::is_whitespace) {
        return at;
    }
    let gap = text[at..limit].find(char::is_whitespace);
    gap.map_or(at, |offset| {
        let gap = &text[at + offset..limit];
        limit - gap.trim_start().len()
    })
}

/// Returns the end of the last whole word before `at`, if one ends shortly before.
fn end_of_word(text: &str, at: usize) -> usize {
    if at == text.len() || text[at..].starts_with(char::is_whitespace) {
        return at;
    }
    let tail = chars_before(text, at, 30);
    match text[tail..at].rfind(char::is_whitespace) {
        Some(offset) => tail + offset,
        None => at,
    }
}

/// Returns the last character boundary at or before `at`.
pub(super) fn boundary_before(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
