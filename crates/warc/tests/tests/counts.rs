//! Counts the records of real files and compares with warcio 1.8.1, with every difference
//! explained; checks that lengths add up.

use std::collections::BTreeMap;

use super::support::{files, read, settings};

/// File, number of records, and why warcio 1.8.1 reads a different number.
const COUNTS: &[(&str, usize, &str)] = &[
    ("CC-MAIN-2024-22.warc.paths.gz", 0, ""),
    ("blackbook.arc.gz", 300, ""),
    ("blackbook.warc.gz", 822, ""),
    ("cdxwriter-10_digit_date.arc.gz", 2, ""),
    ("cdxwriter-14_digit_plus_text_date.arc.gz", 2, ""),
    ("cdxwriter-15_digit_date.arc.gz", 2, ""),
    ("cdxwriter-16_digit_date.arc.gz", 2, ""),
    ("cdxwriter-18_digit_date.arc.gz", 2, ""),
    ("cdxwriter-304-response.warc.gz", 1, ""),
    ("cdxwriter-304-revisit.warc.gz", 1, ""),
    ("cdxwriter-alexa_charset_in_header.arc.gz", 2, ""),
    ("cdxwriter-alexa_short_header.arc.gz", 2, ""),
    ("cdxwriter-arc_v1_with_v2_header.arc.gz", 2, ""),
    ("cdxwriter-bad_mime_type.arc.gz", 2, ""),
    ("cdxwriter-bad_unicode_host.arc.gz", 2, ""),
    ("cdxwriter-bad_url_with_colon_1.arc.gz", 1, ""),
    ("cdxwriter-bad_url_with_colon_2.arc.gz", 1, ""),
    ("cdxwriter-bracket_in_target_uri.warc.gz", 1, ""),
    ("cdxwriter-carriage_return_in_url.arc.gz", 2, ""),
    ("cdxwriter-chardet_failure_url.arc.gz", 2, ""),
    ("cdxwriter-crlf_at_1k_boundary.warc.gz", 1, ""),
    ("cdxwriter-crlf_at_1k_boundary_2.warc.gz", 1, ""),
    ("cdxwriter-date_resolution_microsecond.warc.gz", 1, ""),
    ("cdxwriter-date_resolution_nanosecond.warc.gz", 1, ""),
    ("cdxwriter-empty-gzips.warc.gz", 9, ""),
    ("cdxwriter-empty_payload_header_ending_with_lf.arc.gz", 1, ""),
    ("cdxwriter-empty_record.arc.gz", 2, ""),
    ("cdxwriter-formfeed_in_url.arc.gz", 2, ""),
    ("cdxwriter-ftp-resource-block-digest.warc.gz", 1, ""),
    ("cdxwriter-ftp-resource-no-digest.warc.gz", 1, ""),
    ("cdxwriter-ftp-resource-payload-digest.warc.gz", 1, ""),
    ("cdxwriter-giant_html.warc.gz", 1, ""),
    ("cdxwriter-hex_instead_of_date.arc.gz", 2, ""),
    ("cdxwriter-meta_tag_FI.arc.gz", 2, ""),
    ("cdxwriter-meta_tag_I.arc.gz", 2, ""),
    ("cdxwriter-meta_tag_large.warc.gz", 1, ""),
    ("cdxwriter-missing_content_type.warc.gz", 1, ""),
    ("cdxwriter-negative_content_length.arc.gz", 4, ""),
    ("cdxwriter-no_sha1_whitespace_in_contenttype.warc.gz", 1, ""),
    ("cdxwriter-non_ascii_url.arc.gz", 2, ""),
    ("cdxwriter-password-protected-no-meta.warc.gz", 1, ""),
    ("cdxwriter-password-protected.warc.gz", 1, ""),
    ("cdxwriter-revisit_without_sha1.warc.gz", 1, ""),
    ("cdxwriter-space_in_target_uri.warc.gz", 1, ""),
    ("cdxwriter-spaces_in_url.arc.gz", 2, ""),
    ("cdxwriter-transposed_header.arc.gz", 2, ""),
    ("cdxwriter-uncompressed.arc", 4, ""),
    ("cdxwriter-uncompressed.warc", 2, ""),
    ("cdxwriter-wget_ia.warc.gz", 2, ""),
    ("chatnoir-block-sized-records.warc.gz", 3, ""),
    ("chatnoir-clipped.warc.gz", 1, ""),
    ("chatnoir-clueweb-quirk.warc.gz", 30, ""),
    ("chatnoir-warcfile.warc.gz", 50, ""),
    ("chatnoir-warcfile.warc.lz4", 50, "warcio does not know LZ4"),
    ("dupes.cdx", 0, "an index, not an archive"),
    ("dupes.warc.gz", 25, ""),
    ("etig.warc.gz", 802, ""),
    ("govuk-1.warc.gz", 190, ""),
    ("govuk-2-revisits.warc.gz", 190, ""),
    (
        "gowarc-corrupted-mid-record.warc.gz.open",
        12,
        "one member with 12 records, then junk: warcio stops at the second record of a member",
    ),
    (
        "gowarc-corrupted-trailing-bytes.warc.gz.open",
        30,
        "one member with 30 records, then junk: warcio stops at the second record of a member",
    ),
    ("gowarc-empty.warc.gz.open", 0, ""),
    (
        "gowarc-good.warc.gz.open",
        50,
        "50 records in one member: warcio stops at the second",
    ),
    ("gowarc-single-record.warc.gz.open", 1, ""),
    (
        "gowarc-skip-non-open.warc.gz",
        10,
        "10 records in one member: warcio stops at the second",
    ),
    ("gowarc-test.warc.gz", 3, ""),
    ("hackfest.warc.gz", 104, ""),
    ("html-lang-attribute.warc", 5, ""),
    ("iana.cdx", 0, "an index, not an archive"),
    ("iana.cdxj", 0, "an index, not an archive"),
    ("iana.warc.gz", 343, ""),
    ("link-extraction-test.warc", 10, ""),
    ("missing-status-text.warc", 1, ""),
    ("text-extraction-test.warc", 4, ""),
    ("title-extraction-embedded-SVG.warc", 1, ""),
    ("transfer_compression_brotli.warc.gz", 5, ""),
    ("transfer_compression_gzip.warc.gz", 5, ""),
    ("transfer_compression_none.warc.gz", 5, ""),
    ("url-agnostic-orig.warc.gz", 2, ""),
    ("url-agnostic-revisit.warc.gz", 2, ""),
    ("warcio-bad.arc", 4, ""),
    (
        "warcio-example-bad-non-chunked.warc.gz",
        6,
        "6 records in one member: warcio stops at the second",
    ),
    (
        "warcio-example-bad.warc.gz.bad",
        6,
        "6 records in one member: warcio stops at the second",
    ),
    ("warcio-example-digest.warc", 4, ""),
    ("warcio-example-iana.org-chunked.warc", 3, ""),
    ("warcio-example-resource.warc.gz", 3, ""),
    ("warcio-example-space-in-target-uri.warc.gz", 2, ""),
    ("warcio-example-space-in-url.arc", 2, ""),
    ("warcio-example-trunc.warc", 4, ""),
    ("warcio-example-wget-bad-target-uri.warc.gz", 6, ""),
    (
        "warcio-example-wrong-chunks.warc.gz",
        2,
        "a record cut into members: warcio takes the next member for a record and stops",
    ),
    ("warcio-example.arc", 2, ""),
    ("warcio-example.arc.gz", 2, ""),
    ("warcio-example.warc", 6, ""),
    ("warcio-example.warc.gz", 6, ""),
    ("warcio-post-test.warc.gz", 6, ""),
    ("wat-18.warc", 18, ""),
    ("wat-2015.warc", 1, ""),
    ("wget-urls.warc.gz", 36, ""),
    ("whirlwind.warc.gz", 4, ""),
    ("whirlwind.warc.wat.gz", 2, ""),
    ("whirlwind.warc.wet.gz", 2, ""),
];

/// Every file of the table has as many records as it says. Other files are read too, whose lengths
/// must add up.
#[test]
fn records_are_as_many_as_known() {
    let mut found = BTreeMap::new();
    for folder in ["crawls", "edge", "commoncrawl"] {
        for path in files(folder) {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            let mut settings = settings();
            settings.verify_digests = true;
            let file = std::fs::File::open(&path).expect("opens");
            let entries = read(file, settings);
            found.insert(name, entries.iter().filter(|entry| entry.is_record()).count());
        }
    }
    let known = COUNTS
        .iter()
        .map(|&(name, records, _)| (name.to_owned(), records));
    let known: BTreeMap<_, _> = known.collect();
    if !found.is_empty() {
        found.retain(|name, _| known.contains_key(name));
        assert_eq!(found, known);
    }
}
