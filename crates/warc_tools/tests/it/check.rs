//! Tests each rule of a check with a file that violates it and one that does not.

use std::collections::BTreeSet;

use warc::Compression;
use warc_tools::check::{Checker, Finding, rules};

use crate::support::{file, record, response};

/// Returns all findings in a file, including advice.
fn findings(bytes: &[u8]) -> Vec<Finding> {
    of_several(&[bytes.to_vec()])
}

fn of_several(files: &[Vec<u8>]) -> Vec<Finding> {
    let mut checker = Checker::new(true);
    let mut all = Vec::new();
    for (number, bytes) in files.iter().enumerate() {
        let mut file = checker
            .file(Box::new(bytes.clone()), &format!("file {number}"))
            .expect("opened");
        while let Some(found) = file.next_findings().expect("memory can be read") {
            all.extend(found);
        }
        assert_eq!(file.position(), bytes.len() as u64);
    }
    all
}

/// Returns the names of the rules that a file violates.
fn broken(bytes: &[u8]) -> Vec<&'static str> {
    findings(bytes).iter().map(|finding| finding.rule).collect()
}

/// Returns a record with one part of it replaced.
fn with(from: &str, to: &str) -> Vec<u8> {
    let record = String::from_utf8(response(1, "x")).expect("text");
    assert!(record.contains(from), "{from} is not in {record}");
    record.replacen(from, to, 1).into_bytes()
}

const ID: &str = "WARC-Record-ID: <urn:test:1>\r\n";
const DATE: &str = "WARC-Date: 2024-01-02T03:04:05Z\r\n";
const URI: &str = "WARC-Target-URI: http://example.com/1\r\n";

#[test]
fn a_record_that_follows_every_rule_has_no_findings() {
    for compression in [Compression::Plain, Compression::GZIP, Compression::Lz4] {
        let bytes = file(
            compression,
            &[response(1, "one"), response(2, ""), response(3, "three")],
        );
        assert_eq!(broken(&bytes), Vec::<&str>::new());
    }
}

#[test]
fn zero_bytes_are_no_padding() {
    let records = [response(1, "one"), response(2, "two")];
    for compression in [Compression::Plain, Compression::GZIP, Compression::Lz4] {
        let [one, two] = records
            .each_ref()
            .map(|record| file(compression.clone(), std::slice::from_ref(record)));
        let zeros = vec![0; 5000];
        let many_line_ends = [&b"\r\n".repeat(3000)[..], b"\0"].concat();
        for pad in [&zeros[..1], &zeros, &many_line_ends] {
            let files = [
                [pad, &one, &two].concat(),
                [&one, pad, &two].concat(),
                [&one, &two, pad].concat(),
            ];
            for bytes in files {
                assert_eq!(broken(&bytes), ["junk"], "{compression:?}");
            }
        }
    }
    // An empty member has zero bytes too, and a dictionary may have some.
    let empty = file(Compression::GZIP, &[Vec::new()]);
    let one = file(Compression::GZIP, &records[..1]);
    assert_eq!(broken(&[&empty, &one[..]].concat()), Vec::<&str>::new());
    let with = Compression::Zstd {
        level: 1,
        dictionary: Some(vec![0; 100]),
    };
    assert_eq!(broken(&file(with, &records)), Vec::<&str>::new());
}

