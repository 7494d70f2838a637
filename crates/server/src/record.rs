//! `/record`: the stored record of a capture, streamed as a file with one record. Ranges are
//! supported.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Read};

use archive::Interrupt;
use archive::question::{CaptureKind, CdxRow, Record, RecordBody};
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use warc::RawRecord;

use crate::archive_client::ArchiveClient;
use crate::arguments::Arguments;
use crate::entity_tags;
use crate::failure::{Code, Failure};
use crate::ranges::{parse_range, resolve_range};
use crate::record_failure::record_failure;
use crate::stream::{self, BodySource, CancelOnDrop};

/// Number of bytes read at once.
const PIECE_BYTES: usize = 256 * 1024;
/// Maximum number of characters of a URL key in a file name.
const NAME_CHARS_MAX: usize = 80;

/// Finds the record of a capture of `url`: the one that `capture` names, else the one nearest to
/// `at`, else the current version. Returns it with the epoch of the answer.
pub(crate) async fn locate(
    archive: &ArchiveClient,
    url: String,
    at: Option<String>,
    capture: Option<String>,
) -> Result<(u64, RecordBody), Failure> {
    let question = Record {
        url,
        at,
        capture,
        fuzzy: false,
        with_content: false,
    };
    let answer = archive.ask(question).await?;
    Ok((answer.epoch, answer.body))
}

/// Returns the record with the content of a capture. For a revisit it is the original with the same
/// content, if that is in the archive.
pub(crate) fn content_of(found: RecordBody) -> Result<RecordBody, Failure> {
    match (found.capture.kind, found.original) {
        (CaptureKind::Revisit, Some(original)) => Ok(*original),
        (CaptureKind::Revisit, None) => Err(Failure::not_found(
            "this capture is a revisit: it records that the content was unchanged, but the content itself \
             is not in the archive",
        )),
        // A response with this status is a revisit, whatever its record is called.
        (_, _) if found.capture.status == 304 => Err(Failure::not_found(
            "this capture says that the content was unchanged (status 304), but the content itself is not \
             in the archive",
        )),
        (_, original) => Ok(RecordBody { original, ..found }),
    }
}

/// Handles `/record`.
pub(crate) async fn download(
    archive: &ArchiveClient,
    arguments: &Arguments,
    asked: &HeaderMap,
) -> Result<Response, Failure> {
    let (at, capture) = (arguments.owned("at"), arguments.owned("capture"));
    let (epoch, record) = locate(archive, arguments.required("url"), at, capture).await?;
    let capture = record.capture.clone();
    let tag = tag_of(&capture);
    if entity_tags::matches(asked, &tag) {
        return Ok(entity_tags::not_modified(&tag));
    }
    let interrupt = Interrupt::new();
    let cancel = CancelOnDrop(interrupt.clone());
    let mut raw = archive
        .blocking(move |source| archive::raw_record(&source.sources(), &record, &interrupt))
        .await?
        .map_err(|error| record_failure(&capture, &error))?;
    let whole = raw.length();
    let range = match (whole, asked_range(asked, &tag)) {
        (Some(whole), Some(range)) => match within(&range, whole) {
            Ok(range) => range,
            Err(unsatisfiable) => return Ok(unsatisfiable),
        },
        _ => None,
    };
    if let Some((first, last)) = range {
        raw.narrow(first, last - first + 1);
    }
    let (length, extension, media) = (raw.length(), raw.extension(), raw.media_type());
    let mut response = Response::new(stream::body(archive.clone(), raw, cancel, None));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    if let Some(length) = length {
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    }
    headers.insert(header::ETAG, tag);
    headers.insert(HeaderName::from_static("weft-epoch"), HeaderValue::from(epoch));
    let disposition = format!("attachment; filename=\"{}\"", file_name(&capture, &extension));
    if let Ok(disposition) = HeaderValue::try_from(disposition) {
        headers.insert(header::CONTENT_DISPOSITION, disposition);
    }
    if let (Some((first, last)), Some(whole)) = (range, whole) {
        headers.insert(
            header::CONTENT_RANGE,
            content_range(&format!("{first}-{last}"), whole),
        );
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    Ok(response)
}

/// Returns the entity tag of a capture's record. A record never changes, so its place and digest
/// identify its bytes.
fn tag_of(capture: &CdxRow) -> HeaderValue {
    let mut hasher = DefaultHasher::new();
    (&capture.filename, capture.offset, capture.length).hash(&mut hasher);
    (&capture.digest, &capture.url, &capture.timestamp).hash(&mut hasher);
    entity_tags::tag(hasher.finish(), false)
}

/// Returns the requested range, unless `If-Range` names other bytes (RFC 9110, 13.1.5). A request
/// for several ranges gets the whole record.
fn asked_range(asked: &HeaderMap, tag: &HeaderValue) -> Option<String> {
    if asked.get(header::IF_RANGE).is_some_and(|known| known != tag) {
        return None;
    }
    let range = asked.get(header::RANGE)?.to_str().ok()?;
    (!range.contains(',')).then(|| range.to_owned())
}

/// Returns the first and last byte of a range, or `None` if the header is not a valid range, which
/// is then ignored. The error is the response to a range outside of the record.
#[expect(
    clippy::result_large_err,
    reason = "the response is built once and returned immediately"
)]
pub(crate) fn within(range: &str, whole: u64) -> Result<Option<(u64, u64)>, Response> {
    let Some(part) = parse_range(range) else {
        return Ok(None);
    };
    match resolve_range(part, whole) {
        Ok(bytes) => Ok(Some((bytes.start, bytes.end.saturating_sub(1)))),
        Err(_) => {
            let failure = Failure::new(
                StatusCode::RANGE_NOT_SATISFIABLE,
                Code::Range,
                format!("the record has {whole} bytes"),
            );
            let mut response = failure.into_response();
            response
                .headers_mut()
                .insert(header::CONTENT_RANGE, content_range("*", whole));
            Err(response)
        }
    }
}

fn content_range(range: &str, whole: u64) -> HeaderValue {
    HeaderValue::try_from(format!("bytes {range}/{whole}")).unwrap_or(HeaderValue::from_static("bytes */*"))
}

impl BodySource for RawRecord {
    fn next(&mut self) -> io::Result<Option<Bytes>> {
        let mut piece = vec![0; PIECE_BYTES];
        let read = self.read(&mut piece)?;
        piece.truncate(read);
        match (read, self.length()) {
            (0, None | Some(0)) => Ok(None),
            (0, _) => Err(io::Error::other("the input became shorter")),
            _ => Ok(Some(Bytes::from(piece))),
        }
    }
}

/// Returns a file name such as `org_archive_about-20140126200624.warc.gz`.
fn file_name(capture: &CdxRow, extension: &str) -> String {
    let plain = capture
        .url_key
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    let mut name = String::new();
    for c in plain.take(NAME_CHARS_MAX) {
        if c != '_' || !name.ends_with('_') {
            name.push(c);
        }
    }
    let time: String = capture.timestamp.chars().filter(char::is_ascii_digit).collect();
    format!("{}-{time}.{extension}", name.trim_matches('_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_plain() {
        let capture = |key: &str| CdxRow {
            url_key: key.into(),
            timestamp: "20140126200624".into(),
            ..CdxRow::default()
        };
        assert_eq!(
            file_name(&capture("org,archive)/about?x=\"1\""), "warc.gz"),
            "org_archive_about_x_1-20140126200624.warc.gz"
        );
        assert_eq!(file_name(&capture("../../\n"), "warc"), "-20140126200624.warc");
        assert!(file_name(&capture(&"a".repeat(5000)), "warc").len() < 120);
    }
}
