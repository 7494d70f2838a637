//! Classifies the defects that a reader finds in a record.

use warc::{Defect, reason};

/// Returns whether a copy of the header and block of a record with this defect lacks, or may lack,
/// bytes of the file.
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

/// Returns whether the decoded bytes of a record with this defect are uncertain.
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

/// Returns whether a record with this defect ends elsewhere than its header says.
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