#[test]
fn rules_of_a_header_are_found_broken() {
    for (from, to, rule) in [
        ("WARC/1.1", "WARC/0.18", "version"),
        ("WARC/1.1", "warc/1.1", "version"),
        (ID, "", "record-id-missing"),
        (ID, "WARC-Record-ID: urn:test:1\r\n", "record-id"),
        (ID, "WARC-Record-ID: <urn:test: 1>\r\n", "record-id"),
        (ID, "WARC-Record-ID: <no-scheme>\r\n", "record-id"),
        (DATE, "", "date-missing"),
        (DATE, "WARC-Date: 20240102030405\r\n", "date"),
        (DATE, "WARC-Date: 2024-01-02T03:04:05Z\n", "line-end"),
        (URI, "", "target-uri-missing"),
        (URI, "WARC-Target-URI: <http://example.com/1>\r\n", "target-uri"),
        (URI, "WARC-Target-URI: /1\r\n", "target-uri"),
        (
            URI,
            "WARC-Target-URI: http://example.com/a|b\r\n",
            "target-uri-characters",
        ),
        (
            "Content-Type: application/http; msgtype=response\r\n",
            "",
            "content-type-missing",
        ),
        ("WARC-Type: response\r\n", "", "header-incomplete"),
        (
            DATE,
            "WARC-Date: 2024-01-02T03:04:05Z\r\nWARC-Date: 2024-01-02T03:04:05Z\r\n",
            "field-repeated",
        ),
        (
            ID,
            "WARC-Record-ID: <urn:test:1>\r\nno field\r\n",
            "header-line-invalid",
        ),
        (ID, "WARC-Record-ID: <urn:test:1>\r\nA name: x\r\n", "field-name"),
        (
            ID,
            "WARC-Record-ID: <urn:test:1>\r\nX: a\u{1}b\r\n",
            "control-character",
        ),
        (
            ID,
            "WARC-Record-ID: <urn:test:1>\r\nWARC-IP-Address: 1.2.3\r\n",
            "ip-address",
        ),
        (
            ID,
            "WARC-Record-ID: <urn:test:1>\r\nWARC-Concurrent-To: urn:test:2\r\n",
            "reference",
        ),
        (
            ID,
            "WARC-Record-ID: <urn:test:1>\r\nWARC-Refers-To: <urn:test:2>\r\n",
            "field-forbidden",
        ),
        (
            ID,
            "WARC-Record-ID: <urn:test:1>\r\nWARC-Filename: x\r\n",
            "field-forbidden",
        ),
        (
            ID,
            "WARC-Record-ID: <urn:test:1>\r\nWARC-Segment-Number: 2\r\n",
            "segment-number",
        ),
        (
            ID,
            "WARC-Record-ID: <urn:test:1>\r\nWARC-Block-Digest: crc:1\r\n",
            "digest-unknown",
        ),
    ] {
        assert_eq!(broken(&with(from, to)), [rule], "{from} -> {to}");
    }
    let mut bytes = with(ID, "WARC-Record-ID: <urn:test:1>\r\nX: ?\r\n");
    let at = bytes.iter().position(|byte| *byte == b'?').expect("the mark");
    bytes[at] = 0xff;
    assert_eq!(broken(&bytes), ["not-utf8"]);
}

#[test]
fn warc_1_0_has_brackets_around_uris_and_no_fractions_of_seconds() {
    let old = |from: &str, to: &str| {
        let record = String::from_utf8(with(from, to)).expect("text");
        record.replacen("WARC/1.1", "WARC/1.0", 1).into_bytes()
    };
    assert_eq!(
        broken(&old(URI, "WARC-Target-URI: <http://example.com/1>\r\n")),
        Vec::<&str>::new()
    );
    let fraction = "WARC-Date: 2024-01-02T03:04:05.5Z\r\n";
    assert_eq!(broken(&with(DATE, fraction)), Vec::<&str>::new());
    let found = findings(&old(DATE, fraction));
    assert_eq!(
        (found[0].rule, found[0].source.as_str()),
        ("date", "WARC/1.0, 5.4")
    );
    let found = findings(&old(URI, ""));
    assert_eq!(
        found[0].source, "WARC/1.0, 5.12",
        "the clauses of 1.1 have other numbers"
    );
}

#[test]
fn rules_of_types_are_found_broken() {
    let head = "WARC-Record-ID: <urn:test:1>\nWARC-Date: 2024-01-02T03:04:05Z\nContent-Type: text/plain\n";
    let of = |lines: &str| broken(&record(&format!("{head}{lines}"), "block"));
    let uri = "WARC-Target-URI: http://example.com/";
    for (lines, expected) in [
        (format!("WARC-Type: warcinfo\n{uri}"), vec!["field-forbidden"]),
        ("WARC-Type: warcinfo\nWARC-Filename: x.warc".to_owned(), vec![]),
        ("WARC-Type: metadata".to_owned(), vec![]),
        (format!("WARC-Type: revisit\n{uri}"), vec!["profile-missing"]),
        (
            format!(
                "WARC-Type: revisit\n{uri}\nWARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
            ),
            vec!["revisit-digest-missing", "revisit-refers-to-missing"],
        ),
        (
            format!("WARC-Type: continuation\n{uri}"),
            vec!["segment-number", "segment-origin-missing"],
        ),
        (
            format!(
                "WARC-Type: continuation\n{uri}\nWARC-Segment-Number: 2\nWARC-Segment-Origin-ID: <urn:test:0>"
            ),
            vec![],
        ),
        (
            format!("WARC-Type: conversion\n{uri}\nWARC-IP-Address: ::1\nWARC-Concurrent-To: <urn:test:2>"),
            vec!["field-forbidden", "field-forbidden"],
        ),
        // A record of unknown type is skipped (6.1).
        ("WARC-Type: screenshot\nWARC-Profile: x".to_owned(), vec![]),
    ] {
        assert_eq!(of(&lines), expected, "{lines}");
    }
}

