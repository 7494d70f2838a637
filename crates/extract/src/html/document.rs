//! Collects title, text, links, images and declarations of a document, tag by tag.

use super::attributes::{Attribute, Attributes};
use super::images::RawImages;
use super::open::OpenElements;
use super::raw_links::{AnchorEnd, AnchorId, RawLinks};
use super::refresh;
use super::tag::{Gap, Kind, Role, Tag};
use crate::LinkKind;
use crate::links::Occurrence;
use crate::text::Collapser;

/// Largest text kept of a page, in bytes.
pub const TEXT_BYTES_MAX: usize = 1 << 20;

/// Largest title kept, in characters: a `title` that is not closed contains the whole page.
pub(crate) const TITLE_CHARS_MAX: usize = 1024;

/// Links, text, images and a few declarations of a document.
#[derive(Debug)]
pub(crate) struct Document {
    /// The first title, with collapsed white space.
    pub(crate) title: Collapser,
    /// Visible text, if wanted.
    pub(crate) text: Collapser,
    /// `html@lang`, or else `html@xml:lang`.
    pub(crate) language: Option<String>,
    /// `meta http-equiv=content-language`.
    pub(crate) content_language: Option<String>,
    /// First `base@href`.
    pub(crate) base: Option<String>,
    /// First `link rel=canonical`.
    pub(crate) canonical: Option<String>,
    /// First `meta name=robots`.
    pub(crate) robots: Option<String>,
    /// Images, if the text is wanted.
    pub(crate) images: RawImages,
    links: RawLinks,
    open: OpenElements,
    wants_text: bool,
    /// Whether a title has begun; later ones are not the title of the page.
    has_title: bool,
    raw: Raw,
    /// Number of open `svg` and `math` elements.
    foreign_depth: u32,
    /// Whether the current place is inside a note (tooltip, description) of a drawing.
    in_foreign_note: bool,
    /// The open `a` elements of a drawing.
    foreign_anchors: Vec<AnchorId>,
    /// The open element whose content is skipped.
    skipped: Option<Skipped>,
    /// Whether the document is read as XML.
    is_xml: bool,
}

/// An element whose content is skipped. Nested elements with its name are counted.
#[derive(Debug, Clone, Copy)]
struct Skipped {
    name: u32,
    depth: u32,
}

/// How to treat the text up to the next tag, after an element with raw content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Raw {
    No,
    Hidden,
    Title,
}

impl Document {
    pub(super) fn new(wants_text: bool, is_xml: bool) -> Document {
        Document {
            title: Collapser::line(TITLE_CHARS_MAX),
            text: Collapser::lines(TEXT_BYTES_MAX),
            language: None,
            content_language: None,
            base: None,
            canonical: None,
            robots: None,
            images: RawImages::default(),
            links: RawLinks::default(),
            open: OpenElements::default(),
            wants_text,
            has_title: false,
            raw: Raw::No,
            foreign_depth: 0,
            in_foreign_note: false,
            foreign_anchors: Vec::new(),
            skipped: None,
            is_xml,
        }
    }

    /// Returns the links in document order, not yet resolved.
    pub(crate) fn links(&self) -> impl Iterator<Item = Occurrence<&str>> {
        self.links.iter()
    }

    /// Number of [`Document::links`].
    pub(crate) fn links_count(&self) -> usize {
        self.links.count()
    }

    /// Returns whether the current place is inside `svg` or `math`.
    pub(super) fn is_foreign(&self) -> bool {
        self.foreign_depth > 0
    }

    /// Records that the document declares a document type.
    pub(super) fn doctype(&mut self) {
        self.open.has_doctype = true;
    }

    pub(super) fn text(&mut self, text: &[u8]) {
        if self.skipped.is_some() || self.raw == Raw::Hidden || self.in_foreign_note {
            return;
        }
        if self.raw == Raw::Title {
            self.title.push(text);
            return;
        }
        if self.wants_text {
            self.text.push(text);
        }
        if !self.is_foreign() {
            self.open.before_text(text, &mut self.links);
        }
        self.links.text(text);
    }

    /// Returns whether the document is read as XML: every element may close itself, and only
    /// `script` and `style` are raw.
    pub(super) fn is_xml(&self) -> bool {
        self.is_xml
    }

    pub(super) fn start_tag(&mut self, tag: Tag, attributes: &Attributes, self_closing: bool) {
        self.raw = Raw::No;
        if let Some(skipped) = &mut self.skipped {
            let closes_itself = self_closing && self.is_xml;
            skipped.depth += u32::from(tag.name == skipped.name && !closes_itself);
            return;
        }
        // Drawings have other rules, which follow XML anyway.
        let closes_itself = self_closing && self.is_xml && !self.is_foreign() && tag.kind != Kind::Foreign;
        self.open_element(tag, attributes, self_closing);
        if closes_itself {
            self.end_tag(tag);
        }
    }

