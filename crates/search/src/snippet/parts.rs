//! A snippet as plain text in parts, each a match or the text between matches. Callers convert it
//! to HTML or terminal text.
//!
//! Invariants:
//! - No part is empty, and parts that do not match are separated by parts that do.
//! - White space is a single blank. Control characters and characters that change the writing
//!   direction are removed, so that a text cannot reorder the text around it.

use crate::words;

/// Number of characters after which a word without a break is cut.
const WORD_CHARS_MAX: usize = 40;

/// Maximum number of characters of a match.
const MATCH_CHARS_MAX: usize = 120;

/// Upper limit for the initial capacity of a part in bytes. Snippets have some 200 characters.
const ROOM_BYTES_MAX: usize = 256;

/// The best part of a page's text, for display.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snippet {
    /// In the order of the text; empty if there is no text.
    pub parts: Vec<SnippetPart>,
}

impl Snippet {
    /// Returns the text without marks.
    pub fn text(&self) -> String {
        self.parts.iter().map(|part| part.text.as_str()).collect()
    }
}

/// A part of a snippet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnippetPart {
    /// Plain text, not escaped.
    pub text: String,
    /// Whether it matches the query.
    pub matched: bool,
}

/// A snippet under construction.
pub(super) struct PartsBuilder {
    parts: Vec<SnippetPart>,
    /// Whether the next character begins a part.
    begins: bool,
    matched: bool,
    /// Whether to add a blank before the next character.
    space: bool,
    /// Characters since the last possible line break.
    run: usize,
    /// Initial capacity of a new part, in bytes.
    room: usize,
}

impl PartsBuilder {
    /// Starts a snippet, with an ellipsis if text before the part is omitted.
    pub(super) fn new(cut: bool) -> PartsBuilder {
        let mut builder = PartsBuilder {
            parts: Vec::new(),
            begins: true,
            matched: false,
            space: false,
            run: 0,
            room: 0,
        };
        if cut {
            builder.push('…');
        }
        builder
    }

    /// Adds text between matches.
    pub(super) fn text(&mut self, text: &str) {
        self.add(text, WORD_CHARS_MAX);
    }

    /// Adds a match.
    pub(super) fn matched(&mut self, text: &str) {
        // Must come before the part begins: white space in front of a match does not belong to it.
        self.end_space();
        self.begin(true);
        self.add(text, MATCH_CHARS_MAX);
        self.begin(false);
    }

    /// Finishes the snippet, with an ellipsis if text after the part is omitted.
    pub(super) fn finish(mut self, cut: bool) -> Snippet {
        if cut {
            self.push('…');
        }
        Snippet { parts: self.parts }
    }

    fn begin(&mut self, matched: bool) {
        self.begins = true;
        self.matched = matched;
        self.run = 0;
    }

    fn add(&mut self, text: &str, run_max: usize) {
        self.room = text.len().min(ROOM_BYTES_MAX);
        let mut rest = text;
        loop {
            let plain = rest.bytes().take_while(u8::is_ascii_graphic).count();
            self.add_plain(&rest[..plain], run_max);
            let mut chars = rest[plain..].chars();
            let Some(c) = chars.next() else {
                return;
            };
            rest = chars.as_str();
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
                    self.push('…');
                }
                continue;
            }
            self.end_space();
            self.push(c);
        }
    }

    /// Adds visible ASCII characters, which most texts consist of. [`PartsBuilder::add`] does the
    /// same character by character.
    fn add_plain(&mut self, text: &str, run_max: usize) {
        let shown = run_max.saturating_sub(self.run).min(text.len());
        let was_cut = self.run > run_max;
        self.run += text.len();
        if shown > 0 {
            self.end_space();
            self.push_str(&text[..shown]);
        }
        if self.run > run_max && !was_cut {
            self.push('…');
        }
    }

    fn end_space(&mut self) {
        if std::mem::take(&mut self.space) && !self.parts.is_empty() {
            self.push(' ');
        }
    }

    fn push(&mut self, c: char) {
        self.push_str(c.encode_utf8(&mut [0; 4]));
    }

    fn push_str(&mut self, text: &str) {
        match self.parts.last_mut() {
            Some(part) if !self.begins => part.text.push_str(text),
            _ => {
                let mut part = String::with_capacity(self.room.max(text.len()));
                part.push_str(text);
                self.parts.push(SnippetPart {
                    text: part,
                    matched: self.matched,
                });
            }
        }
        self.begins = false;
    }
}

/// Returns whether a character is a control character or only changes the layout of its neighbours.
fn is_left_out(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{AD}' | '\u{61C}' | '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}')
}
