//! The part of a text to show with a result, and its HTML.
//!
//! The HTML is text with `& < > " '` escaped and `<mark>` around what was searched, each closed, none
//! nested; no other markup. Control characters and those that turn the direction of writing are left
//! out, so that a text cannot reorder what stands around it.

use std::ops::Range;

use crate::beginning::Beginning;
use crate::query::{Parsed, Phrase};
use crate::words::{self, Firsts, Words};

/// Bytes of a text that are looked at for a snippet: a caller need not give more.
pub const SNIPPET_TEXT_BYTES_MAX: usize = 128 << 10;

/// Characters of a snippet, about.
const CHARS: usize = 200;

/// Characters before the first match, about.
const CHARS_BEFORE: usize = 50;

/// Characters after which a word without a break is cut.
const WORD_CHARS_MAX: usize = 40;

/// Characters of one mark.
const MARK_CHARS_MAX: usize = 120;

/// Bytes after which it is first asked whether the best part is found; then four times as many.
const LOOK_BYTES: usize = 4 << 10;

/// Makes snippets for one query.
pub(crate) struct Snippets<'q> {
    phrases: Vec<&'q Phrase>,
    finder: Finder,
}

/// A match in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    range: Range<usize>,
    /// Index of the phrase.
    phrase: usize,
}

impl<'q> Snippets<'q> {
    pub(crate) fn new(parsed: &'q Parsed) -> Snippets<'q> {
        let phrases: Vec<&Phrase> = parsed.phrases().map(|(phrase, _)| phrase).collect();
        let finder = Finder::new(&phrases);
        Snippets { phrases, finder }
    }

    /// The snippet of a text: around the closest matches of most phrases, else its beginning.
    pub(crate) fn best(&self, text: &str) -> String {
        let text = &text[..boundary_before(text, SNIPPET_TEXT_BYTES_MAX)];
        let spans = self.spans(text);
        let (start, end) = window(text, &spans, self.phrases.len());
        let spans = spans
            .iter()
            .filter(|span| span.range.start >= start && span.range.end <= end);
        let marks = joined(spans.map(|span| span.range.clone()).collect());
        render(text, start..end, &marks)
    }

    /// The matches, in the order of the text; only as far as needed to choose the best part.
    fn spans(&self, text: &str) -> Vec<Span> {
        if self.phrases.is_empty() {
            return Vec::new();
        }
        let mut scan = Scan::default();
        let mut look = LOOK_BYTES;
        let mut words = Words::new(text);
        loop {
            let ended = self.finder.scan(&mut words, &mut scan, look);
            let spans = self.phrase_spans(&scan.found);
            let best = best_group(&spans, self.phrases.len());
            if ended || best.is_some_and(|group| group.phrases == self.phrases.len()) {
                return spans;
            }
            look *= 4;
        }
    }

    fn phrase_spans(&self, found: &[FoundWord]) -> Vec<Span> {
        let mut spans = Vec::new();
        for (phrase, words) in self.phrases.iter().enumerate() {
            let first = &words.words[0].1;
            for (index, start) in found.iter().enumerate() {
                if !self.finder.is(start, first, words.beginning) {
                    continue;
                }
                if let Some(end) = self.phrase_end(&words.words, &found[index..]) {
                    spans.push(Span {
                        range: start.range.start..end,
                        phrase,
                    });
                }
            }
        }
        spans.sort_by_key(|span| (span.range.start, span.range.end));
        spans
    }

    /// End of the phrase that begins with the first of `found`.
    fn phrase_end(&self, words: &[(usize, String)], found: &[FoundWord]) -> Option<usize> {
        let start = found.first()?.position;
        let mut end = found[0].range.end;
        for (offset, word) in &words[1..] {
            let position = start + offset;
            let index = found.partition_point(|candidate| candidate.position < position);
            let mut there = found[index..]
                .iter()
                .take_while(|found| found.position == position);
            let next = there.find(|candidate| self.finder.is(candidate, word, false))?;
            end = next.range.end;
        }
        Some(end)
    }
}

/// Finds the words of a query in a text.
struct Finder {
    /// Sorted, without repeats.
    words: Vec<String>,
    /// What words may begin with, and how it was written.
    beginnings: Vec<(String, Beginning)>,
    /// Whether any of the words is one character of a run of pairs, and so the beginning of words.
    has_half_pair: bool,
    firsts: Firsts,
}

#[derive(Debug)]
struct FoundWord {
    /// Number of the word in the text.
    position: usize,
    range: Range<usize>,
    /// Index among the finder's words, or among its beginnings.
    word: usize,
    is_beginning: bool,
}

#[derive(Default)]
struct Scan {
    position: usize,
    /// By position; one word of the text may be several of the query.
    found: Vec<FoundWord>,
    word: String,
}

impl Finder {
    fn new(phrases: &[&Phrase]) -> Finder {
        let words = |beginning: bool| {
            let phrases = phrases.iter().filter(move |phrase| phrase.beginning == beginning);
            phrases.flat_map(|phrase| phrase.words.iter().map(|(_, word)| word.clone()))
        };
        let beginnings: Vec<_> = words(true)
            .map(|start| (start.clone(), Beginning::new(&start)))
            .collect();
        let mut words: Vec<String> = words(false).collect();
        words.sort_unstable();
        words.dedup();
        let starts = beginnings.iter().flat_map(|(_, beginning)| beginning.starts());
        Finder {
            has_half_pair: words.iter().any(|word| words::is_half_pair(word)),
            firsts: Firsts::new(words.iter().map(String::as_str).chain(starts)),
            words,
            beginnings,
        }
    }

