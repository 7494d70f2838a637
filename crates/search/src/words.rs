//! Words of a text, in the one form that index, queries and snippets share.
//!
//! - A word is a run of letters and digits of any script, in lower case, without diacritics, and cut
//!   to [`WORD_BYTES_MAX`] bytes. An English plural loses its `s` (Harman's three rules): on CACM this
//!   lifts MAP from 0.267 to 0.288, as much as Porter's stemmer, and it needs no language, joins far
//!   fewer words that only look alike, and does little in other languages than to cut an `s`.
//! - Scripts written without spaces (Chinese, Japanese, Thai, ...) and Korean give a word at each
//!   character: that character and the next, or it alone at the end of the run. So any part of a run
//!   is a phrase of such pairs.
//! - Marks that only decorate (accents, vowel points, soft hyphens, joiners) are dropped.

use std::ops::Range;
use std::sync::OnceLock;

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// Longest word in bytes; what is longer is cut, in the index as in queries.
pub(crate) const WORD_BYTES_MAX: usize = 100;

/// Reads the words of a text one by one.
#[derive(Clone)]
pub(crate) struct Words<'t> {
    text: &'t str,
    /// Start of what is not read yet, at a character boundary.
    next: usize,
}

/// The ASCII characters that some words begin with.
#[derive(Debug, Clone)]
pub(crate) struct Firsts([bool; 128]);

impl Firsts {
    pub(crate) fn new(words: &[String]) -> Firsts {
        let mut firsts = [false; 128];
        for word in words {
            if let Some(first) = word.bytes().next().filter(u8::is_ascii) {
                firsts[usize::from(first)] = true;
            }
        }
        Firsts(firsts)
    }

    /// Whether a word of a text that begins with `c` may be one of the words. Others than ASCII may
    /// fold to anything.
    fn may_begin(&self, c: char) -> bool {
        !c.is_ascii() || self.0[c.to_ascii_lowercase() as usize]
    }
}

/// What a character does in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Part of a word.
    Letter,
    /// Part of a run of pairs.
    Pair,
    /// Dropped inside a word.
    Mark,
    /// Between words.
    Gap,
}

impl<'t> Words<'t> {
    pub(crate) fn new(text: &'t str) -> Words<'t> {
        Words { text, next: 0 }
    }

    /// Puts the next word into `word`; gives where it stands in the text.
    pub(crate) fn next_into(&mut self, word: &mut String) -> Option<Range<usize>> {
        word.clear();
        let (start, first) = self.skip_gap()?;
        if class(first) == Class::Pair {
            return Some(self.read_pair(start, first, word));
        }
        Some(self.read_word(start, word))
    }

    /// As [`Words::next_into`], but leaves `word` empty where the word begins with an ASCII character
    /// that is not in `firsts`: most words of a text are no word of a query, and are then only passed over.
    pub(crate) fn next_of(&mut self, firsts: &Firsts, word: &mut String) -> Option<Range<usize>> {
        let (start, first) = self.skip_gap()?;
        if firsts.may_begin(first) {
            return self.next_into(word);
        }
        word.clear();
        self.skip_word();
        Some(start..self.next)
    }

    /// Goes to the end of a word.
    fn skip_word(&mut self) {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.next) {
            if byte.is_ascii() {
                if !byte.is_ascii_alphanumeric() {
                    return;
                }
                self.next += 1;
                continue;
            }
            match self.text[self.next..].chars().next() {
                Some(c) if matches!(class(c), Class::Letter | Class::Mark) => self.next += c.len_utf8(),
                _ => return,
            }
        }
    }

    /// Goes to the first character of the next word.
    fn skip_gap(&mut self) -> Option<(usize, char)> {
        let bytes = self.text.as_bytes();
        loop {
            let byte = *bytes.get(self.next)?;
            if byte.is_ascii_alphanumeric() {
                return Some((self.next, byte as char));
            }
            if byte.is_ascii() {
                self.next += 1;
                continue;
            }
            let c = self.text[self.next..].chars().next()?;
            if matches!(class(c), Class::Letter | Class::Pair) {
                return Some((self.next, c));
            }
            self.next += c.len_utf8();
        }
    }

