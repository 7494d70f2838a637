//! Occurrences of links as the document spells them: a `base` may come after them, so that none can
//! be resolved before the end.

use super::attributes::{Attribute, Attributes};
use crate::links::{ANCHOR_CHARS_MAX, Occurrence, is_nofollow};
use crate::text::Collapser;
use std::ops::Range;

/// Links that collect text at once at most: in table cells an `a` may stand inside another. Of more, the outermost
/// are done with what they have, so that text costs no more than this.
const OPEN_MAX: usize = 16;

/// All occurrences, their texts in one buffer.
#[derive(Debug, Default)]
pub(super) struct RawLinks {
    texts: String,
    list: Vec<RawLink>,
    /// Those that have not ended, the outermost first.
    open: Vec<OpenAnchor>,
    /// Done, to be used again.
    spare: Vec<OpenAnchor>,
}

/// How far the words of an `a` had come: bytes of its text, and of its images' texts.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    text_bytes: usize,
    alt_bytes: usize,
}

/// Place of a link in the list of occurrences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AnchorId(u32);

/// How an `a` came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnchorEnd {
    /// By its end tag: its words go on behind a block that began in its paragraph, but not beyond the element that it
    /// began in.
    Tag,
    /// Without one: only the words up to where it was closed first.
    Implied,
}

/// What closes an `a` that may be opened again.
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
    /// Whether text belongs to it now: not where a block closed it, until it is opened again.
    is_collecting: bool,
    text: Collapser,
    /// Alternative texts of its images.
    alt: Collapser,
    /// Open elements around it.
    depth: usize,
    /// Where it was closed first, having words.
    first_part: Option<Mark>,
    /// The same, not counting blocks that began in its paragraph, and elements that began inside of it.
    own_part: Option<Mark>,
    /// The last image's words, and whether it stands in a `noscript`.
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

#[derive(Debug)]
struct RawLink {
    /// Stretch of `texts`.
    reference: Range<usize>,
    /// Stretch of `texts`; empty until an `a` ends.
    anchor: Range<usize>,
    nofollow: bool,
}

impl RawLinks {
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
    /// `depth` elements are open around it.
    pub(super) fn start_anchor(&mut self, attributes: &Attributes, depth: usize) -> Option<AnchorId> {
        let reference = attributes.text(Attribute::Href)?;
        // More than fit into the type do not fit into a document.
        let id = AnchorId(u32::try_from(self.list.len()).ok()?);
        self.push(&reference, "", is_nofollow(attributes.get(Attribute::Rel)));
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

    /// An `a` is closed so that `depth` elements stay open, and may be opened again.
    pub(super) fn suspend_anchor(&mut self, id: AnchorId, depth: usize, by: Closing) {
        if let Some(anchor) = self.open.iter_mut().rfind(|open| open.id == id) {
            anchor.close(depth, by);
        }
    }

    /// How far the innermost `a` has come.
    pub(super) fn mark(&self) -> Mark {
        self.open.last().map_or(Mark::default(), OpenAnchor::mark)
    }

    /// A block that began at `mark`, behind words, is taken out of an `a`: what followed is not in its first part.
    pub(super) fn cut_anchor(&mut self, id: AnchorId, mark: Mark) {
        if let Some(anchor) = self.open.iter_mut().rfind(|open| open.id == id) {
            anchor.first_part.get_or_insert(mark);
        }
    }

    /// It is opened again.
    pub(super) fn resume_anchor(&mut self, id: AnchorId) {
        if let Some(anchor) = self.open.iter_mut().rfind(|open| open.id == id) {
            anchor.is_collecting = true;
        }
    }

    /// An `a` ends, if it has not ended.
    pub(super) fn end_anchor(&mut self, id: AnchorId, end: AnchorEnd) {
        if let Some(place) = self.open.iter().rposition(|open| open.id == id) {
            let anchor = self.open.remove(place);
            self.settle(anchor, end);
        }
    }

    /// The document ends.
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
            self.push(&reference, &alt, is_nofollow(attributes.get(Attribute::Rel)));
        }
    }

    /// An image. One in a `noscript` may stand for the image beside it that only a script would load: the same words
    /// of both count once.
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
