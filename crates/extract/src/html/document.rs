//! What is gathered while a document passes by, tag by tag.

use super::attributes::{Attribute, Attributes};
use super::raw_links::RawLinks;
use super::refresh;
use super::tag::{Gap, Kind, Tag};
use crate::links::Occurrence;
use crate::text::Collapser;

/// Bytes kept of a page's text.
pub const TEXT_BYTES_MAX: usize = 1 << 20;

/// Characters kept of a title: an unclosed `title` swallows the page.
pub(crate) const TITLE_CHARS_MAX: usize = 1024;

/// A document as far as links, text and a few declarations go.
#[derive(Debug)]
pub(crate) struct Document {
    /// The first title, collapsed.
    pub(crate) title: Collapser,
    /// Visible text, if wanted.
    pub(crate) text: Collapser,
    /// `html@lang`, else `html@xml:lang`.
    pub(crate) language: Option<String>,
    /// `meta http-equiv=content-language`.
    pub(crate) content_language: Option<String>,
    /// First `base@href`.
    pub(crate) base: Option<String>,
    /// First `link rel=canonical`.
    pub(crate) canonical: Option<String>,
    /// First `meta name=robots`.
    pub(crate) robots: Option<String>,
    links: RawLinks,
    wants_text: bool,
    /// Whether a title has begun; later ones are not the page's.
    has_title: bool,
    raw: Raw,
    /// Depth of `svg` and `math`.
    foreign_depth: u32,
    /// Inside a note (tooltip, description) of a drawing.
    in_foreign_note: bool,
    in_noscript: bool,
    template_depth: u32,
}

/// What the text up to the next tag is, after an element whose content is raw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Raw {
    No,
    Hidden,
    Title,
}

impl Document {
    pub(super) fn new(wants_text: bool) -> Document {
        Document {
            title: Collapser::line(TITLE_CHARS_MAX),
            text: Collapser::lines(TEXT_BYTES_MAX),
            language: None,
            content_language: None,
            base: None,
            canonical: None,
            robots: None,
            links: RawLinks::new(),
            wants_text,
            has_title: false,
            raw: Raw::No,
            foreign_depth: 0,
            in_foreign_note: false,
            in_noscript: false,
            template_depth: 0,
        }
    }

    /// Links in document order, not yet resolved.
    pub(crate) fn links(&self) -> impl Iterator<Item = Occurrence<'_>> {
        self.links.iter()
    }

    /// Inside `svg` or `math`.
    pub(super) fn is_foreign(&self) -> bool {
        self.foreign_depth > 0
    }

    pub(super) fn text(&mut self, text: &[u8]) {
        if self.raw == Raw::Title {
            self.title.push(text);
            return;
        }
        if self.raw == Raw::Hidden || self.in_noscript || self.in_foreign_note || self.template_depth > 0 {
            return;
        }
        if self.wants_text {
            self.text.push(text);
        }
        self.links.text(text);
    }

    pub(super) fn start_tag(&mut self, tag: Tag, attributes: &Attributes, self_closing: bool) {
        self.raw = Raw::No;
        if tag.ends_foreign {
            self.leave_foreign();
        }
        self.gap(tag.gap);
        match tag.kind {
            Kind::Anchor => self.start_anchor(attributes),
            Kind::Area => self.links.push_area(attributes),
            Kind::Image => self.links.image(attributes),
            Kind::Base => keep_first(&mut self.base, attributes, Attribute::Href),
            Kind::Link => self.link(attributes),
            Kind::Meta => self.meta(attributes),
            Kind::Html => self.html(attributes),
            Kind::Body => self.in_noscript = false,
            Kind::Noscript => self.in_noscript = true,
            Kind::Template => self.template_depth += 1,
            Kind::Foreign if !self_closing => self.foreign_depth += 1,
            Kind::ForeignNote if self.is_foreign() && !self_closing => self.in_foreign_note = true,
            Kind::Title if self.is_foreign() => self.in_foreign_note = !self_closing,
            Kind::Title => self.start_title(),
            Kind::Script | Kind::HiddenRaw | Kind::Textarea if !(self.is_foreign() && self_closing) => {
                self.raw = Raw::Hidden;
            }
            _ => {}
        }
    }

    pub(super) fn end_tag(&mut self, tag: Tag) {
        self.raw = Raw::No;
        self.gap(tag.gap);
        match tag.kind {
            Kind::Anchor => self.links.end_anchor(),
            Kind::Noscript | Kind::Head => self.in_noscript = false,
            Kind::Template => self.template_depth = self.template_depth.saturating_sub(1),
            Kind::Foreign => {
                self.foreign_depth = self.foreign_depth.saturating_sub(1);
                self.in_foreign_note &= self.is_foreign();
            }
            Kind::ForeignNote | Kind::Title => self.in_foreign_note = false,
            _ => {}
        }
    }

    /// The input ends.
    pub(super) fn finish(&mut self) {
        self.links.end_anchor();
    }

    fn leave_foreign(&mut self) {
        self.foreign_depth = 0;
        self.in_foreign_note = false;
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

    fn start_anchor(&mut self, attributes: &Attributes) {
        self.links.end_anchor();
        self.links.start_anchor(attributes);
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
                self.links.push(reference, "", false);
            }
        } else if attributes.is(Attribute::HttpEquiv, b"content-language") {
            keep_first(&mut self.content_language, attributes, Attribute::Content);
        } else if attributes.is(Attribute::Name, b"robots") {
            keep_first(&mut self.robots, attributes, Attribute::Content);
        }
    }
}

/// Keeps the value in `slot`, if there is one and none was kept before.
fn keep_first(slot: &mut Option<String>, attributes: &Attributes, attribute: Attribute) {
    if slot.is_none() {
        *slot = attributes.text(attribute).map(std::borrow::Cow::into_owned);
    }
}