    fn read_word(&mut self, start: usize, word: &mut String) -> Range<usize> {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.next) {
            if byte.is_ascii_alphanumeric() {
                push(word, byte.to_ascii_lowercase() as char);
                self.next += 1;
                continue;
            }
            if byte.is_ascii() {
                break;
            }
            let Some(c) = self.text[self.next..].chars().next() else {
                break;
            };
            match class(c) {
                Class::Letter => fold(c, word),
                Class::Mark => {}
                Class::Pair | Class::Gap => break,
            }
            self.next += c.len_utf8();
        }
        singular(word);
        start..self.next
    }

    fn read_pair(&mut self, start: usize, first: char, word: &mut String) -> Range<usize> {
        self.next += first.len_utf8();
        fold(first, word);
        let mut rest = self.text[self.next..].char_indices();
        let second = rest.find(|&(_, c)| class(c) != Class::Mark);
        match second {
            Some((offset, c)) if class(c) == Class::Pair => {
                fold(c, word);
                start..self.next + offset + c.len_utf8()
            }
            _ => start..self.next,
        }
    }
}

/// Whether `word`, in the form [`Words`] gives, is one character out of a run of pairs: it stands in
/// the index as the beginning of words.
pub(crate) fn is_half_pair(word: &str) -> bool {
    let mut chars = word.chars();
    chars.next().is_some_and(|c| class(c) == Class::Pair) && chars.next().is_none()
}

/// Whether `word` comes from a run of pairs.
pub(crate) fn is_pair(word: &str) -> bool {
    word.chars().next().is_some_and(|c| class(c) == Class::Pair)
}

/// Whether a line may break beside a character: its script has no spaces.
pub(crate) fn breaks(c: char) -> bool {
    !c.is_ascii() && is_pair_script(c)
}

fn push(word: &mut String, c: char) {
    if word.len() + c.len_utf8() <= WORD_BYTES_MAX {
        word.push(c);
    }
}

fn class(c: char) -> Class {
    if c.is_ascii() {
        return if c.is_ascii_alphanumeric() {
            Class::Letter
        } else {
            Class::Gap
        };
    }
    if is_mark(c) {
        Class::Mark
    } else if is_pair_script(c) {
        Class::Pair
    } else if c.is_alphanumeric() || is_kept_sign(c) {
        Class::Letter
    } else {
        Class::Gap
    }
}

/// Marks that change nothing of what a word is found by.
fn is_mark(c: char) -> bool {
    matches!(u32::from(c),
        0xAD | 0x300..=0x36F | 0x483..=0x489 | 0x591..=0x5BD | 0x5BF | 0x5C1..=0x5C2 | 0x5C4..=0x5C5
        | 0x5C7 | 0x610..=0x61A | 0x640 | 0x64B..=0x65F | 0x670 | 0x6D6..=0x6DC | 0x6DF..=0x6E4
        | 0x6E7..=0x6E8 | 0x6EA..=0x6ED | 0x1AB0..=0x1AFF | 0x1DC0..=0x1DFF | 0x200C..=0x200D
        | 0x2060 | 0x20D0..=0x20FF | 0x3099..=0x309A | 0xFE00..=0xFE0F | 0xFE20..=0xFE2F | 0xFEFF)
}

/// Signs of Indic scripts that are no letters to Unicode but stand inside words (virama, nukta).
fn is_kept_sign(c: char) -> bool {
    matches!(
        u32::from(c),
        0x93C
            | 0x94D
            | 0x9BC
            | 0x9CD
            | 0xA3C
            | 0xA4D
            | 0xABC
            | 0xACD
            | 0xB3C
            | 0xB4D
            | 0xBCD
            | 0xC3C
            | 0xC4D
            | 0xCBC
            | 0xCCD
            | 0xD3B
            | 0xD3C
            | 0xD4D
            | 0xDCA
    )
}

/// Scripts whose words are not separated by spaces, and Hangul, whose words carry endings.
fn is_pair_script(c: char) -> bool {
    matches!(u32::from(c),
        0xE01..=0xE3A | 0xE40..=0xE4E | 0xE81..=0xECE | 0xEDC..=0xEDF | 0x1000..=0x103F | 0x1050..=0x108F
        | 0x1100..=0x11FF | 0x1780..=0x17D3 | 0x3005..=0x3007 | 0x3041..=0x3096 | 0x309D..=0x309F
        | 0x30A1..=0x30FA | 0x30FC..=0x30FF | 0x3105..=0x312F | 0x31F0..=0x31FF | 0x3400..=0x4DBF
        | 0x4E00..=0x9FFF | 0xA960..=0xA97C | 0xAC00..=0xD7A3 | 0xF900..=0xFAFF | 0xFF66..=0xFFDC
        | 0x20000..=0x3FFFF)
}

