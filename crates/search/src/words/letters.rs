//! The characters of a text in NFKC, each with its range in the text.
//!
//! - Words that are composed or decomposed, in half or full width, or in presentation forms give
//!   the same letters. A sign that is not a letter, digit or mark is not normalised: NFKC would
//!   join `TM` to the word in `Weft™`.
//! - A text is normalised in stretches: a character and all following ones that may combine with
//!   it. The letters of a stretch share its range, so ranges ascend and are at character
//!   boundaries.
//! - Most characters need no normalisation. They are recognised here by their code (see the test).

use std::iter::once;
use std::ops::Range;

use icu_normalizer::properties::CanonicalCombiningClassMapBorrowed;
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};

use super::prefilter::Prefilter;
use super::script::{Class, class};

const NFKC: ComposingNormalizerBorrowed<'static> = ComposingNormalizerBorrowed::new_nfkc();
const NFKD: DecomposingNormalizerBorrowed<'static> = DecomposingNormalizerBorrowed::new_nfkd();
const COMBINING: CanonicalCombiningClassMapBorrowed<'static> = CanonicalCombiningClassMapBorrowed::new();

/// Maximum length of a stretch in characters, so that a text of marks only is not slower than
/// others. Languages put at most six marks on a letter; Unicode's stream-safe format allows 30.
const STRETCH_CHARS_MAX: usize = 32;

/// A character of the normalised text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Letter {
    pub(super) c: char,
    /// Range of the stretch in the text.
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Reads the letters of a text.
#[derive(Clone)]
pub(super) struct Letters<'t> {
    text: &'t str,
    /// Start of the unread text, at a character boundary.
    next: usize,
    /// Remaining letters of the last stretch, the next one last.
    waiting: Vec<char>,
    /// Start of that stretch; it ends at `next`.
    start: usize,
}

impl<'t> Letters<'t> {
    pub(super) fn new(text: &'t str) -> Letters<'t> {
        Letters {
            text,
            next: 0,
            waiting: Vec::new(),
            start: 0,
        }
    }

    /// Returns the next letter, without taking it, if it is an ASCII character that nothing
    /// combines with.
    pub(super) fn ascii(&self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        let byte = *bytes.get(self.next).filter(|byte| byte.is_ascii())?;
        let alone = bytes.get(self.next + 1).is_none_or(u8::is_ascii);
        (alone && self.waiting.is_empty()).then_some(byte)
    }

    /// Takes the letter that [`Letters::ascii`] returned. Returns where it ends.
    pub(super) fn take_ascii(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    /// Returns a part of the text.
    pub(super) fn text(&self, range: &Range<usize>) -> &'t str {
        &self.text[range.clone()]
    }

    /// Takes the next word and returns its range if it is ASCII and nothing after it can combine
    /// with it. Otherwise takes only the ASCII gap before it. Must be called between words only.
    pub(super) fn ascii_word(&mut self) -> Option<Range<usize>> {
        if !self.waiting.is_empty() {
            return None;
        }
        let is_gap = |byte: &&u8| byte.is_ascii() && !byte.is_ascii_alphanumeric();
        let rest = &self.text.as_bytes()[self.next..];
        let gap = rest.iter().take_while(is_gap).count();
        let start = self.next + gap;
        self.next = start;
        let rest = &rest[gap..];
        let length = rest
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric())
            .count();
        if length == 0 || rest.get(length).is_some_and(|byte| !byte.is_ascii()) {
            return None;
        }
        self.next += length;
        Some(start..self.next)
    }

    /// Skips words that `prefilter` rules out, as far as that is known without reading them.
    /// Returns how many. Must be called between words only.
    pub(super) fn skip_to_candidate(&mut self, prefilter: &Prefilter, end: usize) -> usize {
        if !self.waiting.is_empty() {
            return 0;
        }
        let skipped = prefilter.skip_to_candidate(self.text, self.next, end);
        self.next = skipped.at;
        skipped.words
    }

    fn waiting(&mut self) -> Option<Letter> {
        let (start, end) = (self.start, self.next);
        self.waiting.pop().map(|c| Letter { c, start, end })
    }

    /// Reads the characters that may combine with those before them.
    fn read_joining(&mut self) {
        let rest = self.text[self.next..].chars();
        for c in rest.take(STRETCH_CHARS_MAX).take_while(|&c| joins_before(c)) {
            self.next += c.len_utf8();
        }
    }
}

impl Iterator for Letters<'_> {
    type Item = Letter;

    fn next(&mut self) -> Option<Letter> {
        if let Some(letter) = self.waiting() {
            return Some(letter);
        }
        let start = self.next;
        let mut rest = self.text[start..].chars();
        let first = rest.next()?;
        let joined = rest.next().is_some_and(joins_before);
        self.next += first.len_utf8();
        if class(first) == Class::Gap || is_settled(first) && !joined {
            return Some(Letter {
                c: first,
                start,
                end: self.next,
            });
        }
        self.read_joining();
        self.start = start;
        let stretch = self.text[start..self.next].chars();
        self.waiting.extend(NFKC.normalize_iter(stretch));
        self.waiting.reverse();
        // NFKC never normalises a character to nothing.
        debug_assert!(!self.waiting.is_empty(), "a run without letters");
        self.waiting()
    }
}

