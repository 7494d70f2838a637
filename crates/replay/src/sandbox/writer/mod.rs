//! Reads archived HTML tag by tag and writes it again, so that it reaches nothing by itself.
//!
//! Browsers open connections for some references (frames, `<link rel=preconnect>`) before they
//! check the policy, and they parse a page in ways that a tokenizer alone cannot predict. So no
//! markup is passed on unchanged. Invariants:
//! - Every `<` that is sent begins a tag or a document type written here. In text and values it is
//!   a character reference, in CSS an escape. So even if a browser takes a part for a comment, a
//!   script or text, it finds only tags written here.
//! - Only the attributes in [`allow_list`] are written. The only addresses are places in the page,
//!   pictures in `data:` URLs, and links to this server.
//!
//! Addresses in CSS are left to the policy, which browsers check before they connect to them.

use html5gum::State;
use url::Url;

use super::allow_list::{self, ElementRule};
use super::links::ArchivedPage;

mod attributes;
mod base;
mod css;
mod doctype;
mod emitter;
mod tag;

pub(super) use base::BaseFinder;
use css::write_css;
use doctype::Doctype;
use tag::{HELD_BYTES_MAX, Tag};

/// Writes one page.
#[derive(Debug)]
pub(super) struct Writer {
    page: ArchivedPage,
    /// The address that references are resolved against.
    base: Option<Url>,
    /// The first `base` with an address so far.
    found_base: Option<Url>,
    tag: Tag,
    doctype: Doctype,
    /// Name of the last start tag. Only its end tag ends raw text.
    last_start_tag: Vec<u8>,
    /// Number of open `svg` and `math` elements.
    foreign_depth: u32,
    has_frameset: bool,
    inside: Inside,
    /// Bytes that were not returned yet.
    written: Vec<u8>,
    /// A piece is returned once it has this many bytes. The last one is returned at the end of the
    /// page.
    piece_bytes: usize,
    is_over: bool,
}

/// Context of the text being read.
#[derive(Debug, PartialEq, Eq)]
enum Inside {
    Page,
    /// A dropped element, and the number of open elements with its name.
    Dropped(Vec<u8>, u32),
    /// The CSS read so far.
    Style(Vec<u8>),
}

impl Writer {
    /// Returns a writer for a page whose first `base` is known.
    pub(super) fn new(page: ArchivedPage, first_base: Option<Url>, piece_bytes: usize) -> Writer {
        let mut writer = Writer {
            base: first_base.or_else(|| page.url.clone()),
            page,
            found_base: None,
            tag: Tag::default(),
            doctype: Doctype::first(),
            last_start_tag: Vec::new(),
            foreign_depth: 0,
            has_frameset: false,
            inside: Inside::Page,
            written: Vec::new(),
            piece_bytes,
            is_over: false,
        };
        if writer.page.is_xml {
            // XML is always laid out in standards mode. This document type selects that mode in
            // HTML.
            writer.put("<!DOCTYPE html>");
        }
        writer
    }

    fn put(&mut self, text: &str) {
        self.written.extend_from_slice(text.as_bytes());
    }

    /// Returns the tokenizer's state after a start tag, as in a browser without scripts.
    fn next_state(&self) -> Option<State> {
        let name = self.tag.name.as_slice();
        let is_markup = match (self.page.is_xml, self.foreign_depth > 0) {
            // Real documents do not escape the content of these elements, even if their type
            // requires it.
            (true, _) => self.tag.closes_itself || !matches!(name, b"script" | b"style"),
            (false, true) => self.tag.closes_itself || name == b"title",
            (false, false) => false,
        };
        match name {
            _ if is_markup => None,
            b"title" | b"textarea" => Some(State::RcData),
            b"script" => Some(State::ScriptData),
            b"noframes" if self.has_frameset => None,
            b"style" | b"iframe" | b"noembed" | b"noframes" | b"xmp" => Some(State::RawText),
            b"plaintext" => Some(State::PlainText),
            _ => None,
        }
    }

    /// Returns whether the `/>` of a start tag ends the element.
    fn closes_itself(&self) -> bool {
        let foreign = self.foreign_depth > 0 || matches!(self.tag.name.as_slice(), b"svg" | b"math");
        self.tag.closes_itself && (self.page.is_xml || foreign)
    }

