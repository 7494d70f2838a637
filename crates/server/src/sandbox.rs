//! `/sandbox/content`: archived content, shown where it can do nothing.
//!
//! Whatever the bytes are: they run no script, submit no form, open no window, reach no network and have no
//! origin, so neither cookies nor storage. This holds by the headers alone ([`POLICY`]), also when the address
//! is opened outside of the frame that the page view puts it in; the one thing they leave out is taken out of the
//! content (see [`crate::inert`]). Only types that a browser shows by itself are
//! sent as what they are; nothing else is guessed (`nosniff`), and anything else is for download.

use std::sync::Arc;

use archive::question::RecordBody;
use axum::extract::State as Shared;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use data_encoding::BASE64;
use maud::{DOCTYPE, html};

use crate::failure::Failure;
use crate::inert::inert;
use crate::pages::Query;
use crate::state::State;
use crate::{present, record};

/// `sandbox` without any allowance, and nothing fetched from anywhere.
const POLICY: &str = "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; \
    form-action 'none'; base-uri 'none'; frame-ancestors 'self'";

/// Headers of every answer here.
const HEADERS: [(HeaderName, &str); 4] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // Else names in links would be looked up ahead of a click.
    (HeaderName::from_static("x-dns-prefetch-control"), "off"),
    (header::CACHE_CONTROL, "no-cache"),
];

/// Bytes of a record's block that are looked at.
const BODY_BYTES_MAX: u64 = 16 << 20;

/// Longest name of a character set.
const CHARSET_CHARS_MAX: usize = 40;

/// What a browser shows by itself, and as what it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Show {
    Html,
    Text,
    Image,
    /// SVG.
    Drawing,
}

fn show_as(mime: &str) -> Option<Show> {
    match mime {
        "text/html" | "application/xhtml+xml" | "unk" => Some(Show::Html),
        "text/plain"
        | "text/css"
        | "text/xml"
        | "application/xml"
        | "application/json"
        | "application/javascript"
        | "application/x-javascript"
        | "text/javascript" => Some(Show::Text),
        "image/png"
        | "image/jpeg"
        | "image/gif"
        | "image/webp"
        | "image/avif"
        | "image/bmp"
        | "image/x-icon"
        | "image/vnd.microsoft.icon" => Some(Show::Image),
        "image/svg+xml" => Some(Show::Drawing),
        _ => None,
    }
}

/// Whether there is content to be shown: a redirect has none to speak of, and what it has would be taken for
/// the page.
pub(crate) fn worth_showing(status: u16, mime: &str, kind: &str) -> bool {
    !(300..400).contains(&status) && can_show(mime, kind)
}

/// Whether the content of this type and kind of capture can be shown.
fn can_show(mime: &str, kind: &str) -> bool {
    match kind {
        "wat" => false,
        // Of a revisit, the content that it saw again is shown; its own type says only that it is one.
        "wet" | "revisit" => true,
        _ => show_as(mime).is_some(),
    }
}

