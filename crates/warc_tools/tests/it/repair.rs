//! Repaired files: everything readable is kept, and every byte is accounted for.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use warc::{Compression, Entry, Reader, ReaderSettings, Record};
use warc_tools::WriteError;
use warc_tools::check::Checker;
use warc_tools::repair::{self, RepairReport, quarantine_paths};

use crate::support::{file, folder_is_clean, record, response};

struct Outcome {
    repaired: RepairReport,
    records: Vec<Record>,
    quarantine: Vec<u8>,
    bytes: Vec<u8>,
}

/// Repairs bytes, checks the invariants of the outcome, and returns it.
fn mended(bytes: &[u8], compression: Compression) -> Outcome {
    let dir = tempfile::tempdir().expect("a folder");
    let (input, out) = (dir.path().join("in"), dir.path().join("out"));
    fs::write(&input, bytes).expect("written");
    let repaired = repair(&input, &out, compression).expect("mended");
    assert_eq!(
        repaired.record_bytes + repaired.padding_bytes + repaired.quarantined_bytes,
        bytes.len() as u64,
        "{repaired:?}"
    );
    let [pieces, list] = quarantine_paths(&out);
    let quarantine = fs::read(&pieces).unwrap_or_default();
    let listed: u64 = repaired.quarantine.iter().map(|piece| piece.bytes).sum();
    assert_eq!(quarantine.len() as u64, listed);
    let lines = fs::read_to_string(list).unwrap_or_default();
    assert_eq!(lines.lines().count(), repaired.quarantine.len());
    let mut at = 0;
    for piece in &repaired.quarantine {
        assert_eq!(piece.at, at, "pieces follow each other without gaps");
        at += piece.bytes;
        if !piece.decoded {
            let (from, to) = (piece.offset as usize, (piece.offset + piece.length) as usize);
            assert!(
                quarantine[piece.at as usize..at as usize] == bytes[from..to],
                "{piece:?}"
            );
        }
    }
    folder_is_clean(dir.path());
    let bytes = fs::read(&out).unwrap_or_default();
    let records = records(&bytes);
    assert_eq!(records.len() as u64, repaired.records);
    Outcome {
        repaired,
        records,
        quarantine,
        bytes,
    }
}

fn repair(input: &Path, out: &Path, compression: Compression) -> Result<RepairReport, WriteError> {
    let (written, repaired) = repair::write(input, out, compression, &mut |_| true)?;
    written.verify(&mut |_| true)?.put(false)?;
    Ok(repaired)
}

/// Returns the records of a file. None may have a wrong length.
fn records(bytes: &[u8]) -> Vec<Record> {
    let mut reader =
        Reader::from_input(Box::new(bytes.to_vec()), "memory", ReaderSettings::default()).expect("opened");
    let mut records = Vec::new();
    while let Some(entry) = reader.next_entry().expect("readable") {
        match entry {
            Entry::Record(record) => records.push(record),
            Entry::Padding(_) => {}
            other => panic!("{other:?}"),
        }
    }
    records
}

/// Returns the rules that a repaired file violates.
fn broken(bytes: &[u8]) -> Vec<&'static str> {
    let mut checker = Checker::new(false);
    let mut file = checker.file(Box::new(bytes.to_vec()), "mended").expect("opened");
    let mut rules = Vec::new();
    while let Some(findings) = file.next_findings().expect("readable") {
        rules.extend(findings.iter().map(|finding| finding.rule));
    }
    rules
}

fn with_length(id: u32, block: &str, length: &str) -> Vec<u8> {
    let right = String::from_utf8(response(id, block)).expect("text");
    let at = right.find("Content-Length: ").expect("a length");
    let end = at + right[at..].find("\r\n").expect("a line end");
    format!("{}{length}{}", &right[..at], &right[end..]).into_bytes()
}

const BOTH: [Compression; 2] = [Compression::Plain, Compression::GZIP];

#[test]
fn a_file_without_damage_stays_as_it_is() {
    let records = [response(1, "one"), response(2, "two")];
    for compression in BOTH {
        let outcome = mended(&file(compression, &records), Compression::Plain);
        assert!(outcome.bytes == records.concat());
        assert_eq!(
            (outcome.repaired.records_mended, outcome.quarantine.len()),
            (0, 0)
        );
    }
}

