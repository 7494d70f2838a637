//! The content of a response: opened, rewritten or unchanged, whole or in part.

use std::io;

use archive::question::{CdxRow, Record, RecordBody};
use archive::{Interrupt, RecordError};
use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::Response;
use extract::PayloadReader;
use replay::{Markup, Modifier, Scope};
use warc::ReadError;

use super::answer::Asked;
use super::body::{self, BYTES_MAX, PageBody, PlainBody};
use super::find;
use super::headers::{field, media, set};
use super::policy::Unscripted;
use crate::ask::{Answers, Asker};
use crate::failure::Failure;
use crate::record::{no_bytes, within};
use crate::state::State;
use crate::stream::{self, Wanted};

/// A payload, and a guard that interrupts its reading when nobody waits for it.
pub(super) struct Opened {
    pub(super) payload: PayloadReader,
    wanted: Wanted,
}

/// Opens the content of a capture.
pub(super) async fn open(state: &State, content: &RecordBody) -> Result<Opened, Failure> {
    let wanted = Wanted::new();
    let (record, interrupt) = (content.clone(), wanted.0.clone());
    let opened = state
        .asker
        .blocking(move |source| payload_of(source, &record, &interrupt));
    let payload = opened
        .await?
        .map_err(|error| no_bytes(&content.capture, &error))?;
    Ok(Opened { payload, wanted })
}

/// Finds a capture. If it `is_wanted` and it or its original has content, opens that on the same
/// thread.
pub(super) async fn find_and_open(
    asker: &Asker,
    question: Record,
    is_wanted: impl FnOnce(&CdxRow) -> bool + Send + 'static,
) -> Result<(RecordBody, Option<Opened>), Failure> {
    let wanted = Wanted::new();
    let interrupt = wanted.0.clone();
    let asked = asker.ask_then(question, move |source, found: &RecordBody| {
        if !is_wanted(&found.capture) {
            return Ok(None);
        }
        let content = find::content_of(found.clone())?;
        payload_of(source, &content, &interrupt)
            .map(Some)
            .map_err(|error| no_bytes(&content.capture, &error))
    });
    let (found, payload) = asked.await?;
    let opened = payload?.map(|payload| Opened { payload, wanted });
    Ok((found.body, opened))
}

/// Returns the payload of a capture that has one. May block.
fn payload_of(
    source: &dyn Answers,
    content: &RecordBody,
    interrupt: &Interrupt,
) -> Result<PayloadReader, RecordError> {
    let opened = archive::open_record(&source.sources(), content, interrupt)?;
    PayloadReader::open(opened, BYTES_MAX).map_err(|source| cannot_read(content, source))
}

fn cannot_read(record: &RecordBody, source: io::Error) -> RecordError {
    RecordError::Read(ReadError::Io {
        path: record.location.clone(),
        offset: record.capture.offset,
        source,
    })
}

fn unreadable(content: &RecordBody, source: io::Error) -> Failure {
    no_bytes(&content.capture, &cannot_read(content, source))
}

/// Form in which content is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    Markup(Markup),
    /// XML, whose beginning decides whether it is a page, a drawing, or data
    /// ([`body::xml_markup`]).
    Xml,
    Style,
    Plain,
}

impl Shown {
    pub(super) fn of(modifier: Modifier, fields: &[(String, String)], capture: &CdxRow) -> Shown {
        if modifier == Modifier::Raw {
            return Shown::Plain;
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
            (_, Modifier::Script) => Shown::Plain,
            ("text/html", _) => Shown::Markup(Markup::Page),
            ("application/xhtml+xml", _) => Shown::Markup(Markup::Xhtml),
            ("text/css", _) | (_, Modifier::Style) => Shown::Style,
            ("image/svg+xml", _) => Shown::Markup(Markup::Xml),
            ("application/xml" | "text/xml", _) => Shown::Xml,
            ("" | "unk", Modifier::None | Modifier::Page) => Shown::Markup(Markup::Page),
            _ => Shown::Plain,
        }
    }
}

