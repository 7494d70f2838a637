//! Version 2 signatures: HMAC-SHA1 over only part of a request. Refused unless the settings allow
//! them.
//!
//! In a header such a signature does not expire, so the request's signed date must be recent:
//! otherwise an eavesdropper could replay the request forever. In a URL `Expires` is signed.
//! Version 2 signs only those sub-resources that S3 had at the time. Anybody could add newer ones,
//! so they are refused.

use http::HeaderMap;
use http::header::{AUTHORIZATION, DATE, HeaderName};
use time::format_description::well_known::Rfc2822;
use time::macros::format_description;
use time::{Duration, OffsetDateTime, PrimitiveDateTime};

use super::head::Head;
use super::signature::Signature;
use crate::refusal::Refusal;

/// Longest time between a request's date and now, as in S3.
const AGE_MAX: Duration = Duration::minutes(15);

/// Parameters that select a different operation and are not signed.
const UNSIGNED: [&str; 13] = [
    "attributes",
    "encryption",
    "events",
    "intelligent-tiering",
    "legal-hold",
    "metadataTable",
    "ownershipControls",
    "policyStatus",
    "publicAccessBlock",
    "retention",
    "session",
    "renameObject",
    "x-id",
];

/// Refuses requests that must not have a version 2 signature.
pub(super) fn check(head: Head<'_>, signature: &Signature, allowed: bool) -> Result<(), Refusal> {
    debug_assert!(matches!(signature, Signature::Version2(_)));
    if !allowed {
        return Err(refused());
    }
    if let Some(name) = UNSIGNED.iter().find(|name| head.asks(name)) {
        let message = format!("a version 2 signature does not cover {name}: sign with version 4");
        return Err(Refusal::denied(message));
    }
    if head.headers.contains_key(AUTHORIZATION) {
        check_age(head.headers, OffsetDateTime::from(system::wall()))
    } else {
        Ok(())
    }
}

/// Returns the refusal if version 2 is not allowed.
pub(crate) fn refused() -> Refusal {
    let message = "the authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256 (boto3: \
                   Config(signature_version=\"s3v4\"))";
    Refusal::bad("InvalidRequest", message)
}

fn check_age(headers: &HeaderMap, now: OffsetDateTime) -> Result<(), Refusal> {
    let date = signed_date(headers);
    let date =
        date.ok_or_else(|| Refusal::denied("a signature requires one valid Date or x-amz-date header"))?;
    if (now - date).abs() <= AGE_MAX {
        Ok(())
    } else {
        Err(Refusal::new(
            http::StatusCode::FORBIDDEN,
            "RequestTimeTooSkewed",
            "the difference between the request time and the server's time is too large",
        ))
    }
}

/// Returns the date that the signature covers: `x-amz-date` takes precedence over `Date`.
fn signed_date(headers: &HeaderMap) -> Option<OffsetDateTime> {
    let own = HeaderName::from_static("x-amz-date");
    let name = if headers.contains_key(&own) { own } else { DATE };
    let mut values = headers.get_all(name).iter();
    // With two values, s3s could verify the other one.
    let value = values.next().filter(|_| values.next().is_none())?;
    let text = value.to_str().ok()?.trim();
    let basic = format_description!("[year][month][day]T[hour][minute][second]Z");
    OffsetDateTime::parse(text, &Rfc2822)
        .or_else(|_| PrimitiveDateTime::parse(text, basic).map(PrimitiveDateTime::assume_utc))
        .ok()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use time::macros::datetime;

    use super::*;

    #[test]
    fn a_header_is_good_for_a_quarter_of_an_hour() {
        let now = datetime!(2026-11-22 12:00 UTC);
        for (name, value, expected) in [
            ("date", "Sun, 22 Nov 2026 11:45:00 +0000", true),
            ("date", "Sun, 22 Nov 2026 12:15:00 GMT", true),
            ("date", "Sun, 22 Nov 2026 11:44:59 GMT", false),
            ("date", "Sun, 22 Nov 2026 12:15:01 GMT", false),
            ("x-amz-date", "20261122T120000Z", true),
            ("x-amz-date", "20251122T120000Z", false),
            ("date", "yesterday", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            assert_eq!(check_age(&headers, now).is_ok(), expected, "{value}");
            headers.append(name, HeaderValue::from_static(value));
            assert!(check_age(&headers, now).is_err(), "{value} twice");
        }
        assert!(check_age(&HeaderMap::new(), now).is_err());
        let mut both = HeaderMap::new();
        both.insert("date", HeaderValue::from_static("Sun, 22 Nov 2026 12:00:00 GMT"));
        both.insert("x-amz-date", HeaderValue::from_static("20251122T120000Z"));
        assert!(check_age(&both, now).is_err(), "the signed date counts");
    }
}
