//! Finds the capture that answers a request with a body.
//!
//! Pages send different requests to one URL, so the answer nearest in time is often the wrong one.
//! In order of preference: the capture whose URL contains the body, as pywb stores it; the capture
//! of the URL whose request record, stored next to it, had this body; the answer to a POST that is
//! nearest in time; any answer nearest in time.

use std::time::{Duration, Instant};

use archive::RequestRecord;
use archive::question::{CdxQuestion, CdxRow, Question, Record, RecordBody};
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, StatusCode, header};
use cdx::{MatchType, Order};
use replay::Address;

use super::find;
use crate::answers::Answers;
use crate::archive_client::ArchiveClient;
use crate::failure::{Code, Failure};

const METHOD: &str = "POST";

/// Prefix of a body in the query of a URL.
const METHOD_IN_QUERY: &str = "__wb_method=POST";

/// Maximum length of a body that is looked up, in bytes.
const BODY_BYTES_MAX: usize = 64 << 10;

/// Maximum number of captures near the time whose requests are compared.
const NEAR_MAX: usize = 50;

/// Time limit for comparing their requests.
const LOOK_MAX: Duration = Duration::from_secs(4);

/// Returns the capture that answers a request.
pub(super) async fn find(
    archive: &ArchiveClient,
    address: &Address,
    headers: &HeaderMap,
    body: Body,
) -> Result<RecordBody, Failure> {
    let body = to_bytes(body, BODY_BYTES_MAX).await.map_err(|_| {
        Failure::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            Code::TooLarge,
            format!("a form of more than {BODY_BYTES_MAX} bytes cannot be looked up"),
        )
    })?;
    let mark = if address.url.contains('?') { '&' } else { '?' };
    let url = format!(
        "{}{mark}{METHOD_IN_QUERY}&{}",
        address.url,
        String::from_utf8_lossy(&body)
    );
    match find::nearest_like(archive, &url, &address.time).await {
        Err(failure) if failure.status == StatusCode::NOT_FOUND => {}
        found => return found,
    }
    let content_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let posted = RequestRecord {
        method: METHOD.to_owned(),
        content_type: content_type.unwrap_or_default().to_owned(),
        body: body.into(),
    };
    match answer_to(archive, address, posted).await? {
        Some(found) => Ok(found),
        None => find::nearest_like(archive, &address.url, &address.time).await,
    }
}

/// Returns the capture of a URL with the same request, or else the answer to another POST.
async fn answer_to(
    archive: &ArchiveClient,
    address: &Address,
    posted: RequestRecord,
) -> Result<Option<RecordBody>, Failure> {
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
            let posts = |row: &&CdxRow| row.method.eq_ignore_ascii_case(METHOD) && find::can_replay(row.kind);
            first_like(source, &rows, &posted, until).or_else(|| record_of(source, rows.iter().find(posts)?))
        })
        .await
}

/// Returns the first capture with the same request. May block. Captures that cannot be read are
/// skipped: replay reports an unreadable capture when it shows it.
fn first_like(
    source: &dyn Answers,
    rows: &[CdxRow],
    posted: &RequestRecord,
    until: Instant,
) -> Option<RecordBody> {
    let wanted = without_boundary(posted);
    rows.iter()
        .take_while(|_| system::now() < until)
        .filter(|row| find::can_replay(row.kind))
        .filter(|row| row.method.is_empty() || row.method.eq_ignore_ascii_case(&posted.method))
        .find_map(|row| {
            let record = record_of(source, row)?;
            let sent = archive::request_record(&source.sources(), &record)
                .ok()
                .flatten()?;
            let is_it = sent.method.eq_ignore_ascii_case(&posted.method) && without_boundary(&sent) == wanted;
            is_it.then_some(record)
        })
}

fn record_of(source: &dyn Answers, row: &CdxRow) -> Option<RecordBody> {
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
}
