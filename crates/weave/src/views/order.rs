//! The order of a key's captures, and which of them may be current.

use extract::{Capture, CaptureKind, Page};

use crate::views::captures::Stored;

/// Place of a capture among those of its key: the greatest is current. Names, not numbers, of inputs count,
/// because numbers depend on the order of loading.
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

/// Whether a capture can be current.
pub(crate) fn is_eligible(capture: &Capture) -> bool {
    match capture.kind {
        CaptureKind::Revisit => false,
        CaptureKind::Resource | CaptureKind::Wet => true,
        _ => (200..400).contains(&capture.status) && !capture.redirects_to_itself,
    }
}

/// Whether a capture of such a row could be current: what [`is_eligible`] says of its kind and status.
pub(crate) fn may_be_eligible(kind: CaptureKind, status: u16) -> bool {
    match kind {
        CaptureKind::Revisit => false,
        CaptureKind::Resource | CaptureKind::Wet => true,
        _ => (200..400).contains(&status),
    }
}

/// The same of a capture as it is stored.
pub(crate) fn is_eligible_row(row: &Stored) -> bool {
    let may_redirect = !matches!(row.kind, CaptureKind::Resource | CaptureKind::Wet);
    may_be_eligible(row.kind, row.status) && !(may_redirect && row.redirects_to_itself)
}

/// What makes the capture a page, if it is one.
pub(crate) fn page_of(capture: &Capture) -> Option<&Page> {
    capture.page.as_ref().filter(|_| is_served(capture))
}

/// What search has of the capture: its page, or the document that it is instead.
pub(crate) fn content_of(capture: &Capture) -> Option<&Page> {
    capture.content().filter(|_| is_served(capture))
}

fn is_served(capture: &Capture) -> bool {
    (200..300).contains(&capture.status) || matches!(capture.kind, CaptureKind::Resource | CaptureKind::Wet)
}