#[test]
fn a_wrong_length_is_mended() {
    let whole = String::from_utf8(response(1, "block")).expect("text");
    for (length, cut) in [
        ("Content-Length: 999", true),
        ("Content-Length: -5", false),
        ("X: y", false),
    ] {
        for compression in BOTH {
            let bytes = file(
                compression,
                &[with_length(1, "block", length), response(2, "two")],
            );
            let outcome = mended(&bytes, Compression::Plain);
            assert_eq!(outcome.records.len(), 2, "{length}");
            let first = &outcome.records[0];
            assert!(
                whole.ends_with(&format!("{}\r\n\r\n", String::from_utf8_lossy(&first.body))),
                "{length}"
            );
            assert_eq!(first.headers.get("WARC-Truncated").is_some(), cut, "{length}");
            assert_eq!(broken(&outcome.bytes), Vec::<&str>::new(), "{length}");
            assert_eq!(outcome.repaired.mends.len(), 1, "{length}");
            assert_eq!(outcome.quarantine, b"", "{length}");
        }
    }
}

#[test]
fn a_cut_tail_becomes_a_record_that_says_so() {
    let records = [response(1, "one"), response(2, "a longer block than the first")];
    let plain = file(Compression::Plain, &records);
    let outcome = mended(&plain[..plain.len() - 14], Compression::GZIP);
    let last = &outcome.records[1];
    assert_eq!(last.headers.get("WARC-Truncated"), Some("unspecified"));
    assert!(
        last.body.ends_with(b"block than"),
        "{:?}",
        String::from_utf8_lossy(&last.body)
    );
    assert_eq!(broken(&outcome.bytes), Vec::<&str>::new());
    assert_eq!(outcome.repaired.records_cut, 1);

    let gzip = file(Compression::GZIP, &records);
    let outcome = mended(&gzip[..gzip.len() - 20], Compression::GZIP);
    assert_eq!(outcome.records.len(), 2);
    assert_eq!(
        outcome.records[1].headers.get("WARC-Truncated"),
        Some("unspecified")
    );
    // The decoded bytes are a record, and the stored member is in quarantine.
    let piece = outcome.repaired.quarantine.last().expect("a piece");
    assert_eq!((piece.offset + piece.length) as usize, gzip.len() - 20);
    assert_eq!(broken(&outcome.bytes), Vec::<&str>::new());
}

/// A digest proves a block, but not the header before it. The stored member in quarantine shows the
/// alteration.
#[test]
fn a_member_with_an_altered_header_goes_to_quarantine_as_well() {
    let lines = "WARC-Type: resource\nWARC-Record-ID: <urn:test:1>\nWARC-Date: 2024-01-02T03:04:05Z\n\
        WARC-Target-URI: http://a.example/\nContent-Type: text/plain\n\
        WARC-Block-Digest: md5:8d777f385d3dfec8815d20f7496026dc";
    let stored = file(Compression::Gzip { level: 0 }, &[record(lines, "data")]);
    let at = stored
        .windows(9)
        .position(|bytes| bytes == b"a.example")
        .expect("it is stored as it is");
    let mut altered = stored.clone();
    altered[at] = b'b';
    let outcome = mended(&altered, Compression::GZIP);
    assert_eq!(outcome.records[0].target(), Some("http://b.example/"));
    assert_eq!(outcome.quarantine, altered);
    assert_eq!(outcome.repaired.records_mended, 1);
    let whole = mended(&stored, Compression::GZIP);
    assert!(whole.quarantine.is_empty() && whole.repaired.records_mended == 0);
}

/// Opening a pipe would wait forever.
#[test]
fn what_is_no_file_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    for input in [Path::new("/dev/null"), folder.path()] {
        let refused = repair::write(input, &folder.path().join("out"), Compression::Plain, &mut |_| {
            true
        });
        let message = refused.expect_err("the repair fails").to_string();
        assert!(message.contains("not a regular file"), "{message}");
        let refused = warc_tools::dedup::relations(&[input.to_owned()], &mut |_| true);
        let message = refused.expect_err("the repair fails").to_string();
        assert!(message.contains("not a regular file"), "{message}");
    }
}

/// A digest of the whole would be taken for that of the truncated block, so it gets another name.
#[test]
fn digests_of_a_cut_record_are_kept_under_other_names() {
    let digest = "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ";
    let lines = format!(
        "WARC-Type: resource\nWARC-Record-ID: <urn:test:1>\nWARC-Date: 2024-01-02T03:04:05Z\n\
         WARC-Target-URI: http://example.com/\nContent-Type: text/plain\nWARC-Block-Digest: {digest}\n\
         WARC-Payload-Digest: {digest}"
    );
    let bytes = record(&lines, "a block that is cut");
    let outcome = mended(&bytes[..bytes.len() - 10], Compression::Plain);
    let headers = &outcome.records[0].headers;
    assert_eq!(headers.get("Weft-Block-Digest-Of-Whole"), Some(digest));
    assert_eq!(headers.get("Weft-Payload-Digest-Of-Whole"), Some(digest));
    assert_eq!(
        (
            headers.get("WARC-Block-Digest"),
            headers.get("WARC-Payload-Digest")
        ),
        (None, None)
    );
    assert_eq!(broken(&outcome.bytes), Vec::<&str>::new());
}

