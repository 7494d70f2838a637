//! The rules of a check, and their sources.

use warc::{Format, reason};

/// A rule of the standard.
#[derive(Debug)]
pub struct Rule {
    /// A fixed word, which is printed and will not change.
    pub name: &'static str,
    /// Its source.
    pub(super) source: Source,
    /// Whether the source only recommends it. Violations are then reported only on request.
    pub advice: bool,
    /// What it requires.
    pub demands: &'static str,
}

/// The source of a rule.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source {
    /// The clauses of WARC/1.0 (ISO 28500:2009) and WARC/1.1 (ISO 28500:2017).
    Clauses(&'static str, &'static str),
    /// Another text.
    Text(&'static str),
}

impl Rule {
    const fn new(name: &'static str, source: Source, demands: &'static str) -> Rule {
        Rule {
            name,
            source,
            advice: false,
            demands,
        }
    }

    const fn advice(name: &'static str, source: Source, demands: &'static str) -> Rule {
        Rule {
            advice: true,
            ..Rule::new(name, source, demands)
        }
    }

    /// Returns the source of the rule for a record of a format. Bytes that are not a record are
    /// checked against the newest version.
    pub fn source(&self, format: Option<Format>) -> String {
        match (self.source, format) {
            (Source::Text(text), _) => text.to_owned(),
            (Source::Clauses(..), Some(Format::Arc(_))) => "ARC, file format".to_owned(),
            (Source::Clauses(old, _), Some(Format::Warc(0, _) | Format::Warc(1, 0))) => {
                format!("WARC/1.0, {old}")
            }
            (Source::Clauses(_, new), _) => format!("WARC/1.1, {new}"),
        }
    }
}

const MODEL: Source = Source::Clauses("4", "4");
const MEMBER: Source = Source::Text("RFC 1952, 2.2; RFC 8878, 3.1");
const LIMIT: Source = Source::Text("a limit of Weft");
const ZSTD: Source = Source::Text("WARC-zstd 1.0, 4.2");

static OF_REASONS: [Rule; 23] = [
    Rule::new(
        reason::TRUNCATED_MEMBER,
        MEMBER,
        "a file does not end inside a compressed member",
    ),
    Rule::new(
        reason::DAMAGED_MEMBER,
        MEMBER,
        "a compressed member can be decoded",
    ),
    Rule::new(
        reason::CHECKSUM_MISMATCH,
        MEMBER,
        "the checksum of a compressed member matches",
    ),
    Rule::new(
        reason::TRUNCATED_RECORD,
        MODEL,
        "a file does not end inside a record",
    ),
    Rule::new(
        reason::TRUNCATED_HEADER,
        MODEL,
        "a file does not end inside a header",
    ),
    Rule::new(
        reason::LENGTH_TOO_LONG,
        Source::Clauses("5.3", "5.3"),
        "Content-Length is the length of the block",
    ),
    Rule::new(
        reason::LENGTH_TOO_SHORT,
        Source::Clauses("5.3", "5.3"),
        "Content-Length is the length of the block",
    ),
    Rule::new(
        reason::LENGTH_MISSING,
        Source::Clauses("5.3", "5.3"),
        "every record has a Content-Length",
    ),
    Rule::new(
        reason::LENGTH_INVALID,
        Source::Clauses("5.3", "5.3"),
        "Content-Length is a number in digits",
    ),
    Rule::new(reason::LINE_ENDS_MISSING, MODEL, "two line ends follow a block"),
    Rule::new(
        reason::HEADER_LINE_INVALID,
        MODEL,
        "a header line is a field or continues one",
    ),
    Rule::new(reason::HEADER_TOO_LONG, LIMIT, "a header has at most 1 MiB"),
    Rule::new(
        reason::HEADER_INCOMPLETE,
        Source::Clauses("5.5", "5.5"),
        "every record has a WARC-Type",
    ),
    Rule::new(
        reason::DATE_INVALID,
        Source::Clauses("5.4", "5.4"),
        "dates have the required format and are valid days",
    ),
    Rule::new(reason::JUNK, MODEL, "there are no other bytes between records"),
    Rule::new(reason::NO_RECORD, MODEL, "compressed members contain records"),
    Rule::new(
        reason::RECORDS_TOO_DENSE,
        LIMIT,
        "a file has no more records than bytes",
    ),
    Rule::new(
        reason::SEARCH_GIVEN_UP,
        LIMIT,
        "the ends of blocks with a wrong length are found within a limited search",
    ),
    Rule::new(
        reason::BLOCK_DIGEST_MISMATCH,
        Source::Clauses("5.8", "5.8"),
        "WARC-Block-Digest is the digest of the block",
    ),
    Rule::new(
        reason::PAYLOAD_DIGEST_MISMATCH,
        Source::Clauses("5.9", "5.9"),
        "WARC-Payload-Digest is the digest of the payload",
    ),
    Rule::new(
        reason::DIGEST_UNKNOWN,
        Source::Clauses("5.8", "5.8"),
        "a digest is MD5, SHA-1, SHA-256 or SHA-512, so that it can be verified",
    ),
    Rule::new(
        reason::DICTIONARY_MISSING,
        ZSTD,
        "a file contains the dictionary that its frames need",
    ),
    Rule::new(
        reason::DICTIONARY_DAMAGED,
        ZSTD,
        "the dictionary of a file can be read",
    ),
];

