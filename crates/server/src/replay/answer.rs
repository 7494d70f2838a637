//! Answers with a capture: its status, its headers, and its content.

use std::io;
use std::net::IpAddr;

use archive::question::{CaptureKind, CdxRow, RecordBody};
use archive::{Interrupt, RecordError};
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use extract::PayloadReader;
use replay::{Address, Markup, Modifier, Role, Scope, Scripts};
use url::Url;
use warc::ReadError;

use super::body::{self, BYTES_MAX, PageBody, PlainBody};
use super::find;
use crate::failure::{Code, Failure};
use crate::record::{no_bytes, within};
use crate::state::State;
use crate::stream::{self, Wanted};

/// What headers of a capture are called that the answer has none of its own for.
const ORIGINAL: &str = "x-archive-orig-";

/// The rule by which a capture of another URL stands in for the one that was asked for.
pub(crate) const FUZZY: HeaderName = HeaderName::from_static("weft-fuzzy");

/// Headers that the answer takes over as they were.
const KEPT: [&str; 2] = ["content-language", "content-disposition"];

/// A request for a capture.
pub(super) struct Asked<'r> {
    pub(super) address: &'r Address,
    /// Key of this origin's documents.
    pub(super) key: &'r str,
    pub(super) headers: &'r HeaderMap,
    pub(super) peer: IpAddr,
    pub(super) scripts: Scripts,
}

/// Answers with the capture that `found` is, or the content that it refers to.
pub(super) async fn with(state: &State, asked: &Asked<'_>, found: RecordBody) -> Result<Response, Failure> {
    let (capture, fuzzy) = (found.capture.clone(), found.fuzzy.clone());
    let content = find::content_of(found)?;
    let opened = open(state, &content).await?;
    let fields = opened.payload.fields().to_vec();
    let status = status_of(&capture, opened.payload.status());
    if let Some(location) = redirect(status, &fields) {
        let again = leads_to_itself(&capture, location);
        if again
            && let Ok(beyond) = find::beyond_redirect(&state.asker, &capture.url, &capture.timestamp).await
        {
            // That one is no redirect, so this goes no deeper.
            return Box::pin(with(state, asked, beyond)).await;
        }
    }
    let Ok(url) = Url::parse(&capture.url) else {
        return Err(Failure::not_found(format!(
            "{} is no URL of the web",
            capture.url
        )));
    };
    let scope = Scope::new(&capture.timestamp, url).with_key(asked.key);
    let shown = Shown::of(asked.address.modifier, &fields, &content.capture);
    let mut response = content_answer(state, asked, &content, opened, scope.clone(), shown).await?;
    if response.status() == StatusCode::OK {
        *response.status_mut() = status;
    }
    let headers = response.headers_mut();
    headers
        .entry(header::CONTENT_TYPE)
        .or_insert(media(&fields, &content.capture));
    take_over(headers, &fields, &scope, asked.address.modifier);
    if let Some(rule) = fuzzy.and_then(|rule| HeaderValue::from_str(&rule).ok()) {
        headers.insert(FUZZY, rule);
    }
    let first = state
        .replay_place()
        .and_then(|place| place.first_origin(asked.headers));
    super::frame::memento(headers, &capture, first.as_deref());
    Ok(response)
}

/// How content is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    Markup(Markup),
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
            // Servers call scripts anything; what is asked for as one is one.
            (_, Modifier::Script) => Shown::Plain,
            ("text/html", _) => Shown::Markup(Markup::Page),
            ("application/xhtml+xml", _) => Shown::Markup(Markup::Xhtml),
            ("text/css", _) | (_, Modifier::Style) => Shown::Style,
            ("image/svg+xml", _) => Shown::Markup(Markup::Xml),
            ("" | "unk", Modifier::None | Modifier::Page) => Shown::Markup(Markup::Page),
            _ => Shown::Plain,
        }
    }
}

async fn content_answer(
    state: &State,
    asked: &Asked<'_>,
    content: &RecordBody,
    opened: Opened,
    scope: Scope,
    shown: Shown,
) -> Result<Response, Failure> {
    let Opened { payload, wanted } = opened;
    let failed = |error: io::Error| unreadable(content, error);
    match shown {
        Shown::Markup(markup) => {
            let place = state.contents.take(asked.peer).await;
            let scripts = asked.scripts;
            let (page, charset) = state
                .asker
                .blocking(move |_| {
                    let (page, charset) = PageBody::open(payload, scope, markup, scripts, Some(place))?;
                    Ok((stream::begin(page), charset))
                })
                .await?
                .map_err(failed)?;
            let mut response = Response::new(stream::go_on(
                state.asker.clone(),
                page,
                wanted,
                Some(state.settings.content_max),
            ));
            let declared = media(&[], &content.capture);
            let mime = declared
                .to_str()
                .ok()
                .and_then(|mime| mime.split(';').next())
                .unwrap_or("");
            let mime = match (markup, mime) {
                (_, "application/xhtml+xml" | "image/svg+xml") => mime,
                (Markup::Xml, _) => "image/svg+xml",
                (Markup::Page | Markup::Xhtml, _) => "text/html",
            };
            set(
                &mut response,
                header::CONTENT_TYPE,
                &format!("{mime}; charset={charset}"),
            );
            Ok(response)
        }
        Shown::Style => {
            let place = state.contents.take(asked.peer).await;
            let css = state
                .asker
                .blocking(move |_| {
                    let _place = place;
                    body::style(payload, &scope)
                })
                .await?
                .map_err(failed)?;
            let mut response = Response::new(Body::from(css));
            set(&mut response, header::CONTENT_TYPE, "text/css; charset=utf-8");
            Ok(response)
        }
        Shown::Plain => plain(state, asked, content, Opened { payload, wanted }).await,
    }
}

