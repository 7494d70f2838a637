//! Checks before a request is dispatched: it refuses signatures that do not cover the request, and requests
//! that need one.
//!
//! Invariants of a request that passes:
//!  - it is signed in one way at most, and s3s verifies the same one that was found here;
//!  - its signature, if any, covers every header that begins with `x-amz-`: the holder of a presigned address
//!    can ask for what was signed and for nothing else;
//!  - version 2 signatures are used only where they are allowed, and in headers only for 15 minutes.
//!
//! s3s computes the signature and reports every other error in one.

use http::HeaderMap;

use self::signing::Signing;
use crate::refusal::Refusal;

mod head;
mod signing;
mod version_2;

pub(crate) use self::head::Head;
pub(crate) use self::signing::Way;
pub(crate) use self::version_2::refused as version_2_refused;

/// Query parameters that change the response's headers.
const OVERRIDES: [&str; 6] = [
    "response-cache-control",
    "response-content-disposition",
    "response-content-encoding",
    "response-content-language",
    "response-content-type",
    "response-expires",
];

/// Checks a request's head. Returns how it is signed, if it is.
///
/// # Errors
/// The response to send instead of dispatching the request.
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
    // A form's policy covers its fields, but nothing covers its headers.
    if head.is_form() {
        refuse_unsigned(head.headers, &[])?;
    }
    Ok(signing.way(head))
}

/// Refuses unsigned `x-amz-` headers: s3s would obey them, and the holder of a presigned address could add
/// them.
fn refuse_unsigned(headers: &HeaderMap, signed: &[String]) -> Result<(), Refusal> {
    let own = |name: &&http::HeaderName| name.as_str().starts_with("x-amz-");
    // s3s ignores a value that is not UTF-8 when it verifies, and finds no header for a name that is not in
    // lower case: neither counts as signed.
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

/// Refuses response overrides in unsigned requests: a stranger must not choose how a public object is shown
/// under its owner's address.
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
