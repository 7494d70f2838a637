//! Writes attributes, and links in place of frames. Addresses of the page are written only here.

use super::tag::Attribute;
use super::{Writer, escape};
use crate::present;
use crate::sandbox::kept::Place;
use crate::sandbox::links::Lead;

/// Maximum number of characters of a frame's address that are shown.
const SHOWN_CHARS_MAX: usize = 200;

impl Writer {
    /// Writes an attribute, if its value is allowed. Returns whether it leads to a page of this
    /// server.
    pub(super) fn write_attribute(&mut self, attribute: &Attribute) -> bool {
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

    /// Writes a link in place of another document.
    pub(super) fn write_frame(&mut self, word: &str) {
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
        // A hidden frame stays hidden.
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
}

/// Returns whether an address contains the picture itself.
fn is_data(address: &str) -> bool {
    let head = address.trim_start().as_bytes();
    head.get(..5)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"data:"))
}
