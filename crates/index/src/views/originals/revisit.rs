//! The properties of a revisit that determine its original.

use extract::{Capture, CaptureKind, EMPTY_DIGESTS};

/// Placeholder of an unknown digest.
const UNKNOWN_DIGEST: &str = "-";

/// Returns whether a digest identifies a payload.
pub(crate) fn is_known(digest: &str) -> bool {
    !matches!(digest, "" | UNKNOWN_DIGEST)
}

/// Returns whether a revisit refers to its own URL.
pub(crate) fn names_its_own(revisit: &Capture) -> bool {
    let refers_to = revisit.refers_to.as_ref();
    refers_to.is_some_and(|refers| refers.url_key == revisit.url_key)
}

/// Returns the key and the second that a revisit refers to.
pub(crate) fn target(revisit: &Capture) -> Option<(&str, i64)> {
    let refers = revisit.refers_to.as_ref().filter(|_| !names_its_own(revisit))?;
    Some((&refers.url_key, refers.time_ms?.div_euclid(1000)))
}

/// Returns whether a capture of this kind and status may have the content of the revisit's
/// response. A revisit without a header accepts any, and so does a "not modified" response.
pub(crate) fn is_like(revisit: &Capture, kind: CaptureKind, status: u16) -> bool {
    let is_redirect =
        (300..400).contains(&status) && !matches!(kind, CaptureKind::Resource | CaptureKind::Wet);
    match revisit.status {
        0 | 304 => true,
        200..=299 => !is_redirect,
        300..=399 => is_redirect,
        _ => false,
    }
}

/// Returns whether the original of a revisit may be found by digest alone. Pages without content
/// have the same digest, and lead to different addresses.
pub(crate) fn may_go_by_digest(revisit: &Capture) -> bool {
    let identifies = is_known(&revisit.digest) && !EMPTY_DIGESTS.contains(&revisit.digest.as_str());
    !names_its_own(revisit) && identifies && is_like(revisit, CaptureKind::Response, 200)
}
