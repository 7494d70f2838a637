//! Collects links as written in the document. They can be resolved only at the end, because a
//! `base` may come after them.

use super::attributes::{Attribute, Attributes};
use crate::LinkKind;
use crate::links::{ANCHOR_CHARS_MAX, Occurrence, is_nofollow};
use crate::text::Collapser;
use std::ops::Range;

/// Maximum number of links that collect text at the same time: in table cells an `a` may be inside
/// another. Beyond it, the outermost link ends with its text so far, which bounds the cost of text.
const OPEN_MAX: usize = 16;

/// All occurrences. Their texts are in one buffer.
#[derive(Debug, Default)]
pub(super) struct RawLinks {
    texts: String,
    /// As ranges in `texts`. The anchor is empty until an `a` ends.
    list: Vec<Occurrence<Range<usize>>>,
    /// The links that have not ended, the outermost first.
    open: Vec<OpenAnchor>,
    /// Memory of ended links, for reuse.
    spare: Vec<OpenAnchor>,
}

/// A position in the words of an `a`: bytes of its text, and of the texts of its images.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    text_bytes: usize,
    alt_bytes: usize,
}

/// The position of a link in the list of occurrences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AnchorId(u32);

/// How an `a` ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnchorEnd {
    /// By its end tag. Its words continue after a block that began in its paragraph, but not beyond
    /// the element that it began in.
    Tag,
    /// Without an end tag. Only the words up to its first closing count.
    Implied,
}

/// Why an `a` is closed that may be opened again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closing {
    /// A block begins in its paragraph.
    BlockStart,
    Other,
}

/// An `a` that has not ended.
#[derive(Debug)]
struct OpenAnchor {
    id: AnchorId,
    /// Whether text belongs to it now. False after a block closed it, until it is opened again.
    is_collecting: bool,
    text: Collapser,
    /// The alternative texts of its images.
    alt: Collapser,
    /// The number of open elements around it.
    depth: usize,
    /// Position of its first closing after it had words.
    first_part: Option<Mark>,
    /// The same, but ignoring blocks that began in its paragraph, and elements that began inside
    /// it.
    own_part: Option<Mark>,
    /// The words of the last image, and whether it is in a `noscript`.
    image: (Vec<u8>, bool),
}

impl OpenAnchor {
    fn mark(&self) -> Mark {
        Mark {
            text_bytes: self.text.len(),
            alt_bytes: self.alt.len(),
        }
    }

    fn close(&mut self, depth: usize, by: Closing) {
        self.is_collecting = false;
        let mark = self.mark();
        if mark != Mark::default() {
            self.first_part.get_or_insert(mark);
            if by == Closing::Other && depth < self.depth {
                self.own_part.get_or_insert(mark);
            }
        }
        self.depth = self.depth.min(depth);
    }
}

impl RawLinks {
    /// Returns the occurrences in document order.
    pub(super) fn iter(&self) -> impl Iterator<Item = Occurrence<&str>> {
        self.list.iter().map(|link| Occurrence {
            reference: &self.texts[link.reference.clone()],
            anchor: &self.texts[link.anchor.clone()],
            nofollow: link.nofollow,
            kind: link.kind,
        })
    }

    /// Number of occurrences.
    pub(super) fn count(&self) -> usize {
        self.list.len()
    }

    pub(super) fn push(&mut self, reference: &str, anchor: &str, nofollow: bool, kind: LinkKind) {
        let reference = self.keep(reference);
        let anchor = self.keep(anchor);
        self.list.push(Occurrence {
            reference,
            anchor,
            nofollow,
            kind,
        });
    }

    /// Begins an `a`, inside `depth` open elements. Without `href` it is no link.
    pub(super) fn start_anchor(&mut self, attributes: &Attributes, depth: usize) -> Option<AnchorId> {
        let reference = attributes.text(Attribute::Href)?;
        // A document cannot contain more links than fit into the type.
        let id = AnchorId(u32::try_from(self.list.len()).ok()?);
        self.push(
            &reference,
            "",
            is_nofollow(attributes.get(Attribute::Rel)),
            LinkKind::A,
        );
        self.collect(id, depth);
        Some(id)
    }

