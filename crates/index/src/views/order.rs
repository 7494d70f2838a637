//! The order of a key's captures, and which of them may be current.

use extract::{Capture, CaptureKind, Page, Shortfall};

/// Rank of a capture among those of its key: the greatest is current. It uses the names of inputs,
/// because their numbers depend on the order of loading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Order<Text> {
    pub(crate) fetch_time_ms: i64,
    pub(crate) rank: u8,
    pub(crate) digest: Text,
    pub(crate) input: Text,
    pub(crate) offset: u64,
}

impl<'a> Order<&'a str> {
    pub(crate) fn of(capture: &'a Capture, input: &'a str) -> Order<&'a str> {
        Order {
            fetch_time_ms: capture.fetch_time_ms,
            rank: rank_of(capture),
            digest: &capture.digest,
            input,
            offset: capture.offset,
        }
    }

    pub(crate) fn into_owned(self) -> Order<String> {
        Order {
            fetch_time_ms: self.fetch_time_ms,
            rank: self.rank,
            digest: self.digest.to_owned(),
            input: self.input.to_owned(),
            offset: self.offset,
        }
    }
}

/// Returns the rank of a capture among those of its time.
pub(crate) fn rank_of(capture: &Capture) -> u8 {
    source_rank(capture.kind, capture.is_damaged())
}

/// WARC or ARC over WAT over WET; of one sort, a whole record over a damaged one.
pub(crate) fn source_rank(kind: CaptureKind, is_damaged: bool) -> u8 {
    let source = match kind {
        CaptureKind::Wet => 0,
        CaptureKind::Wat => 1,
        _ => 2,
    };
    2 * source + u8::from(!is_damaged)
}

/// Returns whether a capture, new or stored, may be current. The only place in the index that
/// decides it. `views/*.sql` and the model must agree.
pub(crate) fn is_eligible(capture: &Capture) -> bool {
    let is_of_get = matches!(capture.method.as_str(), "" | "GET");
    is_of_get && capture.shortfall == Shortfall::None && answers_with_content(capture)
}

/// Returns whether the kind of record and the status promise a payload, or a redirect to another
/// address.
fn answers_with_content(capture: &Capture) -> bool {
    match capture.kind {
        // A revisit may be current only with the content of another capture.
        CaptureKind::Revisit => capture.original.is_some(),
        CaptureKind::Conversion => false,
        CaptureKind::Resource | CaptureKind::Wet => true,
        CaptureKind::Response | CaptureKind::Arc | CaptureKind::Wat => {
            let has_none = matches!(capture.status, 204 | 205 | 304);
            is_success(capture) && !has_none && !capture.redirects_to_itself
        }
    }
}

/// Returns whether a capture confirms the current version: it shows that the page still existed,
/// without being a version itself.
pub(crate) fn confirms(capture: &Capture) -> bool {
    let is_success = match capture.kind {
        CaptureKind::Revisit => true,
        CaptureKind::Conversion => false,
        CaptureKind::Resource | CaptureKind::Wet => true,
        CaptureKind::Response | CaptureKind::Arc | CaptureKind::Wat => is_success(capture),
    };
    is_success && !is_eligible(capture)
}

fn is_success(capture: &Capture) -> bool {
    (200..400).contains(&capture.status)
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
