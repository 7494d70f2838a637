//! What the defects that a reader finds in a record mean for the tools here.

use warc::{Defect, reason};

/// Whether a copy of header and block of a record with this defect lacks something that the file has, or may.
pub(crate) fn loses(defect: &Defect) -> bool {
    ![
        reason::LINE_ENDS_MISSING,
        reason::HEADER_LINE_INVALID,
        reason::HEADER_INCOMPLETE,
        reason::DATE_INVALID,
        reason::BLOCK_DIGEST_MISMATCH,
        reason::PAYLOAD_DIGEST_MISMATCH,
        reason::DIGEST_UNKNOWN,
    ]
    .contains(&defect.reason)
}

/// Whether what was decoded of a record is uncertain.
pub(crate) fn is_of_member(defect: &Defect) -> bool {
    [
        reason::TRUNCATED_MEMBER,
        reason::DAMAGED_MEMBER,
        reason::CHECKSUM_MISMATCH,
        reason::RECORDS_TOO_DENSE,
        reason::SEARCH_GIVEN_UP,
    ]
    .contains(&defect.reason)
}

/// Whether a record ends elsewhere than its header says.
pub(crate) fn is_of_length(defect: &Defect) -> bool {
    [
        reason::TRUNCATED_RECORD,
        reason::LENGTH_TOO_LONG,
        reason::LENGTH_TOO_SHORT,
        reason::LENGTH_MISSING,
        reason::LENGTH_INVALID,
    ]
    .contains(&defect.reason)
}
