//! Checks before a request is dispatched: refuses signatures that do not cover the request, and
//! requests that need a signature.
//!
//! Invariants of a request that passes:
//!  - it has at most one signature, and s3s verifies the same one that was found here;
//!  - its signature, if any, covers every header that begins with `x-amz-`, so the holder of a
//!    presigned URL can make only the signed request;
//!  - version 2 signatures are used only if allowed, and are valid for 15 minutes in headers.
//!
//! s3s verifies the signature itself and reports all other errors in it.

use http::HeaderMap;

use self::signature::Signature;
use crate::refusal::Refusal;

mod head;
mod signature;
mod version_2;

pub(crate) use self::head::Head;
pub(crate) use self::signature::SigningMethod;
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

/// Checks a request's head. Returns how the request is signed.
///
/// # Errors
/// The response to send instead of dispatching the request.
pub(crate) fn check(head: Head<'_>, version_2: bool) -> Result<SigningMethod, Refusal> {
    let signature = Signature::of(head)?;
    match &signature {
        Signature::Unsigned if head.is_form() => {}
        Signature::Unsigned => refuse_overrides(head)?,
        Signature::Version2(_) => version_2::check(head, &signature, version_2)?,
        Signature::Version4 { signed, .. } => {
            signature.check_region()?;
            refuse_unsigned(head.headers, signed)?;
        }
    }
    // A form's policy covers its fields, but its headers are not covered by anything.
    if head.is_form() {
        refuse_unsigned(head.headers, &[])?;
    }
    Ok(signature.method(head))
}

/// Refuses unsigned `x-amz-` headers: the holder of a presigned URL could add them, and s3s would
/// obey.
fn refuse_unsigned(headers: &HeaderMap, signed: &[String]) -> Result<(), Refusal> {
    let own = |name: &&http::HeaderName| name.as_str().starts_with("x-amz-");
    // During verification s3s ignores values that are not UTF-8, and does not find headers named in
    // upper case. Neither counts as signed.
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

/// Refuses response overrides in unsigned requests: a stranger must not choose how a public object
/// is presented under its owner's URL.
fn refuse_overrides(head: Head<'_>) -> Result<(), Refusal> {
    if OVERRIDES.iter().any(|name| head.asks(name)) {
        Err(Refusal::bad(
            "InvalidRequest",
            "request specific response headers cannot be used for anonymous GET requests",
        ))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
