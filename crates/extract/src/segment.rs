//! Segmented records: a crawler may split a long record into a first record and `continuation`
//! records, often in other files (WARC standard, section 7).
//!
//! Segments are not joined. The first one is a capture that is marked as incomplete, and a
//! continuation is reported as unread content.

use warc::{Defect, Kind, Record};

use crate::target::{self, Target, defect};
use crate::{Extracted, http, reason};

/// Returns whether a record is the first segment of a longer one. Some writers number every record:
/// one that has all the bytes its HTTP header declares is complete.
pub(crate) fn is_first(record: &Record) -> bool {
    if record.kind == Kind::Continuation || record.headers.get("WARC-Segment-Number").is_none() {
        return false;
    }
    if !http::begins_like_http(&record.body) {
        return true;
    }
    let head = http::parse_head(&record.body);
    let fields = http::fields(&record.body[..head.length]);
    let declared = fields
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse::<u64>().ok());
    declared != Some(record.body_length.saturating_sub(head.length as u64))
}

/// Returns the defect of a record that is a first segment.
pub(crate) fn defect_of_first(record: &Record) -> Option<Defect> {
    let is_content = matches!(record.kind, Kind::Response | Kind::Resource | Kind::Conversion);
    (is_content && is_first(record)).then(|| {
        defect(
            reason::SEGMENT,
            "the first segment of a record: what its continuation records hold is not read",
        )
    })
}

/// Extracts a `continuation` record, whose content belongs to another record.
pub(crate) fn extract_continuation(record: &Record) -> Extracted {
    let field = |name| record.headers.get(name).unwrap_or("nothing");
    if matches!(target::read(record.target()), Target::Other) {
        return Extracted::Counted;
    }
    let detail = format!(
        "segment {} of the record {} of {}: segments are not joined",
        field("WARC-Segment-Number"),
        field("WARC-Segment-Origin-ID"),
        field("WARC-Target-URI"),
    );
    Extracted::Unusable(defect(reason::SEGMENT, &detail))
}