    fn open_element(&mut self, tag: Tag, attributes: &Attributes, self_closing: bool) {
        if tag.ends_foreign {
            self.leave_foreign();
        }
        self.gap(tag.gap);
        if self.is_foreign() {
            self.start_foreign(tag, attributes, self_closing);
            return;
        }
        self.open.start(tag, attributes, &mut self.links);
        if self.wants_text {
            self.images.start(tag, attributes, self.text.len());
        }
        match tag.kind {
            Kind::Area => self.links.push_area(attributes),
            Kind::Image => self.links.image(attributes, self.open.in_noscript()),
            Kind::Base => keep_first(&mut self.base, attributes, Attribute::Href),
            Kind::Link => self.link(attributes),
            Kind::Meta => self.meta(attributes),
            Kind::Html => self.html(attributes),
            Kind::Template => self.skip(tag),
            Kind::Foreign if !self_closing => self.foreign_depth += 1,
            Kind::Title => self.start_title(),
            Kind::HiddenRaw | Kind::Textarea if self.is_xml && !tag.is_raw_in_xml() => self.skip(tag),
            Kind::Script | Kind::HiddenRaw | Kind::Textarea => self.raw = Raw::Hidden,
            _ => {}
        }
    }

    /// Skips everything up to the end tag.
    fn skip(&mut self, tag: Tag) {
        self.skipped = Some(Skipped {
            name: tag.name,
            depth: 1,
        });
    }

    /// Handles a start tag inside `svg` or `math`, where the rules for HTML elements do not apply.
    fn start_foreign(&mut self, tag: Tag, attributes: &Attributes, self_closing: bool) {
        match tag.kind {
            Kind::Foreign if !self_closing => self.foreign_depth += 1,
            Kind::ForeignNote | Kind::Title if !self_closing => self.in_foreign_note = true,
            Kind::Script | Kind::HiddenRaw | Kind::Textarea if !self_closing => self.raw = Raw::Hidden,
            Kind::Anchor => {
                let anchor = self.links.start_anchor(attributes, self.open.depth());
                match anchor {
                    Some(anchor) if !self_closing => self.foreign_anchors.push(anchor),
                    Some(anchor) => self.links.end_anchor(anchor, AnchorEnd::Tag),
                    None => {}
                }
            }
            _ => {}
        }
    }

    pub(super) fn end_tag(&mut self, tag: Tag) {
        self.raw = Raw::No;
        if let Some(skipped) = &mut self.skipped {
            skipped.depth -= u32::from(tag.name == skipped.name);
            if skipped.depth == 0 {
                self.skipped = None;
            }
            return;
        }
        self.gap(tag.gap);
        if self.is_foreign() && self.end_foreign(tag) {
            return;
        }
        self.images.end(tag, self.text.len());
        let depth = self.open.depth();
        self.open.end(tag, &mut self.links);
        // The end of an element around a drawing ends the drawing.
        if self.is_foreign() && self.open.depth() < depth {
            self.leave_foreign();
        }
    }

    /// Handles an end tag inside `svg` or `math`. Returns whether it belongs to an element there.
    fn end_foreign(&mut self, tag: Tag) -> bool {
        match tag.kind {
            Kind::Foreign => {
                self.foreign_depth -= 1;
                if self.foreign_depth == 0 {
                    self.leave_foreign();
                }
                return true;
            }
            Kind::ForeignNote | Kind::Title => {
                self.in_foreign_note = false;
                return true;
            }
            Kind::Anchor => {
                if let Some(anchor) = self.foreign_anchors.pop() {
                    self.links.end_anchor(anchor, AnchorEnd::Tag);
                    return true;
                }
            }
            _ => {}
        }
        tag.role == Role::Inline
    }

    /// Ends the document.
    pub(super) fn finish(&mut self) {
        self.links.end_all();
        self.images.end_all(self.text.len());
    }

    fn leave_foreign(&mut self) {
        self.foreign_depth = 0;
        self.in_foreign_note = false;
        for anchor in self.foreign_anchors.drain(..) {
            self.links.end_anchor(anchor, AnchorEnd::Tag);
        }
    }

    fn gap(&mut self, gap: Gap) {
        match gap {
            Gap::None => return,
            Gap::Blank => self.text.blank(),
            Gap::Line => self.text.break_line(),
        }
        self.links.blank();
    }

    fn start_title(&mut self) {
        self.raw = if self.has_title { Raw::Hidden } else { Raw::Title };
        self.has_title = true;
    }

    fn html(&mut self, attributes: &Attributes) {
        keep_first(&mut self.language, attributes, Attribute::Lang);
        keep_first(&mut self.language, attributes, Attribute::XmlLang);
    }

    fn link(&mut self, attributes: &Attributes) {
        if attributes.has_word(Attribute::Rel, b"canonical") {
            keep_first(&mut self.canonical, attributes, Attribute::Href);
        }
    }

    fn meta(&mut self, attributes: &Attributes) {
        if attributes.is(Attribute::HttpEquiv, b"refresh") {
            if let Some(content) = attributes.text(Attribute::Content)
                && let Some(reference) = refresh::target(&content)
            {
                self.links.push(reference, "", false, LinkKind::Refresh);
            }
        } else if attributes.is(Attribute::HttpEquiv, b"content-language") {
            keep_first(&mut self.content_language, attributes, Attribute::Content);
        } else if attributes.is(Attribute::Name, b"robots") {
            keep_first(&mut self.robots, attributes, Attribute::Content);
        }
    }
}

/// Stores the attribute in `slot`, unless it already has one.
fn keep_first(slot: &mut Option<String>, attributes: &Attributes, attribute: Attribute) {
    if slot.is_none() {
        *slot = attributes.text(attribute).map(std::borrow::Cow::into_owned);
    }
}