/// Handles `/sandbox/content?url=&at=`. Failures are shown in the frame too, under the same policy.
pub(crate) async fn content(Shared(state): Shared<Arc<State>>, query: Query) -> Response {
    let mut response = match find(&state, &query).await {
        Ok(response) => response,
        Err(failure) => said(&failure),
    };
    for (name, value) in HEADERS {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn find(state: &State, query: &Query) -> Result<Response, Failure> {
    let Some(url) = query.owned("url") else {
        return Err(Failure::bad_request("the address names no URL"));
    };
    let (_, found) = record::locate(&state.asker, url, query.owned("at")).await?;
    let found = content_of(found)?;
    let kind = found.capture.kind.clone();
    if !can_show(&found.capture.mime, &kind) {
        return Err(Failure::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "not_shown",
            format!(
                "content of type {} is not shown here; the record can be downloaded",
                found.capture.mime
            ),
        ));
    }
    let capture = found.capture.clone();
    let mime = &capture.mime;
    let read = state
        .asker
        .blocking(move |source| archive::read_record(&source.sources(), &found, BODY_BYTES_MAX))
        .await?;
    let read = read.map_err(|error| record::no_bytes(&capture, &error))?;
    let (media, content) = shown(&read, mime, &kind);
    let mut response = content.into_response();
    let media = HeaderValue::try_from(media).unwrap_or(HeaderValue::from_static("text/plain"));
    response.headers_mut().insert(header::CONTENT_TYPE, media);
    Ok(response)
}

/// A revisit says that the content was as before: the capture with that content, if the archive holds it.
fn content_of(found: RecordBody) -> Result<RecordBody, Failure> {
    match (found.capture.kind.as_str(), found.original) {
        ("revisit", Some(original)) => Ok(*original),
        ("revisit", None) => Err(Failure::not_found(
            "this capture says only that the content was unchanged, and the content itself is not in the archive",
        )),
        (_, original) => Ok(RecordBody { original, ..found }),
    }
}

/// What is sent: a content type that is never taken as it came, and the content for it.
fn shown(record: &warc::Record, mime: &str, kind: &str) -> (String, Vec<u8>) {
    let payload = extract::payload(record).into_owned();
    let charset = declared_charset(record);
    let with_charset = |media: &str| match &charset {
        Some(name) => format!("{media}; charset={name}"),
        None => media.to_owned(),
    };
    match show_as(mime) {
        _ if kind == "wet" => ("text/plain; charset=utf-8".to_owned(), payload),
        Some(Show::Html) => match inert(payload, charset.as_deref()) {
            (html, true) => ("text/html; charset=utf-8".to_owned(), html),
            (html, false) => (with_charset("text/html"), html),
        },
        Some(Show::Image) => (mime.to_owned(), payload),
        Some(Show::Drawing) => ("text/html; charset=utf-8".to_owned(), drawing(&payload)),
        Some(Show::Text) | None => (with_charset("text/plain"), payload),
    }
}

/// A drawing as a picture in a page: as a document of its own it could hold HTML, which the policy does not
/// hold back in all.
fn drawing(svg: &[u8]) -> Vec<u8> {
    let source = format!("data:image/svg+xml;base64,{}", BASE64.encode(svg));
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head { meta charset="utf-8"; title { "Drawing" } }
            body { img src=(source) alt="Archived drawing"; }
        }
    };
    page.into_string().into_bytes()
}

/// The character set that the HTTP header names, if it is a plain word.
fn declared_charset(record: &warc::Record) -> Option<String> {
    let head = match record.is_http() {
        true => &record.body[..warc::http_header_length(&record.body)?],
        false => record.headers.get("Content-Type")?.as_bytes(),
    };
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let types = head
        .lines()
        .filter(|line| !record.is_http() || line.starts_with("content-type:"));
    let (_, rest) = types.into_iter().find_map(|line| line.split_once("charset="))?;
    let rest = rest.trim_start_matches(['"', '\'', ' ']);
    let name: String = rest
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || "-_.:".contains(*c))
        .collect();
    (!name.is_empty() && name.len() <= CHARSET_CHARS_MAX).then_some(name)
}

fn said(failure: &Failure) -> Response {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                title { "Not shown" }
                style { "body{font:1rem/1.6 system-ui,sans-serif;margin:2rem;color:#1e2226;background:#fff}" }
            }
            body { p dir="auto" { (present::clean(&failure.message)) } }
        }
    };
    let mut response = (failure.status, page.into_string()).into_response();
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/html; charset=utf-8"),
    );
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(content_type: &str) -> warc::Record {
        let block = format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n\r\ncharset=wrong");
        let mut writer = warc::Writer::new(Vec::new(), warc::Compression::Plain).expect("memory");
        writer
            .write(&warc::Draft::response("http://a/", 0, block.into_bytes()))
            .expect("memory");
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), writer.finish().expect("memory")).expect("written");
        let mut reader = warc::Reader::open(file.path(), warc::ReaderSettings::default()).expect("open");
        match reader.next_entry().expect("read") {
            Some(warc::Entry::Record(record)) => record,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn check(content_type: &str, mime: &str, expected: &str) {
        assert_eq!(shown(&response(content_type), mime, "response").0, expected);
    }

    #[test]
    fn content_types_are_never_taken_as_they_come() {
        check(
            "text/html; charset=ISO-8859-1",
            "text/html",
            "text/html; charset=iso-8859-1",
        );
        check(
            "text/html; charset=\"utf-8\"; x",
            "text/html",
            "text/html; charset=utf-8",
        );
        check("text/html; charset=<script>", "text/html", "text/html");
        check("application/xhtml+xml", "application/xhtml+xml", "text/html");
        check("text/javascript", "text/javascript", "text/plain");
        check("image/png", "image/png", "image/png");
        check("image/svg+xml", "image/svg+xml", "text/html; charset=utf-8");
        check(
            "application/x-shockwave-flash",
            "application/x-shockwave-flash",
            "text/plain",
        );
        assert!(!can_show("application/pdf", "response") && !can_show("text/html", "wat"));
    }
}
