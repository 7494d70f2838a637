//! Formats untrusted text for readers.

use std::borrow::Cow;

/// Returns archived text without characters that a page must not show. Control characters become
/// the replacement character (white space becomes a space), and marks that change the direction of
/// the text after them are removed.
///
/// ```
/// assert_eq!(ui::clean("a title"), "a title");
/// // Without this, the mark would turn the text after it around.
/// assert_eq!(ui::clean("line\none\0\u{202e}two"), "line one\u{fffd}two");
/// ```
pub fn clean(text: &str) -> Cow<'_, str> {
    let odd = |c: char| c.is_control() || is_direction_mark(c);
    if !text.contains(odd) {
        return Cow::Borrowed(text);
    }
    let shown = text.chars().filter(|c| !is_direction_mark(*c));
    Cow::Owned(shown.map(|c| shown_control(c, ' ')).collect())
}

/// Like [`clean`], but keeps line ends.
pub fn clean_lines(text: &str) -> String {
    let shown = text.chars().filter(|c| !is_direction_mark(*c));
    shown
        .map(|c| if c == '\n' { '\n' } else { shown_control(c, ' ') })
        .collect()
}

fn shown_control(c: char, blank: char) -> char {
    match c {
        '\t' | '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' => blank,
        c if c.is_control() => char::REPLACEMENT_CHARACTER,
        c => c,
    }
}

/// Returns whether a character is an embedding, override or isolate: a mark whose effect may reach
/// beyond its own text.
fn is_direction_mark(c: char) -> bool {
    // U+200E and U+200F are kept: they act like letters of zero width, so they affect only their
    // neighbours, and right-to-left text needs them.
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Cuts `text` to at most `max` characters, at the end of a word if one is near. Returns whether it
/// was cut.
pub fn cut(text: &str, max: usize) -> (&str, bool) {
    let Some((end, _)) = text.char_indices().nth(max) else {
        return (text, false);
    };
    let head = &text[..end];
    let end = head
        .rfind(char::is_whitespace)
        // A text without spaces, or with one only near its start, is cut in the middle of a word,
        // because half a line says more than an empty one.
        .filter(|at| *at > end / 2)
        .unwrap_or(end);
    (&text[..end], true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_without_controls() {
        assert_eq!(clean("plain \u{e4}"), "plain \u{e4}");
        assert_eq!(clean("a\0b\nc\u{1b}[0m\u{202e}d"), "a\u{fffd}b c\u{fffd}[0md");
        assert_eq!(clean_lines("a\nb\rc\0"), "a\nb c\u{fffd}");
    }

    #[test]
    fn cuts_at_words() {
        assert_eq!(cut("one two three", 9), ("one two", true));
        assert_eq!(cut("one", 9), ("one", false));
        assert_eq!(cut("\u{e4}\u{e4}\u{e4}\u{e4}", 2), ("\u{e4}\u{e4}", true));
    }
}
