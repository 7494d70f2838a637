//! Records after foreign bytes: cut headers and blocks, and magic numbers that do not begin a
//! member.

use warc::{Compression, Writer};

use super::support::{EntrySummary, read, settings};

const DICTIONARY_LESS: Compression = Compression::Zstd {
    level: 1,
    dictionary: None,
};

const COMPRESSED: [Compression; 3] = [Compression::GZIP, DICTIONARY_LESS, Compression::Lz4];

fn every() -> impl Iterator<Item = Compression> {
    COMPRESSED.into_iter().chain([Compression::Plain])
}

/// Checks the targets of all records, in order.
fn check(file: &[u8], expected: &[&str], what: &str) -> Vec<EntrySummary> {
    let seen = read(file.to_vec(), settings());
    let targets: Vec<&str> = seen
        .iter()
        .filter_map(|entry| match entry {
            EntrySummary::Record { target, .. } => Some(target.as_deref().unwrap_or_default()),
            _ => None,
        })
        .collect();
    assert_eq!(targets, expected, "{what}: {seen:?}");
    seen
}

fn body_of<'a>(seen: &'a [EntrySummary], wanted: &str) -> &'a [u8] {
    let found = seen.iter().find_map(|entry| match entry {
        EntrySummary::Record { target, body, .. } if target.as_deref() == Some(wanted) => {
            Some(body.as_slice())
        }
        _ => None,
    });
    found.expect("the record was found")
}

fn reasons_of<'a>(seen: &'a [EntrySummary], wanted: &str) -> &'a [&'static str] {
    let found = seen.iter().find_map(|entry| match entry {
        EntrySummary::Record { target, reasons, .. } if target.as_deref() == Some(wanted) => {
            Some(reasons.as_slice())
        }
        _ => None,
    });
    found.expect("the record was found")
}

fn quarantined(seen: &[EntrySummary]) -> Vec<&'static str> {
    let reasons = seen.iter().filter_map(|entry| match entry {
        EntrySummary::Quarantined(_, reason) => Some(*reason),
        _ => None,
    });
    reasons.collect()
}

fn header(target: &str, length: &str) -> String {
    format!(
        "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: {target}\r\nWARC-Date: 2020-01-01T00:00:00Z\r\n\
         WARC-Record-ID: <urn:x:{target}>\r\n{length}\r\n"
    )
}

fn record(target: &str, block: &[u8]) -> Vec<u8> {
    let header = header(target, &format!("Content-Length: {}\r\n", block.len()));
    [header.as_bytes(), block, b"\r\n\r\n"].concat()
}

fn stored(record: &[u8], compression: &Compression) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), compression.clone()).expect("a writer");
    writer.write_encoded(record).expect("written");
    writer.finish().expect("finished")
}

fn member(target: &str, compression: &Compression) -> Vec<u8> {
    stored(
        &record(target, b"content of a member, content of a member"),
        compression,
    )
}

#[test]
fn a_plain_header_that_is_cut_swallows_no_members() {
    let whole = header("plain", "Content-Length: 40\r\n");
    for compression in COMPRESSED {
        let [a, b, c] = ["a", "b", "c"].map(|target| member(target, &compression));
        for cut in 1..whole.len() - 2 {
            let file = [&a, &whole.as_bytes()[..cut], &b, &c].concat();
            let seen = check(
                &file,
                &["a", "b", "c"],
                &format!("{compression:?}, cut after {cut} bytes"),
            );
            assert!(
                matches!(quarantined(&seen)[..], ["truncated-header" | "junk"]),
                "{seen:?}"
            );
        }
        // At the end of the file, and with another plain record after the members.
        let head = &whole.as_bytes()[..30];
        check(&[head, &a].concat(), &["a"], "before the last member");
        let file = [head, &a, &b, &record("d", b"plain")].concat();
        check(&file, &["a", "b", "d"], "before a plain record");
    }
}

#[test]
fn a_plain_block_that_is_cut_ends_at_the_next_member() {
    for compression in COMPRESSED {
        let members: Vec<Vec<u8>> = ["a", "b", "c", "d"]
            .map(|target| member(target, &compression))
            .to_vec();
        let (one, all) = (members[0].len(), members.concat());
        // The block ends inside the first, the second or the last member, or beyond the end of the
        // file.
        for declared in [20, one + 30, all.len() - 5, all.len() + 1000] {
            let header = header("plain", &format!("Content-Length: {declared}\r\n"));
            let file = [header.as_bytes(), b"cut", &all].concat();
            let seen = check(
                &file,
                &["plain", "a", "b", "c", "d"],
                &format!("{declared} declared"),
            );
            assert_eq!(body_of(&seen, "plain"), b"cut");
            assert_eq!(reasons_of(&seen, "plain"), ["length-too-long"]);
        }
        for length in ["", "Content-Length: many\r\n"] {
            let file = [header("plain", length).as_bytes(), b"cut", &all].concat();
            let seen = check(&file, &["plain", "a", "b", "c", "d"], "no length");
            assert_eq!(body_of(&seen, "plain"), b"cut");
        }
    }
}