#[test]
fn garbage_between_records_goes_to_quarantine() {
    let junk = b"\x01 garbage, no record \xff";
    let records = [response(1, "one"), response(2, "two")];
    for compression in BOTH {
        let [one, two] = [0, 1].map(|n| file(compression.clone(), &records[n..=n]));
        let outcome = mended(&[&one[..], junk, &two].concat(), Compression::Plain);
        assert!(outcome.bytes == records.concat(), "{compression:?}");
        assert_eq!(outcome.quarantine, junk, "{compression:?}");
        assert_eq!(outcome.repaired.quarantine[0].offset, one.len() as u64);
    }
    // After a block within its member, where it could also be part of the block.
    let with_junk = [&response(1, "one")[..], b"more bytes\r\n\r\n"].concat();
    let outcome = mended(
        &file(Compression::GZIP, &[with_junk, response(2, "two")]),
        Compression::Plain,
    );
    assert!(outcome.bytes == records.concat());
    assert_eq!(outcome.quarantine, b"\r\n\r\nmore bytes\r\n\r\n");
    assert!(outcome.repaired.quarantine[0].decoded);
}

/// Only a digest shows whether bytes after the declared length belong to the block.
#[test]
fn a_length_that_is_too_small_grows_where_a_digest_proves_it() {
    // The SHA-1 of "a block, whole", and that of another text.
    let digests = [
        ("sha1:G6QA7WMCGOQBQMM3LAVRY2FEG4PTW2ME", true),
        ("sha1:2CKB42G2R44BKH7YNJQ7YWPXYXHZ7SVC", false),
    ];
    for compression in BOTH {
        for (digest, grows) in digests {
            let lines = format!(
                "WARC-Type: resource\nWARC-Record-ID: <urn:test:1>\nWARC-Date: 2024-01-02T03:04:05Z\n\
                 WARC-Target-URI: http://example.com/\nContent-Type: text/plain\nWARC-Block-Digest: {digest}"
            );
            let bytes = String::from_utf8(record(&lines, "a block, whole")).expect("text");
            let short = bytes
                .replace("Content-Length: 14", "Content-Length: 7")
                .into_bytes();
            let outcome = mended(
                &file(compression.clone(), &[short, response(2, "two")]),
                Compression::Plain,
            );
            let expected = if grows { "a block, whole" } else { "a block" };
            assert_eq!(
                String::from_utf8_lossy(&outcome.records[0].body),
                expected,
                "{compression:?}"
            );
            assert_eq!(outcome.quarantine.is_empty(), grows, "{compression:?}");
            assert_eq!(outcome.records.len(), 2);
        }
    }
}

/// Found by the fuzz target: the length added after such a line turned it into the beginning of a
/// record.
#[test]
fn a_header_that_would_become_two_is_given_up() {
    let damaged = "WARC/1.1\r\nWARC-Type: metadata\r\nWARC-Record-ID: <urn:test:1>\r\nno fieldWARC/1.0\r\n\r\nblock\r\n\r\n";
    for compression in BOTH {
        let bytes = file(compression, &[damaged.as_bytes().to_vec(), response(2, "two")]);
        let outcome = mended(&bytes, Compression::Plain);
        assert!(outcome.bytes == response(2, "two"));
        let reasons: Vec<_> = outcome
            .repaired
            .quarantine
            .iter()
            .map(|piece| piece.reason)
            .collect();
        assert_eq!(reasons, ["header-line-invalid"]);
    }
}

/// Found by the fuzz target: the wrong length of a record whose URL has a carriage return was not
/// repaired.
#[test]
fn the_length_of_an_arc_record_is_mended_whatever_its_url_has() {
    let header = "filedesc://x 0.0.0.0 20110804181044 text/plain 6\n1 0 x\n\n";
    let record = |length| format!("http://a.b/\rx 1.2.3.4 20110804181142 text/html {length}\nhello\n");
    let next = "http://a.b/ 1.2.3.4 20110804181142 text/html 5\nhello\n";
    let file_of = |length| [header, &record(length), next].concat().into_bytes();
    let outcome = mended(&file_of("285"), Compression::Plain);
    assert_eq!(outcome.bytes, file_of("5"));
    assert_eq!((outcome.records.len(), outcome.quarantine.len()), (3, 0));
}