    fn start_tag(&mut self) -> Option<State> {
        self.tag.end_attribute();
        let closes_itself = self.closes_itself();
        if let Inside::Dropped(name, depth) = &mut self.inside {
            *depth += u32::from(*name == self.tag.name && !closes_itself);
            return None;
        }
        self.end_style();
        let next = self.next_state();
        let fate = match allow_list::element_rule(&self.tag.name) {
            // In a page with a frameset, the content for browsers without frames is all there is to
            // read.
            ElementRule::Unwrap if self.tag.name == b"noframes" && !self.has_frameset => ElementRule::Drop,
            fate => fate,
        };
        match fate {
            ElementRule::Keep => self.write_start(closes_itself),
            ElementRule::Preformatted => self.put("<pre>"),
            ElementRule::Unwrap => self.note_unwrapped(),
            ElementRule::Style | ElementRule::Drop => {}
            ElementRule::Frame(word) | ElementRule::Embedded(word) => self.write_frame(word),
        }
        if !closes_itself && !allow_list::is_void(&self.tag.name) {
            match fate {
                ElementRule::Drop | ElementRule::Frame(_) => {
                    self.inside = Inside::Dropped(self.tag.name.clone(), 1)
                }
                ElementRule::Style => {
                    self.write_start(false);
                    self.inside = Inside::Style(Vec::new());
                }
                _ => {}
            }
            self.foreign_depth += u32::from(matches!(self.tag.name.as_slice(), b"svg" | b"math"));
        }
        std::mem::swap(&mut self.last_start_tag, &mut self.tag.name);
        next
    }

    fn end_tag(&mut self) {
        if let Inside::Dropped(name, depth) = &mut self.inside {
            *depth -= u32::from(*name == self.tag.name);
            if *depth == 0 {
                self.inside = Inside::Page;
            }
            return;
        }
        self.end_style();
        let name = std::mem::take(&mut self.tag.name);
        match allow_list::element_rule(&name) {
            // HTML reads `</br>` as `<br>`, so it must not be written for XML.
            ElementRule::Keep if self.page.is_xml && allow_list::is_void(&name) => {}
            ElementRule::Keep => self.write_end(&name),
            ElementRule::Preformatted => self.put("</pre>"),
            _ => {}
        }
        if matches!(name.as_slice(), b"svg" | b"math") {
            self.foreign_depth = self.foreign_depth.saturating_sub(1);
        }
    }

    fn write_start(&mut self, closes_itself: bool) {
        let name = std::mem::take(&mut self.tag.name);
        self.doctype.is_first = false;
        self.written.push(b'<');
        self.written.extend_from_slice(&name);
        let mut leads_to_page = false;
        for attribute in std::mem::take(&mut self.tag.attributes) {
            leads_to_page |= self.write_attribute(&attribute);
        }
        // Pages of this server must not be shown in a frame, so such a link replaces the whole
        // window.
        if leads_to_page {
            self.put(" target=\"_top\"");
        }
        let foreign = self.foreign_depth > 0 || matches!(name.as_slice(), b"svg" | b"math");
        self.put(if closes_itself && foreign { "/>" } else { ">" });
        // In HTML no element closes itself, so the end tag is written.
        if closes_itself && !foreign && !allow_list::is_void(&name) {
            self.write_end(&name);
        }
        self.tag.name = name;
    }

    fn write_end(&mut self, name: &[u8]) {
        self.put("</");
        self.written.extend_from_slice(name);
        self.put(">");
    }

    fn note_unwrapped(&mut self) {
        match self.tag.name.as_slice() {
            b"frameset" => self.has_frameset = true,
            b"base" => self.note_base(),
            _ => {}
        }
    }

    /// Notes the address of a `base`. Only the first one with an address counts (WHATWG HTML, the
    /// `base` element).
    fn note_base(&mut self) {
        let href = self
            .tag
            .attributes
            .iter()
            .find(|attribute| attribute.name == b"href");
        if let (None, Some(own), Some(href)) = (&self.found_base, self.page.url.as_ref(), href) {
            self.found_base = own.join(String::from_utf8_lossy(&href.value).trim()).ok();
        }
    }

    fn end_style(&mut self) {
        if let Inside::Style(css) = &mut self.inside {
            let css = std::mem::take(css);
            self.inside = Inside::Page;
            write_css(&css, &mut self.written);
            self.put("</style>");
        }
    }

    fn text(&mut self, text: &[u8]) {
        match &mut self.inside {
            Inside::Dropped(..) => {}
            Inside::Style(css) => {
                let room = HELD_BYTES_MAX.saturating_sub(css.len());
                css.extend_from_slice(&text[..text.len().min(room)]);
            }
            Inside::Page => {
                self.doctype.is_first &= text.iter().all(u8::is_ascii_whitespace);
                escape(text, &mut self.written);
            }
        }
    }
}

fn escape(text: &[u8], into: &mut Vec<u8>) {
    for &byte in text {
        match byte {
            b'<' => into.extend_from_slice(b"&lt;"),
            b'>' => into.extend_from_slice(b"&gt;"),
            b'&' => into.extend_from_slice(b"&amp;"),
            b'"' => into.extend_from_slice(b"&quot;"),
            _ => into.push(byte),
        }
    }
}
