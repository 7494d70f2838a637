//! InvalidatedObjects headers are forwarded: all except those of the connection and the signature.

use http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, EXPECT, HOST, HeaderName, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderValue};

/// Headers that concern one connection (RFC 9110, section 7.6.1).
const OF_CONNECTIONS: [HeaderName; 8] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("proxy-authenticate"),
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Request headers that concern only the client and the gateway, or are computed again.
const OF_REQUESTS: [HeaderName; 10] = [
    HOST,
    AUTHORIZATION,
    HeaderName::from_static("proxy-authorization"),
    CONTENT_LENGTH,
    EXPECT,
    HeaderName::from_static("x-amz-date"),
    HeaderName::from_static("x-amz-content-sha256"),
    HeaderName::from_static("x-amz-security-token"),
    HeaderName::from_static("x-amz-decoded-content-length"),
    HeaderName::from_static("x-amz-trailer"),
];

/// Returns the request headers to send to the upstream.
pub(crate) fn of_request(headers: &HeaderMap) -> HeaderMap {
    let mut passed = of_message(headers);
    for name in OF_REQUESTS {
        passed.remove(name);
    }
    if headers.contains_key("x-amz-trailer") {
        // It announces a checksum in the trailer, which is not forwarded.
        passed.remove("x-amz-sdk-checksum-algorithm");
    }
    if let Some(encoding) = passed.remove(CONTENT_ENCODING)
        && let Some(rest) = without_chunks(&encoding)
    {
        passed.insert(CONTENT_ENCODING, rest);
    }
    passed
}

/// Returns the response headers to send to the client.
pub(crate) fn of_answer(headers: &HeaderMap) -> HeaderMap {
    of_message(headers)
}

fn of_message(headers: &HeaderMap) -> HeaderMap {
    let named: Vec<_> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let mut passed = headers.clone();
    for name in OF_CONNECTIONS {
        passed.remove(name);
    }
    for name in named {
        passed.remove(name.as_str());
    }
    passed
}

/// Returns a content encoding without `aws-chunked`, which was already removed from the content.
fn without_chunks(encoding: &HeaderValue) -> Option<HeaderValue> {
    let Ok(text) = encoding.to_str() else {
        return Some(encoding.clone());
    };
    let rest: Vec<_> = text
        .split(',')
        .map(str::trim)
        .filter(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case("aws-chunked"))
        .collect();
    (!rest.is_empty())
        .then(|| HeaderValue::try_from(rest.join(",")).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_between_two_stays_between_them() {
        let headers: HeaderMap = [
            ("host", "gateway"),
            ("connection", "close, X-Hop"),
            ("x-hop", "1"),
            ("authorization", "AWS4-HMAC-SHA256 ..."),
            ("x-amz-date", "20260101T000000Z"),
            ("content-length", "7"),
            ("content-encoding", "aws-chunked,gzip"),
            ("x-amz-trailer", "x-amz-checksum-crc32"),
            ("x-amz-sdk-checksum-algorithm", "CRC32"),
            ("x-amz-meta-a", "b"),
            ("content-type", "text/plain"),
            ("if-match", "\"x\""),
        ]
        .into_iter()
        .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
        .collect();
        let passed = of_request(&headers);
        let mut names: Vec<_> = passed.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            ["content-encoding", "content-type", "if-match", "x-amz-meta-a"]
        );
        assert_eq!(passed["content-encoding"], "gzip");
        let only = HeaderMap::from_iter([(CONTENT_ENCODING, HeaderValue::from_static("aws-chunked"))]);
        assert!(of_request(&only).is_empty());
    }
}
