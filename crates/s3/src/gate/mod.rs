//! What is refused before a request is dispatched: signatures that do not cover what is asked, and questions that only
//! the signed may ask.
//!
//! Invariants of a request that passes:
//!  - it is signed in one way at most, and the way found here is the one that s3s goes by;
//!  - every header that begins with `x-amz-` is covered by its signature, if it has one: whoever holds a signed address can
//!    ask for what was signed and for nothing else;
//!  - a signature of version 2 comes where that was allowed, and in headers not older than a quarter of an hour.
//!
//! The signature itself is s3s's to compute; what is wrong with one in other ways than these is left to s3s.

use http::{HeaderMap, Method, Uri};
use url::form_urlencoded;

use self::signing::Signing;
use crate::refusal::Refusal;

mod signing;
mod version_2;

pub(crate) use self::signing::Way;
pub(crate) use self::version_2::refused as version_2_refused;

/// The region that is named to clients that signed for one that cannot be. Every other is accepted.
pub(crate) const REGION: &str = "us-east-1";

/// Parameters of a request's address that change the answer's headers.
const OVERRIDES: [&str; 6] = [
    "response-cache-control",
    "response-content-disposition",
    "response-content-encoding",
    "response-content-language",
    "response-content-type",
    "response-expires",
];

/// The head of a request.
#[derive(Clone, Copy)]
pub(crate) struct Head<'a> {
    pub(crate) method: &'a Method,
    pub(crate) uri: &'a Uri,
    pub(crate) headers: &'a HeaderMap,
}

impl<'a> Head<'a> {
    /// Of a request.
    pub(crate) fn of<B>(request: &'a http::Request<B>) -> Self {
        Self {
            method: request.method(),
            uri: request.uri(),
            headers: request.headers(),
        }
    }

    /// Names and values of the address, decoded as s3s decodes them.
    fn query(self) -> impl Iterator<Item = (std::borrow::Cow<'a, str>, std::borrow::Cow<'a, str>)> {
        form_urlencoded::parse(self.uri.query().unwrap_or_default().as_bytes())
    }

    fn asks(self, name: &str) -> bool {
        self.query().any(|(found, _)| found == name)
    }

    /// Whether s3s may take this for a browser's form. More than are: s3s reads the type with a parser of its own.
    fn is_form(self) -> bool {
        let is_multipart = |value: &http::HeaderValue| {
            let start = value.as_bytes().trim_ascii_start().get(..10);
            start.is_some_and(|start| start.eq_ignore_ascii_case(b"multipart/"))
        };
        let mut types = self.headers.get_all(http::header::CONTENT_TYPE).iter();
        *self.method == Method::POST && types.any(is_multipart)
    }
}

/// Looks at a request's head. Answers by which way it is signed, if it is.
///
/// # Errors
/// What to answer instead of dispatching the request.
pub(crate) fn check(head: Head<'_>, version_2: bool) -> Result<Way, Refusal> {
    let signing = Signing::of(head)?;
    match &signing {
        Signing::Nobody if head.is_form() => {}
        Signing::Nobody => refuse_overrides(head)?,
        Signing::Version2(_) => version_2::check(head, &signing, version_2)?,
        Signing::Version4 { signed, .. } => {
            signing.check_region()?;
            refuse_unsigned(head.headers, signed)?;
        }
    }
    // The fields of a form are covered by its policy, and its headers by nothing.
    if head.is_form() {
        refuse_unsigned(head.headers, &[])?;
    }
    Ok(signing.way(head))
}

/// Refuses headers of S3's own outside of the signature: they would be obeyed, and whoever holds a signed address could add
/// them.
fn refuse_unsigned(headers: &HeaderMap, signed: &[String]) -> Result<(), Refusal> {
    let own = |name: &&http::HeaderName| name.as_str().starts_with("x-amz-");
    // s3s leaves a value that is not UTF-8 out of what it verifies, and a name that is not in lower case finds no header
    // there: neither counts as signed.
    let is_signed = |name: &http::HeaderName| {
        let mut values = headers.get_all(name).iter();
        signed.iter().any(|signed| signed == name.as_str())
            && values.all(|value| std::str::from_utf8(value.as_bytes()).is_ok())
    };
    let unsigned: Vec<_> = headers
        .keys()
        .filter(own)
        .filter(|name| !is_signed(name))
        .map(http::HeaderName::as_str)
        .collect();
    if unsigned.is_empty() {
        return Ok(());
    }
    let message = "there were headers present in the request which were not signed";
    Err(Refusal::denied(message).and("HeadersNotSigned", unsigned.join(", ")))
}

/// A stranger must not choose how an open object is shown under its owner's address.
fn refuse_overrides(head: Head<'_>) -> Result<(), Refusal> {
    match OVERRIDES.iter().any(|name| head.asks(name)) {
        false => Ok(()),
        true => Err(Refusal::bad(
            "InvalidRequest",
            "request specific response headers cannot be used for anonymous GET requests",
        )),
    }
}

#[cfg(test)]
mod tests;
