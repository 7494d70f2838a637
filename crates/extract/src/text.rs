//! Collects text with collapsed white space, up to a limit.

/// Collects text. Runs of white space become one blank, or one line end if the markup breaks the
/// line; the text neither begins nor ends with white space. The text is never longer than its limit
/// and never cut inside a character.
///
/// White space is defined as in Unicode, including the no-break space.
#[derive(Debug)]
pub(crate) struct Collapser {
    out: Vec<u8>,
    pending: Gap,
    lines: bool,
    /// Largest length of `out` in bytes.
    bytes_max: usize,
    /// Largest length of the result in characters.
    chars_max: usize,
    truncated: bool,
}

/// White space since the last character that is not written yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    None,
    Blank,
    Line,
}

impl Collapser {
    /// Collects several lines, at most `bytes_max` bytes.
    pub(crate) fn lines(bytes_max: usize) -> Collapser {
        Collapser::new(true, bytes_max, usize::MAX)
    }

    /// Collects one line, at most `chars_max` characters.
    pub(crate) fn line(chars_max: usize) -> Collapser {
        Collapser::new(false, chars_max * 4, chars_max)
    }

    fn new(lines: bool, bytes_max: usize, chars_max: usize) -> Collapser {
        Collapser {
            out: Vec::new(),
            pending: Gap::None,
            lines,
            bytes_max,
            chars_max,
            truncated: false,
        }
    }

    /// Removes the text and keeps the limits.
    pub(crate) fn clear(&mut self) {
        self.out.clear();
        self.pending = Gap::None;
        self.truncated = false;
    }

    /// Returns the length of the text so far, in bytes.
    pub(crate) fn len(&self) -> usize {
        self.out.len()
    }

    /// Adds white space that has no characters, as between table cells.
    pub(crate) fn blank(&mut self) {
        self.pending = self.pending.max(Gap::Blank);
    }

    /// Adds the end of a line, as at the border of a block.
    pub(crate) fn break_line(&mut self) {
        self.pending = Gap::Line;
    }

    /// Adds UTF-8 text, or a part of it.
    pub(crate) fn push(&mut self, text: &[u8]) {
        if self.truncated {
            return;
        }
        let mut start = 0;
        let mut at = 0;
        while let Some(class) = text.get(at).map(|byte| CLASSES[usize::from(*byte)]) {
            let width = match class {
                Class::Plain => {
                    at += 1;
                    continue;
                }
                // A single blank between words is the usual case: it is copied with them.
                Class::Blank if at > start && is_single_blank(text, at) => {
                    at += 2;
                    at += plain_blocks(&text[at..]);
                    continue;
                }
                Class::Blank => 1,
                Class::MayBeBlank => blank_width(&text[at..]),
            };
            if width == 0 {
                at += 1;
                continue;
            }
            self.push_words(&text[start..at]);
            self.blank();
            at += width;
            start = at;
        }
        self.push_words(&text[start..]);
    }

    /// Adds words with single blanks between them and no blanks at the ends.
    fn push_words(&mut self, words: &[u8]) {
        if words.is_empty() || self.truncated {
            return;
        }
        if self.out.len() + 1 + words.len() > self.bytes_max {
            self.push_part(words);
            return;
        }
        self.push_gap();
        self.out.extend_from_slice(words);
    }

    /// Adds the last words, as far as they fit.
    fn push_part(&mut self, words: &[u8]) {
        self.push_gap();
        let mut room = self.bytes_max.saturating_sub(self.out.len()).min(words.len());
        self.truncated = room < words.len();
        // Bytes 10xxxxxx continue a character (RFC 3629), so the cut moves back to its start.
        while room > 0 && words.get(room).is_some_and(|byte| byte & 0xc0 == 0x80) {
            room -= 1;
        }
        self.out.extend_from_slice(&words[..room]);
    }

    fn push_gap(&mut self) {
        let gap = std::mem::replace(&mut self.pending, Gap::None);
        if self.out.is_empty() {
            return;
        }
        match gap {
            Gap::None => {}
            Gap::Line if self.lines => self.out.push(b'\n'),
            Gap::Blank | Gap::Line => self.out.push(b' '),
        }
    }

    /// Returns the text so far and empties the collector.
    pub(crate) fn take(&mut self) -> String {
        let taken = std::mem::take(&mut self.out);
        let mut text = match String::from_utf8(taken) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        };
        self.cut(&mut text);
        if self.truncated {
            text.truncate(text.trim_end().len());
        }
        text
    }

    /// Returns the text, and whether there was more.
    pub(crate) fn finish(mut self) -> (String, bool) {
        let text = self.take();
        (text, self.truncated)
    }

    fn cut(&mut self, text: &mut String) {
        if text.len() <= self.chars_max.min(self.bytes_max) {
            return;
        }
        if let Some((end, _)) = text.char_indices().nth(self.chars_max) {
            text.truncate(end);
            self.truncated = true;
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Plain,
    Blank,
    /// The first byte of a character that may be white space.
    MayBeBlank,
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Plain; 256];
    let blanks = b"\t\n\x0b\x0c\r ";
    let mut i = 0;
    while i < blanks.len() {
        classes[blanks[i] as usize] = Class::Blank;
        i += 1;
    }
    classes[0xc2] = Class::MayBeBlank;
    classes[0xe1] = Class::MayBeBlank;
    classes[0xe2] = Class::MayBeBlank;
    classes[0xe3] = Class::MayBeBlank;
    classes
};