#[test]
fn missing_line_ends_are_added() {
    let one = response(1, "one");
    let outcome = mended(&one[..one.len() - 3], Compression::Plain);
    assert!(outcome.bytes == one);
    assert_eq!(outcome.repaired.mends[0].reasons, ["line-ends-missing"]);
}

#[test]
fn a_broken_member_costs_no_other_record() {
    let records: Vec<Vec<u8>> = (0..5)
        .map(|n| response(n, &format!("block {n} ").repeat(50)))
        .collect();
    let mut bytes = file(Compression::GZIP, &records);
    let third = file(Compression::GZIP, &records[..2]).len() + 40;
    bytes[third] ^= 0xff;
    let outcome = mended(&bytes, Compression::GZIP);
    let found: Vec<_> = outcome
        .records
        .iter()
        .filter_map(|record| record.headers.get("WARC-Record-ID"))
        .collect();
    for id in [0, 1, 3, 4] {
        let id = format!("<urn:test:{id}>");
        assert!(found.contains(&id.as_str()), "{found:?}");
    }
    assert!(!outcome.repaired.quarantine.is_empty());
}

#[test]
fn a_file_without_any_record_is_all_quarantine() {
    let outcome = mended(b"nothing that is a record", Compression::Plain);
    assert_eq!((outcome.records.len(), outcome.bytes.len()), (0, 0));
    assert_eq!(outcome.quarantine, b"nothing that is a record");
}

#[test]
fn names_that_are_taken_are_left_alone() {
    let dir = tempfile::tempdir().expect("a folder");
    let (input, out) = (dir.path().join("in"), dir.path().join("out"));
    fs::write(&input, [&response(1, "x")[..], b"junk"].concat()).expect("written");
    let [pieces, list] = quarantine_paths(&out);
    for taken in [&out, &pieces, &list] {
        fs::write(taken, b"mine").expect("written");
        let failed = repair(&input, &out, Compression::Plain);
        assert!(matches!(failed, Err(WriteError::Exists { .. })), "{failed:?}");
        assert_eq!(fs::read(taken).expect("there"), b"mine");
        fs::remove_file(taken).expect("removed");
        assert_eq!(
            fs::read_dir(dir.path()).expect("a folder").count(),
            1,
            "only the input is left"
        );
    }
}

/// Every damaged file can be read without defects after a repair, and repairing it again changes
/// nothing.
#[test]
fn real_broken_files_are_mended() {
    let Some(data) = test_env::shared_data() else {
        return;
    };
    for folder in ["edge", "regress/hostile", "regress/folder"] {
        for entry in fs::read_dir(data.join(folder)).expect("a folder") {
            let path = entry.expect("an entry").path();
            let bytes = fs::read(&path).expect("a file");
            if bytes.len() > 1 << 20 {
                continue;
            }
            let outcome = mended(&bytes, Compression::GZIP);
            if outcome.bytes.is_empty() {
                continue;
            }
            let again = mended(&outcome.bytes, Compression::GZIP);
            assert!(again.bytes == outcome.bytes, "{}", path.display());
            assert_eq!(again.repaired.mends, [], "{}", path.display());
            assert_eq!(again.quarantine, b"", "{}", path.display());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Random damage affects no record that it does not touch, and no byte is lost.
    #[test]
    fn random_damage_is_mended(
        blocks in prop::collection::vec("[ -~]{0,400}", 2..8),
        how in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..4, any::<u8>()), 1..4),
        compressed in any::<bool>(),
    ) {
        let records: Vec<Vec<u8>> = blocks.iter().enumerate().map(|(n, block)| response(n as u32, block)).collect();
        let mut bytes = file(if compressed { Compression::GZIP } else { Compression::Plain }, &records);
        for (at, kind, byte) in how {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match kind {
                0 => bytes[at] ^= byte | 1,
                1 => bytes.truncate(at),
                2 => drop(bytes.splice(at..at, std::iter::repeat_n(byte, usize::from(byte)))),
                _ => drop(bytes.drain(at..bytes.len().min(at + usize::from(byte)))),
            }
        }
        let outcome = mended(&bytes, Compression::GZIP);
        if !outcome.bytes.is_empty() {
            let again = mended(&outcome.bytes, Compression::GZIP);
            prop_assert!(again.bytes == outcome.bytes, "a second repair changes nothing");
        }
    }
}