pub(super) static EMPTY: Rule = Rule::new("file-empty", MODEL, "a file contains at least one record");
pub(super) static ONE_MEMBER: Rule = Rule::new(
    "one-member",
    Source::Clauses("A.2", "D.2"),
    "every record has its own compressed member, so that it can be read separately",
);
pub(super) static VERSION: Rule = Rule::new(
    "version",
    MODEL,
    "a record begins with the line WARC/1.0 or WARC/1.1, in upper case",
);
pub(super) static LINE_END: Rule = Rule::new("line-end", MODEL, "header lines end in CR LF");
pub(super) static NOT_UTF8: Rule = Rule::new("not-utf8", MODEL, "headers are UTF-8");
pub(super) static CONTROL: Rule = Rule::new(
    "control-character",
    MODEL,
    "values have no control characters except tabs",
);
pub(super) static FIELD_NAME: Rule = Rule::new(
    "field-name",
    MODEL,
    "field names have letters, digits and some signs, and no spaces",
);
pub(super) static FIELD_REPEATED: Rule = Rule::new(
    "field-repeated",
    Source::Clauses("5.1", "5.1"),
    "no standard field except WARC-Concurrent-To occurs twice",
);
pub(super) static RECORD_ID_MISSING: Rule = Rule::new(
    "record-id-missing",
    Source::Clauses("5.2", "5.2"),
    "every record has a WARC-Record-ID",
);
pub(super) static RECORD_ID: Rule = Rule::new(
    "record-id",
    Source::Clauses("5.2", "5.2"),
    "record ids are URIs with a scheme, in angle brackets, without spaces",
);
pub(super) static RECORD_ID_REPEATED: Rule = Rule::new(
    "record-id-repeated",
    Source::Clauses("5.2", "5.2"),
    "no two records have the same id",
);
pub(super) static DATE_MISSING: Rule = Rule::new(
    "date-missing",
    Source::Clauses("5.4", "5.4"),
    "every record has a WARC-Date",
);
pub(super) static DATE: Rule = Rule::new(
    "date",
    Source::Clauses("5.4", "5.4"),
    "WARC-Date is in UTC: YYYY-MM-DDThh:mm:ssZ in WARC/1.0, with any precision in WARC/1.1",
);
pub(super) static CONTENT_TYPE_MISSING: Rule = Rule::advice(
    "content-type-missing",
    Source::Clauses("5.6", "5.6"),
    "records with a block, except continuations, have a Content-Type",
);
pub(super) static IP_ADDRESS: Rule = Rule::new(
    "ip-address",
    Source::Clauses("5.10", "5.10"),
    "WARC-IP-Address is an IPv4 or IPv6 address",
);
pub(super) static REFERENCE: Rule = Rule::new(
    "reference",
    Source::Clauses("4", "4"),
    "fields that refer to a record give its id in angle brackets",
);
pub(super) static TARGET_URI_MISSING: Rule = Rule::new(
    "target-uri-missing",
    Source::Clauses("5.12", "5.14"),
    "all records except warcinfo and metadata have a WARC-Target-URI",
);
pub(super) static TARGET_URI: Rule = Rule::new(
    "target-uri",
    Source::Clauses("5.12", "5.14"),
    "WARC-Target-URI is a URI with a scheme and without spaces; in WARC/1.1 without angle brackets",
);
pub(super) static TARGET_URI_CHARACTERS: Rule = Rule::advice(
    "target-uri-characters",
    Source::Text("RFC 3986, 2"),
    "characters that RFC 3986 does not allow are percent-encoded in WARC-Target-URI",
);
pub(super) static PROFILE_MISSING: Rule = Rule::new(
    "profile-missing",
    Source::Clauses("5.16", "5.18"),
    "revisits have a WARC-Profile",
);
pub(super) static REVISIT_DIGEST: Rule = Rule::new(
    "revisit-digest-missing",
    Source::Clauses("6.7.2", "6.7.2"),
    "revisits of an identical payload have its WARC-Payload-Digest",
);
pub(super) static REVISIT_REFERS: Rule = Rule::advice(
    "revisit-refers-to-missing",
    Source::Clauses("6.7.2", "6.7.2"),
    "revisits of an identical payload refer to the record that has it",
);
pub(super) static SEGMENT_NUMBER: Rule = Rule::new(
    "segment-number",
    Source::Clauses("5.18", "5.20"),
    "WARC-Segment-Number is 1 in a first segment, and present and larger in continuations",
);
pub(super) static SEGMENT_ORIGIN: Rule = Rule::new(
    "segment-origin-missing",
    Source::Clauses("5.19", "5.21"),
    "continuations have a WARC-Segment-Origin-ID",
);

