//! XML feeds: RSS 0.9 to 2.0, RSS 1.0 (RDF), Atom.
//!
//! The title is that of the feed. The text is the titles and texts of feed and entries, one after
//! another. Texts of entries are usually HTML, and are read like it. A feed that is malformed or
//! truncated is read up to that point.

use quick_xml::Reader;
use quick_xml::events::{BytesRef, BytesStart, Event};

use super::line;
use crate::Page;
use crate::html::{self, TEXT_BYTES_MAX};
use crate::language;
use crate::mime::Markup;
use crate::text::Collapser;

/// Number of bytes that must contain the first element: declarations, comments and style sheets may
/// come before it.
const HEAD_BYTES: usize = 4096;

/// Returns whether a payload begins like a feed and not like other XML. Feeds in UTF-16 are not
/// recognised.
pub(super) fn begins(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    let head = String::from_utf8_lossy(head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head));
    let mut reader = reader(head.trim_start());
    while let Ok(event) = reader.read_event() {
        match event {
            Event::Start(element) => return is_root(&element, &head),
            Event::Decl(_) | Event::PI(_) | Event::Comment(_) | Event::DocType(_) => {}
            Event::Text(text) if text.iter().all(u8::is_ascii_whitespace) => {}
            _ => return false,
        }
    }
    false
}

fn is_root(element: &BytesStart<'_>, head: &str) -> bool {
    match element.local_name().as_ref() {
        b"rss" => true,
        b"feed" => head.contains("http://www.w3.org/2005/Atom") || head.contains("http://purl.org/atom/"),
        b"RDF" => head.contains("http://purl.org/rss/") || head.contains("netscape.com/rdf/simple/0.9"),
        _ => false,
    }
}

fn reader(xml: &str) -> Reader<&[u8]> {
    let mut reader = Reader::from_str(xml);
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    reader
}

/// Reads a feed; `None` if it is other XML.
pub(super) fn read(xml: &str) -> Option<Page> {
    let xml = xml.trim_start_matches('\u{feff}').trim_start();
    let mut reader = reader(xml);
    let mut walk = Walk::default();
    while !walk.found.is_full() {
        match reader.read_event() {
            Ok(Event::Start(element)) => walk.open(&element),
            Ok(Event::Empty(element)) => walk.empty(&element),
            Ok(Event::End(element)) => walk.close(element.local_name().as_ref()),
            Ok(Event::Text(text)) => walk.text(&String::from_utf8_lossy(&text)),
            Ok(Event::CData(text)) => walk.text(&String::from_utf8_lossy(&text)),
            Ok(Event::GeneralRef(reference)) => walk.reference(&reference),
            Ok(Event::Eof) | Err(_) => break,
            Ok(_) => {}
        }
    }
    walk.close_all();
    Some(walk.found.finish())
}

/// The meaning of an element of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// `channel` of RSS, or `feed`.
    Feed,
    /// `item` or `entry`.
    Entry,
    /// `title`.
    Title,
    /// `description`, `summary`, `content`, ...
    Text,
    /// `language` of RSS.
    Language,
    Other,
}

impl Part {
    fn of(name: &[u8]) -> Part {
        match name {
            b"channel" | b"feed" => Part::Feed,
            b"item" | b"entry" => Part::Entry,
            b"title" => Part::Title,
            b"description" | b"summary" | b"content" | b"encoded" | b"subtitle" | b"tagline" | b"info" => {
                Part::Text
            }
            b"language" => Part::Language,
            _ => Part::Other,
        }
    }

    fn has_text(self) -> bool {
        matches!(self, Part::Title | Part::Text | Part::Language)
    }
}

/// A feed being read.
#[derive(Default)]
struct Walk {
    /// Open elements.
    open: Vec<Part>,
    /// Number of open entries. Counting avoids a search of `open` at each element, which takes
    /// quadratic time in a deeply nested document.
    entries: usize,
    /// Depth within the element whose text is gathered, which itself counts as 1; 0 outside.
    depth: usize,
    /// Gathered text of that element.
    gathered: String,
    found: Collected,
}

impl Walk {
    fn open(&mut self, element: &BytesStart<'_>) {
        let part = Part::of(element.local_name().as_ref());
        // Elements within a text are its markup (`type="xhtml"`).
        if self.depth > 0 {
            self.depth += 1;
            self.gather_tag("<", element.local_name().as_ref());
        } else if part.has_text() {
            self.depth = 1;
        }
        self.empty(element);
        self.open.push(part);
        self.entries += usize::from(part == Part::Entry);
    }