/// Adds a character in lower case and without diacritics.
fn fold(c: char, word: &mut String) {
    if let 'Ａ'..='Ｚ' | 'ａ'..='ｚ' | '０'..='９' = c {
        // Full-width forms stand 0xFEE0 above their ASCII ones.
        let plain = char::from_u32(u32::from(c) - 0xFEE0).unwrap_or(c);
        return push(word, plain.to_ascii_lowercase());
    }
    for lower in c.to_lowercase() {
        match lower {
            'ß' => ["s", "s"].iter().for_each(|s| push_all(word, s)),
            'æ' | 'ǽ' | 'ǣ' => push_all(word, "ae"),
            'œ' => push_all(word, "oe"),
            'þ' => push_all(word, "th"),
            'ĳ' => push_all(word, "ij"),
            'ﬀ' => push_all(word, "ff"),
            'ﬁ' => push_all(word, "fi"),
            'ﬂ' => push_all(word, "fl"),
            'ﬃ' => push_all(word, "ffi"),
            'ﬄ' => push_all(word, "ffl"),
            _ if is_mark(lower) => {}
            _ => push(word, plain(lower)),
        }
    }
}

/// Takes the plural's ending off: `queries`, `pages`, `shoes`, but not of `class`, `status` or `dns`.
fn singular(word: &mut String) {
    let bytes = word.as_bytes();
    let ends = |endings: &[&str]| endings.iter().any(|ending| bytes.ends_with(ending.as_bytes()));
    if bytes.len() < 4 || !ends(&["s"]) || ends(&["ss", "us"]) || word == "news" {
        return;
    }
    if ends(&["ies"]) && !ends(&["eies", "aies"]) {
        word.truncate(word.len() - 3);
        word.push('y');
    } else {
        word.pop();
    }
}

fn push_all(word: &mut String, text: &str) {
    text.chars().for_each(|c| push(word, c));
}

/// Base letters and the forms that fold to them; only lower case, since folding comes after.
const FOLDS: &[(char, &str)] = &[
    ('a', "àáâãäåāăąǎǟǡǻȁȃȧḁẚạảấầẩẫậắằẳẵặª"),
    ('b', "ƀɓḃḅḇ"),
    ('c', "çćĉċčƈȼḉ"),
    ('d', "ðďđɖɗḋḍḏḑḓ"),
    ('e', "èéêëēĕėęěȅȇȩḕḗḙḛḝẹẻẽếềểễệǝ"),
    ('f', "ƒḟ"),
    ('g', "ĝğġģǥǧǵɠḡ"),
    ('h', "ĥħȟḣḥḧḩḫẖ"),
    ('i', "ìíîïĩīĭįıǐȉȋɨḭḯỉị"),
    ('j', "ĵǰɉ"),
    ('k', "ķƙǩḱḳḵĸ"),
    ('l', "ĺļľŀłƚḷḹḻḽ"),
    ('m', "ḿṁṃ"),
    ('n', "ñńņňŉŋɲǹṅṇṉṋ"),
    ('o', "òóôõöøōŏőơǒǫǭǿȍȏȫȭȯȱṍṏṑṓọỏốồổỗộớờởỡợº"),
    ('p', "ƥṕṗ"),
    ('q', "ɋ"),
    ('r', "ŕŗřȑȓɍṙṛṝṟ"),
    ('s', "śŝşšșſṡṣṥṧṩẛ"),
    ('t', "ţťŧƭțṫṭṯṱẗ"),
    ('u', "ùúûüũūŭůűųưǔǖǘǚǜȕȗʉṳṵṷṹṻụủứừửữự"),
    ('v', "ṽṿ"),
    ('w', "ŵẁẃẅẇẉẘ"),
    ('x', "ẋẍ"),
    ('y', "ýÿŷƴȳɏẏẙỳỵỷỹ"),
    ('z', "źżžƶȥẑẓẕ"),
    ('α', "άἀἁἂἃἄἅἆἇὰάᾀᾁᾂᾃᾄᾅᾆᾇᾰᾱᾲᾳᾴᾶᾷ"),
    ('ε', "έἐἑἒἓἔἕὲέ"),
    ('η', "ήἠἡἢἣἤἥἦἧὴήᾐᾑᾒᾓᾔᾕᾖᾗῂῃῄῆῇ"),
    ('ι', "ίϊΐἰἱἲἳἴἵἶἷὶίῐῑῒΐῖῗ"),
    ('ο', "όὀὁὂὃὄὅὸό"),
    ('ρ', "ῤῥ"),
    ('σ', "ς"),
    ('υ', "ύϋΰὐὑὒὓὔὕὖὗὺύῠῡῢΰῦῧ"),
    ('ω', "ώὠὡὢὣὤὥὦὧὼώᾠᾡᾢᾣᾤᾥᾦᾧῲῳῴῶῷ"),
    ('е', "ёѐ"),
    ('и', "ѝ"),
    ('ا', "آأإٱ"),
    ('ي', "ى"),
];

