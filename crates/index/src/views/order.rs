//! The order of a key's captures, and which of them may be current.

use extract::{Capture, CaptureKind, Page, Shortfall};

use crate::views::captures::Stored;

/// Rank of a capture among those of its key: the greatest is current. It uses the names of inputs,
/// because their numbers depend on the order of loading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Order<'a> {
    pub(crate) fetch_time_ms: i64,
    pub(crate) rank: u8,
    pub(crate) digest: &'a str,
    pub(crate) input: &'a str,
    pub(crate) offset: u64,
}

impl<'a> Order<'a> {
    pub(crate) fn of(capture: &'a Capture, input: &'a str) -> Order<'a> {
        Order {
            fetch_time_ms: capture.fetch_time_ms,
            rank: source_rank(capture.kind),
            digest: &capture.digest,
            input,
            offset: capture.offset,
        }
    }
}

/// WARC or ARC over WAT over WET.
pub(crate) fn source_rank(kind: CaptureKind) -> u8 {
    match kind {
        CaptureKind::Wet => 0,
        CaptureKind::Wat => 1,
        _ => 2,
    }
}

/// Properties of a capture, or of its row, that decide whether it may be current.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Criteria<'a> {
    kind: CaptureKind,
    status: u16,
    method: &'a str,
    redirects_to_itself: bool,
    shortfall: Shortfall,
    /// Whether a revisit has the content of another capture; then it may be current.
    has_original: bool,
}

impl<'a> From<&'a Capture> for Criteria<'a> {
    fn from(capture: &'a Capture) -> Criteria<'a> {
        Criteria {
            kind: capture.kind,
            status: capture.status,
            method: &capture.method,
            redirects_to_itself: capture.redirects_to_itself,
            shortfall: capture.shortfall,
            has_original: capture.original.is_some(),
        }
    }
}

impl<'a> From<&'a Stored> for Criteria<'a> {
    fn from(row: &'a Stored) -> Criteria<'a> {
        Criteria {
            kind: row.kind,
            status: row.status,
            method: &row.method,
            redirects_to_itself: row.redirects_to_itself,
            shortfall: row.shortfall,
            has_original: row.original.is_some(),
        }
    }
}

impl Criteria<'_> {
    /// The only place in the index that decides which captures may be current. `views/*.sql` and
    /// the model must agree.
    fn is_eligible(self) -> bool {
        let is_of_get = matches!(self.method, "" | "GET");
        is_of_get && self.shortfall == Shortfall::None && self.answers_with_content()
    }

    /// Returns whether the kind of record and the status promise a payload, or a redirect to
    /// another address.
    fn answers_with_content(self) -> bool {
        match self.kind {
            CaptureKind::Revisit => self.has_original,
            CaptureKind::Conversion => false,
            CaptureKind::Resource | CaptureKind::Wet => true,
            CaptureKind::Response | CaptureKind::Arc | CaptureKind::Wat => {
                let has_none = matches!(self.status, 204 | 205 | 304);
                self.is_success() && !has_none && !self.redirects_to_itself
            }
        }
    }

    /// Returns whether the capture shows that the page still existed, without being a version of
    /// it.
    fn confirms(self) -> bool {
        let is_success = match self.kind {
            CaptureKind::Revisit => true,
            CaptureKind::Conversion => false,
            CaptureKind::Resource | CaptureKind::Wet => true,
            CaptureKind::Response | CaptureKind::Arc | CaptureKind::Wat => self.is_success(),
        };
        is_success && !self.is_eligible()
    }

    fn is_success(self) -> bool {
        (200..400).contains(&self.status)
    }
}

/// Returns whether a capture may be current.
pub(crate) fn is_eligible(capture: &Capture) -> bool {
    Criteria::from(capture).is_eligible()
}

/// As [`is_eligible`], for a stored capture.
pub(crate) fn is_eligible_row(row: &Stored) -> bool {
    Criteria::from(row).is_eligible()
}

/// Returns whether a capture confirms the current version without being a version itself.
pub(crate) fn confirms(row: &Stored) -> bool {
    Criteria::from(row).confirms()
}

/// Returns the page of a capture that is a page.
pub(crate) fn page_of(capture: &Capture) -> Option<&Page> {
    capture.page.as_ref().filter(|_| is_served(capture))
}

/// Returns the content that search has of a capture: its page or its document.
pub(crate) fn content_of(capture: &Capture) -> Option<&Page> {
    capture.content().filter(|_| is_served(capture))
}

fn is_served(capture: &Capture) -> bool {
    let kind = capture.content_kind();
    (200..300).contains(&capture.shown_status()) || matches!(kind, CaptureKind::Resource | CaptureKind::Wet)
}
