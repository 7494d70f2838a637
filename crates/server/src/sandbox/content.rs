//! The content of a capture in the form that is sent: piece by piece, decoded, in UTF-8, with links
//! to this server.
//!
//! Invariant: each piece reads or returns about [`PIECE_BYTES`] of content, so its memory is
//! bounded. At most [`CONTENT_BYTES_MAX`] are read and shown, even if the record decodes to more.
//! If content is left out, a note at the end says so where the type allows it.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use archive::question::{CdxRow, RecordBody};
use archive::{Interrupt, RecordError};
use axum::body::Bytes;
use data_encoding::BASE64;
use extract::{PayloadReader, TextReader};
use inputs::Sources;
use listen::Permit;
use maud::{DOCTYPE, html};
use replay::sandbox::{ArchivedPage, Rewriter, first_base};
use url::Url;
use warc::ReadError;

use super::show::Show;
use crate::link;
use crate::stream::BodySource;

/// Maximum number of bytes of a content that are shown.
pub(crate) const CONTENT_BYTES_MAX: u64 = 64 << 20;

/// Number of bytes of a page that are searched for its `base` before anything is sent.
const BASE_BYTES_MAX: u64 = 4 << 20;

/// Number of bytes of content read for a piece (for HTML: returned). A multiple of three, so that
/// pieces in Base64 need no padding.
const PIECE_BYTES: usize = 3 << 14;

/// The note after the last byte that is shown.
const NOTE: &str = "Weft shows only the first 64 MiB of this content; the record contains all of it.";

/// Number of bytes of content that are searched for its title.
const TITLE_BYTES_MAX: u64 = 256 << 10;

/// Returns the title in the content of a capture, or `None` if it cannot be read.
pub(super) fn title(sources: &Sources, record: &RecordBody, interrupt: &Interrupt) -> Option<String> {
    let opened = archive::open_record(sources, record, interrupt).ok()?;
    let payload = PayloadReader::open(opened, TITLE_BYTES_MAX).ok()?;
    let mut text = TextReader::open(payload, archived_page(&record.capture).top_level()).ok()?;
    let mut html = Vec::new();
    text.read_to_end(&mut html).ok()?;
    Some(extract::title(
        &String::from_utf8_lossy(&html),
        &record.capture.mime,
    ))
}

/// Returns the page of a capture, whose links lead to pages of this server.
fn archived_page(capture: &CdxRow) -> ArchivedPage {
    ArchivedPage {
        url: Url::parse(&capture.url).ok(),
        time: capture.timestamp.clone(),
        is_xml: capture.mime == "application/xhtml+xml",
        page_address: |url, time| link::if_short(link::page_at(url, &link::At::time(time))),
    }
}

/// Content that is being sent.
pub(crate) struct Content {
    form: Form,
    part: Part,
    /// Permit to read a content. Held until the reading ends.
    _permit: Permit,
}

enum Form {
    /// The rewriter reads from the text.
    Html(Box<Rewriter<SharedText>>, SharedText),
    Text(TextReader),
    Image(PayloadReader),
    Drawing(PayloadReader),
}

/// A text with two users: the rewriter reads it, and the content checks how it ended.
#[derive(Clone)]
struct SharedText(Arc<Mutex<TextReader>>);

impl SharedText {
    fn lock(&self) -> MutexGuard<'_, TextReader> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Read for SharedText {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.lock().read(into)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Start,
    Middle,
    Done,
}

