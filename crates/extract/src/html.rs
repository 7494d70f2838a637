//! HTML: title, visible text, links and a few declarations, from the tokens alone.
//!
//! The tokenizer is html5gum with an emitter of our own. Measured on the 306 HTML pages (11.4 MB) of
//! six real crawls, one thread, counting links and text: html5gum with such an emitter 594 MB/s,
//! `tl` 410 (not after the standard: 126 links lost, entities left), lol_html 169 (359 without
//! text; entities left), html5gum's ready-made tokens 138, html5ever's tokenizer 115. html5gum and
//! html5ever found the same 57,423 links and the same text, byte for byte in length.
//!
//! No tree is built, so time is linear in the input. What a tree would add is decided from the tags: see
//! `scanner` and `document`, and `open` for which text an `a` contains. Markup is read as a browser without scripts
//! reads it: `noscript` has content, `template` has none.
//!
//! XHTML is read by the same rules but for those that XML has instead: `/>` closes every element, CDATA sections are text, and
//! only `script` and `style` are raw. A browser shows nothing of XML that is not well-formed; here it is read like any other page.

mod attributes;
mod document;
mod open;
mod raw_links;
pub(crate) mod refresh;
mod scanner;
mod tag;

pub(crate) use document::{Document, TITLE_CHARS_MAX};

/// Text kept of a page, in bytes.
pub use document::TEXT_BYTES_MAX;

use scanner::Scanner;

use crate::mime::{self, Markup};

/// Reads a document. Never fails: the standard gives every input a meaning.
pub(crate) fn read(html: &str, markup: Markup, wants_text: bool) -> Document {
    let mut document = Document::new(wants_text, markup == Markup::Xml);
    let tokenizer = html5gum::Tokenizer::new_with_emitter(html, Scanner::new(&mut document));
    // Reading from memory cannot fail.
    let Ok(()) = tokenizer.finish();
    document.finish();
    document
}

/// The title of a document of a (normalized) type, of which the beginning is enough, as [`Page::title`](crate::Page::title) has it; empty if it
/// has none.
pub fn title(html: &str, mime: &str) -> String {
    read(html, mime::markup(mime), false).title.finish().0
}

#[cfg(test)]
mod tests;
