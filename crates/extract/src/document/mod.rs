//! Documents: captures that are not pages but have text. Plain text and feeds are read here. PDF,
//! EPUB and office files are read by a [`DocumentReader`], because their parsers fail on hostile
//! files in ways that a caller cannot catch.
//!
//! Invariants:
//! - No capture is both a page and a document. A document has no links, and the views of pages and
//!   links ignore it.
//! - Whether a capture is a document depends only on its declared type and its bytes. So does its
//!   text, unless a reader gave up for lack of time or memory
//!   ([`DocumentFailure::is_temporary`]).
//! - A capture whose text cannot be read is a document without text, with the reason.

mod exif;
mod feed;
mod format;
mod image;
mod json_feed;
mod plain;

pub use exif::Exif;
pub use format::DocumentFormat;
pub use image::{ImageFacts, Thumbnail};

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::html::{TEXT_BYTES_MAX, TITLE_CHARS_MAX};
use crate::text::Collapser;
use crate::{Page, charset, language, reason};
use format::Format;

/// Captures that are read for their text although they are not pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum DocumentScope {
    /// No captures.
    #[default]
    None,
    /// Plain text and feeds, which the extracting process reads itself.
    Text,
    /// PDF, EPUB and office files as well.
    All,
    /// Images as well: their size and what they look like.
    Images,
    /// Time and place of images as well.
    Exif,
}

impl DocumentScope {
    /// Returns its name on the command line and in responses.
    pub fn name(self) -> &'static str {
        match self {
            DocumentScope::None => "none",
            DocumentScope::Text => "text",
            DocumentScope::All => "all",
            DocumentScope::Images => "images",
            DocumentScope::Exif => "exif",
        }
    }
}

impl fmt::Display for DocumentScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which documents to read, and how.
#[derive(Debug, Clone, Default)]
pub struct Documents {
    /// Which captures are documents.
    pub scope: DocumentScope,
    /// Reads the other formats; without a reader such documents have no text.
    pub reader: Option<Arc<dyn DocumentReader>>,
}

impl Documents {
    /// No documents.
    pub const NONE: Documents = Documents {
        scope: DocumentScope::None,
        reader: None,
    };
}

/// Reads documents of formats whose parsers cannot be trusted within this process.
pub trait DocumentReader: fmt::Debug + Send + Sync {
    /// Returns title and text of `bytes`, which claim to be of `format`. The same bytes give the
    /// same answer, unless the failure says otherwise. Called by many threads at once.
    ///
    /// # Errors
    /// [`DocumentFailure`].
    fn read(&self, format: DocumentFormat, bytes: &[u8]) -> Result<DocumentText, DocumentFailure>;

    /// Returns size and perceptual hash of an image, and its EXIF data if `exif` asks for it. The
    /// same bytes give the same answer, unless the failure says otherwise.
    ///
    /// # Errors
    /// [`DocumentFailure`].
    fn describe(&self, bytes: &[u8], exif: bool) -> Result<ImageFacts, DocumentFailure>;

    /// Returns a small copy of an image.
    ///
    /// # Errors
    /// [`DocumentFailure`].
    fn thumbnail(&self, bytes: &[u8]) -> Result<Thumbnail, DocumentFailure>;

    /// Releases resources kept for the next document. Called at the end of a load.
    fn rest(&self) {}
}

/// A reader's result for a document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentText {
    /// The document's own title; empty if none.
    pub title: String,
    /// The text, in lines.
    pub text: String,
    /// Whether the document has more text.
    pub truncated: bool,
    /// The language that the document declares; empty if none.
    pub language: String,
}

/// Why a reader found no text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentFailure {
    /// The format cannot be read: damaged, encrypted, or not what it claims to be.
    #[error("{0}")]
    Unreadable(String),
    /// The reader crashed, and will crash again.
    #[error("its reader crashed: {0}")]
    Crashed(String),
    /// The reader took too long.
    #[error("its reader was ended after {seconds} s")]
    Time {
        /// The limit.
        seconds: u64,
    },
    /// The reader needed too much memory.
    #[error("its reader needed more than {mebibytes} MiB")]
    Memory {
        /// The limit.
        mebibytes: u64,
    },
    /// No reader is set, or none could be started.
    #[error("no reader: {0}")]
    NoReader(String),
}