    /// Whether what was found is that word of the query.
    fn is(&self, found: &FoundWord, word: &str, beginning: bool) -> bool {
        found.is_beginning == beginning
            && if beginning {
                self.beginnings[found.word].0 == word
            } else {
                self.words[found.word] == word
            }
    }

    /// Reads on to `end`; tells whether the text ended.
    fn scan(&self, words: &mut Words<'_>, scan: &mut Scan, end: usize) -> bool {
        while let Some(mut range) = words.next_of(&self.firsts, &mut scan.word) {
            let start = range.start;
            let mut word = scan.word.as_str();
            if self.has_half_pair && words::is_pair(word) && self.index_of(word).is_none() {
                // One character of the pair is what is looked for. In the text it can be several
                // (decomposed, or in half width): only the reader knows where it ends.
                let first = word.chars().next().map_or(0, char::len_utf8);
                word = &word[..first];
                range.end = words.first_end();
            }
            let mut push = |word: usize, is_beginning: bool| {
                scan.found.push(FoundWord {
                    position: scan.position,
                    range: range.clone(),
                    word,
                    is_beginning,
                });
            };
            if let Some(index) = self.index_of(word) {
                push(index, false);
            }
            // A word that was passed over is empty.
            let begun = |(_, beginning): &(String, Beginning)| !word.is_empty() && beginning.holds(word);
            for index in (0..self.beginnings.len()).filter(|&index| begun(&self.beginnings[index])) {
                push(index, true);
            }
            scan.position += 1;
            if start >= end {
                return false;
            }
        }
        true
    }

    fn index_of(&self, word: &str) -> Option<usize> {
        self.words
            .binary_search_by(|candidate| candidate.as_str().cmp(word))
            .ok()
    }
}

/// Matches that fit into one snippet.
struct Group {
    first: usize,
    last: usize,
    /// Different phrases among them.
    phrases: usize,
}

/// The first of the groups with most different phrases, then with most matches.
fn best_group(spans: &[Span], phrases: usize) -> Option<Group> {
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

/// Start and end of the part to show, at character boundaries.
fn window(text: &str, spans: &[Span], phrases: usize) -> (usize, usize) {
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

/// The start of the first whole word from `at` on, unless that is beyond `limit`.
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

/// The end of the last whole word before `at`, if one ends shortly before.
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

fn boundary_before(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Ranges in order, those that touch or overlap made one.
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

fn render(text: &str, part: Range<usize>, marks: &[Range<usize>]) -> String {
    let mut html = Html::default();
    if part.start > 0 {
        html.out.push('…');
    }
    let mut at = part.start;
    for mark in marks {
        html.text(&text[at..mark.start], WORD_CHARS_MAX);
        html.mark(&text[mark.clone()]);
        at = mark.end;
    }
    html.text(&text[at..part.end], WORD_CHARS_MAX);
    let cut = part.end < text.trim_end().len();
    html.finish(cut)
}

/// HTML under construction.
#[derive(Default)]
struct Html {
    out: String,
    /// White space is due before the next character.
    space: bool,
    /// Characters since the last place where a line may break.
    run: usize,
}

impl Html {
    fn mark(&mut self, text: &str) {
        self.end_space();
        self.out.push_str("<mark>");
        self.run = 0;
        self.text(text, MARK_CHARS_MAX);
        self.out.push_str("</mark>");
        self.run = 0;
    }

    fn text(&mut self, text: &str, run_max: usize) {
        for c in text.chars() {
            if c.is_whitespace() {
                self.space = true;
                self.run = 0;
                continue;
            }
            if is_left_out(c) {
                continue;
            }
            self.run = if words::breaks(c) { 0 } else { self.run + 1 };
            if self.run > run_max {
                if self.run == run_max + 1 {
                    self.out.push('…');
                }
                continue;
            }
            self.end_space();
            self.escaped(c);
        }
    }

    fn end_space(&mut self) {
        if std::mem::take(&mut self.space) && !self.out.is_empty() {
            self.out.push(' ');
        }
    }

    fn escaped(&mut self, c: char) {
        match c {
            '&' => self.out.push_str("&amp;"),
            '<' => self.out.push_str("&lt;"),
            '>' => self.out.push_str("&gt;"),
            '"' => self.out.push_str("&quot;"),
            '\'' => self.out.push_str("&#39;"),
            c => self.out.push(c),
        }
    }

    fn finish(mut self, cut: bool) -> String {
        if cut {
            self.out.push('…');
        }
        self.out
    }
}

/// Controls, and characters that only change how their neighbours are laid out.
fn is_left_out(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{AD}' | '\u{61C}' | '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}')
}

#[cfg(test)]
mod tests;
