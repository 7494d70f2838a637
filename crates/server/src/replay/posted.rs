//! Finds the capture that answers a request with a body.
//!
//! Pages send different requests to one URL, so the answer nearest in time is often the wrong one.
//! In order of preference: the capture whose URL contains the body, as pywb stores it; the capture
//! of the URL whose request record, stored next to it, had this body; the answer to the same method
//! that is nearest in time; for a POST, any answer nearest in time. [`RequestMatch`] says which it
//! is.

use std::time::{Duration, Instant};

use archive::RequestRecord;
use archive::question::{CdxQuestion, CdxRow, Question, Record, RecordBody};
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, StatusCode, header};
use cdx::{MatchType, Order};
use replay::Address;
use serde_json::Value;

use super::find;
use crate::answers::Answers;
use crate::archive_client::ArchiveClient;
use crate::failure::{Code, Failure};

/// Name of the argument that contains the method in the query of a URL. The body follows.
const METHOD_IN_QUERY: &str = "__wb_method=";

/// Maximum length of a body that is looked up in URLs, in bytes. Keys are not longer.
const QUERY_BYTES_MAX: usize = 64 << 10;

/// Maximum length of a body that is looked up, in bytes.
const BODY_BYTES_MAX: usize = 1 << 20;

/// Maximum number of captures near the time whose requests are compared.
const NEAR_MAX: usize = 50;

/// Time limit for comparing their requests.
const LOOK_MAX: Duration = Duration::from_secs(4);

/// How the request that a capture answers compares with the request for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestMatch {
    /// The same method, and the same body if it has one.
    Same,
    /// The same method with another body.
    OtherBody,
    /// Another method.
    OtherMethod,
    /// No record says which request it answers.
    Unknown,
}

impl RequestMatch {
    /// Returns the match of a capture that was found without its request.
    pub(super) fn of(capture: &CdxRow, method: &Method) -> RequestMatch {
        let is_get = matches!(*method, Method::GET | Method::HEAD);
        match capture.method.as_str() {
            "" | "GET" if is_get => RequestMatch::Same,
            known if is_get && known == method.as_str() => RequestMatch::Same,
            "" => RequestMatch::Unknown,
            known if known == method.as_str() => RequestMatch::OtherBody,
            _ => RequestMatch::OtherMethod,
        }
    }

    /// Returns its name in the header; `None` for the same request.
    pub(super) fn name(self) -> Option<&'static str> {
        match self {
            RequestMatch::Same => None,
            RequestMatch::OtherBody => Some("other-body"),
            RequestMatch::OtherMethod => Some("other-method"),
            RequestMatch::Unknown => Some("unknown"),
        }
    }
}

/// Returns the capture that answers a request.
pub(super) async fn find(
    archive: &ArchiveClient,
    address: &Address,
    (method, headers): (&Method, &HeaderMap),
    body: Body,
) -> Result<(RecordBody, RequestMatch), Failure> {
    let body = to_bytes(body, BODY_BYTES_MAX).await.map_err(|_| {
        Failure::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            Code::TooLarge,
            format!("a form of more than {BODY_BYTES_MAX} bytes cannot be looked up"),
        )
    })?;
    if body.len() <= QUERY_BYTES_MAX {
        let url = url_with_body(&address.url, method, &body);
        match find::nearest_like(archive, &url, &address.time).await {
            Err(failure) if matches!(failure.code, Code::NotFound | Code::BadRequest) => {}
            found => return Ok((found?, RequestMatch::Same)),
        }
    }
    let content_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let sent = RequestRecord {
        method: method.as_str().to_owned(),
        content_type: content_type.unwrap_or_default().to_owned(),
        body: body.into(),
    };
    if let Some(found) = answer_to(archive, address, sent).await? {
        return Ok(found);
    }
    let found = find::nearest_like(archive, &address.url, &address.time).await?;
    match RequestMatch::of(&found.capture, method) {
        RequestMatch::OtherMethod if *method != Method::POST => Err(Failure::not_found(format!(
            "no capture of {} answers a {method} request",
            address.url
        ))),
        compared => Ok((found, compared)),
    }
}

/// Returns the URL under which pywb stores the answer to a request.
fn url_with_body(url: &str, method: &Method, body: &[u8]) -> String {
    let mark = if url.contains('?') { '&' } else { '?' };
    format!(
        "{url}{mark}{METHOD_IN_QUERY}{method}&{}",
        String::from_utf8_lossy(body)
    )
}

/// Returns the capture of a URL with the same request, or else the answer to the same method.
async fn answer_to(
    archive: &ArchiveClient,
    address: &Address,
    sent: RequestRecord,
) -> Result<Option<(RecordBody, RequestMatch)>, Failure> {
    let order = match address.time.as_str() {
        "" => Order::Reverse,
        time => Order::Closest(time.to_owned()),
    };
    let question = CdxQuestion {
        url: address.url.clone(),
        match_type: MatchType::Exact,
        order,
        limit: NEAR_MAX,
        records_only: true,
        ..CdxQuestion::default()
    };
    let rows = match archive.ask(question).await {
        Ok(answer) => answer.body.rows,
        Err(failure) if failure.status == StatusCode::NOT_FOUND => return Ok(None),
        Err(failure) => return Err(failure),
    };
    let until = system::now() + LOOK_MAX;
    archive
        .blocking(move |source| {
            if let Some(found) = first_like(source, &rows, &sent, until) {
                return Some((found, RequestMatch::Same));
            }
            let is_same =
                |row: &&CdxRow| row.method.eq_ignore_ascii_case(&sent.method) && find::can_replay(row.kind);
            let found = record_of(source, rows.iter().find(is_same)?)?;
            Some((found, RequestMatch::OtherBody))
        })
        .await
}

