//! The format of a document: decided by its declared type, and by the beginning of its bytes if the
//! type leaves it open.

use serde::{Deserialize, Serialize};

use super::DocumentScope;
use super::{feed, json_feed};
use crate::mime::UNKNOWN;

/// Formats that a [`DocumentReader`](super::DocumentReader) reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DocumentFormat {
    /// PDF.
    Pdf,
    /// Word, Office Open XML.
    Docx,
    /// PowerPoint, Office Open XML.
    Pptx,
    /// Excel, Office Open XML.
    Xlsx,
    /// OpenDocument: text, spreadsheet or presentation.
    Odf,
    /// EPUB.
    Epub,
}

impl DocumentFormat {
    /// Returns its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            DocumentFormat::Pdf => "PDF",
            DocumentFormat::Docx => "DOCX",
            DocumentFormat::Pptx => "PPTX",
            DocumentFormat::Xlsx => "XLSX",
            DocumentFormat::Odf => "OpenDocument",
            DocumentFormat::Epub => "EPUB",
        }
    }

    fn of_type(mime: &str) -> Option<DocumentFormat> {
        Some(match mime {
            "application/pdf" | "application/x-pdf" => DocumentFormat::Pdf,
            "application/epub+zip" => DocumentFormat::Epub,
            "application/vnd.oasis.opendocument.text"
            | "application/vnd.oasis.opendocument.spreadsheet"
            | "application/vnd.oasis.opendocument.presentation" => DocumentFormat::Odf,
            _ => match mime.strip_prefix("application/vnd.openxmlformats-officedocument.")? {
                "wordprocessingml.document" => DocumentFormat::Docx,
                "presentationml.presentation" => DocumentFormat::Pptx,
                "spreadsheetml.sheet" => DocumentFormat::Xlsx,
                _ => return None,
            },
        })
    }
}

/// How a document is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Plain,
    XmlFeed,
    JsonFeed,
    WithReader(DocumentFormat),
    Image,
}

/// Returns whether a byte occurs in no text, but in files of other formats that are served as text
/// (WHATWG MIME Sniffing, section 7.2, "binary data byte").
fn is_binary(byte: u8) -> bool {
    matches!(byte, 0x00..=0x08 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f)
}

/// Number of bytes that decide whether a payload is text: the "resource header" of the same
/// standard.
const HEADER_BYTES: usize = 1445;

impl Format {
    /// Returns whether a payload of this type can be a document.
    pub(super) fn may_be_of(mime: &str, scope: DocumentScope) -> bool {
        mime == UNKNOWN
            || mime == "text/plain"
            || is_xml(mime)
            || is_json(mime)
            || has_files(scope) && DocumentFormat::of_type(mime).is_some()
            || has_images(scope) && is_image(mime)
    }

    /// Returns the format of a payload; `None` if it is no document.
    pub(super) fn of(mime: &str, bytes: &[u8], scope: DocumentScope) -> Option<Format> {
        let is_pdf = || has_files(scope) && bytes.starts_with(b"%PDF-");
        match mime {
            "text/plain" => is_text(bytes).then_some(Format::Plain),
            UNKNOWN if is_pdf() => Some(Format::WithReader(DocumentFormat::Pdf)),
            UNKNOWN => feed::begins(bytes).then_some(Format::XmlFeed),
            _ if is_xml(mime) => feed::begins(bytes).then_some(Format::XmlFeed),
            _ if is_json(mime) => json_feed::begins(bytes).then_some(Format::JsonFeed),
            _ if has_images(scope) && is_image(mime) => Some(Format::Image),
            _ if has_files(scope) => DocumentFormat::of_type(mime).map(Format::WithReader),
            _ => None,
        }
    }
}

/// Returns whether PDF, EPUB and office files are documents.
fn has_files(scope: DocumentScope) -> bool {
    scope == DocumentScope::All || has_images(scope)
}

/// Returns whether images are documents.
fn has_images(scope: DocumentScope) -> bool {
    matches!(scope, DocumentScope::Images | DocumentScope::Exif)
}

fn is_image(mime: &str) -> bool {
    mime.starts_with("image/")
}

/// Returns whether feeds are served as this type, among other XML.
fn is_xml(mime: &str) -> bool {
    matches!(
        mime,
        "application/rss+xml"
            | "application/x-rss+xml"
            | "text/rss+xml"
            | "application/atom+xml"
            | "application/rdf+xml"
            | "application/xml"
            | "text/xml"
    )
}

fn is_json(mime: &str) -> bool {
    matches!(mime, "application/feed+json" | "application/json")
}

fn is_text(bytes: &[u8]) -> bool {
    let header = &bytes[..bytes.len().min(HEADER_BYTES)];
    let has_mark = [&b"\xff\xfe"[..], b"\xfe\xff", b"\xef\xbb\xbf"]
        .iter()
        .any(|mark| header.starts_with(mark));
    has_mark || !header.iter().copied().any(is_binary)
}
