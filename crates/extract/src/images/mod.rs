//! The images of one page: resolved, one for each address, with the words that describe them.
//!
//! Invariants: one image per address, in the order of first occurrence; each text is the first that
//! is not empty; at most [`IMAGES_MAX`] images; a page spends at most [`BYTES_MAX`] bytes on
//! addresses.

mod stored;

pub use stored::{stored_image_lines, stored_images, visible_text};

use crate::html::RawImage;
use crate::resolve::Resolver;
use crate::text::Collapser;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Largest number of images kept of a page.
pub const IMAGES_MAX: usize = 500;

/// Largest number of characters kept of an alternative text, title, caption or heading.
const LABEL_CHARS_MAX: usize = 256;

/// Largest number of characters kept of the text before an image, and of that after it.
const NEAR_CHARS_MAX: usize = 200;

/// A run of characters without white space that is longer than this is no word that was cut.
const WORD_BYTES_MAX: usize = 40;

/// Largest number of other addresses kept of an image.
const SOURCES_MAX: usize = 8;

/// Longer addresses are not kept.
const URL_BYTES_MAX: usize = 4096;

/// Maximum number of bytes of resolved addresses, and of bases read for them, for one page.
const BYTES_MAX: usize = 8 << 20;

/// Images that are declared as at most this wide or high, in pixels, are spacers and counters.
const SPACER_PIXELS_MAX: u32 = 2;

/// An image that a page shows, with the words that describe it there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Image {
    /// The resolved address, without fragment.
    pub url: String,
    /// Other addresses of it, in other sizes or formats (`srcset`, `source` of a `picture`, the
    /// placeholder of an image that is loaded late).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// The alternative text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub alt: String,
    /// The `title` of the element.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The `figcaption` of its `figure`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub caption: String,
    /// The nearest heading before it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub heading: String,
    /// The end of the visible text before it, at most 200 characters.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub before: String,
    /// The beginning of the visible text after it, at most 200 characters.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub after: String,
    /// Declared width in pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
    /// Declared height in pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub height: Option<u32>,
}

/// Returns the images of a page with this text.
pub(crate) fn resolve(list: Vec<RawImage>, resolver: &Resolver, text: &str) -> Vec<Image> {
    let mut images: Vec<Image> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut addresses = Addresses {
        resolver,
        bytes_left: BYTES_MAX,
    };
    for raw in list.into_iter().filter(|raw| !is_spacer(raw)) {
        let mut urls = raw
            .references
            .iter()
            .filter_map(|reference| addresses.of(reference));
        let Some(url) = urls.next() else {
            continue;
        };
        let sources: Vec<String> = urls.collect();
        let place = match places.get(&url) {
            Some(place) => *place,
            None if images.len() == IMAGES_MAX => continue,
            None => {
                places.insert(url.clone(), images.len());
                images.push(Image {
                    url,
                    before: tail(part(text, 0..raw.at)),
                    after: label(part(text, raw.at..text.len()), NEAR_CHARS_MAX),
                    ..Image::default()
                });
                images.len() - 1
            }
        };
        describe(&mut images[place], &raw, sources, text);
    }
    images
}

/// Resolves references within a budget of bytes.
struct Addresses<'a> {
    resolver: &'a Resolver,
    /// The rest of [`BYTES_MAX`].
    bytes_left: usize,
}

impl Addresses<'_> {
    fn of(&mut self, reference: &str) -> Option<String> {
        if self.bytes_left == 0 {
            return None;
        }
        let url = self.resolver.resolve(reference);
        let url_bytes = url.as_ref().map_or(0, String::len);
        let bytes = url_bytes.max(self.resolver.base_bytes_read(reference));
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
        url.filter(|url| url.len() <= URL_BYTES_MAX)
    }
}

fn is_spacer(raw: &RawImage) -> bool {
    let is_thin = |length: Option<u32>| length.is_some_and(|length| length <= SPACER_PIXELS_MAX);
    is_thin(raw.width) || is_thin(raw.height)
}

/// Adds what an occurrence says of an image.
fn describe(image: &mut Image, raw: &RawImage, sources: Vec<String>, text: &str) {
    for source in sources {
        let is_new = source != image.url && !image.sources.contains(&source);
        if is_new && image.sources.len() < SOURCES_MAX {
            image.sources.push(source);
        }
    }
    let labels = [
        (&mut image.alt, raw.alt.as_str()),
        (&mut image.title, raw.title.as_str()),
        (&mut image.caption, part(text, raw.caption.clone())),
        (&mut image.heading, part(text, raw.heading.clone())),
    ];
    for (kept, found) in labels {
        if kept.is_empty() {
            *kept = label(found, LABEL_CHARS_MAX);
        }
    }
    image.width = image.width.or(raw.width);
    image.height = image.height.or(raw.height);
}

/// Returns a part of the text. Its bounds may be beyond a text that was cut.
fn part(text: &str, range: std::ops::Range<usize>) -> &str {
    let start = text.floor_char_boundary(range.start);
    let end = text.floor_char_boundary(range.end);
    text.get(start..end).unwrap_or_default()
}

/// Returns text with collapsed white space, cut to a number of characters.
fn label(text: &str, chars_max: usize) -> String {
    // This bounds the work: a character has four bytes at most, and a page's text has no runs of
    // white space.
    let text = &text[..text.floor_char_boundary(8 * chars_max)];
    let mut collapser = Collapser::line(chars_max);
    collapser.push(text.as_bytes());
    collapser.finish().0
}

/// Returns the end of a text, from the beginning of a word.
fn tail(text: &str) -> String {
    let from = text.char_indices().rev().nth(NEAR_CHARS_MAX - 1);
    let start = from.map_or(0, |(at, _)| at);
    let end = &text[start..];
    let cut_word = end.find(char::is_whitespace).filter(|_| start > 0);
    let word_end = cut_word.filter(|bytes| *bytes <= WORD_BYTES_MAX).unwrap_or(0);
    label(&end[word_end..], NEAR_CHARS_MAX)
}

#[cfg(test)]
mod tests;
