//! Reads HTML: title, visible text, links and a few declarations, from the tokens alone.
//!
//! The tokenizer is html5gum with a custom emitter, measured on the 306 HTML pages (11.4 MB) of six
//! real crawls (one thread, links and text): html5gum with such an emitter 594 MB/s, `tl` 410 (not
//! standard: 126 links lost, entities not decoded), lol_html 169 (359 without text; entities not
//! decoded), ready-made tokens of html5gum 138, tokenizer of html5ever 115.
//!
//! No tree is built, so time is linear in the input; `scanner`, `document` and `open` derive from
//! the tags what a tree would add. Markup is read as by a browser without scripts: `noscript` has
//! content, `template` has none.
//!
//! XHTML differs in three rules: `/>` closes every element, CDATA sections are text, and only
//! `script` and `style` are raw. Malformed XML, which browsers do not show, is read like any other
//! page.

mod attributes;
mod document;
mod images;
mod open;
mod raw_links;
pub(crate) mod refresh;
mod scanner;
mod source;
mod tag;

pub(crate) use document::{Document, TITLE_CHARS_MAX};
pub(crate) use images::RawImage;

/// Largest text kept of a page, in bytes.
pub use document::TEXT_BYTES_MAX;

use scanner::Scanner;
use source::Source;

use crate::mime::{self, Markup};

/// Reads a document, with text and images if `wants_text`. This never fails: the standard gives
/// every input a meaning.
pub(crate) fn read(html: &str, markup: Markup, wants_text: bool) -> Document {
    let mut document = Document::new(wants_text, markup == Markup::Xml);
    let tokenizer = html5gum::Tokenizer::new_with_emitter(Source::new(html), Scanner::new(&mut document));
    // Reading from memory cannot fail.
    let Ok(()) = tokenizer.finish();
    document.finish();
    document
}

/// Returns the title of a document of a (normalized) type, in the format of
/// [`Page::title`](crate::Page::title), or an empty string. The beginning of the document is
/// enough.
///
/// ```
/// let html = "<html><head><title>Otters &amp;\n seals</title>";
/// assert_eq!(extract::title(html, "text/html"), "Otters & seals");
/// ```
pub fn title(html: &str, mime: &str) -> String {
    read(html, mime::markup(mime), false).title.finish().0
}

#[cfg(test)]
mod tests;