#[test]
fn digests_of_every_algorithm_are_verified() {
    // SHA-1, SHA-256, SHA-512 and MD5 of "block", in hexadecimal or Base32.
    for right in [
        "sha1:0214b4b355d11ca8f2ce45a968c264651bdfbf83",
        "SHA-1:AIKLJM2V2EOKR4WOIWUWRQTEMUN57P4D",
        "sha256:496aca80e4d8f29fb8e8cd816c3afb48d3f103970b3a2ee1600c08ca67326dee",
        "sha-256:JFVMVAHE3DZJ7OHIZWAWYOX3JDJ7CA4XBM5C5YLABQEMUZZSNXXA====",
        "sha512:290939de32d7e22d6db9c576d153ba4b50cd4561af0581c9958a48c3ae0f697a97326321b3ac33a1632d73bde7bb4fb41a8bfc6233a4dff2b5f38b2dc19542f4",
        "md5:14511f2f5564650d129ca7cabc333278",
        "md5:CRIR6L2VMRSQ2EU4U7FLYMZSPA======",
    ] {
        assert_eq!(broken(&with_digest(right)), Vec::<&str>::new(), "{right}");
    }
    let wrong = "md5:00000000000000000000000000000000";
    assert_eq!(broken(&with_digest(wrong)), ["block-digest-mismatch"]);
    for (name, digits) in [("sha256", 64), ("sha512", 128)] {
        let wrong = format!("{name}:{}", "0".repeat(digits));
        assert_eq!(broken(&with_digest(&wrong)), ["block-digest-mismatch"], "{name}");
    }
    let empty = "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ";
    let lines = format!(
        "WARC-Type: resource\nWARC-Record-ID: <urn:test:1>\nWARC-Date: 2024-01-02T03:04:05Z\n\
         WARC-Target-URI: http://example.com/\nWARC-Block-Digest: {empty}\nWARC-Payload-Digest: {empty}"
    );
    assert_eq!(broken(&record(&lines, "")), Vec::<&str>::new());
    assert_eq!(
        broken(&record(&lines, "x")),
        [
            "block-digest-mismatch",
            "payload-digest-mismatch",
            "content-type-missing"
        ]
    );
}

fn with_digest(digest: &str) -> Vec<u8> {
    let lines = format!(
        "WARC-Type: resource\nWARC-Record-ID: <urn:test:1>\nWARC-Date: 2024-01-02T03:04:05Z\n\
         WARC-Target-URI: http://example.com/\nContent-Type: text/plain\nWARC-Block-Digest: {digest}"
    );
    record(&lines, "block")
}

/// The payload digest of a first segment is that of the whole record, so it cannot match.
#[test]
fn the_payload_digest_of_a_segment_is_not_compared() {
    let lines = "WARC-Type: resource\nWARC-Record-ID: <urn:test:1>\nWARC-Date: 2024-01-02T03:04:05Z\n\
                 WARC-Target-URI: http://example.com/\nContent-Type: text/plain\nWARC-Segment-Number: 1\n\
                 WARC-Payload-Digest: sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ";
    assert_eq!(broken(&record(lines, "a part")), Vec::<&str>::new());
}

#[test]
fn an_id_that_occurs_again_is_found_also_in_another_file() {
    let twice = file(
        Compression::GZIP,
        &[response(1, "a"), response(2, "b"), response(1, "c")],
    );
    let found = findings(&twice);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].rule, "record-id-repeated");
    assert_eq!(found[0].detail, "the record at offset 0 has the same id");
    assert_eq!(found[0].record_id.as_deref(), Some("<urn:test:1>"));
    let found = of_several(&[
        file(Compression::GZIP, &[response(1, "a")]),
        file(Compression::Plain, &[response(2, "b"), response(1, "a")]),
    ]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        found[0].detail,
        "the record at offset 0 of file 0 has the same id"
    );
}

