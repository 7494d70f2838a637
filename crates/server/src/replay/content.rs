//! The content of a response: opened, rewritten or unchanged, whole or in part.

use std::io;

use archive::question::{CdxRow, Record, RecordBody};
use archive::{Interrupt, RecordError};
use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::Response;
use extract::PayloadReader;
use listen::Permit;
use replay::{Markup, Modifier, Scope};
use warc::ReadError;

use super::body::{self, BYTES_MAX, PageBody, PlainBody};
use super::headers::{field, media, set};
use super::partial::{self, PartRange};
use super::policy::WithoutShim;
use super::request::CaptureRequest;
use crate::answers::Answers;
use crate::archive_client::ArchiveClient;
use crate::failure::Failure;
use crate::record::{content_of, within};
use crate::record_failure::record_failure;
use crate::state::State;
use crate::stream::{self, CancelOnDrop};

/// A payload, and a guard that interrupts its reading when nobody waits for it.
pub(super) struct OpenContent {
    pub(super) payload: PayloadReader,
    cancel: CancelOnDrop,
}

/// Opens the content of a capture.
pub(super) async fn open(state: &State, content: &RecordBody) -> Result<OpenContent, Failure> {
    open_near(state, content, 0).await
}

/// Opens the content of a capture, from `offset` on if it has no codings.
async fn open_near(state: &State, content: &RecordBody, offset: u64) -> Result<OpenContent, Failure> {
    let cancel = CancelOnDrop::new();
    let (record, interrupt) = (content.clone(), cancel.0.clone());
    let opened = state
        .archive
        .blocking(move |source| payload_of(source, &record, &interrupt, offset));
    let payload = opened
        .await?
        .map_err(|error| record_failure(&content.capture, &error))?;
    Ok(OpenContent { payload, cancel })
}

/// Finds a capture. If it `is_wanted` and it or its original has content, opens that on the same
/// thread.
pub(super) async fn find_and_open(
    archive: &ArchiveClient,
    question: Record,
    is_wanted: impl FnOnce(&CdxRow) -> bool + Send + 'static,
) -> Result<(RecordBody, Option<OpenContent>), Failure> {
    let cancel = CancelOnDrop::new();
    let interrupt = cancel.0.clone();
    let answer = archive.ask_then(question, move |source, found: &RecordBody| {
        if !is_wanted(&found.capture) {
            return Ok(None);
        }
        let content = content_of(found.clone())?;
        payload_of(source, &content, &interrupt, 0)
            .map(Some)
            .map_err(|error| record_failure(&content.capture, &error))
    });
    let (found, payload) = answer.await?;
    let opened = payload?.map(|payload| OpenContent { payload, cancel });
    Ok((found.body, opened))
}

/// Returns the payload of a capture that has one, from `offset` on if it has no codings. May block.
pub(super) fn payload_of(
    source: &dyn Answers,
    content: &RecordBody,
    interrupt: &Interrupt,
    offset: u64,
) -> Result<PayloadReader, RecordError> {
    let opened = archive::open_record(&source.sources(), content, interrupt)?;
    PayloadReader::open_near(opened, BYTES_MAX, offset).map_err(|source| cannot_read(content, source))
}

fn cannot_read(record: &RecordBody, source: io::Error) -> RecordError {
    RecordError::Read(ReadError::Io {
        path: record.location.clone(),
        offset: record.capture.offset,
        source,
    })
}

fn unreadable(content: &RecordBody, source: io::Error) -> Failure {
    record_failure(&content.capture, &cannot_read(content, source))
}

/// Form in which content is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentForm {
    Markup(Markup),
    /// XML, whose beginning decides whether it is a page, a drawing, or data
    /// ([`body::xml_markup`]).
    Xml,
    Style,
    Plain,
}

impl ContentForm {
    pub(super) fn of(modifier: Modifier, fields: &[(String, String)], capture: &CdxRow) -> ContentForm {
        if matches!(modifier, Modifier::Raw | Modifier::Data) {
            return ContentForm::Plain;
        }
        let declared = field(fields, "content-type").unwrap_or(&capture.mime);
        let mime = declared
            .split(';')
            .next()
            .unwrap_or("")
            .trim()
            .to_ascii_lowercase();
        match (mime.as_str(), modifier) {
            // Servers declare scripts with any type, so a part requested as a script is a script.
            (_, Modifier::Script) => ContentForm::Plain,
            ("text/html", _) => ContentForm::Markup(Markup::Page),
            ("application/xhtml+xml", _) => ContentForm::Markup(Markup::Xhtml),
            ("text/css", _) | (_, Modifier::Style) => ContentForm::Style,
            ("image/svg+xml", _) => ContentForm::Markup(Markup::Xml),
            ("application/xml" | "text/xml", _) => ContentForm::Xml,
            ("" | "unk", Modifier::None | Modifier::Page) => ContentForm::Markup(Markup::Page),
            _ => ContentForm::Plain,
        }
    }
}

/// Responds with content.
pub(super) async fn answer(
    state: &State,
    request: &CaptureRequest<'_>,
    content: &RecordBody,
    opened: OpenContent,
    scope: Scope,
    shown: ContentForm,
) -> Result<Response, Failure> {
    match shown {
        ContentForm::Markup(kind) => markup(state, request, content, opened, (scope, kind)).await,
        ContentForm::Xml => {
            let OpenContent { payload, cancel } = opened;
            let place = state.contents.take(request.peer).await;
            let found = state
                .archive
                .blocking(move |_| {
                    let _permit = place;
                    body::xml_markup(payload)
                })
                .await?
                .map_err(|error| unreadable(content, error))?;
            drop(cancel);
            // The beginning is read again.
            let opened = open(state, content).await?;
            match found {
                Some(kind) => markup(state, request, content, opened, (scope, kind)).await,
                None => plain(state, request, content, opened).await,
            }
        }
        ContentForm::Style => style(state, request, content, opened, scope).await,
        ContentForm::Plain => plain(state, request, content, opened).await,
    }
}

