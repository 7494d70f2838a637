//! Collects images as written in the document. They can be resolved only at the end, because a
//! `base` may come after them.
//!
//! An image remembers places in the visible text instead of words. The words around it are read
//! from the text when the document has ended, so images cost no second copy of it.

use super::attributes::{Attribute, Attributes};
use super::tag::{Kind, Role, Tag};
use crate::simple;
use std::ops::Range;

/// Largest number of occurrences kept of a page: one image may occur many times.
const OCCURRENCES_MAX: usize = 2000;

/// Maximum number of bytes kept of the attributes of all images of a page.
const BYTES_MAX: usize = 1 << 20;

/// Longer references are ignored.
const REFERENCE_BYTES_MAX: usize = 4096;

/// Largest number of references kept of an image.
const REFERENCES_MAX: usize = 16;

/// Longest alternative text and title kept, in bytes. The page keeps fewer characters.
const LABEL_BYTES_MAX: usize = 4096;

/// Maximum number of open figures that are tracked.
const FIGURES_MAX: usize = 16;

/// An image, as written in the document.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct RawImage {
    /// References to its files, not resolved; at least one. The first is what a reader sees.
    pub(crate) references: Vec<String>,
    pub(crate) alt: String,
    pub(crate) title: String,
    /// Declared size in pixels.
    pub(crate) width: Option<u32>,
    pub(crate) height: Option<u32>,
    /// Its place in the visible text, in bytes.
    pub(crate) at: usize,
    /// Place of the nearest heading that ended before it; empty without one.
    pub(crate) heading: Range<usize>,
    /// Place of the caption of its `figure`; empty without one.
    pub(crate) caption: Range<usize>,
}

/// All occurrences.
#[derive(Debug, Default)]
pub(crate) struct RawImages {
    list: Vec<RawImage>,
    /// Bytes in `list`.
    bytes: usize,
    heading: Range<usize>,
    /// Where an open heading began.
    heading_start: Option<usize>,
    /// Whether a `picture` is open.
    in_picture: bool,
    /// References of the `source` elements of the open `picture`.
    sources: Vec<String>,
    /// The open figures, the outermost first.
    figures: Vec<Figure>,
}

/// An open `figure`.
#[derive(Debug)]
struct Figure {
    /// Number of images before it.
    first: usize,
    /// Where its open caption began.
    caption_start: Option<usize>,
    caption: Range<usize>,
}

impl RawImages {
    /// Returns the occurrences in document order.
    pub(crate) fn into_list(self) -> Vec<RawImage> {
        self.list
    }

    /// Handles a start tag at a place in the visible text.
    pub(super) fn start(&mut self, tag: Tag, attributes: &Attributes, at: usize) {
        match tag.kind {
            Kind::Image => self.push(attributes, at),
            Kind::Picture => {
                self.in_picture = true;
                self.sources.clear();
            }
            Kind::Source if self.in_picture => add_references(&mut self.sources, attributes),
            Kind::Figure if self.figures.len() < FIGURES_MAX => self.figures.push(Figure {
                first: self.list.len(),
                caption_start: None,
                caption: 0..0,
            }),
            Kind::Figcaption => {
                if let Some(figure) = self.figures.last_mut() {
                    figure.caption_start = Some(at);
                }
            }
            _ if tag.role == Role::Heading => self.heading_start = Some(at),
            _ => {}
        }
    }

    /// Handles an end tag at a place in the visible text.
    pub(super) fn end(&mut self, tag: Tag, at: usize) {
        match tag.kind {
            Kind::Picture => {
                self.in_picture = false;
                self.sources.clear();
            }
            Kind::Figcaption => {
                if let Some(figure) = self.figures.last_mut() {
                    figure.end_caption(at);
                }
            }
            Kind::Figure => self.end_figure(at),
            _ if tag.role == Role::Heading => {
                if let Some(start) = self.heading_start.take() {
                    self.heading = start..at;
                }
            }
            _ => {}
        }
    }

    /// Ends all figures at the end of the document.
    pub(super) fn end_all(&mut self, at: usize) {
        while !self.figures.is_empty() {
            self.end_figure(at);
        }
    }

    fn end_figure(&mut self, at: usize) {
        let Some(mut figure) = self.figures.pop() else {
            return;
        };
        figure.end_caption(at);
        // Images of a figure inside this one have their own caption.
        let of_figure = self.list[figure.first..].iter_mut();
        for image in of_figure.filter(|image| image.caption.is_empty()) {
            image.caption = figure.caption.clone();
        }
    }