    /// Handles an element without content, of which only the language counts.
    fn empty(&mut self, element: &BytesStart<'_>) {
        if self.depth > 0 || self.entries > 0 {
            return;
        }
        if let Ok(Some(value)) = element.try_get_attribute("xml:lang") {
            self.found.language(&String::from_utf8_lossy(&value.value));
        }
    }

    fn close(&mut self, name: &[u8]) {
        let Some(part) = self.open.pop() else { return };
        self.entries -= usize::from(part == Part::Entry);
        match self.depth {
            0 => {}
            1 => {
                self.depth = 0;
                self.take(part);
            }
            _ => {
                self.gather_tag("</", name);
                self.depth -= 1;
            }
        }
    }

    /// Closes all elements at the end of the readable part.
    fn close_all(&mut self) {
        while !self.open.is_empty() {
            self.close(b"");
        }
    }

    fn take(&mut self, part: Part) {
        let gathered = std::mem::take(&mut self.gathered);
        let owner = self.open.last();
        match part {
            Part::Language if owner == Some(&Part::Feed) => self.found.language(&gathered),
            // Only the feed's own title counts, not that of an image or a text box.
            Part::Title if owner == Some(&Part::Feed) && !self.found.has_title() => {
                self.found.title(&text_of_html(&gathered));
            }
            Part::Title | Part::Text if matches!(owner, Some(Part::Feed | Part::Entry)) => {
                self.found.add_html(&gathered);
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        match self.depth {
            0 => {}
            1 => self.gather(text),
            // Tags of this text are kept, so text between them must not look like markup.
            _ => self.gather(&quick_xml::escape::partial_escape(text)),
        }
    }

    fn gather_tag(&mut self, begin: &str, name: &[u8]) {
        self.gather(begin);
        self.gather(&String::from_utf8_lossy(name));
        self.gather(">");
    }

    /// Resolves `&amp;` or `&#233;`. Named entities of HTML are left to its reader.
    fn reference(&mut self, reference: &BytesRef<'_>) {
        if self.depth == 0 {
            return;
        }
        if let Ok(Some(char)) = reference.resolve_char_ref() {
            self.text(char.encode_utf8(&mut [0; 4]));
            return;
        }
        let name = String::from_utf8_lossy(reference);
        match quick_xml::escape::resolve_xml_entity(&name) {
            Some(text) => self.text(text),
            None => self.gather(&format!("&{name};")),
        }
    }

    /// The kept text ends at [`TEXT_BYTES_MAX`]; markup may be several times as long as its text.
    fn gather(&mut self, text: &str) {
        if self.gathered.len() <= 8 * TEXT_BYTES_MAX {
            self.gathered.push_str(text);
        }
    }
}

/// Title and text of a feed being read.
pub(super) struct Collected {
    title: String,
    language: String,
    text: Collapser,
}

impl Default for Collected {
    fn default() -> Collected {
        Collected {
            title: String::new(),
            language: String::new(),
            text: Collapser::lines(TEXT_BYTES_MAX),
        }
    }
}

impl Collected {
    pub(super) fn title(&mut self, title: &str) {
        self.title = line(title);
    }

    fn has_title(&self) -> bool {
        !self.title.is_empty()
    }

    /// Sets the language, if none is set yet.
    pub(super) fn language(&mut self, declared: &str) {
        if self.language.is_empty() {
            self.language = language::declared(declared).unwrap_or_default();
        }
    }

    pub(super) fn add_plain(&mut self, text: &str) {
        for line in text.lines() {
            self.text.push(line.as_bytes());
            self.text.break_line();
        }
    }

    pub(super) fn add_html(&mut self, html: &str) {
        self.add_plain(&text_of_html(html));
    }

    /// Returns whether more text would be cut off.
    fn is_full(&self) -> bool {
        self.text.len() >= TEXT_BYTES_MAX
    }

    pub(super) fn finish(self) -> Page {
        let (text, text_truncated) = self.text.finish();
        Page {
            title: self.title,
            language: self.language,
            text,
            text_truncated,
            ..Page::default()
        }
    }
}

fn text_of_html(html: &str) -> String {
    html::read(html, Markup::Html, true).text.finish().0
}