impl Content {
    /// Opens the record of a capture.
    ///
    /// # Errors
    /// [`RecordError`] if the input does not have the record.
    pub(crate) fn open(
        sources: &Sources,
        record: &RecordBody,
        show: Show,
        interrupt: &Interrupt,
        place: Permit,
    ) -> Result<Content, RecordError> {
        let failed = |source| {
            RecordError::Read(ReadError::Io {
                path: record.location.clone(),
                offset: record.capture.offset,
                source,
            })
        };
        let payload = |bytes_max| {
            let opened = archive::open_record(sources, record, interrupt)?;
            PayloadReader::open(opened, bytes_max).map_err(failed)
        };
        let page = archived_page(&record.capture);
        let text = |payload| TextReader::open(payload, page.top_level()).map_err(failed);
        // The page is read twice, because keeping it would take too much memory.
        let first_base = match show {
            Show::Html => {
                let start = text(payload(BASE_BYTES_MAX)?)?;
                // If the beginning cannot be read, the page is shown as far as possible, without a
                // `base`.
                first_base(start, &page).unwrap_or_default()
            }
            _ => None,
        };
        let payload = payload(CONTENT_BYTES_MAX)?;
        let form = match show {
            Show::Html => {
                let text = SharedText(Arc::new(Mutex::new(text(payload)?)));
                let rewriter = Rewriter::new(text.clone(), page, first_base, PIECE_BYTES);
                Form::Html(Box::new(rewriter), text)
            }
            Show::Text => Form::Text(text(payload)?),
            Show::Image => Form::Image(payload),
            Show::Drawing => Form::Drawing(payload),
        };
        Ok(Content {
            form,
            part: Part::Start,
            _permit: place,
        })
    }

    /// Returns the HTML before and after the content. Only a drawing has any.
    fn frame(&self) -> [String; 2] {
        match self.form {
            Form::Drawing(_) => drawing(),
            _ => Default::default(),
        }
    }
}

impl BodySource for Content {
    fn next(&mut self) -> io::Result<Option<Bytes>> {
        if self.part == Part::Done {
            return Ok(None);
        }
        let [before, after] = self.frame();
        let mut sent = Vec::new();
        if self.part == Part::Start {
            sent.extend_from_slice(before.as_bytes());
            self.part = Part::Middle;
        }
        if self.form.is_over_after(&mut sent)? {
            self.part = Part::Done;
            if self.form.has_failed() {
                return Err(io::Error::other(
                    "the input could not be read up to the end of the record",
                ));
            }
            sent.extend_from_slice(after.as_bytes());
        }
        Ok(Some(Bytes::from(sent)))
    }
}

impl Form {
    /// Appends the next piece of content to `sent`, and at the end the note. Returns whether that
    /// was the end.
    fn is_over_after(&mut self, sent: &mut Vec<u8>) -> io::Result<bool> {
        let piece = match self {
            Form::Html(rewriter, _) => rewriter.next_piece()?.unwrap_or_default(),
            Form::Text(text) => read_piece(text)?,
            Form::Image(payload) | Form::Drawing(payload) => read_piece(payload)?,
        };
        let is_over = piece.is_empty();
        match self {
            Form::Drawing(_) => sent.extend_from_slice(BASE64.encode(&piece).as_bytes()),
            _ => sent.extend_from_slice(&piece),
        }
        if is_over {
            sent.extend_from_slice(self.note().as_bytes());
        }
        Ok(is_over)
    }

    /// Returns the note if content was left out. A picture cannot contain a note, so it just ends.
    fn note(&self) -> String {
        match self {
            Form::Html(_, text) if text.lock().is_cut() => html! { hr; p { (NOTE) } }.into_string(),
            Form::Text(text) if text.is_cut() => format!("\n\n[{NOTE}]\n"),
            _ => String::new(),
        }
    }

    fn has_failed(&self) -> bool {
        match self {
            Form::Html(_, text) => text.lock().has_failed(),
            Form::Text(text) => text.has_failed(),
            Form::Image(payload) | Form::Drawing(payload) => payload.has_failed(),
        }
    }
}

/// Reads a full piece, or less at the end.
fn read_piece(source: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut piece = Vec::with_capacity(PIECE_BYTES);
    source.take(PIECE_BYTES as u64).read_to_end(&mut piece)?;
    Ok(piece)
}

/// Returns the page around a drawing, before and after its Base64. The drawing is a picture in the
/// page, because a separate SVG document could contain HTML, which the policy does not stop
/// completely.
fn drawing() -> [String; 2] {
    const PLACE: &str = "data:image/svg+xml;base64,";
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head { meta charset="utf-8"; title { "Drawing" } }
            body { img alt="Archived drawing" src=(PLACE); }
        }
    };
    let page = page.into_string();
    match page.split_once(PLACE) {
        Some((before, after)) => [format!("{before}{PLACE}"), after.to_owned()],
        None => [page, String::new()],
    }
}
