//! Archived HTML, read tag by tag and written anew so that it reaches nothing by itself.
//!
//! Browsers open connections for some references before they ask the policy whether they may (frames, `<link
//! rel=preconnect>`), and read a page in ways that no tokenizer alone can tell. So nothing is passed on as it came.
//! Invariants:
//! - every `<` that is sent begins a tag that was put together here, or a document type: in text and in values it is a
//!   character reference, in CSS an escape. Whatever a browser takes for a comment, a script or text, it finds no tag in
//!   it that is not one of ours;
//! - of attributes only those of [`kept`] are written; of addresses only places in the page, pictures that are
//!   their own address, and links turned inwards.
//!
//! What CSS names is left to the policy, which browsers ask before they connect to it.

use html5gum::emitters::{Emitter, ForwardingEmitter};
use html5gum::{Error, State};
use url::Url;

use super::kept::{self, Fate, Place};
use super::links::{Lead, Spot};
use crate::present;

/// Bytes held of one tag, or of the CSS of one element. Attributes that do not fit are left out, CSS is cut.
const HELD_BYTES_MAX: usize = 8 << 20;

/// No element that is written has a longer name.
const NAME_BYTES_MAX: usize = 64;

/// Characters of an address that are shown for a frame.
const SHOWN_CHARS_MAX: usize = 200;

/// Writes one page.
#[derive(Debug)]
pub(super) struct Writer {
    spot: Spot,
    /// What references are resolved against.
    base: Option<Url>,
    /// The first `base` so far that says something.
    told_base: Option<Url>,
    tag: Tag,
    doctype: Doctype,
    /// The start tag whose end tag ends raw text.
    last_start_tag: Vec<u8>,
    /// Open `svg` and `math`.
    foreign_depth: u32,
    has_frameset: bool,
    inside: Inside,
    /// Not yet taken.
    written: Vec<u8>,
    /// A piece is taken when it has so many bytes, the last one at the end.
    piece_bytes: usize,
    is_over: bool,
}

/// The tag being read.
#[derive(Debug, Default)]
struct Tag {
    name: Vec<u8>,
    is_end: bool,
    closes_itself: bool,
    attributes: Vec<Attribute>,
    /// The name of an attribute being read.
    attribute: Option<Vec<u8>>,
    /// Whether the value being read is that of the last attribute.
    takes_value: bool,
    held_bytes: usize,
}

#[derive(Debug)]
struct Attribute {
    name: Vec<u8>,
    value: Vec<u8>,
    place: Place,
}

/// What text is part of.
#[derive(Debug, PartialEq, Eq)]
enum Inside {
    Page,
    /// An element that is dropped, and how many of its name are open.
    Dropped(Vec<u8>, u32),
    /// The CSS so far.
    Style(Vec<u8>),
}

#[derive(Debug, Default)]
struct Doctype {
    name: Vec<u8>,
    public: Vec<u8>,
    system: Vec<u8>,
    is_quirky: bool,
    /// Nothing was written before.
    is_first: bool,
}

impl Writer {
    /// For the page at `spot`, whose first `base` is known.
    pub(super) fn new(spot: Spot, first_base: Option<Url>, piece_bytes: usize) -> Writer {
        let mut writer = Writer {
            base: first_base.or_else(|| spot.url().cloned()),
            spot,
            told_base: None,
            tag: Tag::default(),
            doctype: Doctype {
                is_first: true,
                ..Doctype::default()
            },
            last_start_tag: Vec::new(),
            foreign_depth: 0,
            has_frameset: false,
            inside: Inside::Page,
            written: Vec::new(),
            piece_bytes,
            is_over: false,
        };
        if writer.spot.is_xml() {
            // XML has no other way of being shown.
            writer.put("<!DOCTYPE html>");
        }
        writer
    }

    fn put(&mut self, text: &str) {
        self.written.extend_from_slice(text.as_bytes());
    }

    fn begin_tag(&mut self, is_end: bool) {
        self.tag = Tag {
            is_end,
            ..Tag::default()
        };
    }