/// A field that some types of records must not have.
pub(super) static FIELD_FORBIDDEN: [Rule; 11] = {
    const DEMANDS: &str = "fields occur only in records of the types for which they are defined";
    const fn rule(old: &'static str, new: &'static str) -> Rule {
        Rule::new("field-forbidden", Source::Clauses(old, new), DEMANDS)
    }
    [
        rule("5.7", "5.7"),
        rule("5.9", "5.9"),
        rule("5.10", "5.10"),
        rule("5.11", "5.11"),
        rule("5", "5.12"),
        rule("5.12", "5.14"),
        rule("5.14", "5.16"),
        rule("5.15", "5.17"),
        rule("5.16", "5.18"),
        rule("5.19", "5.21"),
        rule("5.20", "5.22"),
    ]
};

/// Returns the rule that a defect violates.
pub(super) fn of_reason(reason: &str) -> &'static Rule {
    let rule = OF_REASONS.iter().find(|rule| rule.name == reason);
    // Every reason has a rule; a test checks this.
    rule.unwrap_or(&OF_REASONS[14])
}

/// Returns all rules, for the documentation.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    let own = [
        &EMPTY,
        &ONE_MEMBER,
        &VERSION,
        &LINE_END,
        &NOT_UTF8,
        &CONTROL,
        &FIELD_NAME,
        &FIELD_REPEATED,
        &RECORD_ID_MISSING,
        &RECORD_ID,
        &RECORD_ID_REPEATED,
        &DATE_MISSING,
        &DATE,
        &CONTENT_TYPE_MISSING,
        &IP_ADDRESS,
        &REFERENCE,
        &TARGET_URI_MISSING,
        &TARGET_URI,
        &TARGET_URI_CHARACTERS,
        &PROFILE_MISSING,
        &REVISIT_DIGEST,
        &REVISIT_REFERS,
        &SEGMENT_NUMBER,
        &SEGMENT_ORIGIN,
        &FIELD_FORBIDDEN[0],
    ];
    OF_REASONS.iter().chain(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_rule_and_no_name_is_used_twice() {
        for reason in reason::ALL {
            assert_eq!(of_reason(reason).name, reason);
        }
        let mut names: Vec<_> = all().map(|rule| rule.name).collect();
        names.sort_unstable();
        let rules = names.len();
        names.dedup();
        assert_eq!(names.len(), rules);
    }
}