    fn push(&mut self, attributes: &Attributes, at: usize) {
        let mut references = Vec::new();
        add_references(&mut references, attributes);
        references.append(&mut self.sources);
        references.truncate(REFERENCES_MAX);
        let label = |attribute| {
            let text = attributes.text(attribute).unwrap_or_default();
            text[..text.floor_char_boundary(LABEL_BYTES_MAX)].to_owned()
        };
        let (alt, title) = (label(Attribute::Alt), label(Attribute::Title));
        let bytes = references.iter().map(String::len).sum::<usize>() + alt.len() + title.len();
        if references.is_empty() || self.list.len() == OCCURRENCES_MAX || self.bytes + bytes > BYTES_MAX {
            return;
        }
        self.bytes += bytes;
        self.list.push(RawImage {
            references,
            alt,
            title,
            width: attributes.get(Attribute::Width).and_then(pixels),
            height: attributes.get(Attribute::Height).and_then(pixels),
            at,
            heading: self.heading.clone(),
            caption: 0..0,
        });
    }
}

impl Figure {
    fn end_caption(&mut self, at: usize) {
        if let Some(start) = self.caption_start.take() {
            self.caption = start..at;
        }
    }
}

/// Adds the references of an `img` or `source`. Scripts of pages that load images late find the
/// image in `data-src` and the like, so these come before `src`, which is then a placeholder.
fn add_references(references: &mut Vec<String>, attributes: &Attributes) {
    const SINGLE: [Attribute; 4] = [
        Attribute::DataSrc,
        Attribute::DataOriginal,
        Attribute::DataLazySrc,
        Attribute::Src,
    ];
    for attribute in SINGLE {
        if let Some(text) = attributes.text(attribute) {
            add_reference(references, &text);
        }
    }
    for attribute in [Attribute::Srcset, Attribute::DataSrcset] {
        if let Some(text) = attributes.text(attribute) {
            let candidates = srcset(&text).take(REFERENCES_MAX);
            candidates.for_each(|reference| add_reference(references, reference));
        }
    }
}

fn add_reference(references: &mut Vec<String>, reference: &str) {
    let reference = reference.trim_ascii();
    let is_usable = !reference.is_empty()
        && reference.len() <= REFERENCE_BYTES_MAX
        && references.len() < REFERENCES_MAX
        && !simple::has_other_scheme(reference);
    if is_usable && !references.iter().any(|known| known == reference) {
        references.push(reference.to_owned());
    }
}

/// Returns the references of a `srcset` (HTML standard, 4.8.4.3.9).
fn srcset(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
        if rest.is_empty() {
            return None;
        }
        let end = rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len());
        let (reference, after) = rest.split_at(end);
        let candidate = reference.trim_end_matches(',');
        // Without a comma directly after the reference, descriptors follow up to the next comma.
        rest = if candidate.len() < reference.len() {
            after
        } else {
            after.split_once(',').map_or("", |(_, next)| next)
        };
        Some(candidate)
    })
}

/// Returns a length in pixels; `None` for percentages and anything else.
fn pixels(value: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(value).ok()?.trim_ascii();
    let digits = text.strip_suffix("px").unwrap_or(text);
    // The parser of numbers would accept a sign.
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_of_srcset() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(srcset(text).collect::<Vec<_>>(), expected, "{text}");
        };
        check("", &[]);
        check(" , ", &[]);
        check("a.jpg", &["a.jpg"]);
        check("a.jpg 1x, b.jpg 2x", &["a.jpg", "b.jpg"]);
        check("a.jpg, b.jpg 640w ,c.jpg", &["a.jpg", "b.jpg", "c.jpg"]);
        check("a,b.jpg 1x,c.jpg 2x", &["a,b.jpg", "c.jpg"]);
        check(
            "data:image/gif;base64,AA== 1w, x.png",
            &["data:image/gif;base64,AA==", "x.png"],
        );
    }

    #[test]
    fn lengths_in_pixels() {
        for (value, expected) in [
            ("120", Some(120)),
            (" 120px ", Some(120)),
            ("50%", None),
            ("", None),
            ("+3", None),
            ("-3", None),
            ("99999999999", None),
        ] {
            assert_eq!(pixels(value.as_bytes()), expected, "{value}");
        }
    }
}
