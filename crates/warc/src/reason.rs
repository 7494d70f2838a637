//! The reasons of a [`crate::Defect`], a fixed set. They are printed, counted and stored, so they
//! must not be renamed.

/// The file ends inside a compressed member or frame.
pub const TRUNCATED_MEMBER: &str = "truncated-member";
/// A compressed member or frame could not be decoded further; the bytes decoded before are kept.
pub const DAMAGED_MEMBER: &str = "damaged-member";
/// A compressed member or frame was decoded to its end, but its checksum or length field does not
/// match.
pub const CHECKSUM_MISMATCH: &str = "checksum-mismatch";
/// The file, or its readable part, ends inside a record's block.
pub const TRUNCATED_RECORD: &str = "truncated-record";
/// The file, or its readable part, ends inside a record's header, or another record begins there.
pub const TRUNCATED_HEADER: &str = "truncated-header";
/// Another record begins before the declared length is reached; the block ends there.
pub const LENGTH_TOO_LONG: &str = "length-too-long";
/// Bytes other than line ends follow the declared end of the block before the next record.
pub const LENGTH_TOO_SHORT: &str = "length-too-short";
/// No length is declared; the block extends up to the next record.
pub const LENGTH_MISSING: &str = "length-missing";
/// The declared length is not a number or is negative; the block extends up to the next record.
pub const LENGTH_INVALID: &str = "length-invalid";
/// Fewer line ends follow the block than the format requires.
pub const LINE_ENDS_MISSING: &str = "line-ends-missing";
/// A header line is neither `name: value` nor the continuation of one; it is ignored.
pub const HEADER_LINE_INVALID: &str = "header-line-invalid";
/// The header does not end within the largest accepted header length.
pub const HEADER_TOO_LONG: &str = "header-too-long";
/// A WARC record without `WARC-Type`, or an ARC header line with fields missing or out of order.
pub const HEADER_INCOMPLETE: &str = "header-incomplete";
/// `WARC-Date` or the ARC date is missing or malformed.
pub const DATE_INVALID: &str = "date-invalid";
/// Bytes that are neither a record nor a compressed member.
pub const JUNK: &str = "junk";
/// A compressed member or frame, or a whole file, that contains no record; or bytes that look like
/// a member, are not one, and are followed by a record.
pub const NO_RECORD: &str = "no-record";
/// More records begin in a range of compressed bytes than it has bytes, so they cannot all have
/// different offsets.
pub const RECORDS_TOO_DENSE: &str = "records-too-dense";
/// A block with a wrong length may contain further records, but searching for them would take too
/// long. Only maliciously crafted files cause this.
pub const SEARCH_GIVEN_UP: &str = "search-given-up";
/// The declared `WARC-Block-Digest` is not the digest of the block.
pub const BLOCK_DIGEST_MISMATCH: &str = "block-digest-mismatch";
/// The declared `WARC-Payload-Digest` matches the payload neither as stored nor after transfer
/// decoding.
pub const PAYLOAD_DIGEST_MISMATCH: &str = "payload-digest-mismatch";
/// A declared digest has an unknown algorithm or form and cannot be verified.
pub const DIGEST_UNKNOWN: &str = "digest-unknown";
/// A zstd frame needs a dictionary that the file does not contain.
pub const DICTIONARY_MISSING: &str = "dictionary-missing";
/// The dictionary frame of a `.warc.zst` could not be read.
pub const DICTIONARY_DAMAGED: &str = "dictionary-damaged";

/// Reports whether bytes of a record with this defect are missing or wrong, as far as reading it
/// shows. Wrong digests do not count, because they are compared only on request.
pub fn is_damage(reason: &str) -> bool {
    [
        TRUNCATED_MEMBER,
        DAMAGED_MEMBER,
        CHECKSUM_MISMATCH,
        TRUNCATED_RECORD,
        LENGTH_TOO_LONG,
    ]
    .contains(&reason)
}

/// All reasons, in the order of this file.
pub const ALL: [&str; 23] = [
    TRUNCATED_MEMBER,
    DAMAGED_MEMBER,
    CHECKSUM_MISMATCH,
    TRUNCATED_RECORD,
    TRUNCATED_HEADER,
    LENGTH_TOO_LONG,
    LENGTH_TOO_SHORT,
    LENGTH_MISSING,
    LENGTH_INVALID,
    LINE_ENDS_MISSING,
    HEADER_LINE_INVALID,
    HEADER_TOO_LONG,
    HEADER_INCOMPLETE,
    DATE_INVALID,
    JUNK,
    NO_RECORD,
    RECORDS_TOO_DENSE,
    SEARCH_GIVEN_UP,
    BLOCK_DIGEST_MISMATCH,
    PAYLOAD_DIGEST_MISMATCH,
    DIGEST_UNKNOWN,
    DICTIONARY_MISSING,
    DICTIONARY_DAMAGED,
];
