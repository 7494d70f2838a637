//! What of s3s's answers is not as S3's, mended on the way out.
//!
//! - Texts that XML cannot carry ([`crate::xml`]), and errors that do not name their request.
//! - `GetObjectAttributes` has the entity tag without quotes, the redirect after a form has it with them.
//! - A form that its policy does not allow is denied; only a policy that cannot be read is malformed.
//!
//! Answers that are made while they are sent are left to [`crate::body::Outgoing`], contents of objects to their writers.

use bytes::Bytes;
use http::header::{ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_TYPE, LOCATION};
use http::{HeaderValue, Response, StatusCode};
use s3s::Body;

use crate::refusal::Refusal;
use crate::xml;

/// Longest error in bytes into which the request's name is written; s3s's are shorter.
const ERROR_BYTES_MAX: usize = 64 * 1024;

/// Code of a form's policy that is wrong.
const POLICY: &str = "InvalidPolicyDocument";

/// What s3s says of a policy that it cannot read.
const UNREADABLE: &str = "failed to parse POST policy";

/// Whether an answer is XML of ours.
pub(crate) fn is_xml(response: &Response<Body>) -> bool {
    let kind = response.headers().get(CONTENT_TYPE);
    // Objects are whatever their writers say: an XML one keeps its bytes.
    response.headers().get(ACCEPT_RANGES).is_none()
        && kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/xml"))
}

/// Mends an answer to the request of this name. Also gives S3's name of the error, if it is one.
pub(crate) fn mend(mut response: Response<Body>, id: &str) -> (Response<Body>, Option<String>) {
    if response.status() == StatusCode::SEE_OTHER {
        quote_redirect(&mut response);
    }
    if !is_xml(&response) {
        return (response, None);
    }
    let (parts, body) = response.into_parts();
    let Some(document) = body.bytes() else {
        return (Response::from_parts(parts, body), None);
    };
    let mut response = Response::from_parts(parts, Body::empty());
    let mut document = xml::clean(document);
    let mut code = None;
    if response.status().as_u16() >= 400 {
        if let Some(refusal) = policy_refusal(&document) {
            *response.status_mut() = refusal.status;
            document = refusal.document().into();
        }
        code = element(&document, "Code");
        document = with_request_id(document, id);
    } else {
        document = without_quotes(document);
    }
    *response.body_mut() = Body::from(document);
    response.headers_mut().remove(CONTENT_LENGTH);
    (response, code)
}

/// An error's text with `RequestId`.
fn with_request_id(document: Bytes, id: &str) -> Bytes {
    let text = std::str::from_utf8(&document).ok();
    let text = text.filter(|text| text.len() <= ERROR_BYTES_MAX && !text.contains("<RequestId>"));
    match text.and_then(|text| text.strip_suffix("</Error>")) {
        Some(start) => format!("{start}<RequestId>{id}</RequestId></Error>").into(),
        None => document,
    }
}

/// That a form is not as its policy says, where s3s says that the policy is wrong.
fn policy_refusal(document: &[u8]) -> Option<Refusal> {
    let code = element(document, "Code")?;
    let message = element(document, "Message")?;
    (code == POLICY && message != UNREADABLE).then(|| {
        // Escaped as it is; what s3s quotes of a form stays so.
        Refusal::denied(format!("Invalid according to Policy: {}", unescape(&message)))
    })
}

/// `GetObjectAttributes` without the quotes around the entity tag.
fn without_quotes(document: Bytes) -> Bytes {
    let text = std::str::from_utf8(&document).ok();
    match text.filter(|text| text.contains("<GetObjectAttributes")) {
        Some(text) => text
            .replace("<ETag>\"", "<ETag>")
            .replace("\"</ETag>", "</ETag>")
            .into(),
        None => document,
    }
}

/// The address that a form leads to, with quotes around the entity tag.
fn quote_redirect(response: &mut Response<Body>) {
    let location = response.headers().get(LOCATION);
    let location = location.and_then(|location| location.to_str().ok());
    let Some((start, etag)) = location.and_then(|location| location.rsplit_once("etag=")) else {
        return;
    };
    let is_bare = etag
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if is_bare && let Ok(quoted) = HeaderValue::try_from(format!("{start}etag=%22{etag}%22")) {
        response.headers_mut().insert(LOCATION, quoted);
    }
}

fn element(document: &[u8], name: &str) -> Option<String> {
    let text = std::str::from_utf8(document).ok()?;
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    Some(rest.split_once('<')?.0.to_owned())
}

fn unescape(text: &str) -> String {
    text.replace("&quot;", "\"")
        .replace("&apos;", "'")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(status: u16, text: &'static str) -> (u16, String, Option<String>) {
        let mut response = Response::new(Body::from(text.to_owned()));
        *response.status_mut() = StatusCode::from_u16(status).unwrap();
        let xml = HeaderValue::from_static("application/xml");
        response.headers_mut().insert(CONTENT_TYPE, xml);
        let (response, code) = mend(response, "ID");
        let text = response.body().bytes().unwrap();
        (
            response.status().as_u16(),
            String::from_utf8(text.to_vec()).unwrap(),
            code,
        )
    }

    #[test]
    fn an_error_names_its_request_once() {
        for text in [
            "<Error><Code>AccessDenied</Code></Error>",
            "<Error><Code>AccessDenied</Code><RequestId>ID</RequestId></Error>",
        ] {
            let expected = "<Error><Code>AccessDenied</Code><RequestId>ID</RequestId></Error>";
            assert_eq!(
                mended(403, text),
                (403, expected.to_owned(), Some("AccessDenied".to_owned()))
            );
        }
        assert_eq!(with_request_id(Bytes::from_static(b"\xFF"), "ID"), &b"\xFF"[..]);
    }

    #[test]
    fn a_form_against_its_policy_is_denied_and_a_policy_that_cannot_be_read_is_malformed() {
        let error = "<Error><Code>InvalidPolicyDocument</Code><Message>Policy condition &apos;eq&apos;</Message></Error>";
        let (status, text, code) = mended(400, error);
        assert_eq!((status, code.as_deref()), (403, Some("AccessDenied")));
        assert!(
            text.contains("<Message>Invalid according to Policy: Policy condition 'eq'</Message>"),
            "{text}"
        );
        let error =
            "<Error><Code>InvalidPolicyDocument</Code><Message>failed to parse POST policy</Message></Error>";
        assert_eq!(mended(400, error).0, 400);
        assert_eq!(
            mended(400, "<Error><Code>InvalidPolicyDocument</Code></Error>").0,
            400
        );
    }

    #[test]
    fn entity_tags_have_quotes_where_s3_has_them() {
        let text = "<GetObjectAttributesResponse><ETag>\"abc-2\"</ETag></GetObjectAttributesResponse>";
        let (_, text, _) = mended(200, text);
        assert_eq!(
            text,
            "<GetObjectAttributesResponse><ETag>abc-2</ETag></GetObjectAttributesResponse>"
        );
        let listing = "<ListBucketResult><ETag>\"abc\"</ETag></ListBucketResult>";
        assert_eq!(mended(200, listing).1, listing);
        for (from, to) in [
            (
                "http://h/?bucket=b&key=k&etag=abc",
                "http://h/?bucket=b&key=k&etag=%22abc%22",
            ),
            ("http://h/?key=etag=%2F", "http://h/?key=etag=%2F"),
        ] {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::SEE_OTHER;
            response
                .headers_mut()
                .insert(LOCATION, HeaderValue::from_static(from));
            assert_eq!(mend(response, "ID").0.headers()[LOCATION], to);
        }
    }
}