/// Responds with content.
pub(super) async fn answer(
    state: &State,
    asked: &Asked<'_>,
    content: &RecordBody,
    opened: Opened,
    scope: Scope,
    shown: Shown,
) -> Result<Response, Failure> {
    match shown {
        Shown::Markup(kind) => markup(state, asked, content, opened, (scope, kind)).await,
        Shown::Xml => {
            let Opened { payload, wanted } = opened;
            let place = state.contents.take(asked.peer).await;
            let found = state
                .asker
                .blocking(move |_| {
                    let _place = place;
                    body::xml_markup(payload)
                })
                .await?
                .map_err(|error| unreadable(content, error))?;
            drop(wanted);
            // The beginning is read again.
            let opened = open(state, content).await?;
            match found {
                Some(kind) => markup(state, asked, content, opened, (scope, kind)).await,
                None => plain(state, asked, content, opened).await,
            }
        }
        Shown::Style => style(state, asked, content, opened, scope).await,
        Shown::Plain => plain(state, asked, content, opened).await,
    }
}

/// Responds with a page or a drawing, rewritten.
async fn markup(
    state: &State,
    asked: &Asked<'_>,
    content: &RecordBody,
    opened: Opened,
    (scope, markup): (Scope, Markup),
) -> Result<Response, Failure> {
    let Opened { payload, wanted } = opened;
    let place = state.contents.take(asked.peer).await;
    let scripts = asked.scripts;
    let (page, charset) = state
        .asker
        .blocking(move |_| {
            let (page, charset) = PageBody::open(payload, scope, markup, scripts, Some(place))?;
            Ok((stream::begin(page), charset))
        })
        .await?
        .map_err(|error| unreadable(content, error))?;
    let mut response = Response::new(stream::go_on(
        state.asker.clone(),
        page,
        wanted,
        Some(state.settings.content_max),
    ));
    if markup == Markup::Xml {
        response.extensions_mut().insert(Unscripted);
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
    asked: &Asked<'_>,
    content: &RecordBody,
    opened: Opened,
    scope: Scope,
) -> Result<Response, Failure> {
    let Opened { payload, wanted } = opened;
    let place = state.contents.take(asked.peer).await;
    let css = state
        .asker
        .blocking(move |_| {
            let _place = place;
            body::style(payload, &scope)
        })
        .await?
        .map_err(|error| unreadable(content, error))?;
    drop(wanted);
    let mut response = Response::new(Body::from(css));
    response.extensions_mut().insert(Unscripted);
    set(&mut response, header::CONTENT_TYPE, "text/css; charset=utf-8");
    Ok(response)
}

/// Responds with unchanged content, or the requested range of it.
async fn plain(
    state: &State,
    asked: &Asked<'_>,
    content: &RecordBody,
    opened: Opened,
) -> Result<Response, Failure> {
    let Opened { payload, wanted } = opened;
    // Decoders need memory while they run; content that is stored unencoded does not.
    let place = if payload.is_encoded() {
        Some(state.contents.take(asked.peer).await)
    } else {
        None
    };
    let range = asked
        .headers
        .get(header::RANGE)
        .and_then(|range| range.to_str().ok());
    let range = range.filter(|range| !range.contains(','));
    let mut response = match range {
        None => {
            let begun = state
                .asker
                .blocking(move |_| stream::begin(PlainBody::whole(payload, place)))
                .await?;
            Response::new(stream::go_on(state.asker.clone(), begun, wanted, None))
        }
        Some(range) => {
            let whole = state
                .asker
                .blocking(move |_| body::length(payload))
                .await?
                .map_err(|error| unreadable(content, error))?;
            match within(range, whole) {
                Err(unsatisfiable) => return Ok(unsatisfiable),
                Ok(None) => {
                    let Opened { payload, wanted } = open(state, content).await?;
                    let whole = PlainBody::whole(payload, place);
                    Response::new(stream::body(state.asker.clone(), whole, wanted, None))
                }
                Ok(Some((first, last))) => {
                    let Opened { payload, wanted } = open(state, content).await?;
                    let part = PlainBody::part(payload, first, last - first + 1, place);
                    let mut response = Response::new(stream::body(state.asker.clone(), part, wanted, None));
                    *response.status_mut() = StatusCode::PARTIAL_CONTENT;
                    set(
                        &mut response,
                        header::CONTENT_RANGE,
                        &format!("bytes {first}-{last}/{whole}"),
                    );
                    set(
                        &mut response,
                        header::CONTENT_LENGTH,
                        &(last - first + 1).to_string(),
                    );
                    response
                }
            }
        }
    };
    set(&mut response, header::ACCEPT_RANGES, "bytes");
    response.extensions_mut().insert(Unscripted);
    Ok(response)
}
