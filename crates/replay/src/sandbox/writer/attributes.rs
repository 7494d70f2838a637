//! Writes attributes, and links in place of frames. Addresses of the page are written only here.

use super::tag::Attribute;
use super::{Writer, escape};
use crate::sandbox::allow_list::AttributeUse;
use crate::sandbox::links::LinkTarget;

/// Maximum number of characters of a frame's address that are shown.
const SHOWN_CHARS_MAX: usize = 200;

impl Writer {
    /// Writes an attribute, if its value is allowed. Returns whether it leads to a page of this
    /// server.
    pub(super) fn write_attribute(&mut self, attribute: &Attribute) -> bool {
        let Attribute { name, value, kind } = attribute;
        let text = String::from_utf8_lossy(value);
        let is_inside = text.trim_start().starts_with('#');
        match kind {
            AttributeUse::Plain => self.write_value(name, value),
            AttributeUse::Fragment if is_inside => self.write_value(name, value),
            AttributeUse::Picture if is_inside || is_data(&text) => self.write_value(name, value),
            AttributeUse::Fragment | AttributeUse::Picture | AttributeUse::Frame => {}
            AttributeUse::Link => match self.page.link_target(self.base.as_ref(), &text) {
                LinkTarget::Kept(reference) => self.write_value(name, reference.as_bytes()),
                LinkTarget::Page(page) => {
                    self.write_value(name, page.as_bytes());
                    return true;
                }
                LinkTarget::None => {}
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
            .find(|attribute| attribute.kind == AttributeUse::Frame);
        let Some(framed) = framed else { return };
        let reference = String::from_utf8_lossy(&framed.value);
        let Some(target) = self.page.frame_target(self.base.as_ref(), &reference) else {
            return;
        };
        let Some(page) = self.page.address_in_archive(&target) else {
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
        let target = target.as_str();
        let cut = target.char_indices().nth(SHOWN_CHARS_MAX);
        let (shown, rest) = match cut {
            Some((end, _)) => (&target[..end], "\u{2026}"),
            None => (target, ""),
        };
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