/// Content as it was captured, or the range of it that is asked for.
async fn plain(
    state: &State,
    asked: &Asked<'_>,
    content: &RecordBody,
    opened: Opened,
) -> Result<Response, Failure> {
    let Opened { payload, wanted } = opened;
    // Decoders need memory for as long as they run; bytes that are stored as they are sent do not.
    let place = match payload.is_encoded() {
        true => Some(state.contents.take(asked.peer).await),
        false => None,
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
    Ok(response)
}

/// A payload, and what ends its reading when nobody waits for it.
struct Opened {
    payload: PayloadReader,
    wanted: Wanted,
}

async fn open(state: &State, content: &RecordBody) -> Result<Opened, Failure> {
    let (record, capture) = (content.clone(), content.capture.clone());
    let interrupt = Interrupt::new();
    let wanted = Wanted(interrupt.clone());
    let opened = state.asker.blocking(move |source| {
        let opened = archive::open_record(&source.sources(), &record, &interrupt)?;
        PayloadReader::open(opened, BYTES_MAX).map_err(|source| cannot_read(&record, source))
    });
    let payload = opened.await?.map_err(|error| no_bytes(&capture, &error))?;
    Ok(Opened { payload, wanted })
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

/// The status of the capture: that of a revisit is its own, if it says one.
pub(super) fn status_of(capture: &CdxRow, of_content: u16) -> StatusCode {
    let status = match (capture.kind, capture.status) {
        (CaptureKind::Revisit, 0) | (_, 0) => of_content,
        (_, status) => status,
    };
    let known = StatusCode::from_u16(status).ok();
    // Answers without content, or of protocols that were changed to, cannot be sent again.
    known
        .filter(|known| !known.is_informational() && !matches!(status, 204 | 205 | 206 | 304 | 416))
        .unwrap_or(StatusCode::OK)
}

pub(super) fn redirect(status: StatusCode, fields: &[(String, String)]) -> Option<&str> {
    let location = field(fields, "location")?;
    status.is_redirection().then_some(location)
}

/// Whether a redirect leads to the key that it was captured under.
fn leads_to_itself(capture: &CdxRow, location: &str) -> bool {
    let target = Url::parse(&capture.url).and_then(|url| url.join(location));
    target
        .is_ok_and(|target| urlkey::url_key(target.as_str()).is_ok_and(|key| key.as_str() == capture.url_key))
}

fn field<'f>(fields: &'f [(String, String)], name: &str) -> Option<&'f str> {
    let found = fields.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    found
        .map(|(_, value)| value.as_str())
        .filter(|value| !value.is_empty())
}

/// The media type as it was declared.
fn media(fields: &[(String, String)], capture: &CdxRow) -> HeaderValue {
    let declared = field(fields, "content-type").unwrap_or(&capture.mime);
    let declared = if declared == "unk" { "" } else { declared };
    HeaderValue::from_str(declared)
        .ok()
        .filter(|value| !value.is_empty())
        .unwrap_or(HeaderValue::from_static("application/octet-stream"))
}

/// Takes over the headers of the capture: some as they were, `Location` as an address of the archive, all others under names that
/// mean nothing to a browser.
fn take_over(headers: &mut HeaderMap, fields: &[(String, String)], scope: &Scope, modifier: Modifier) {
    for (name, value) in fields {
        let name = name.to_ascii_lowercase();
        let (name, value) = match name.as_str() {
            "location" => match scope.refer(value, modifier, Role::Link) {
                Some(address) => (name, address),
                None => (format!("{ORIGINAL}{name}"), value.clone()),
            },
            known if KEPT.contains(&known) => (name, value.clone()),
            _ => (format!("{ORIGINAL}{name}"), value.clone()),
        };
        let name = HeaderName::try_from(name);
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(&value)) {
            headers.append(name, value);
        }
    }
}

fn set(response: &mut Response, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

/// The refusal of a request that only a service worker makes: one would stand between readers and the archive.
pub(super) fn no_service_worker() -> Response {
    Failure::new(
        StatusCode::FORBIDDEN,
        Code::Forbidden,
        "archived pages have no service workers",
    )
    .into_response()
}
