//! The tag that is being read: its name, and of its attributes those that may be written.
//!
//! Invariants: an attribute is held whole or not at all; of repeated ones the first counts; at most [`HELD_BYTES_MAX`]
//! are held, whatever the page has.

use super::HELD_BYTES_MAX;
use crate::sandbox::kept::{self, Place};

/// No element or attribute that is written has a longer name.
const NAME_BYTES_MAX: usize = 64;

/// The tag being read.
#[derive(Debug, Default)]
pub(super) struct Tag {
    pub(super) name: Vec<u8>,
    pub(super) is_end: bool,
    pub(super) closes_itself: bool,
    pub(super) attributes: Vec<Attribute>,
    /// The name of an attribute being read.
    attribute: Option<Vec<u8>>,
    /// Whether the value being read is that of the last attribute.
    takes_value: bool,
    held_bytes: usize,
}

#[derive(Debug)]
pub(super) struct Attribute {
    pub(super) name: Vec<u8>,
    pub(super) value: Vec<u8>,
    pub(super) place: Place,
}

impl Tag {
    /// A tag of which nothing was read yet.
    pub(super) fn begin(is_end: bool) -> Tag {
        Tag {
            is_end,
            ..Tag::default()
        }
    }

    /// More of its name.
    pub(super) fn push_name(&mut self, part: &[u8]) {
        if self.name.len() <= NAME_BYTES_MAX {
            self.name.extend_from_slice(part);
        }
    }

    /// The name of an attribute begins.
    pub(super) fn begin_attribute(&mut self) {
        self.end_attribute();
        self.attribute = Some(Vec::new());
    }

    /// More of the attribute's name.
    pub(super) fn push_attribute_name(&mut self, part: &[u8]) {
        if let Some(name) = &mut self.attribute
            && name.len() <= NAME_BYTES_MAX
        {
            name.extend_from_slice(part);
        }
    }

    /// Keeps bytes of a tag, as long as there is room.
    fn hold(&mut self, bytes: usize) -> bool {
        self.held_bytes = self.held_bytes.saturating_add(bytes);
        self.held_bytes <= HELD_BYTES_MAX
    }

    /// The name of an attribute has been read, or the tag ends. Of repeated ones the first counts.
    pub(super) fn end_attribute(&mut self) {
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

    /// More of the attribute's value.
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
            // Half an address would be another one.
            self.attributes.pop();
            self.takes_value = false;
        }
    }
}