/// Returns the first capture with the same request. May block. Captures that cannot be read are
/// skipped: replay reports an unreadable capture when it shows it.
fn first_like(
    source: &dyn Answers,
    rows: &[CdxRow],
    sent: &RequestRecord,
    until: Instant,
) -> Option<RecordBody> {
    let wanted = ComparedBody::of(sent);
    rows.iter()
        .take_while(|_| system::now() < until)
        .filter(|row| find::can_replay(row.kind))
        .filter(|row| row.method.is_empty() || row.method.eq_ignore_ascii_case(&sent.method))
        .find_map(|row| {
            let record = record_of(source, row)?;
            let known = archive::request_record(&source.sources(), &record)
                .ok()
                .flatten()?;
            let is_it = known.method.eq_ignore_ascii_case(&sent.method) && ComparedBody::of(&known) == wanted;
            is_it.then_some(record)
        })
}

/// Returns the record of a capture in a list.
pub(super) fn record_of(source: &dyn Answers, row: &CdxRow) -> Option<RecordBody> {
    let question = Question::Record(Record {
        url: row.url.clone(),
        at: None,
        capture: Some(row.name()),
        fuzzy: false,
        with_content: false,
    });
    let answer = source.ask(&question).ok()?.to::<Record>().ok()?;
    Some(answer.body)
}

/// The body of a request, in the form in which two are compared.
#[derive(Debug, PartialEq)]
enum ComparedBody {
    /// JSON. The order of keys and white space do not matter.
    Json(Value),
    Bytes(Vec<u8>),
}

impl ComparedBody {
    fn of(request: &RequestRecord) -> ComparedBody {
        let is_json = request.body.trim_ascii_start().starts_with(b"{")
            || request.body.trim_ascii_start().starts_with(b"[");
        let json = is_json
            .then(|| serde_json::from_slice(&request.body).ok())
            .flatten();
        match json {
            Some(value) => ComparedBody::Json(value),
            None => ComparedBody::Bytes(without_boundary(request)),
        }
    }
}

/// Returns the body of a request. In a multipart form (RFC 7578) the boundary is removed, because
/// browsers generate a new one each time.
fn without_boundary(request: &RequestRecord) -> Vec<u8> {
    let boundary = request.content_type.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("boundary")
            .then(|| value.trim().trim_matches('"'))
    });
    match boundary.filter(|boundary| !boundary.is_empty()) {
        None => request.body.clone(),
        Some(boundary) => {
            let finder = memchr::memmem::Finder::new(boundary);
            let mut body = Vec::with_capacity(request.body.len());
            let mut rest = request.body.as_slice();
            while let Some(at) = finder.find(rest) {
                body.extend_from_slice(&rest[..at]);
                rest = &rest[at + boundary.len()..];
            }
            body.extend_from_slice(rest);
            body
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(content_type: &str, body: &str, expected: &str) {
        let request = RequestRecord {
            method: "POST".to_owned(),
            content_type: content_type.to_owned(),
            body: body.as_bytes().to_vec(),
        };
        assert_eq!(String::from_utf8_lossy(&without_boundary(&request)), expected);
    }

    #[test]
    fn the_line_between_parts_is_no_part_of_a_form() {
        let body = "--x7\r\nContent-Disposition: form-data; name=q\r\n\r\nloom\r\n--x7--\r\n";
        let expected = body.replace("x7", "");
        check("multipart/form-data; boundary=x7", body, &expected);
        check(
            "multipart/form-data; charset=utf-8; Boundary=\"x7\"",
            body,
            &expected,
        );
        check("multipart/form-data; boundary=", body, body);
        check("application/json", body, body);
    }

    #[test]
    fn the_order_of_keys_in_json_does_not_matter() {
        let compared = |body: &str| {
            ComparedBody::of(&RequestRecord {
                method: "POST".to_owned(),
                content_type: "application/json".to_owned(),
                body: body.as_bytes().to_vec(),
            })
        };
        for (a, b, is_same) in [
            (
                r#"{"a":1,"b":[{"c":2,"d":3}]}"#,
                r#" { "b":[{"d":3,"c":2}], "a":1 }"#,
                true,
            ),
            (r#"{"a":1}"#, r#"{"a":2}"#, false),
            ("[1,2]", "[2,1]", false),
            ("{a", "{a", true),
            ("{a", "{ a", false),
            ("a=1&b=2", "b=2&a=1", false),
        ] {
            assert_eq!(compared(a) == compared(b), is_same, "{a} {b}");
        }
    }

    #[test]
    fn a_capture_is_compared_by_the_method_of_its_request() {
        for (known, method, expected) in [
            ("", Method::GET, RequestMatch::Same),
            ("GET", Method::HEAD, RequestMatch::Same),
            ("HEAD", Method::HEAD, RequestMatch::Same),
            ("HEAD", Method::GET, RequestMatch::OtherMethod),
            ("POST", Method::GET, RequestMatch::OtherMethod),
            ("", Method::POST, RequestMatch::Unknown),
            ("PUT", Method::PUT, RequestMatch::OtherBody),
            ("GET", Method::DELETE, RequestMatch::OtherMethod),
        ] {
            let capture = CdxRow {
                method: known.to_owned(),
                ..CdxRow::default()
            };
            assert_eq!(RequestMatch::of(&capture, &method), expected, "{known} {method}");
        }
    }
}
