//! The properties of a revisit that determine its original.

use extract::{Capture, CaptureKind};

use crate::views::captures::Stored;

/// Placeholder of an unknown digest.
const UNKNOWN_DIGEST: &str = "-";

/// Returns whether a digest identifies a payload.
pub(crate) fn is_known(digest: &str) -> bool {
    !matches!(digest, "" | UNKNOWN_DIGEST)
}

/// The properties of a revisit that are needed to find its original.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Revisit<'a> {
    url_key: &'a str,
    digest: &'a str,
    status: u16,
    redirects_to_itself: bool,
    refers_to: Option<&'a extract::RefersTo>,
}

impl<'a> From<&'a Stored> for Revisit<'a> {
    fn from(row: &'a Stored) -> Revisit<'a> {
        Revisit {
            url_key: &row.url_key,
            digest: &row.digest,
            status: row.status,
            redirects_to_itself: row.redirects_to_itself,
            refers_to: row.refers_to.as_deref(),
        }
    }
}

impl<'a> From<&'a Capture> for Revisit<'a> {
    fn from(capture: &'a Capture) -> Revisit<'a> {
        Revisit {
            url_key: &capture.url_key,
            digest: &capture.digest,
            status: capture.status,
            redirects_to_itself: capture.redirects_to_itself,
            refers_to: capture.refers_to.as_deref(),
        }
    }
}

impl<'a> Revisit<'a> {
    pub(crate) fn names_its_own(self) -> bool {
        self.refers_to
            .is_some_and(|refers| refers.url_key == self.url_key)
    }

    pub(super) fn url_key(self) -> &'a str {
        self.url_key
    }

    pub(super) fn digest(self) -> &'a str {
        self.digest
    }

    pub(super) fn refers_to(self) -> Option<&'a extract::RefersTo> {
        self.refers_to
    }

    pub(crate) fn redirects_to_itself(self) -> bool {
        self.redirects_to_itself
    }

    /// The key and the second that it refers to.
    pub(crate) fn target(self) -> Option<(&'a str, i64)> {
        let refers = self.refers_to.filter(|_| !self.names_its_own())?;
        Some((&refers.url_key, refers.time_ms?.div_euclid(1000)))
    }

    /// Returns whether a capture of this kind and status may have the content of the revisit's
    /// response. A revisit without a header accepts any, and so does a "not modified" response.
    pub(crate) fn is_like(self, kind: CaptureKind, status: u16) -> bool {
        let is_redirect =
            (300..400).contains(&status) && !matches!(kind, CaptureKind::Resource | CaptureKind::Wet);
        match self.status {
            0 | 304 => true,
            200..=299 => !is_redirect,
            300..=399 => is_redirect,
            _ => false,
        }
    }

    /// Returns whether its original may be found by digest alone.
    pub(crate) fn may_go_by_digest(self) -> bool {
        !self.names_its_own() && is_known(self.digest) && self.is_like(CaptureKind::Response, 200)
    }
}