    fn collect(&mut self, id: AnchorId, depth: usize) {
        if self.open.len() == OPEN_MAX {
            let outermost = self.open.remove(0);
            self.settle(outermost, AnchorEnd::Implied);
        }
        let mut anchor = self.spare.pop().unwrap_or_else(|| OpenAnchor {
            id,
            is_collecting: true,
            text: Collapser::line(ANCHOR_CHARS_MAX),
            alt: Collapser::line(ANCHOR_CHARS_MAX),
            depth,
            first_part: None,
            own_part: None,
            image: (Vec::new(), false),
        });
        anchor.id = id;
        anchor.is_collecting = true;
        anchor.depth = depth;
        self.open.push(anchor);
    }

    /// Closes an `a` that may be opened again; `depth` elements stay open.
    pub(super) fn suspend_anchor(&mut self, id: AnchorId, depth: usize, by: Closing) {
        if let Some(anchor) = self.open.iter_mut().rfind(|open| open.id == id) {
            anchor.close(depth, by);
        }
    }

    /// Returns the position in the words of the innermost `a`.
    pub(super) fn mark(&self) -> Mark {
        self.open.last().map_or(Mark::default(), OpenAnchor::mark)
    }

    /// Records that a block is removed from an `a`. The block began at `mark`, after words, so the
    /// text after `mark` is not in its first part.
    pub(super) fn cut_anchor(&mut self, id: AnchorId, mark: Mark) {
        if let Some(anchor) = self.open.iter_mut().rfind(|open| open.id == id) {
            anchor.first_part.get_or_insert(mark);
        }
    }

    /// Opens an `a` again.
    pub(super) fn resume_anchor(&mut self, id: AnchorId) {
        if let Some(anchor) = self.open.iter_mut().rfind(|open| open.id == id) {
            anchor.is_collecting = true;
        }
    }

    /// Ends an `a`, unless it has ended already.
    pub(super) fn end_anchor(&mut self, id: AnchorId, end: AnchorEnd) {
        if let Some(place) = self.open.iter().rposition(|open| open.id == id) {
            let anchor = self.open.remove(place);
            self.settle(anchor, end);
        }
    }

    /// Ends all links at the end of the document.
    pub(super) fn end_all(&mut self) {
        while let Some(anchor) = self.open.pop() {
            self.settle(anchor, AnchorEnd::Implied);
        }
    }

    fn settle(&mut self, mut anchor: OpenAnchor, end: AnchorEnd) {
        let (mut text, mut alt) = (anchor.text.take(), anchor.alt.take());
        let (first, own) = (anchor.first_part.take(), anchor.own_part.take());
        let part = match end {
            AnchorEnd::Tag => own,
            AnchorEnd::Implied => first,
        };
        if let Some(mark) = part {
            text.truncate(text.floor_char_boundary(mark.text_bytes));
            alt.truncate(alt.floor_char_boundary(mark.alt_bytes));
        }
        let words = if text.is_empty() { &alt } else { &text };
        self.list[anchor.id.0 as usize].anchor = self.keep(words);
        anchor.text.clear();
        anchor.alt.clear();
        anchor.image.0.clear();
        self.spare.push(anchor);
    }

    pub(super) fn push_area(&mut self, attributes: &Attributes) {
        if let Some(reference) = attributes.text(Attribute::Href) {
            let alt = attributes.text(Attribute::Alt).unwrap_or_default();
            let nofollow = is_nofollow(attributes.get(Attribute::Rel));
            self.push(&reference, &alt, nofollow, LinkKind::Area);
        }
    }

    /// Adds an image. An image in a `noscript` may replace the adjacent one that only a script
    /// would load, so equal words of both count once.
    pub(super) fn image(&mut self, attributes: &Attributes, in_noscript: bool) {
        let Some(alt) = attributes.get(Attribute::Alt) else {
            return;
        };
        for anchor in self.open.iter_mut().filter(|open| open.is_collecting) {
            let (before, was_in_noscript) = &anchor.image;
            if before.trim_ascii() == alt.trim_ascii() && *was_in_noscript != in_noscript {
                continue;
            }
            anchor.alt.blank();
            anchor.alt.push(alt);
            anchor.image.0.clear();
            anchor.image.0.extend_from_slice(alt);
            anchor.image.1 = in_noscript;
        }
    }

    pub(super) fn text(&mut self, text: &[u8]) {
        for anchor in self.open.iter_mut().filter(|open| open.is_collecting) {
            anchor.text.push(text);
        }
    }

    pub(super) fn blank(&mut self) {
        for anchor in &mut self.open {
            anchor.text.blank();
        }
    }

    fn keep(&mut self, text: &str) -> Range<usize> {
        let start = self.texts.len();
        self.texts.push_str(text);
        start..self.texts.len()
    }
}
