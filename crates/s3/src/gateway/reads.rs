//! Reads of objects through the cache tier.
//!
//! Invariants:
//!  - if a response depends on more than the version and the range, the request bypasses the tier;
//!  - a response that has begun contains one version, or breaks off.

use std::sync::Arc;

use cache::{Cache, CachedOrigin, Cause, Description, ObjectRead, OriginError, User};
use futures_util::StreamExt as _;
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_LOCATION, CONTENT_RANGE, ETAG, EXPIRES, HeaderName,
    LAST_MODIFIED, ORIGIN, VARY,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_body::Frame;
use http_body_util::StreamBody;
use object_store::GetRange;
use s3s::{Body, S3Response, S3Result, StdError};

use super::conditions::{RequestedRange, Verdict, evaluate, has_conditions, requested_range};
use super::forward;
use super::operation::Operation;
use super::origin::{BucketOrigin, RefusedResponse, headers_of};
use super::places::Route;
use super::upstream::{Upstream, UpstreamError};
use crate::body::Faults;
use crate::query::Query;

/// Amazon's headers that do not affect the response to a read.
const INDIFFERENT: [&str; 5] = [
    "x-amz-date",
    "x-amz-content-sha256",
    "x-amz-security-token",
    "x-amz-user-agent",
    "x-amz-api-version",
];

/// Clients request checksums with every GET. A response from the tier has none, so nothing is
/// compared.
const CHECKSUM_MODE: &str = "x-amz-checksum-mode";

/// The headers of a 304 response (RFC 9110, section 15.4.5).
const OF_NOT_MODIFIED: [HeaderName; 6] = [
    ETAG,
    LAST_MODIFIED,
    CACHE_CONTROL,
    CONTENT_LOCATION,
    EXPIRES,
    VARY,
];

/// Reads of the upstream through a cache tier.
pub(crate) struct Reads {
    cache: Cache,
    upstream: Arc<Upstream>,
}

/// A read that the tier can answer.
pub(crate) struct Read {
    method: Method,
    range: Option<GetRange>,
    /// The client's headers.
    request_headers: HeaderMap,
}

impl Read {
    /// Converts a request to a read for the tier; `None` if it must bypass the tier.
    pub(crate) fn of(operation: Operation, query: &Query, headers: &HeaderMap) -> Option<Self> {
        let method = match operation.name {
            "GetObject" => Method::GET,
            "HeadObject" => Method::HEAD,
            _ => return None,
        };
        let is_indifferent = |name: &HeaderName| {
            let name = name.as_str();
            !name.starts_with("x-amz-")
                || INDIFFERENT.contains(&name)
                || name == CHECKSUM_MODE && method == Method::GET
        };
        let wants_the_upstream = |value: &HeaderValue| value.as_bytes().starts_with(b"no-");
        let bypasses_the_tier = query.names().any(|name| name != "x-id")
            || !headers.keys().all(is_indifferent)
            // The upstream applies CORS rules, so its response depends on the origin.
            || headers.contains_key(ORIGIN)
            || headers.get_all(CACHE_CONTROL).iter().any(wants_the_upstream);
        if bypasses_the_tier {
            return None;
        }
        let range = match requested_range(headers) {
            RequestedRange::All => None,
            RequestedRange::Range(range) => Some(range),
            RequestedRange::Other => return None,
        };
        Some(Self {
            method,
            range,
            request_headers: headers.clone(),
        })
    }
}

impl Reads {
    pub(crate) fn new(cache: Cache, upstream: Arc<Upstream>) -> Self {
        Self { cache, upstream }
    }

    /// Returns a bucket of the upstream.
    pub(crate) fn of(&self, bucket: &str) -> CachedOrigin {
        let origin = BucketOrigin::new(self.upstream.clone(), bucket);
        self.cache.origin_reader(Arc::new(origin), User::Gateway)
    }

    /// Answers a read; `None` if the upstream must answer it.
    ///
    /// # Errors
    /// If the upstream cannot be reached.
    pub(crate) async fn answer(
        &self,
        read: &Read,
        route: &Route,
        key: &str,
    ) -> S3Result<Option<S3Response<Body>>> {
        let object = self.of(&route.upstream.bucket);
        let answered = if read.method == Method::HEAD || has_conditions(&read.request_headers) {
            described(read, &object, key).await
        } else {
            object
                .get(key, read.range.clone())
                .await
                .map(|got| content(got, read.range.is_some()))
        };
        match answered {
            Ok(answer) => Ok(answer),
            Err(OriginError::Missing(cause) | OriginError::Passing(cause) | OriginError::Lasting(cause)) => {
                refused(read, route, &cause)
            }
            // The upstream reports the error itself, or has a valid response by now.
            Err(OriginError::Changed | OriginError::Range { .. }) => Ok(None),
        }
    }
}

