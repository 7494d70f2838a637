//! Entity tags: a client that already has an answer does not get it again.
//!
//! Answers that are complete in memory get a tag made from their bytes. It is weak, because they
//! may be compressed on the way (RFC 9110, 8.8.1). Records are streamed and have a separate, strong
//! tag.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use axum::body::{Body, HttpBody as _, to_bytes};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;

/// Maximum size of an answer that gets a tag, in bytes. No answer in memory is longer.
const BYTES_MAX: usize = 64 << 20;

/// Returns a tag made from 64 bits.
pub(crate) fn tag(bits: u64, weak: bool) -> HeaderValue {
    let mark = if weak { "W/" } else { "" };
    HeaderValue::try_from(format!("{mark}\"{bits:016x}\"")).unwrap_or(HeaderValue::from_static("\"0\""))
}

/// Returns whether the client already has the content with this tag. The comparison is weak, as
/// `If-None-Match` requires (RFC 9110, 13.1.2).
pub(crate) fn matches(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    let bare = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    let Ok(tag) = tag.to_str().map(bare) else {
        return false;
    };
    let known = headers.get_all(header::IF_NONE_MATCH).iter();
    known
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|known| known.trim() == "*" || bare(known) == tag)
}

/// Returns the request headers that name what the client already has. Few requests have any.
pub(crate) fn conditional_headers(headers: &HeaderMap) -> HeaderMap {
    let values = headers.get_all(header::IF_NONE_MATCH).iter().cloned();
    values.map(|value| (header::IF_NONE_MATCH, value)).collect()
}

/// Returns a 304 response with the tag.
pub(crate) fn not_modified(tag: &HeaderValue) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    response.headers_mut().insert(header::ETAG, tag.clone());
    response
}

/// Adds a tag to a complete answer, or answers 304 if the client already has it.
pub(crate) async fn add_tag(method: &Method, headers: &HeaderMap, response: Response) -> Response {
    let plain = method == Method::GET
        && response.status() == StatusCode::OK
        && !response.headers().contains_key(header::ETAG)
        && response.body().size_hint().exact().is_some();
    if !plain {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, BYTES_MAX).await else {
        // A body in memory cannot fail.
        tracing::error!("cannot read a buffered response");
        return Response::new(Body::empty());
    };
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    let tag = tag(hasher.finish(), true);
    if matches(headers, &tag) {
        // A 304 has the headers that the full answer would have, except its length.
        parts.status = StatusCode::NOT_MODIFIED;
        parts.headers.remove(header::CONTENT_LENGTH);
        parts.headers.insert(header::ETAG, tag);
        return Response::from_parts(parts, Body::empty());
    }
    parts.headers.insert(header::ETAG, tag);
    Response::from_parts(parts, Body::from(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_compared_weakly() {
        let tag = tag(1, true);
        let check = |known: &str, expected: bool| {
            let mut headers = HeaderMap::new();
            headers.insert(
                header::IF_NONE_MATCH,
                HeaderValue::from_str(known).expect("a value"),
            );
            assert_eq!(matches(&headers, &tag), expected, "{known}");
        };
        check("W/\"0000000000000001\"", true);
        check("\"0000000000000001\"", true);
        check("\"x\", W/\"0000000000000001\"", true);
        check("*", true);
        check("\"0000000000000002\"", false);
        check("0000000000000001", false);
    }
}
