//! The upstream as the origin of the cache tier. Uses plain requests, so that all headers of a
//! response are kept and refusals are returned unchanged.

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use cache::{Answer, Description, Origin, OriginError, Validator};
use futures_util::StreamExt as _;
use http::header::{
    ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderName, IF_MATCH, IF_UNMODIFIED_SINCE,
    LAST_MODIFIED, RANGE,
};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use object_store::GetRange;

use super::download::Download;
use super::headers;
use super::upstream::{EMPTY_SHA256, Upstream, UpstreamError, UpstreamRequest, nothing};
use crate::preconditions::http_seconds;
use crate::query::Query;

/// Longest refusal in bytes that is kept; those of stores have less than a thousand.
const REFUSAL_BYTES_MAX: usize = 256 * 1024;

/// Headers that belong to a single response and not to a version.
const OF_ONE_ANSWER: [HeaderName; 6] = [
    http::header::DATE,
    http::header::AGE,
    CONTENT_LENGTH,
    CONTENT_RANGE,
    HeaderName::from_static("x-amz-request-id"),
    HeaderName::from_static("x-amz-id-2"),
];

/// Prefix of checksum headers. They cover the whole object, so partial responses must not have
/// them.
const CHECKSUMS: &str = "x-amz-checksum-";

/// A bucket of the upstream.
pub(crate) struct BucketOrigin {
    upstream: Arc<Upstream>,
    bucket: String,
    root: String,
}

/// A response that refuses a request, with its headers and body.
#[derive(Debug, thiserror::Error)]
#[error("the upstream answered with status {status}")]
pub(crate) struct RefusedResponse {
    /// The method of the refused request.
    pub(crate) method: Method,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// A response without information that the tier needs.
#[derive(Debug, thiserror::Error)]
#[error("the upstream's response has no {0}")]
struct MissingHeader(&'static str);

impl BucketOrigin {
    pub(crate) fn new(upstream: Arc<Upstream>, bucket: &str) -> Self {
        Self {
            upstream,
            bucket: bucket.to_owned(),
            root: format!("s3://{bucket}"),
        }
    }

    /// Requests an object.
    async fn ask(
        &self,
        method: Method,
        key: &str,
        mut headers: HeaderMap,
    ) -> Result<Response<Incoming>, OriginError> {
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let ask = UpstreamRequest {
            method: method.clone(),
            bucket: self.bucket.clone(),
            key: key.to_owned(),
            query: Query::default(),
            headers,
            payload: EMPTY_SHA256.to_owned(),
            content: nothing(),
        };
        let answer = self.upstream.ask(ask).await.map_err(|error| match error {
            UpstreamError::Request(_) => OriginError::Lasting(Arc::new(error)),
            UpstreamError::Silent | UpstreamError::Connection(_) => OriginError::Passing(Arc::new(error)),
        })?;
        match answer.status() {
            StatusCode::OK | StatusCode::PARTIAL_CONTENT => Ok(answer),
            _ => Err(refusal(method, answer).await),
        }
    }
}

#[async_trait]
impl Origin for BucketOrigin {
    fn root(&self) -> &str {
        &self.root
    }

    fn endpoint(&self) -> &str {
        self.upstream.endpoint()
    }

    fn understands(&self, beside: &[u8]) -> bool {
        // Every store sends at least one of these headers with an object.
        beside
            .split(|byte| *byte == b'\n')
            .any(|line| line.starts_with(b"last-modified:") || line.starts_with(b"etag:"))
    }

    async fn describe(&self, key: &str) -> Result<Description, OriginError> {
        let answer = self.ask(Method::HEAD, key, HeaderMap::new()).await?;
        let size_bytes = length(answer.headers()).ok_or_else(|| missing_header("length"))?;
        description(answer.headers(), size_bytes)
    }

    async fn get(
        &self,
        key: &str,
        expected: Option<&Description>,
        wanted: Option<GetRange>,
    ) -> Result<Answer, OriginError> {
        let mut request_headers = HeaderMap::new();
        if let Some(expected) = expected {
            let (name, value) = condition(expected);
            request_headers.extend(value.map(|value| (name, value)));
        }
        let range = wanted.map(|range| format!("bytes={}", range_text(&range)));
        request_headers.extend(range.and_then(|range| Some((RANGE, HeaderValue::try_from(range).ok()?))));
        let answer = self.ask(Method::GET, key, request_headers).await?;
        let headers = answer.headers();
        let (range, size_bytes) = match answer.status() {
            StatusCode::PARTIAL_CONTENT => {
                content_range(headers).ok_or_else(|| missing_header("Content-Range"))?
            }
            _ => {
                let size_bytes = length(headers).ok_or_else(|| missing_header("length"))?;
                (0..size_bytes, size_bytes)
            }
        };
        let description = description(headers, size_bytes)?;
        let body = Download::new(answer.into_body()).into_data_stream();
        let broken = |error: s3s::StdError| {
            OriginError::Passing(Arc::new(UpstreamError::Connection(error.to_string())))
        };
        Ok(Answer {
            description,
            range,
            body: body.map(move |piece| piece.map_err(broken)).boxed(),
        })
    }
}

/// Returns the headers stored with a version.
pub(crate) fn headers_of(description: &Description) -> HeaderMap {
    let lines = description.beside.split(|byte| *byte == b'\n');
    let pairs = lines.filter_map(|line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let name = HeaderName::from_bytes(&line[..colon]).ok()?;
        Some((name, HeaderValue::from_bytes(&line[colon + 1..]).ok()?))
    });
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(name, value);
    }
    headers
}

