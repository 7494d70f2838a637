//! Colours, and text from archives sanitised for a terminal.
//!
//! Titles, anchors and URLs are untrusted. Text printed for people never contains their control
//! characters: no escape sequence, line break or change of writing direction.

use std::io::IsTerminal;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Colours text, or returns it unchanged if the output is not a terminal or `NO_COLOR` is set.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    on: bool,
}

impl Style {
    /// Enables colours for a terminal, unless `NO_COLOR` is set and not empty, or the terminal is
    /// dumb.
    pub fn new(terminal: bool) -> Style {
        // no-color.org: an empty value does not count.
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        Style {
            on: terminal && !refused && !dumb,
        }
    }

    /// Returns the style for standard error.
    pub fn of_stderr() -> Style {
        Style::new(std::io::stderr().is_terminal())
    }

    /// Formats titles and matches.
    pub fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// Formats column headings, and less important text.
    pub fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// Formats addresses.
    pub fn address(self, text: &str) -> String {
        self.paint("36", text)
    }

    /// Formats warnings: losses that leave something usable.
    pub fn warn(self, text: &str) -> String {
        self.paint("33", text)
    }

    /// Formats errors.
    pub fn bad(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.on && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

/// Returns `text` on one line, with its control and direction characters replaced by a space.
pub fn clean(text: &str) -> String {
    text.chars()
        .map(|c| if is_harmful(c) { ' ' } else { c })
        .collect()
}

/// Like [`clean`], but keeps line ends.
pub fn clean_lines(text: &str) -> String {
    text.chars()
        .map(|c| if c != '\n' && is_harmful(c) { ' ' } else { c })
        .collect()
}

fn is_harmful(c: char) -> bool {
    // C1 controls (U+009B is CSI) are controls too; the ranges are the marks, separators and
    // isolates that reorder or break a line.
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns the width of `text` in terminal columns.
pub fn columns(text: &str) -> usize {
    text.width()
}

/// Returns `text` truncated to at most `columns` columns, with an ellipsis if it was truncated.
pub fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut kept = String::new();
    // Counted in columns, because a Chinese character takes two.
    let mut used = 1; // the ellipsis
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > columns {
            break;
        }
        kept.push(c);
    }
    kept.push('…');
    kept
}

/// Returns `text` as one word of a shell command, quoted only if necessary.
pub fn shell_word(text: &str) -> String {
    // Only characters that have no special meaning in any shell.
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=@%+".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", clean(text).replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archived_text_cannot_drive_the_terminal() {
        let hostile = "a\x1b]0;owned\x07b\r\nc\u{202e}d\u{9b}31m";
        let text = clean(hostile);
        assert!(!text.chars().any(is_harmful), "{text:?}");
        assert_eq!(clean_lines("one\ntwo\t"), "one\ntwo ");
    }

    #[test]
    fn cutting_counts_columns_not_characters() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("漢字漢字", 5), "漢字…");
        assert_eq!(columns(&cut("漢字漢字", 4)), 3);
    }

    #[test]
    fn words_are_quoted_for_the_shell_when_needed() {
        assert_eq!(shell_word("/a/b-c_d.warc.gz"), "/a/b-c_d.warc.gz");
        assert_eq!(shell_word("http://x/?a=1&b=2"), "'http://x/?a=1&b=2'");
        assert_eq!(shell_word("it's"), "'it'\\''s'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn no_colour_without_a_terminal() {
        assert_eq!(Style::new(false).bold("x"), "x");
        assert_eq!(Style { on: true }.bold("x"), "\x1b[1mx\x1b[0m");
    }
}