/// Answers a read whose response depends on the version.
async fn described(
    read: &Read,
    object: &CachedOrigin,
    key: &str,
) -> Result<Option<S3Response<Body>>, OriginError> {
    let version = object.describe(key).await?;
    let headers = headers_of(&version);
    let wanted = match evaluate(&read.request_headers, &headers) {
        // The upstream's response has a document with the error.
        Verdict::Failed => return Ok(None),
        Verdict::NotModified => return Ok(Some(not_modified(&headers))),
        Verdict::Answer { is_whole: true } => None,
        Verdict::Answer { is_whole: false } => read.range.clone(),
    };
    match (&read.method, wanted) {
        (&Method::HEAD, None) => Ok(Some(head(&version, headers))),
        // Rare, so it is left to the upstream.
        (&Method::HEAD, Some(_)) => Ok(None),
        (_, wanted) => {
            let is_part = wanted.is_some();
            let got = object.get_version(key, &version, wanted).await?;
            Ok(content(got, is_part))
        }
    }
}

fn head(version: &Description, mut headers: HeaderMap) -> S3Response<Body> {
    headers.insert(CONTENT_LENGTH, HeaderValue::from(version.size_bytes));
    forward::response(StatusCode::OK, headers, Body::empty())
}

fn not_modified(version: &HeaderMap) -> S3Response<Body> {
    let kept = OF_NOT_MODIFIED.iter();
    let kept = kept.filter_map(|name| Some((name.clone(), version.get(name)?.clone())));
    forward::response(StatusCode::NOT_MODIFIED, kept.collect(), Body::empty())
}

/// Returns a response with bytes of a version. `None` for an empty range, which the upstream must
/// answer.
fn content(got: ObjectRead, is_part: bool) -> Option<S3Response<Body>> {
    let ObjectRead {
        description,
        range,
        body,
    } = got;
    if is_part && range.is_empty() {
        return None;
    }
    let mut headers = headers_of(&description);
    headers.insert(CONTENT_LENGTH, HeaderValue::from(range.end - range.start));
    headers
        .entry(ACCEPT_RANGES)
        .or_insert(HeaderValue::from_static("bytes"));
    let mut status = StatusCode::OK;
    if is_part {
        status = StatusCode::PARTIAL_CONTENT;
        let text = format!(
            "bytes {}-{}/{}",
            range.start,
            range.end - 1,
            description.size_bytes
        );
        // Digits are always a valid header value.
        headers.extend(
            HeaderValue::try_from(text)
                .ok()
                .map(|value| (CONTENT_RANGE, value)),
        );
    }
    let pieces = body.map(|piece| match piece {
        Ok(bytes) => Ok(Frame::data(bytes)),
        Err(error) => {
            // The status is sent already. The connection is cut, which no client takes for the end.
            tracing::error!(%error, "a response was cut short");
            Err(StdError::from(error))
        }
    });
    let body = Body::http_body_unsync(StreamBody::new(pieces));
    Some(forward::response(status, headers, body))
}

/// Returns the upstream's refusal if it was for the same method. Otherwise `None`, so that the
/// client's request is forwarded.
fn refused(read: &Read, route: &Route, cause: &Cause) -> S3Result<Option<S3Response<Body>>> {
    if let Some(error) = cause.downcast_ref::<UpstreamError>() {
        return Err(forward::no_response_error(error, &Faults::default()));
    }
    let refused = cause.downcast_ref::<RefusedResponse>();
    match refused.filter(|refused| refused.method == read.method) {
        None => Ok(None),
        Some(refused) => {
            let headers = refused.headers.clone();
            forward::renamed_whole(refused.status, headers, &refused.body, route).map(Some)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn goes_through(request: &str, headers: &[(&'static str, &'static str)]) -> bool {
        let (method, target) = request.split_once(' ').unwrap();
        let query = Query::of(&target.parse().unwrap());
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect();
        let operation = Operation::of(&method.parse().unwrap(), true, &query, &headers).unwrap();
        Read::of(operation, &query, &headers).is_some()
    }

    #[test]
    fn what_the_tier_does_not_know_goes_past_it() {
        for (request, headers, expected) in [
            ("GET /b/k", &[][..], true),
            ("HEAD /b/k", &[], true),
            ("GET /b/k?x-id=GetObject&X-Amz-Signature=1", &[], true),
            ("GET /b/k", &[("x-amz-date", "1"), ("range", "bytes=0-1")], true),
            ("GET /b/k", &[("x-amz-api-version", "2006-03-01")], true),
            ("GET /b/k", &[("if-match", "x")], true),
            ("GET /b/k", &[(CHECKSUM_MODE, "ENABLED")], true),
            ("HEAD /b/k", &[(CHECKSUM_MODE, "ENABLED")], false),
            ("GET /b/k", &[("range", "bytes=0-1,3-4")], false),
            ("GET /b/k", &[("origin", "https://a.example")], false),
            ("GET /b/k", &[("cache-control", "no-cache")], false),
            (
                "GET /b/k",
                &[("x-amz-server-side-encryption-customer-key", "x")],
                false,
            ),
            ("GET /b/k", &[("x-amz-expected-bucket-owner", "x")], false),
            ("GET /b/k?versionId=1", &[], false),
            ("GET /b/k?partNumber=1", &[], false),
            ("GET /b/k?response-content-type=x", &[], false),
            ("GET /b/k?acl", &[], false),
            ("PUT /b/k", &[], false),
        ] {
            assert_eq!(goes_through(request, headers), expected, "{request} {headers:?}");
        }
    }
}