/// Returns whether a character is its own NFKC form and combines with none before it. Covers the
/// most common scripts by code only; all others are looked up.
fn is_settled(c: char) -> bool {
    matches!(u32::from(c),
        0..=0x7F | 0xC0..=0xFF | 0x388..=0x3CE | 0x400..=0x482 | 0x5D0..=0x5EA | 0x621..=0x63A | 0x641..=0x64A
        | 0x904..=0x928 | 0xE01..=0xE30 | 0x3041..=0x3096 | 0x30A1..=0x30FA | 0x3400..=0x9FFF | 0xAC00..=0xD7A3)
}

/// Returns whether normalisation may combine a character with those before it.
fn joins_before(c: char) -> bool {
    if u32::from(c) < 0x300 || is_settled(c) {
        return false;
    }
    let first = NFKD.normalize_iter(once(c)).next().unwrap_or(c);
    COMBINING.get_u8(first) != 0 || is_second(first)
}

/// Returns whether a character is not a mark in Unicode but combines with the character before:
/// vowels and final consonants of Hangul, and vowel signs of Indic scripts.
fn is_second(c: char) -> bool {
    matches!(u32::from(c),
        0x9BE | 0x9D7 | 0xB3E | 0xB56..=0xB57 | 0xBBE | 0xBD7 | 0xCC2 | 0xCD5..=0xCD6 | 0xD3E | 0xD57 | 0xDCF
        | 0xDDF | 0x102E | 0x1160..=0x11FF | 0x1B35 | 0x11127 | 0x1133E | 0x11357 | 0x113B8..=0x113C9 | 0x114B0 | 0x114BA
        | 0x114BD | 0x115AF | 0x11930 | 0x1611E..=0x16129 | 0x16D63..=0x16D68)
}

#[cfg(test)]
mod tests {
    use icu_normalizer::properties::{
        CanonicalCompositionBorrowed, CanonicalDecompositionBorrowed, Decomposed,
    };
    use proptest::prelude::*;

    use super::*;

    fn normal(text: &str) -> String {
        Letters::new(text).map(|letter| letter.c).collect()
    }

    #[test]
    fn the_tables_by_code_agree_with_unicode() {
        let (apart, together) = (
            CanonicalDecompositionBorrowed::new(),
            CanonicalCompositionBorrowed::new(),
        );
        let mut missed = Vec::new();
        for c in '\0'..=char::MAX {
            if is_settled(c) {
                assert_eq!(NFKC.normalize_iter(once(c)).collect::<String>(), c.to_string());
                assert_eq!(COMBINING.get_u8(c), 0, "{c:?}");
                assert!(!is_second(c), "{c:?}");
            }
            if let Decomposed::Expansion(first, second) = apart.decompose(c)
                && together.compose(first, second).is_some()
                && !joins_before(second)
            {
                missed.push(second);
            }
        }
        assert!(
            missed.is_empty(),
            "{missed:x?} make one character with what is before"
        );
    }

    #[test]
    fn forms_of_one_letter_are_one() {
        for (text, expected) in [
            ("e\u{301}", "é"),
            ("и\u{306}", "й"),
            ("か\u{3099}ｶﾞﾊﾟ", "がガパ"),
            ("\u{1112}\u{1161}\u{11ab}ﾡￂ", "한가"),
            ("ﻻﺳ", "لاس"),
            ("ﬁＡ１²", "fiA12"),
            ("Weft™ ½㎡", "Weft™ 1⁄2㎡"),
        ] {
            assert_eq!(normal(text), expected, "{text}");
        }
    }

    #[test]
    fn a_heap_of_marks_is_read_in_stretches() {
        let text = format!("a{}", "\u{301}\u{323}".repeat(1000));
        assert!(normal(&text).starts_with('ạ'));
        let longest = Letters::new(&text).map(|letter| letter.end - letter.start).max();
        assert!(longest <= Some(2 * (1 + STRETCH_CHARS_MAX)));
    }

    proptest! {
        #[test]
        fn stretches_together_are_the_whole_normalised(text in "([a-eéиї가각ｶﾞか東Ⅷﷺ\u{301}\u{306}\u{308}\u{323}\u{3099}\u{1161}\u{11ab}\u{9be}\u{9c7} ]|\\PC){0,20}") {
            let letters: String = text.chars().filter(|&c| class(c) != Class::Gap || c == ' ').collect();
            let whole: String = NFKC.normalize_iter(letters.chars()).collect();
            prop_assert_eq!(normal(&letters), whole);
        }

        #[test]
        fn ranges_ascend_and_cover_the_text(text in "\\PC{0,40}|.{0,40}") {
            let mut before = Letter { c: ' ', start: 0, end: 0 };
            for letter in Letters::new(&text) {
                prop_assert!(letter.start == before.end || (letter.start, letter.end) == (before.start, before.end));
                prop_assert!(letter.end > letter.start && text.get(letter.start..letter.end).is_some());
                before = letter;
            }
            prop_assert_eq!(before.end, text.len());
        }
    }
}