#[test]
fn records_that_share_a_member_are_found() {
    let all = [response(1, "a"), response(2, "b"), response(3, "c")].concat();
    let whole = file(Compression::GZIP, &[all]);
    assert_eq!(broken(&whole), ["one-member"; 3]);
    // A member that ends within a record.
    let record = response(1, "some text");
    let (start, end) = record.split_at(record.len() - 8);
    let cut = file(
        Compression::GZIP,
        &[start.to_vec(), end.to_vec(), response(2, "b")],
    );
    assert_eq!(broken(&cut), ["one-member"]);
    // In zstd, several frames for one record are valid; several records in one frame are not.
    let zstd = Compression::Zstd {
        level: 3,
        dictionary: None,
    };
    let cut = file(zstd.clone(), &[start.to_vec(), end.to_vec(), response(2, "b")]);
    assert_eq!(broken(&cut), Vec::<&str>::new());
    let shared = file(zstd, &[[response(1, "a"), response(2, "b")].concat()]);
    assert_eq!(broken(&shared), ["one-member"; 2]);
}

#[test]
fn damage_is_found_where_it_is() {
    let good = file(Compression::GZIP, &[response(1, "one"), response(2, "two")]);
    let cut = &good[..good.len() - 5];
    let found = findings(cut);
    assert!(
        found.iter().any(|finding| finding.rule == "truncated-member"),
        "{found:?}"
    );
    assert_eq!(broken(b""), ["file-empty"]);
    assert_eq!(broken(b"no record at all"), ["junk", "file-empty"]);
    let plain = file(Compression::Plain, &[response(1, "one")]);
    assert_eq!(broken(&plain[..plain.len() - 6]), ["truncated-record"]);
    assert_eq!(broken(&plain[..plain.len() - 2]), ["line-ends-missing"]);
    let junk = [&plain[..], b"junk", &response(2, "two")].concat();
    let found = findings(&junk);
    assert_eq!(
        found.last().map(|finding| finding.offset),
        Some(plain.len() as u64),
        "{found:?}"
    );
}

/// Findings do not depend on how the records are compressed, except those about members.
#[test]
fn findings_do_not_depend_on_compression() {
    let Some(data) = test_env::shared_data() else {
        return;
    };
    for name in [
        "edge/warcio-example.warc.gz",
        "edge/warcio-example-digest.warc",
        "crawls/hackfest.warc.gz",
    ] {
        let bytes = std::fs::read(data.join(name)).expect("a file");
        let mut plain = Vec::new();
        std::io::Read::read_to_end(&mut warc::Decompressed::new(&bytes[..]), &mut plain)
            .expect("decompressed");
        let in_one = file(Compression::GZIP, std::slice::from_ref(&plain));
        let told = |bytes: &[u8]| {
            let all = findings(bytes).into_iter();
            let others = all.filter(|finding| finding.rule != "one-member");
            others
                .map(|finding| (finding.rule, finding.detail, finding.record_id))
                .collect::<Vec<_>>()
        };
        assert_eq!(told(&bytes), told(&plain), "{name}");
        // The detail of a repeated id contains an offset, which differs there.
        let rules = |bytes: &[u8]| told(bytes).into_iter().map(|found| found.0).collect::<Vec<_>>();
        assert_eq!(rules(&plain), rules(&in_one), "{name}");
    }
}

/// No file makes a check fail, however damaged it is, and all findings name listed rules.
#[test]
fn real_and_broken_files_are_checked() {
    let Some(data) = test_env::shared_data() else {
        return;
    };
    let listed: BTreeSet<&str> = rules::all().map(|rule| rule.name).collect();
    let mut files = 0;
    for folder in ["edge", "regress/hostile", "regress/folder", "commoncrawl"] {
        for entry in std::fs::read_dir(data.join(folder)).expect("a folder") {
            let path = entry.expect("an entry").path();
            let bytes = std::fs::read(&path).expect("a file");
            for finding in findings(&bytes) {
                assert!(listed.contains(finding.rule), "{} {finding:?}", path.display());
                assert!(
                    finding.offset <= bytes.len() as u64,
                    "{} {finding:?}",
                    path.display()
                );
            }
            files += 1;
        }
    }
    assert!(files > 100, "{files} files");
}