fn description(headers: &HeaderMap, size_bytes: u64) -> Result<Description, OriginError> {
    let text = |name: HeaderName| headers.get(name)?.to_str().ok();
    // A weak tag promises equal meaning, not equal bytes.
    let strong = text(ETAG).filter(|tag| !tag.starts_with("W/") && !tag.is_empty());
    let modified = || text(LAST_MODIFIED).and_then(http_seconds);
    let validator = match strong {
        Some(tag) => Validator::Tag(tag.to_owned()),
        None => {
            Validator::Modified(modified().ok_or_else(|| missing_header("ETag or Last-Modified"))? * 1000)
        }
    };
    Ok(Description {
        size_bytes,
        validator,
        beside: lines(headers),
    })
}

/// Encodes headers, one on each line; header values contain no line ends.
fn lines(headers: &HeaderMap) -> Bytes {
    let mut lines = Vec::new();
    for (name, value) in &headers::of_answer(headers) {
        if !OF_ONE_ANSWER.contains(name) && !name.as_str().starts_with(CHECKSUMS) {
            lines.extend_from_slice(name.as_str().as_bytes());
            lines.push(b':');
            lines.extend_from_slice(value.as_bytes());
            lines.push(b'\n');
        }
    }
    lines.into()
}

/// Returns the header that restricts a request to the expected version.
fn condition(expected: &Description) -> (HeaderName, Option<HeaderValue>) {
    match &expected.validator {
        Validator::Tag(tag) => (IF_MATCH, HeaderValue::try_from(tag).ok()),
        Validator::Modified(_) => (
            IF_UNMODIFIED_SINCE,
            headers_of(expected).get(LAST_MODIFIED).cloned(),
        ),
    }
}

fn range_text(range: &GetRange) -> String {
    match range {
        GetRange::Bounded(range) => format!("{}-{}", range.start, range.end.saturating_sub(1)),
        GetRange::Offset(start) => format!("{start}-"),
        GetRange::Suffix(bytes) => format!("-{bytes}"),
    }
}

fn length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Returns the range in a response, and the size of the whole object.
fn content_range(headers: &HeaderMap) -> Option<(Range<u64>, u64)> {
    let text = headers
        .get(CONTENT_RANGE)?
        .to_str()
        .ok()?
        .strip_prefix("bytes ")?;
    let (range, size) = text.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last, size): (u64, u64, u64) = (first.parse().ok()?, last.parse().ok()?, size.parse().ok()?);
    (first <= last && last < size).then_some((first..last + 1, size))
}