    /// What follows a start tag, as a browser without scripts reads it.
    fn next_state(&self) -> Option<State> {
        let name = self.tag.name.as_slice();
        let is_markup = match (self.spot.is_xml(), self.foreign_depth > 0) {
            // Real documents do not escape what is in these, whatever type they declare.
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

    /// Whether `/>` ends the element whose start tag it ends.
    fn closes_itself(&self) -> bool {
        let foreign = self.foreign_depth > 0 || matches!(self.tag.name.as_slice(), b"svg" | b"math");
        self.tag.closes_itself && (self.spot.is_xml() || foreign)
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
        let fate = match kept::fate(&self.tag.name) {
            // Where there are frames, what stands for them is all there is to read.
            Fate::Unwrapped if self.tag.name == b"noframes" && !self.has_frameset => Fate::Dropped,
            fate => fate,
        };
        match fate {
            Fate::Kept => self.write_start(closes_itself),
            Fate::Preformatted => self.put("<pre>"),
            Fate::Unwrapped => self.look_at_unwrapped(),
            Fate::Style | Fate::Dropped => {}
            Fate::Frame(word) | Fate::Embedded(word) => self.write_frame(word),
        }
        if !closes_itself && !kept::is_void(&self.tag.name) {
            match fate {
                Fate::Dropped | Fate::Frame(_) => self.inside = Inside::Dropped(self.tag.name.clone(), 1),
                Fate::Style => {
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
        match kept::fate(&name) {
            // HTML takes `</br>` for another one.
            Fate::Kept if self.spot.is_xml() && kept::is_void(&name) => {}
            Fate::Kept => self.write_end(&name),
            Fate::Preformatted => self.put("</pre>"),
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
        // Pages of this server are never shown in a frame.
        if leads_to_page {
            self.put(" target=\"_top\"");
        }
        let foreign = self.foreign_depth > 0 || matches!(name.as_slice(), b"svg" | b"math");
        self.put(if closes_itself && foreign { "/>" } else { ">" });
        // HTML knows no element that closes itself.
        if closes_itself && !foreign && !kept::is_void(&name) {
            self.write_end(&name);
        }
        self.tag.name = name;
    }

    fn write_end(&mut self, name: &[u8]) {
        self.put("</");
        self.written.extend_from_slice(name);
        self.put(">");
    }

    /// Writes an attribute, as far as it may be; says whether it leads to a page of this server.
    fn write_attribute(&mut self, attribute: &Attribute) -> bool {
        let Attribute { name, value, place } = attribute;
        let text = String::from_utf8_lossy(value);
        let is_inside = text.trim_start().starts_with('#');
        match place {
            Place::None => self.write_value(name, value),
            Place::Inside if is_inside => self.write_value(name, value),
            Place::Picture if is_inside || is_data(&text) => self.write_value(name, value),
            Place::Inside | Place::Picture | Place::Framed => {}
            Place::Link => match self.spot.lead(self.base.as_ref(), &text) {
                Lead::Here(reference) => self.write_value(name, reference.as_bytes()),
                Lead::Page(page) => {
                    self.write_value(name, page.as_bytes());
                    return true;
                }
                Lead::Nowhere => {}
            },
        }
        false
    }

    fn write_value(&mut self, name: &[u8], value: &[u8]) {
        self.written.push(b' ');
        self.written.extend_from_slice(name);
        self.put("=\"");
        escape(value, &mut self.written);
        self.put("\"");
    }

    /// A link in place of another document.
    fn write_frame(&mut self, word: &str) {
        let attributes = std::mem::take(&mut self.tag.attributes);
        let framed = attributes
            .iter()
            .find(|attribute| attribute.place == Place::Framed);
        let Some(framed) = framed else { return };
        let reference = String::from_utf8_lossy(&framed.value);
        let Some(target) = self.spot.framed(self.base.as_ref(), &reference) else {
            return;
        };
        let Some(page) = self.spot.page_of(&target) else {
            return;
        };
        self.doctype.is_first = false;
        let is_block = self.tag.name == b"frame";
        self.put(if is_block { "<p><a" } else { "<a" });
        self.write_value(b"href", page.as_bytes());
        self.put(" target=\"_top\"");
        // What nobody was to see stays hidden.
        for attribute in attributes {
            if matches!(attribute.name.as_slice(), b"style" | b"class" | b"hidden") {
                self.write_value(&attribute.name, &attribute.value);
            }
        }
        let (shown, is_cut) = present::cut(target.as_str(), SHOWN_CHARS_MAX);
        let rest = if is_cut { "\u{2026}" } else { "" };
        self.put(">");
        escape(format!("{word}: {shown}{rest}").as_bytes(), &mut self.written);
        self.put(if is_block { "</a></p>" } else { "</a> " });
    }

    fn look_at_unwrapped(&mut self) {
        match self.tag.name.as_slice() {
            b"frameset" => self.has_frameset = true,
            b"base" => self.take_base(),
            _ => {}
        }
    }

    /// The first `base` counts, and only where it says something.
    fn take_base(&mut self) {
        let href = self
            .tag
            .attributes
            .iter()
            .find(|attribute| attribute.name == b"href");
        if let (None, Some(own), Some(href)) = (&self.told_base, self.spot.url(), href) {
            self.told_base = own.join(String::from_utf8_lossy(&href.value).trim()).ok();
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

    /// The document type says which of two ways of laying out a page holds: it is written anew from the parts that do.
    fn write_doctype(&mut self) {
        let doctype = std::mem::take(&mut self.doctype);
        if self.spot.is_xml() || !doctype.is_first || doctype.is_quirky || doctype.name != b"html" {
            return;
        }
        let quoted = |id: &[u8]| format!(" \"{}\"", String::from_utf8_lossy(id));
        let ids = match (doctype.public.as_slice(), doctype.system.as_slice()) {
            (public, system) if !is_plain_id(public) || !is_plain_id(system) => String::new(),
            (b"", b"") => String::new(),
            (b"", system) => format!(" SYSTEM{}", quoted(system)),
            (public, b"") => format!(" PUBLIC{}", quoted(public)),
            (public, system) => format!(" PUBLIC{}{}", quoted(public), quoted(system)),
        };
        self.put(&format!("<!DOCTYPE html{ids}>"));
    }
}

impl Tag {
    /// Keeps bytes of a tag, as long as there is room.
    fn hold(&mut self, bytes: usize) -> bool {
        self.held_bytes = self.held_bytes.saturating_add(bytes);
        self.held_bytes <= HELD_BYTES_MAX
    }

    /// The name of an attribute has been read, or the tag ends. Of repeated ones the first counts.
    fn end_attribute(&mut self) {
        let Some(name) = self.attribute.take() else { return };
        let place = kept::place(&self.name, &name);
        let is_new = !self.attributes.iter().any(|attribute| attribute.name == name);
        self.takes_value = is_new && place.is_some() && self.hold(name.len());
        if let (true, Some(place)) = (self.takes_value, place) {
            self.attributes.push(Attribute {
                name,
                value: Vec::new(),
                place,
            });
        }
    }

    fn push_value(&mut self, part: &[u8]) {
        self.end_attribute();
        if !self.takes_value {
            return;
        }
        if self.hold(part.len()) {
            if let Some(attribute) = self.attributes.last_mut() {
                attribute.value.extend_from_slice(part);
            }
        } else {
            // Half an address would be another one.
            self.attributes.pop();
            self.takes_value = false;
        }
    }
}

/// Whether an address is the picture itself.
fn is_data(address: &str) -> bool {
    let head = address.trim_start().as_bytes();
    head.get(..5)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"data:"))
}

/// Whether an identifier of a document type holds nothing that could end it.
fn is_plain_id(id: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b" -_./:+,'()".contains(byte);
    id.len() <= 256 && id.iter().all(plain)
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

/// Writes CSS so that no tag can begin in it. A `<` before anything else stays: it compares, as in `width < 600px`.
fn write_css(css: &[u8], into: &mut Vec<u8>) {
    // Marks of those who hide CSS from old browsers, or from XML.
    const MARKS: [&[u8]; 3] = [b"<!--", b"<![CDATA[", b"]]>"];
    let mut rest = css;
    while let Some((&byte, after)) = rest.split_first() {
        if let Some(mark) = MARKS.iter().find(|mark| rest.starts_with(mark)) {
            // A blank, so that what is on both sides makes no new mark or tag.
            into.push(b' ');
            rest = &rest[mark.len()..];
            continue;
        }
        let begins = |next: &u8| next.is_ascii_alphabetic() || matches!(next, b'/' | b'!' | b'?');
        match byte {
            b'<' if after.first().is_none_or(begins) => into.extend_from_slice(b"\\3c "),
            _ => into.push(byte),
        }
        rest = after;
    }
}

/// Writes nothing: finds the first `base` by the same rules.
#[derive(Debug)]
pub(super) struct BaseFinder(Writer);

impl BaseFinder {
    pub(super) fn new(spot: Spot) -> BaseFinder {
        BaseFinder(Writer::new(spot, None, usize::MAX))
    }
}

impl ForwardingEmitter for BaseFinder {
    type Token = Vec<u8>;

    fn inner(&mut self) -> &mut impl Emitter<Token = Vec<u8>> {
        &mut self.0
    }

    /// The base, as soon as it is known.
    fn pop_token(&mut self) -> Option<Vec<u8>> {
        self.0.written.clear();
        self.0
            .told_base
            .take()
            .map(|base| String::from(base).into_bytes())
    }
}

impl Emitter for Writer {
    type Token = Vec<u8>;

    fn set_last_start_tag(&mut self, last_start_tag: Option<&[u8]>) {
        self.last_start_tag = last_start_tag.unwrap_or_default().to_vec();
    }

    fn emit_eof(&mut self) {
        self.end_style();
        self.is_over = true;
    }

    fn emit_error(&mut self, _error: Error) {}

    fn should_emit_errors(&mut self) -> bool {
        false
    }

    fn pop_token(&mut self) -> Option<Vec<u8>> {
        let is_due = self.written.len() >= self.piece_bytes || (self.is_over && !self.written.is_empty());
        is_due.then(|| std::mem::take(&mut self.written))
    }

    fn emit_string(&mut self, text: &[u8]) {
        self.text(text);
    }

    fn init_start_tag(&mut self) {
        self.begin_tag(false);
    }

    fn init_end_tag(&mut self) {
        self.begin_tag(true);
    }

    fn init_comment(&mut self) {}

    fn emit_current_tag(&mut self) -> Option<State> {
        if !self.tag.is_end {
            return self.start_tag();
        }
        self.end_tag();
        self.last_start_tag.clear();
        None
    }

    fn emit_current_comment(&mut self) {}

    fn emit_current_doctype(&mut self) {
        self.write_doctype();
    }

    fn set_self_closing(&mut self) {
        self.tag.closes_itself = true;
    }

    fn set_force_quirks(&mut self) {
        self.doctype.is_quirky = true;
    }

    fn push_tag_name(&mut self, part: &[u8]) {
        if self.tag.name.len() <= NAME_BYTES_MAX {
            self.tag.name.extend_from_slice(part);
        }
    }

    fn push_comment(&mut self, _part: &[u8]) {}

    fn init_doctype(&mut self) {
        self.doctype = Doctype {
            is_first: self.doctype.is_first,
            ..Doctype::default()
        };
    }

    fn push_doctype_name(&mut self, part: &[u8]) {
        push_id(&mut self.doctype.name, part);
    }

    fn init_attribute(&mut self) {
        self.tag.end_attribute();
        self.tag.attribute = Some(Vec::new());
    }

    fn push_attribute_name(&mut self, part: &[u8]) {
        if let Some(name) = &mut self.tag.attribute
            && name.len() <= NAME_BYTES_MAX
        {
            name.extend_from_slice(part);
        }
    }

    fn push_attribute_value(&mut self, part: &[u8]) {
        self.tag.push_value(part);
    }

    fn set_doctype_public_identifier(&mut self, value: &[u8]) {
        self.doctype.public.clear();
        push_id(&mut self.doctype.public, value);
    }

    fn set_doctype_system_identifier(&mut self, value: &[u8]) {
        self.doctype.system.clear();
        push_id(&mut self.doctype.system, value);
    }

    fn push_doctype_public_identifier(&mut self, part: &[u8]) {
        push_id(&mut self.doctype.public, part);
    }

    fn push_doctype_system_identifier(&mut self, part: &[u8]) {
        push_id(&mut self.doctype.system, part);
    }

    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        self.tag.is_end && !self.last_start_tag.is_empty() && self.last_start_tag == self.tag.name
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&mut self) -> bool {
        self.spot.is_xml() || self.foreign_depth > 0
    }
}

/// Keeps a part of a document type; what is longer is not plain anyway.
fn push_id(id: &mut Vec<u8>, part: &[u8]) {
    if id.len() <= 256 {
        id.extend_from_slice(&part[..part.len().min(300)]);
    }
}