/// Returns whether a blank is at `at`, followed by a plain byte.
fn is_single_blank(text: &[u8], at: usize) -> bool {
    text[at] == b' '
        && text
            .get(at + 1)
            .is_some_and(|byte| CLASSES[usize::from(*byte)] == Class::Plain)
}

/// Number of bytes compared together: the size of a vector register, so that the compiler compares
/// them at once.
const BLOCK: usize = 16;

/// Returns how many bytes at the beginning of `text`, in whole blocks, are words with single blanks
/// between them. The byte before them must not be a blank.
fn plain_blocks(text: &[u8]) -> usize {
    // The special bytes of `CLASSES`, without the blank.
    let is_special =
        |byte: u8| (byte.wrapping_sub(b'\t') < 5) | (byte == 0xc2) | (byte.wrapping_sub(0xe1) < 3);
    let mut at = 0;
    while let Some((block, [next, ..])) = text[at..].split_first_chunk::<BLOCK>() {
        // Pairs each byte with the following one: a blank counts as single only if a plain byte
        // follows.
        let mut behind = [*next; BLOCK];
        behind[..BLOCK - 1].copy_from_slice(&block[1..]);
        let ends = |(&byte, &behind): (&u8, &u8)| {
            u8::from(is_special(byte) | ((byte == b' ') & ((behind == b' ') | is_special(behind))))
        };
        if block.iter().zip(&behind).fold(0, |any, bytes| any | ends(bytes)) != 0 {
            break;
        }
        at += BLOCK;
    }
    at
}

/// Returns the length of the white space character at the beginning of `text` in bytes, or 0.
fn blank_width(text: &[u8]) -> usize {
    match text {
        [0xc2, 0x85 | 0xa0, ..] => 2,
        // U+1680, U+2000-200A, U+2028, U+2029, U+202F, U+205F, U+3000
        [0xe1, 0x9a, 0x80, ..]
        | [0xe2, 0x80, 0x80..=0x8a | 0xa8 | 0xa9 | 0xaf, ..]
        | [0xe2, 0x81, 0x9f, ..]
        | [0xe3, 0x80, 0x80, ..] => 3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn blanks_and_line_ends() {
        let mut text = Collapser::lines(100);
        text.push(b"  a\xc2\xa0 b");
        text.push(b"c\n\n");
        text.break_line();
        text.blank();
        text.push(b" d");
        text.blank();
        text.push("\u{3000}e ".as_bytes());
        text.break_line();
        assert_eq!(text.finish(), ("a bc\nd e".to_owned(), false));
    }

    #[test]
    fn cut_at_a_character() {
        let check = |bytes_max, input: &str, expected: &str, truncated| {
            let mut text = Collapser::lines(bytes_max);
            text.push(input.as_bytes());
            text.push(b" more");
            assert_eq!(
                text.finish(),
                (expected.to_owned(), truncated),
                "{input} in {bytes_max}"
            );
        };
        check(3, "ééé", "é", true);
        check(4, "ééé", "éé", true);
        check(5, "ab", "ab mo", true);
        check(3, "ab", "ab", true);
        check(7, "ab", "ab more", false);
        check(0, "ab", "", true);
    }

    proptest! {
        #[test]
        fn same_as_splitting_at_white_space(pieces in proptest::collection::vec("[a-c \u{a0}\u{3000}\u{2028}\n\u{e9}\u{201c}\u{4e2d}]{0,6}", 0..6), chars_max in 1..12_usize) {
            let whole: String = pieces.concat();
            let words: Vec<&str> = whole.split_whitespace().collect();
            let mut text = Collapser::lines(1000);
            let mut line = Collapser::line(chars_max);
            for piece in &pieces {
                text.push(piece.as_bytes());
                line.push(piece.as_bytes());
            }
            prop_assert_eq!(text.finish(), (words.join(" "), false));
            let model: String = words.join(" ").chars().take(chars_max).collect();
            let line = line.finish().0;
            prop_assert_eq!(line.as_str(), model.trim_end());
        }

        #[test]
        fn blocks_of_plain_text_are_the_same(text in "(([a-zé]{1,9} ){0,9}[a-z \u{a0}\u{3000}\n“]{0,3}){0,4}") {
            let words: Vec<&str> = text.split_whitespace().collect();
            let mut collapser = Collapser::lines(1000);
            collapser.push(text.as_bytes());
            prop_assert_eq!(collapser.finish(), (words.join(" "), false));
        }
    }
}
