//! The emitter for the tokenizer: passes tokens to the document.
//!
//! The tokenizer (html5gum) follows the state machine of the HTML standard. It needs two facts from
//! a tree builder, which are derived here from the tags alone: when raw text begins, and whether
//! the place is inside `svg` or `math`.

use super::attributes::Attributes;
use super::document::Document;
use super::tag::{Kind, Tag};
use html5gum::emitters::Emitter;
use html5gum::{Error, State};
use std::convert::Infallible;

/// Maximum number of bytes kept of a name. The names of all elements with special treatment are
/// shorter.
const NAME_BYTES_MAX: usize = 32;

pub(super) struct Scanner<'d> {
    document: &'d mut Document,
    /// The name of the tag being read.
    name: Vec<u8>,
    is_end_tag: bool,
    self_closing: bool,
    /// The tag, known once its name has been read.
    tag: Option<Tag>,
    /// Whether the attributes of the tag are used.
    wants_attributes: bool,
    attributes: Attributes,
    /// The start tag whose end tag ends raw text.
    last_start_tag: Vec<u8>,
}

impl<'d> Scanner<'d> {
    pub(super) fn new(document: &'d mut Document) -> Self {
        Scanner {
            document,
            name: Vec::new(),
            is_end_tag: false,
            self_closing: false,
            tag: None,
            wants_attributes: false,
            attributes: Attributes::default(),
            last_start_tag: Vec::new(),
        }
    }

    fn begin_tag(&mut self, is_end_tag: bool) {
        self.name.clear();
        self.attributes.clear();
        self.is_end_tag = is_end_tag;
        self.self_closing = false;
        self.tag = None;
        self.wants_attributes = false;
    }

    /// Returns the meaning of the tag whose name has been read.
    fn tag(&mut self) -> Tag {
        *self.tag.get_or_insert_with(|| Tag::of(&self.name))
    }

    fn start_tag(&mut self) -> Option<State> {
        self.attributes.end();
        let tag = self.tag();
        self.document.start_tag(tag, &self.attributes, self.self_closing);
        std::mem::swap(&mut self.last_start_tag, &mut self.name);
        if self.document.is_xml() && (self.self_closing || !tag.is_raw_in_xml()) {
            return None;
        }
        // Inside drawings, raw text elements may close themselves, and titles contain markup.
        if self.document.is_foreign() && (self.self_closing || tag.kind == Kind::Title) {
            return None;
        }
        match tag.kind {
            Kind::Title | Kind::Textarea => Some(State::RcData),
            Kind::Script => Some(State::ScriptData),
            Kind::HiddenRaw | Kind::Raw => Some(State::RawText),
            Kind::Plaintext => Some(State::PlainText),
            _ => None,
        }
    }
}

impl Emitter for Scanner<'_> {
    type Token = Infallible;

    fn set_last_start_tag(&mut self, last_start_tag: Option<&[u8]>) {
        self.last_start_tag.clear();
        self.last_start_tag
            .extend_from_slice(last_start_tag.unwrap_or_default());
    }

    fn emit_eof(&mut self) {}

    fn emit_error(&mut self, _error: Error) {}

    fn should_emit_errors(&mut self) -> bool {
        false
    }

    fn pop_token(&mut self) -> Option<Infallible> {
        None
    }

    fn emit_string(&mut self, text: &[u8]) {
        self.document.text(text);
    }

    fn init_start_tag(&mut self) {
        self.begin_tag(false);
    }

    fn init_end_tag(&mut self) {
        self.begin_tag(true);
    }

    fn init_comment(&mut self) {}

    fn emit_current_tag(&mut self) -> Option<State> {
        if !self.is_end_tag {
            return self.start_tag();
        }
        let tag = self.tag();
        self.document.end_tag(tag);
        self.last_start_tag.clear();
        None
    }

    fn emit_current_comment(&mut self) {}

    fn emit_current_doctype(&mut self) {}

    fn set_self_closing(&mut self) {
        self.self_closing = true;
    }

    fn set_force_quirks(&mut self) {}

    fn push_tag_name(&mut self, part: &[u8]) {
        if self.name.len() <= NAME_BYTES_MAX {
            self.name.extend_from_slice(part);
        }
    }

    fn push_comment(&mut self, _part: &[u8]) {}

    fn push_doctype_name(&mut self, _part: &[u8]) {}

    fn init_doctype(&mut self) {
        self.document.doctype();
    }

    fn init_attribute(&mut self) {
        self.wants_attributes = !self.is_end_tag && self.tag().has_wanted_attributes();
        if self.wants_attributes {
            self.attributes.begin();
        }
    }

    fn push_attribute_name(&mut self, part: &[u8]) {
        if self.wants_attributes {
            self.attributes.push_name(part);
        }
    }

    fn push_attribute_value(&mut self, part: &[u8]) {
        if self.wants_attributes {
            self.attributes.push_value(part);
        }
    }

    fn set_doctype_public_identifier(&mut self, _value: &[u8]) {}

    fn set_doctype_system_identifier(&mut self, _value: &[u8]) {}

    fn push_doctype_public_identifier(&mut self, _part: &[u8]) {}

    fn push_doctype_system_identifier(&mut self, _part: &[u8]) {}

    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        self.is_end_tag && !self.last_start_tag.is_empty() && self.last_start_tag == self.name
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&mut self) -> bool {
        self.document.is_xml() || self.document.is_foreign()
    }
}