/// Returns the size in a refused range: `bytes */7`.
fn size_of_refusal(headers: &HeaderMap) -> Option<u64> {
    let text = headers.get(CONTENT_RANGE)?.to_str().ok()?;
    text.strip_prefix("bytes */")?.parse().ok()
}

async fn refusal(method: Method, answer: Response<Incoming>) -> OriginError {
    let (head, body) = answer.into_parts();
    match head.status {
        StatusCode::PRECONDITION_FAILED => return OriginError::Changed,
        StatusCode::RANGE_NOT_SATISFIABLE => {
            let size_bytes = size_of_refusal(&head.headers).unwrap_or(0);
            return OriginError::Range { size_bytes };
        }
        _ => {}
    }
    let body = Limited::new(Download::new(body), REFUSAL_BYTES_MAX)
        .collect()
        .await;
    let body = match body {
        Ok(body) => body.to_bytes(),
        Err(error) => return OriginError::Passing(Arc::new(UpstreamError::Connection(error.to_string()))),
    };
    let status = head.status;
    let refused = Arc::new(RefusedResponse {
        method,
        status,
        headers: headers::of_answer(&head.headers),
        body,
    });
    match status {
        StatusCode::NOT_FOUND => OriginError::Missing(refused),
        StatusCode::NOT_IMPLEMENTED => OriginError::Lasting(refused),
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => OriginError::Passing(refused),
        status if status.is_server_error() => OriginError::Passing(refused),
        _ => OriginError::Lasting(refused),
    }
}

fn missing_header(what: &'static str) -> OriginError {
    OriginError::Lasting(Arc::new(MissingHeader(what)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn a_version_keeps_its_headers_and_not_those_of_an_answer() {
        let found = headers(&[
            ("etag", "\"x\""),
            ("content-type", "text/plain"),
            ("x-amz-meta-a", "b: c"),
            ("x-amz-meta-a", "d"),
            ("content-length", "7"),
            ("content-range", "bytes 0-6/7"),
            ("date", "now"),
            ("x-amz-request-id", "1"),
            ("x-amz-checksum-crc32", "AAAAAA=="),
            ("connection", "close"),
        ]);
        let described = description(&found, 7).unwrap();
        assert_eq!(described.validator, Validator::Tag("\"x\"".to_owned()));
        let kept = headers_of(&described);
        let expected = headers(&[
            ("etag", "\"x\""),
            ("content-type", "text/plain"),
            ("x-amz-meta-a", "b: c"),
            ("x-amz-meta-a", "d"),
        ]);
        assert_eq!(kept, expected);
        assert_eq!(
            condition(&described),
            (IF_MATCH, Some(HeaderValue::from_static("\"x\"")))
        );
    }

    #[test]
    fn without_a_strong_tag_the_time_counts() {
        let modified = "Sun, 06 Nov 1994 08:49:37 GMT";
        let weak = headers(&[("etag", "W/\"x\""), ("last-modified", modified)]);
        let described = description(&weak, 7).unwrap();
        assert_eq!(described.validator, Validator::Modified(784_111_777_000));
        assert_eq!(
            condition(&described),
            (IF_UNMODIFIED_SINCE, Some(HeaderValue::from_static(modified)))
        );
        assert!(description(&headers(&[("etag", "W/\"x\"")]), 7).is_err());
    }

    #[test]
    fn ranges_are_read_strictly() {
        let found = |text: &'static str| content_range(&headers(&[("content-range", text)]));
        assert_eq!(found("bytes 2-5/10"), Some((2..6, 10)));
        for wrong in [
            "bytes 5-2/10",
            "bytes 0-10/10",
            "bytes 0-1/*",
            "0-1/2",
            "bytes -1/2",
            "bytes 0-1",
        ] {
            assert_eq!(found(wrong), None, "{wrong}");
        }
        let refused = headers(&[("content-range", "bytes */7")]);
        assert_eq!(size_of_refusal(&refused), Some(7));
        for (range, text) in [
            (GetRange::Bounded(2..6), "2-5"),
            (GetRange::Offset(3), "3-"),
            (GetRange::Suffix(4), "-4"),
        ] {
            assert_eq!(range_text(&range), text);
        }
    }
}
