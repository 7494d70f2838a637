//! Forwards requests to the upstream and returns its responses.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use s3s::dto::CopySource;
use s3s::{Body, S3Error, S3Request, S3Response, S3Result};

use super::documents;
use super::download::Download;
use super::headers;
use super::places::Route;
use super::sign::UNSIGNED;
use super::upload::Upload;
use super::upstream::{Content, EMPTY_SHA256, UpstreamError, UpstreamRequest, nothing};
use crate::body::Faults;
use crate::error::fault;
use crate::exchange::Exchange;
use crate::operation::COPY_SOURCE;
use crate::query::{Query, encode_path};

/// Longest document in bytes in which names are rewritten: fits a listing of a thousand keys of a
/// thousand bytes, each byte escaped.
const DOCUMENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Marks a response of the upstream, which is sent uncorrected.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FromUpstream;

/// A client's request whose content has not been read yet.
pub(crate) struct ForwardedRequest {
    pub(crate) ask: UpstreamRequest,
    /// The error that broke off the content, if any.
    pub(crate) faults: Faults,
}

/// Returns the request for the upstream, with the client's headers and content.
///
/// # Errors
/// If the content has an unknown checksum.
pub(crate) fn forwarded_request(
    request: &mut S3Request<Body>,
    route: &Route,
    key: &str,
    query: Query,
) -> S3Result<ForwardedRequest> {
    let faults = Faults::default();
    let (content, payload) = content(request, &faults)?;
    let ask = UpstreamRequest {
        method: request.method.clone(),
        bucket: route.upstream.bucket.clone(),
        key: key.to_owned(),
        query,
        headers: headers::of_request(&request.headers),
        payload,
        content,
    };
    Ok(ForwardedRequest { ask, faults })
}

/// Returns a client's content, and the digest to send to the upstream.
fn content(request: &mut S3Request<Body>, faults: &Faults) -> S3Result<(Content, String)> {
    let has_content = request.headers.contains_key(CONTENT_LENGTH)
        || request.headers.contains_key(http::header::TRANSFER_ENCODING);
    if !has_content || matches!(request.method, Method::GET | Method::HEAD) {
        return Ok((nothing(), EMPTY_SHA256.to_owned()));
    }
    let declared = request.headers.get("x-amz-content-sha256");
    let declared = declared.and_then(|digest| digest.to_str().ok());
    let is_digest = |text: &&str| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let payload = declared.filter(is_digest).unwrap_or(UNSIGNED).to_owned();
    let exchange = request.extensions.get::<Arc<Exchange>>().cloned();
    let body = std::mem::take(&mut request.input);
    let trailers = request.trailing_headers.take();
    let upload = Upload::new(body, &request.headers, trailers, exchange, faults.clone())?;
    Ok((Content::new(upload), payload))
}

/// Returns the error for a request without a response.
pub(crate) fn no_response_error(error: &UpstreamError, faults: &Faults) -> S3Error {
    if let Some(fault) = faults.take() {
        return fault;
    }
    tracing::warn!(%error, "the upstream did not answer a request");
    match error {
        UpstreamError::Request(_) => fault("InvalidRequest", error.to_string()),
        UpstreamError::Silent | UpstreamError::Connection(_) => {
            fault("ServiceUnavailable", error.to_string())
        }
    }
}

/// Returns a response unchanged.
pub(crate) fn unchanged(answer: Response<Incoming>) -> S3Response<Body> {
    let (head, body) = answer.into_parts();
    response(
        head.status,
        headers::of_answer(&head.headers),
        Body::http_body(Download::new(body)),
    )
}

/// Creates a response that is sent uncorrected.
pub(crate) fn response(status: StatusCode, headers: HeaderMap, body: Body) -> S3Response<Body> {
    let mut response = S3Response::new(body);
    response.status = Some(status);
    response.headers = headers;
    response.extensions.insert(FromUpstream);
    response
}

/// Returns a response with the client's names, if it is a document that contains names.
pub(crate) async fn renamed(answer: Response<Incoming>, route: &Route) -> S3Result<S3Response<Body>> {
    if !route.renames() || !is_xml(answer.headers()) {
        return Ok(unchanged(answer));
    }
    edited(answer, |document| documents::rename(document, route)).await
}

fn is_xml(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    kind.is_some_and(|kind| kind.starts_with(b"application/xml") || kind.starts_with(b"text/xml"))
}

/// Returns a response with an edited document.
pub(crate) async fn edited(
    answer: Response<Incoming>,
    edit: impl FnOnce(&[u8]) -> Result<Vec<u8>, documents::Malformed>,
) -> S3Result<S3Response<Body>> {
    let (head, body) = answer.into_parts();
    let document = Limited::new(Download::new(body), DOCUMENT_BYTES_MAX)
        .collect()
        .await;
    let document = document.map_err(|error| unreadable(&error))?.to_bytes();
    let headers = headers::of_answer(&head.headers);
    replaced(head.status, headers, &document, edit)
}

/// Returns a response that is held in memory, with the client's names.
pub(crate) fn renamed_whole(
    status: StatusCode,
    headers: HeaderMap,
    body: &Bytes,
    route: &Route,
) -> S3Result<S3Response<Body>> {
    if !route.renames() || !is_xml(&headers) {
        return Ok(response(status, headers, Body::from(body.clone())));
    }
    replaced(status, headers, body, |document| {
        documents::rename(document, route)
    })
}

fn replaced(
    status: StatusCode,
    mut headers: HeaderMap,
    document: &Bytes,
    edit: impl FnOnce(&[u8]) -> Result<Vec<u8>, documents::Malformed>,
) -> S3Result<S3Response<Body>> {
    // The response to HEAD declares the length of a document but has no body.
    if document.is_empty() {
        return Ok(response(status, headers, Body::empty()));
    }
    let edited = edit(document).map_err(|error| unreadable(&error))?;
    if headers.contains_key(CONTENT_LENGTH) {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(edited.len()));
    }
    Ok(response(status, headers, Body::from(edited)))
}

fn unreadable(error: &dyn std::fmt::Display) -> S3Error {
    fault("ServiceUnavailable", format!("the upstream: {error}"))
}

/// Returns the bucket, the key and the version that a copy reads from.
pub(crate) fn copy_source(headers: &HeaderMap) -> S3Result<(String, String, Option<String>)> {
    let wrong = || fault("InvalidArgument", "x-amz-copy-source must be bucket/key");
    let header = headers.get(COPY_SOURCE).and_then(|header| header.to_str().ok());
    match CopySource::parse(header.ok_or_else(wrong)?).map_err(|_| wrong())? {
        CopySource::Bucket {
            bucket,
            key,
            version_id,
        } => Ok((bucket.into(), key.into(), version_id.map(Into::into))),
        CopySource::AccessPoint { .. } | CopySource::Outpost { .. } => Err(wrong()),
    }
}

/// Returns the value of [`COPY_SOURCE`] for the upstream.
pub(crate) fn copy_source_value(route: &Route, key: &str, version: Option<&str>) -> S3Result<HeaderValue> {
    let source = encode_path(&format!("{}/{key}", route.upstream.bucket));
    let version = version.map(|version| format!("?versionId={}", encode_path(version)));
    let value = format!("{source}{}", version.unwrap_or_default());
    HeaderValue::try_from(value).map_err(|error| fault("InvalidArgument", error.to_string()))
}
