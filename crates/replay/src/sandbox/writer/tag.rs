//! The tag that is being read: its name and those attributes that may be written.
//!
//! Invariants: an attribute is kept completely or not at all. The first of repeated attributes
//! counts (WHATWG HTML, attribute name state). At most [`HELD_BYTES_MAX`] are kept.

use crate::sandbox::allow_list::{self, AttributeUse};

/// Maximum number of bytes kept of one tag, or of the CSS of one element. Attributes that do not
/// fit are left out; CSS is cut.
pub(super) const HELD_BYTES_MAX: usize = 8 << 20;

/// Maximum length of a name. Longer names are cut; no element or attribute that is written has one.
const NAME_BYTES_MAX: usize = 64;

/// The tag that is being read.
#[derive(Debug, Default)]
pub(super) struct Tag {
    pub(super) name: Vec<u8>,
    pub(super) is_end: bool,
    pub(super) closes_itself: bool,
    pub(super) attributes: Vec<Attribute>,
    /// Name of the attribute that is being read.
    attribute: Option<Vec<u8>>,
    /// Whether the value that is being read belongs to the last attribute in `attributes`.
    takes_value: bool,
    held_bytes: usize,
}

#[derive(Debug)]
pub(super) struct Attribute {
    pub(super) name: Vec<u8>,
    pub(super) value: Vec<u8>,
    pub(super) kind: AttributeUse,
}

impl Tag {
    /// Returns an empty tag.
    pub(super) fn begin(is_end: bool) -> Tag {
        Tag {
            is_end,
            ..Tag::default()
        }
    }

    /// Appends to the tag's name.
    pub(super) fn push_name(&mut self, part: &[u8]) {
        if self.name.len() <= NAME_BYTES_MAX {
            self.name.extend_from_slice(part);
        }
    }

    /// Begins an attribute.
    pub(super) fn begin_attribute(&mut self) {
        self.end_attribute();
        self.attribute = Some(Vec::new());
    }

    /// Appends to the attribute's name.
    pub(super) fn push_attribute_name(&mut self, part: &[u8]) {
        if let Some(name) = &mut self.attribute
            && name.len() <= NAME_BYTES_MAX
        {
            name.extend_from_slice(part);
        }
    }

    /// Counts bytes of the tag. Returns whether there is room for them.
    fn hold(&mut self, bytes: usize) -> bool {
        self.held_bytes = self.held_bytes.saturating_add(bytes);
        self.held_bytes <= HELD_BYTES_MAX
    }

    /// Ends the name of an attribute, or the tag. The first of repeated attributes counts.
    pub(super) fn end_attribute(&mut self) {
        let Some(name) = self.attribute.take() else { return };
        let kind = allow_list::attribute_use(&self.name, &name);
        let is_new = !self.attributes.iter().any(|attribute| attribute.name == name);
        self.takes_value = is_new && kind.is_some() && self.hold(name.len());
        if let (true, Some(kind)) = (self.takes_value, kind) {
            self.attributes.push(Attribute {
                name,
                value: Vec::new(),
                kind,
            });
        }
    }

    /// Appends to the attribute's value.
    pub(super) fn push_value(&mut self, part: &[u8]) {
        self.end_attribute();
        if !self.takes_value {
            return;
        }
        if self.hold(part.len()) {
            if let Some(attribute) = self.attributes.last_mut() {
                attribute.value.extend_from_slice(part);
            }
        } else {
            // A truncated address would be another address.
            self.attributes.pop();
            self.takes_value = false;
        }
    }
}
