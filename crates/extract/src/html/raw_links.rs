//! Occurrences of links as the document spells them: a `base` may come after them, so that none can
//! be resolved before the end.

use super::attributes::{Attribute, Attributes};
use crate::links::{ANCHOR_CHARS_MAX, Occurrence, is_nofollow};
use crate::text::Collapser;
use std::ops::Range;

/// All occurrences, their texts in one buffer.
#[derive(Debug)]
pub(super) struct RawLinks {
    texts: String,
    list: Vec<RawLink>,
    /// Place in `list` of an `a` that has not ended.
    open: Option<usize>,
    /// Text of the open `a`.
    anchor: Collapser,
    /// Alternative texts of its images.
    alt: Collapser,
}

#[derive(Debug)]
struct RawLink {
    /// Stretch of `texts`.
    reference: Range<usize>,
    /// Stretch of `texts`; empty until an `a` ends.
    anchor: Range<usize>,
    nofollow: bool,
}

impl RawLinks {
    pub(super) fn new() -> RawLinks {
        RawLinks {
            texts: String::new(),
            list: Vec::new(),
            open: None,
            anchor: Collapser::line(ANCHOR_CHARS_MAX),
            alt: Collapser::line(ANCHOR_CHARS_MAX),
        }
    }

    /// In document order.
    pub(super) fn iter(&self) -> impl Iterator<Item = Occurrence<'_>> {
        self.list.iter().map(|link| Occurrence {
            reference: &self.texts[link.reference.clone()],
            anchor: &self.texts[link.anchor.clone()],
            nofollow: link.nofollow,
        })
    }

    pub(super) fn push(&mut self, reference: &str, anchor: &str, nofollow: bool) {
        let reference = self.keep(reference);
        let anchor = self.keep(anchor);
        self.list.push(RawLink {
            reference,
            anchor,
            nofollow,
        });
    }

    /// An `a` begins; without `href` it is no link.
    pub(super) fn start_anchor(&mut self, attributes: &Attributes) {
        if let Some(reference) = attributes.text(Attribute::Href) {
            self.open = Some(self.list.len());
            self.push(&reference, "", is_nofollow(attributes.get(Attribute::Rel)));
        }
    }

    /// The open `a`, if there is one, ends.
    pub(super) fn end_anchor(&mut self) {
        let Some(place) = self.open.take() else { return };
        let text = if self.anchor.is_empty() {
            self.alt.take()
        } else {
            self.anchor.take()
        };
        let anchor = self.keep(&text);
        self.list[place].anchor = anchor;
        self.anchor.clear();
        self.alt.clear();
    }

    pub(super) fn push_area(&mut self, attributes: &Attributes) {
        if let Some(reference) = attributes.text(Attribute::Href) {
            let alt = attributes.text(Attribute::Alt).unwrap_or_default();
            self.push(&reference, &alt, is_nofollow(attributes.get(Attribute::Rel)));
        }
    }

    pub(super) fn image(&mut self, attributes: &Attributes) {
        if self.open.is_some()
            && let Some(alt) = attributes.get(Attribute::Alt)
        {
            self.alt.blank();
            self.alt.push(alt);
        }
    }

    pub(super) fn text(&mut self, text: &[u8]) {
        if self.open.is_some() {
            self.anchor.push(text);
        }
    }

    pub(super) fn blank(&mut self) {
        if self.open.is_some() {
            self.anchor.blank();
        }
    }

    fn keep(&mut self, text: &str) -> Range<usize> {
        let start = self.texts.len();
        self.texts.push_str(text);
        start..self.texts.len()
    }
}