/// First character beyond the table of folds.
const FOLD_END: usize = 0x2000;

fn plain(c: char) -> char {
    static TABLE: OnceLock<Vec<char>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let mut table: Vec<char> = (0..FOLD_END as u32)
            .map(|code| char::from_u32(code).unwrap_or('\0'))
            .collect();
        for (base, forms) in FOLDS {
            for form in forms.chars() {
                table[form as usize] = *base;
            }
        }
        table
    });
    table.get(c as usize).copied().unwrap_or(c)
}

/// [`Words`] as tantivy wants them.
#[derive(Clone, Default)]
pub(crate) struct WordTokenizer {
    token: Token,
}

/// Stream of [`WordTokenizer`].
pub(crate) struct WordStream<'a> {
    words: Words<'a>,
    token: &'a mut Token,
}

impl Tokenizer for WordTokenizer {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        self.token.reset();
        WordStream {
            words: Words::new(text),
            token: &mut self.token,
        }
    }
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        let Some(range) = self.words.next_into(&mut self.token.text) else {
            return false;
        };
        self.token.offset_from = range.start;
        self.token.offset_to = range.end;
        self.token.position = self.token.position.wrapping_add(1);
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut words = Words::new(text);
        let mut word = String::new();
        let mut found = Vec::new();
        while words.next_into(&mut word).is_some() {
            found.push(word.clone());
        }
        found
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(words(text).join(" "), expected);
    }

    #[test]
    fn letters_and_digits_make_words() {
        check("Hello, WORLD! e-mail 3.14 x_y", "hello world e mail 3 14 x y");
        check("", "");
        check("\u{0}\u{1f}\u{7f}--''", "");
    }

    #[test]
    fn diacritics_fold_composed_or_not() {
        check(
            "Ångström cafe\u{301} CAFÉ Łódź straße",
            "angstrom cafe cafe lodz strasse",
        );
        check("Ελληνικά ΌΣΟΣ", "ελληνικα οσοσ");
        check("ещё ЕЩЕ", "еще еще");
        check("ＡＢＣ１２", "abc12");
        check("İstanbul so\u{ad}ft", "istanbul soft");
    }

    #[test]
    fn plurals_are_found_as_singulars() {
        check("pages Queries shoes trees", "page query shoe tree");
        check("class status dns news was as s", "class status dns news was as s");
    }

    #[test]
    fn marks_of_other_scripts() {
        check("שָׁלוֹם", "שלום");
        check("مُحَمَّد", "محمد");
        check("हिन्दी भाषा", "हिन्दी भाषा");
    }

    #[test]
    fn runs_without_spaces_become_pairs() {
        check("東京都 tower", "東京 京都 都 tower");
        check("x東y", "x 東 y");
        check("서울에서", "서울 울에 에서 서");
        check("ภาษาไทย", "ภา าษ ษา าไ ไท ทย ย");
    }

    #[test]
    fn long_words_are_cut_at_a_character() {
        let long = "é".repeat(3) + &"ж".repeat(200);
        let found = words(&long);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].len(), 99);
    }

    #[test]
    fn emoji_are_no_words() {
        check("I ❤️ 🍕!", "i");
    }

    proptest! {
        #[test]
        fn any_text_has_sound_words(text in "\\PC{0,60}|.{0,60}") {
            let mut words = Words::new(&text);
            let mut word = String::new();
            let mut before = 0;
            while let Some(range) = words.next_into(&mut word) {
                prop_assert!(!word.is_empty() && word.len() <= WORD_BYTES_MAX);
                prop_assert!(range.start >= before && range.end > range.start);
                prop_assert!(text.get(range.clone()).is_some());
                before = range.start + 1;
            }
        }

        #[test]
        fn passing_over_words_changes_nothing_else(text in "[a-cxé\u{301}東 .]{0,40}|\\PC{0,40}") {
            let all = words(&text);
            let wanted: Vec<String> = all.iter().step_by(3).cloned().collect();
            let firsts = Firsts::new(&wanted);
            let mut reader = Words::new(&text);
            let mut word = String::new();
            let mut found = Vec::new();
            while reader.next_of(&firsts, &mut word).is_some() {
                found.push(word.clone());
            }
            prop_assert_eq!(found.len(), all.len());
            for (found, word) in found.iter().zip(&all) {
                prop_assert!(found == word || found.is_empty() && !wanted.contains(word));
            }
        }

        #[test]
        fn words_of_words_are_themselves(text in "\\PC{0,40}") {
            for word in words(&text) {
                if !is_pair(&word) {
                    prop_assert_eq!(words(&word), vec![word]);
                }
            }
        }
    }
}
