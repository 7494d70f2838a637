//! Makes captures from records: HTTP layer, character set, title, text, links, language; WAT and
//! WET.
//!
//! These are pure functions from a [`warc::Record`] to an [`Extracted`], without input or output
//! and without state between records.
//!
//! Invariants:
//! - No bytes cause a panic. Time and memory are linear in the record and in the limits stated here
//!   ([`LINKS_MAX`], [`TEXT_BYTES_MAX`], 16 MiB of decoded payload).
//! - Every record has exactly one outcome. If it should be a capture and cannot be, the outcome has
//!   the reason, one of the constants in [`reason`].

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod attachment;
mod capture;
mod charset;
mod digest;
mod document;
mod exchange;
mod extracted;
mod header;
mod html;
mod http;
mod images;
mod index_line;
mod language;
mod links;
mod mime;
mod page;
mod payload;
pub mod reason;
mod redirect;
mod resolve;
mod segment;
mod settings;
mod simple;
mod target;
mod text;
mod text_reader;
mod wat;
mod wet;

pub use attachment::AttachmentKind;
pub use charset::document_encoding;
pub use digest::{EMPTY_DIGESTS, declared as declared_digest};
pub use document::{
    DocumentFailure, DocumentFormat, DocumentReader, DocumentScope, DocumentText, Documents, Exif,
    ImageFacts, Thumbnail,
};
pub use exchange::{Belonging, ExchangeNames, RequestFacts, answer_names, is_answer};
pub use extracted::{Capture, CaptureKind, Extracted, Link, LinkKind, Original, Page, RefersTo, Shortfall};
pub use header::{HeaderFacts, derived_from, header_facts, named_url_key, web_target};
pub use html::{TEXT_BYTES_MAX, title};
pub use images::{IMAGES_MAX, Image, stored_image_lines, stored_images, visible_text};
pub use index_line::IndexLine;
pub use links::{ANCHOR_CHARS_MAX, LINKS_MAX, LinkScope};
pub use payload::PayloadReader;
pub use settings::Settings;
pub use text_reader::TextReader;

/// Returns the outcome for one record. It never panics, whatever the bytes.
///
/// ```
/// use extract::{Documents, Extracted, LinkScope, Settings};
///
/// let http = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>Home</title><a href=/news>News</a>";
/// let file = format!(
///     "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://www.example.com/\r\n\
///      WARC-Date: 2014-01-26T20:06:24Z\r\nContent-Type: application/http\r\n\
///      Content-Length: {}\r\n\r\n{http}\r\n\r\n",
///     http.len()
/// );
/// let settings = Settings { links: LinkScope::All, text: true, documents: Documents::NONE };
/// let input = Box::new(file.into_bytes());
/// let mut reader = warc::Reader::from_input(input, "a.warc", warc::ReaderSettings::default())?;
/// while let Some(entry) = reader.next_entry()? {
///     let warc::Entry::Record(record) = entry else { continue };
///     let Extracted::Capture(capture) = extract::extract(&record, &settings) else { continue };
///     assert_eq!((capture.url_key.as_str(), capture.status), ("com,example)/", 200));
///     let page = capture.page.expect("HTML is a page");
///     assert_eq!((page.title.as_str(), page.links[0].url_key.as_str()), ("Home", "com,example)/news"));
/// }
/// # Ok::<(), warc::ReadError>(())
/// ```
pub fn extract(record: &warc::Record, settings: &Settings) -> Extracted {
    outcome(record, Some(settings))
}

/// Returns the outcome for one record without its content, in a fraction of the time: a page is
/// empty, there are no documents, and no digest is computed if the record declares none. The rest
/// is as [`extract`] returns it.
pub fn extract_row(record: &warc::Record) -> Extracted {
    outcome(record, None)
}

/// Returns the outcome for one record. Without settings its content is not read.
fn outcome(record: &warc::Record, settings: Option<&Settings>) -> Extracted {
    if let Some(attachment) = attachment::of(record, settings) {
        return Extracted::Attachment(Box::new(attachment));
    }
    let mut extracted = match record.kind {
        warc::Kind::Response => capture::extract_response(record, settings),
        warc::Kind::Resource => capture::extract_resource(record, settings),
        warc::Kind::Revisit => capture::extract_revisit(record, settings),
        warc::Kind::Metadata => wat::extract(record, settings),
        warc::Kind::Conversion => wet::extract(record, settings),
        warc::Kind::Continuation => segment::extract_continuation(record),
        _ => Extracted::Counted,
    };
    if let Extracted::Capture(capture) = &mut extracted
        && record.is_damaged()
    {
        capture.truncated = Capture::DAMAGED.to_owned();
        let has_text = settings.is_some_and(|settings| settings.text);
        if let Some(content) = capture.content_mut() {
            content.text_truncated |= has_text;
        }
    }
    extracted
}

/// Returns the defects of a record that may still be a capture, in addition to those found when it
/// was read.
pub fn defects_of(record: &warc::Record) -> impl Iterator<Item = warc::Defect> {
    let of_segment = segment::defect_of_first(record);
    capture::http_defect(record).into_iter().chain(of_segment)
}

#[cfg(test)]
mod tests;