/// Responds with a page or a drawing, rewritten.
async fn markup(
    state: &State,
    request: &CaptureRequest<'_>,
    content: &RecordBody,
    opened: OpenContent,
    (scope, markup): (Scope, Markup),
) -> Result<Response, Failure> {
    let OpenContent { payload, cancel } = opened;
    let place = state.contents.take(request.peer).await;
    let scripts = request.scripts;
    let (page, charset) = state
        .archive
        .blocking(move |_| {
            let (page, charset) = PageBody::open(payload, scope, markup, scripts, Some(place))?;
            Ok((stream::prefetch(page), charset))
        })
        .await?
        .map_err(|error| unreadable(content, error))?;
    let mut response = Response::new(stream::body_after(
        state.archive.clone(),
        page,
        cancel,
        Some(state.settings.content_max),
    ));
    if markup == Markup::Xml {
        response.extensions_mut().insert(WithoutShim);
    }
    let declared = media(&[], &content.capture);
    let mime = declared
        .to_str()
        .ok()
        .and_then(|mime| mime.split(';').next())
        .unwrap_or("");
    let mime = match (markup, mime) {
        // The place of the shim depends on the markup, so the type must be the one that the page
        // was rewritten as.
        (Markup::Page, _) => "text/html",
        (_, "application/xhtml+xml" | "image/svg+xml" | "application/xml" | "text/xml") => mime,
        (Markup::Xml, _) => "image/svg+xml",
        (Markup::Xhtml, _) => "application/xhtml+xml",
    };
    set(
        &mut response,
        header::CONTENT_TYPE,
        &format!("{mime}; charset={charset}"),
    );
    Ok(response)
}

/// Responds with a style sheet, rewritten.
async fn style(
    state: &State,
    request: &CaptureRequest<'_>,
    content: &RecordBody,
    opened: OpenContent,
    scope: Scope,
) -> Result<Response, Failure> {
    let OpenContent { payload, cancel } = opened;
    let place = state.contents.take(request.peer).await;
    let css = state
        .archive
        .blocking(move |_| {
            let _permit = place;
            body::style(payload, &scope)
        })
        .await?
        .map_err(|error| unreadable(content, error))?;
    drop(cancel);
    let mut response = Response::new(Body::from(css));
    response.extensions_mut().insert(WithoutShim);
    set(&mut response, header::CONTENT_TYPE, "text/css; charset=utf-8");
    Ok(response)
}

/// Responds with unchanged content, or the requested range of it.
async fn plain(
    state: &State,
    request: &CaptureRequest<'_>,
    content: &RecordBody,
    opened: OpenContent,
) -> Result<Response, Failure> {
    if PartRange::of(&opened.payload).is_some_and(|part| !part.is_whole()) {
        return partial::answer(state, request, content).await;
    }
    // Decoders need memory while they run; content that is stored unencoded does not.
    let place = if opened.payload.is_encoded() {
        Some(state.contents.take(request.peer).await)
    } else {
        None
    };
    let mut response = match request.range() {
        None => whole(state, opened, place).await?,
        Some(range) => ranged(state, content, opened, range, place).await?,
    };
    set(&mut response, header::ACCEPT_RANGES, "bytes");
    response.extensions_mut().insert(WithoutShim);
    Ok(response)
}

async fn whole(state: &State, opened: OpenContent, place: Option<Permit>) -> Result<Response, Failure> {
    let OpenContent { payload, cancel } = opened;
    let begun = state
        .archive
        .blocking(move |_| stream::prefetch(PlainBody::whole(payload, place)))
        .await?;
    let body = stream::body_after(state.archive.clone(), begun, cancel, None);
    Ok(Response::new(body))
}

/// Responds with a range, or with everything if the range is not valid.
async fn ranged(
    state: &State,
    content: &RecordBody,
    opened: OpenContent,
    range: &str,
    place: Option<Permit>,
) -> Result<Response, Failure> {
    let OpenContent { payload, cancel } = opened;
    let length = match payload.length() {
        Some(length) => length,
        None => state
            .archive
            .blocking(move |_| body::length(payload))
            .await?
            .map_err(|error| unreadable(content, error))?,
    };
    drop(cancel);
    let (first, last) = match within(range, length) {
        Err(unsatisfiable) => return Ok(unsatisfiable),
        Ok(Some(range)) => range,
        Ok(None) => return whole(state, open(state, content).await?, place).await,
    };
    let OpenContent { payload, cancel } = open_near(state, content, first).await?;
    let part = PlainBody::part(payload, first, last - first + 1, place);
    let mut response = Response::new(stream::body(state.archive.clone(), part, cancel, None));
    set_range(&mut response, (first, last), Some(length));
    Ok(response)
}

/// Makes a response one of part of the content, from the first to the last byte. The length of the
/// whole may be unknown.
pub(super) fn set_range(response: &mut Response, (first, last): (u64, u64), length: Option<u64>) {
    *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    let length = length.map_or_else(|| "*".to_owned(), |length| length.to_string());
    set(
        response,
        header::CONTENT_RANGE,
        &format!("bytes {first}-{last}/{length}"),
    );
    set(response, header::CONTENT_LENGTH, &(last - first + 1).to_string());
}
