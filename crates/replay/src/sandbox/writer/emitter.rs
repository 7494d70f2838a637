//! Receives the tokens of a page in order. Parts of tags are collected; complete tags and text are
//! written.

use html5gum::emitters::Emitter;
use html5gum::{Error, State};

use super::Writer;
use super::doctype::{Doctype, push_id};
use super::tag::Tag;

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
        self.tag = Tag::begin(false);
    }

    fn init_end_tag(&mut self) {
        self.tag = Tag::begin(true);
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
        // A document type after this one is not the first, so it is ignored.
        let doctype = std::mem::take(&mut self.doctype);
        if !self.page.is_xml
            && let Some(written) = doctype.written()
        {
            self.put(&written);
        }
    }

    fn set_self_closing(&mut self) {
        self.tag.closes_itself = true;
    }

    fn set_force_quirks(&mut self) {
        self.doctype.is_quirky = true;
    }

    fn push_tag_name(&mut self, part: &[u8]) {
        self.tag.push_name(part);
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
        self.tag.begin_attribute();
    }

    fn push_attribute_name(&mut self, part: &[u8]) {
        self.tag.push_attribute_name(part);
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
        self.page.is_xml || self.foreign_depth > 0
    }
}