impl DocumentFailure {
    /// Returns whether reading the same bytes again may succeed.
    pub fn is_temporary(&self) -> bool {
        match self {
            DocumentFailure::Unreadable(_) | DocumentFailure::Crashed(_) => false,
            DocumentFailure::Time { .. } | DocumentFailure::Memory { .. } | DocumentFailure::NoReader(_) => {
                true
            }
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            DocumentFailure::Unreadable(_) => reason::DOCUMENT_UNREADABLE,
            DocumentFailure::Crashed(_) => reason::DOCUMENT_CRASH,
            DocumentFailure::Time { .. } => reason::DOCUMENT_TIME,
            DocumentFailure::Memory { .. } => reason::DOCUMENT_MEMORY,
            DocumentFailure::NoReader(_) => reason::DOCUMENT_NO_READER,
        }
    }
}

/// Returns whether a capture of this (normalized) type can be a document. This is decided before
/// the payload is decoded.
pub(crate) fn may_be(mime: &str, scope: DocumentScope) -> bool {
    scope != DocumentScope::None && Format::may_be_of(mime, scope)
}

/// A payload that is not a page, with the needed fields of its capture.
pub(crate) struct Source<'a> {
    /// Normalized media type.
    pub(crate) mime: &'a str,
    /// Decoded payload.
    pub(crate) bytes: &'a [u8],
    /// The charset of the HTTP header.
    pub(crate) charset: Option<&'a str>,
    /// The last label of the host.
    pub(crate) top_level: Option<&'a str>,
    /// The Content-Language of the HTTP header.
    pub(crate) content_language: Option<&'a str>,
    /// Whether the payload is longer than `bytes`.
    pub(crate) is_cut: bool,
}

/// Makes the document of a payload. If that fails, also returns why it has no text. `None` if it is
/// no document.
pub(crate) fn read(source: &Source<'_>, documents: &Documents) -> Option<(Page, Option<warc::Defect>)> {
    let format = Format::of(source.mime, source.bytes, documents.scope)?;
    let (mut page, defect) = match format {
        Format::WithReader(format) => read_with_reader(format, source.bytes, documents),
        Format::Image => describe(source.bytes, documents),
        _ => {
            let (text, encoding) = charset::decode(source.bytes, source.charset, source.top_level);
            let mut page = match format {
                Format::XmlFeed => feed::read(&text)?,
                Format::JsonFeed => json_feed::read(&text)?,
                _ => plain::read(&text),
            };
            page.charset = encoding.name().to_owned();
            (page, None)
        }
    };
    page.text_truncated |= source.is_cut;
    if page.language.is_empty() && format != Format::Image {
        let declared = source.content_language.and_then(language::declared);
        page.language = declared
            .or_else(|| language::detect(&page.text))
            .unwrap_or_default();
    }
    Some((page, defect))
}

/// Reads a document with the reader.
fn read_with_reader(
    format: DocumentFormat,
    bytes: &[u8],
    documents: &Documents,
) -> (Page, Option<warc::Defect>) {
    let read = reader_of(documents).and_then(|reader| reader.read(format, bytes));
    match read {
        Ok(found) => {
            let mut page = Page {
                title: line(&found.title),
                language: language::declared(&found.language).unwrap_or_default(),
                ..Page::default()
            };
            (page.text, page.text_truncated) = lines(&found.text);
            page.text_truncated |= found.truncated;
            (page, None)
        }
        Err(failure) => unread(format.name(), &failure),
    }
}

/// Describes an image with the reader. Its text is the description.
fn describe(bytes: &[u8], documents: &Documents) -> (Page, Option<warc::Defect>) {
    // Places where people were are read only if they are asked for.
    let exif = documents.scope == DocumentScope::Exif;
    let found = reader_of(documents).and_then(|reader| reader.describe(bytes, exif));
    match found {
        Ok(facts) => {
            let page = Page {
                text: facts.to_string(),
                ..Page::default()
            };
            (page, None)
        }
        Err(failure) => unread("image", &failure),
    }
}

fn reader_of(documents: &Documents) -> Result<&dyn DocumentReader, DocumentFailure> {
    let none = || DocumentFailure::NoReader("this program has none".to_owned());
    documents.reader.as_deref().ok_or_else(none)
}

/// Returns a document without text, and why it has none.
fn unread(name: &str, failure: &DocumentFailure) -> (Page, Option<warc::Defect>) {
    let detail = format!("{name}: {failure}");
    (Page::default(), Some(warc::Defect::new(failure.reason(), detail)))
}

/// Returns a title: one line with collapsed white space.
fn line(text: &str) -> String {
    let mut line = Collapser::line(TITLE_CHARS_MAX);
    line.push(text.as_bytes());
    line.finish().0
}

/// Returns a text in its lines, with collapsed white space, and whether it was truncated.
pub(crate) fn lines(text: &str) -> (String, bool) {
    let mut lines = Collapser::lines(TEXT_BYTES_MAX);
    for line in text.lines() {
        lines.push(line.as_bytes());
        lines.break_line();
    }
    lines.finish()
}

#[cfg(test)]
mod tests;