#[test]
fn members_within_a_declared_block_are_content() {
    for inner in COMPRESSED {
        let content = [
            b"HTTP/1.1 200 OK\r\n\r\n".to_vec(),
            member("inner", &inner),
            member("inner", &inner),
        ]
        .concat();
        let outer = record("outer", &content);
        for outside in every() {
            let next = member("next", &outside);
            let seen = check(
                &[&outer[..], &next].concat(),
                &["outer", "next"],
                "before a record",
            );
            assert!(body_of(&seen, "outer") == content);
            // The same if junk follows the block, or if line ends are missing.
            let junk = [&outer[..], b"\x01\x02 junk", &next].concat();
            let seen = check(&junk, &["outer", "next"], "before junk");
            assert!(body_of(&seen, "outer") == content);
            let joined = [&outer[..outer.len() - 4], &next].concat();
            let seen = check(&joined, &["outer", "next"], "without line ends");
            assert!(body_of(&seen, "outer") == content);
        }
        check(&outer, &["outer"], "at the end");
        for outside in COMPRESSED {
            let seen = check(&stored(&outer, &outside), &["outer"], "compressed");
            assert!(body_of(&seen, "outer") == content);
        }
    }
}

#[test]
fn a_magic_number_that_begins_no_member_takes_no_record_along() {
    let magics: [&[u8]; 8] = [
        b"\x1f\x8b\x08",
        b"\x1f\x8b\x08\0\0\0\0\0\0\xff",
        // Member headers with a name, and with an extra field of 256 bytes.
        b"\x1f\x8b\x08\x08\0\0\0\0\0\xff",
        b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\0\x01",
        b"\x28\xb5\x2f\xfd",
        b"\x04\x22\x4d\x18",
        b"\x04\x22\x4d\x18\x40\x40\xc0",
        b"\x50\x2a\x4d\x18\x00\x01\x00\x00",
    ];
    // The beginnings of frames with one uncompressed block and no checksum: any bytes are decoded
    // as that block.
    let of_block: [&[u8]; 4] = [
        b"\x1f\x8b\x08\0\0\0\0\0\0\xff\x01\0\x01\xff\xfe",
        b"\x28\xb5\x2f\xfd\x00\x58\x61\x04\x00",
        b"\x28\xb5\x2f\xfd\x00\x58\xf9\x13\x00",
        b"\x04\x22\x4d\x18\x60\x40\x82\x20\x01\x00\x80",
    ];
    let extra: [&[u8]; 3] = [b"", b"some noise", &[0xa5; 100]];
    for first in every() {
        for next in every() {
            let a = member("a", &first);
            let rest = [member("b", &next), member("c", &next)].concat();
            let of_block = of_block.iter().filter(|_| !matches!(next, Compression::Plain));
            for magic in magics.iter().chain(of_block) {
                for extra in extra {
                    let what = format!(
                        "{magic:02x?} and {} bytes between {first:?} and {next:?}",
                        extra.len()
                    );
                    let seen = check(&[&a, *magic, extra, &rest].concat(), &["a", "b", "c"], &what);
                    for target in ["a", "b", "c"] {
                        let body = body_of(&seen, target);
                        assert_eq!(body, b"content of a member, content of a member", "{what}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_skippable_frame_between_frames_is_padding() {
    for compression in [DICTIONARY_LESS, Compression::Lz4] {
        let (a, b) = (member("a", &compression), member("b", &compression));
        let file = [
            &a,
            &b"\x5e\x2a\x4d\x18\x0b\0\0\0a dictionary"[..8],
            b"a seek tab.",
            &b,
        ]
        .concat();
        let seen = check(&file, &["a", "b"], "between frames");
        assert!(matches!(seen[1], EntrySummary::Padding(_)), "{seen:?}");
        let file = [&a, &b"\x5e\x2a\x4d\x18\x0b\0\0\0"[..], b"a seek tab."].concat();
        let seen = check(&file, &["a"], "at the end");
        assert!(matches!(seen[1], EntrySummary::Padding(_)), "{seen:?}");
    }
    // In concatenated files, the dictionary of the second contains pieces of records.
    let with = Compression::Zstd {
        level: 1,
        dictionary: Some(record("dictionary", b"content")),
    };
    let joined = [member("a", &with), member("b", &with)].concat();
    let seen = check(&joined, &["a", "b"], "joined");
    assert!(quarantined(&seen).is_empty(), "{seen:?}");
}

#[test]
fn a_header_that_is_cut_takes_no_lines_of_the_next_record() {
    let first = record("first", b"block");
    let header_bytes = first.len() - b"block\r\n\r\n".len();
    for version in ["WARC/1.0", "WARC/1.1", "WARC/0.18"] {
        let second = String::from_utf8(record("second", b"another block")).expect("text");
        let second = second.replace("WARC/1.0", version).into_bytes();
        // Before the second line, it cannot be recognised that a field begins there.
        for cut in "WARC/1.0\r\n".len()..header_bytes {
            for compression in every() {
                let file = stored(&[&first[..cut], &second[..]].concat(), &compression);
                let what = format!("{compression:?}, cut after {cut} bytes");
                let seen = check(&file, &["second"], &what);
                assert_eq!(body_of(&seen, "second"), b"another block");
                assert_eq!(reasons_of(&seen, "second"), [""; 0], "{what}");
                assert_eq!(quarantined(&seen), ["truncated-header"], "{what}");
            }
        }
    }
}

#[test]
fn a_value_that_ends_like_a_version_line_is_a_value() {
    let right = String::from_utf8(record("http://example.com/WARC/1.0", b"block")).expect("text");
    let folded = right.replace(
        "http://example.com/WARC/1.0\r\n",
        "http://example.com/\r\n WARC/1.0\r\n",
    );
    let no_type = right
        .replace("WARC-Type: resource\r\n", "")
        .replace("WARC-Date", "WARC-Type: resource\r\nWARC-Date");
    for (text, target) in [
        (&right, "http://example.com/WARC/1.0"),
        (&no_type, "http://example.com/WARC/1.0"),
        (&folded, "http://example.com/ WARC/1.0"),
    ] {
        for compression in every() {
            let seen = check(&stored(text.as_bytes(), &compression), &[target], text);
            assert_eq!(reasons_of(&seen, target), [""; 0]);
        }
    }
}

#[test]
fn headers_of_the_other_format_end_a_header() {
    let arc = b"http://a.b/ 1.2.3.4 20110804181142 text/html 5\nhello\n";
    let warc = record("warc", b"block");
    let seen = check(&[&arc[..46], &warc].concat(), &["warc"], "a cut ARC line");
    assert_eq!(quarantined(&seen), ["truncated-header"]);
    let seen = check(
        &[&warc[..31], arc].concat(),
        &["http://a.b/"],
        "a cut WARC header",
    );
    assert_eq!(quarantined(&seen), ["truncated-header"]);
}

/// A member that stores bytes uncompressed also contains its record as plain bytes.
#[test]
fn a_damaged_member_of_uncompressed_bytes_has_its_records_once() {
    let records = ["a", "b", "c"].map(|target| record(target, &target.as_bytes().repeat(3000)));
    for each in [true, false] {
        let level = Compression::Gzip { level: 0 };
        let whole = if each {
            records
                .iter()
                .map(|record| stored(record, &level))
                .collect::<Vec<_>>()
                .concat()
        } else {
            stored(&records.concat(), &level)
        };
        let mut damaged = whole.clone();
        let last = damaged.len() - 6;
        damaged[last] ^= 1;
        check(&damaged, &["a", "b", "c"], "a wrong checksum");
        check(&whole[..whole.len() - 100], &["a", "b", "c"], "cut");
        damaged.extend(record("plain", b"plain"));
        check(&damaged, &["a", "b", "c", "plain"], "before a plain record");
        let cut = [&whole[..whole.len() - 100], &record("plain", b"plain")].concat();
        check(&cut, &["a", "b", "c", "plain"], "cut before a plain record");
    }
}

/// The length of a plain record ends inside a member, and this member or an earlier one is damaged
/// as well.
#[test]
fn a_plain_block_that_is_cut_ends_at_the_next_member_also_where_another_is_damaged() {
    let names: Vec<String> = (0..20).map(|n| format!("m{n}")).collect();
    for damaged in [0, 1, 12, 15] {
        let mut members: Vec<Vec<u8>> = names
            .iter()
            .map(|name| member(name, &Compression::GZIP))
            .collect();
        let declared = members[..15].concat().len() + 30;
        // The checksum, which is before the length.
        let checksum = members[damaged].len() - 8;
        members[damaged][checksum] ^= 1;
        let header = header("plain", &format!("Content-Length: {declared}\r\n"));
        let file = [header.as_bytes(), b"cut", &members.concat()].concat();
        let mut expected = vec!["plain"];
        expected.extend(names.iter().map(String::as_str));
        let seen = check(&file, &expected, &format!("member {damaged} is damaged"));
        assert_eq!(body_of(&seen, "plain"), b"cut");
    }
}

/// A record that contains records, and is complete according to its digest, is followed by bytes
/// that are not a record.
#[test]
fn a_block_that_its_digest_proves_is_whole_whatever_follows() {
    let content = [record("inner", b"one"), record("inner", b"two")].concat();
    let sha1 = data_encoding::BASE32.encode(&<sha1::Sha1 as sha1::Digest>::digest(&content));
    for (digest, targets) in [
        (sha1.as_str(), &["outer", "next"][..]),
        (
            "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
            &["outer", "inner", "inner", "next"][..],
        ),
    ] {
        let fields = format!(
            "Content-Length: {}\r\nWARC-Block-Digest: sha1:{digest}\r\n",
            content.len()
        );
        let outer = [header("outer", &fields).as_bytes(), &content, b"\r\n\r\n"].concat();
        for between in [&b"junk\r\n"[..], &[0; 40]] {
            let file = [&outer[..], between, b"x\r\n", &record("next", b"plain")].concat();
            let seen = check(&file, targets, digest);
            let is_whole = body_of(&seen, "outer") == content;
            assert_eq!(is_whole, targets.len() == 2);
        }
    }
}
