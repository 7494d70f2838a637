//! Repeated payloads become revisits, and all other records stay the same.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use warc::{Compression, Entry, Kind, Reader, ReaderSettings, Record};
use warc_tools::WriteError;
use warc_tools::check::Checker;
use warc_tools::dedup::{self, DedupReport};

use crate::support::{file, folder_is_clean, record, response};

fn deduplicated(inputs: &[PathBuf], out: &Path) -> Result<DedupReport, WriteError> {
    let gzip = |_: &Path| Compression::GZIP;
    let relations = dedup::relations(inputs, &mut |_| true)?;
    let (written, report) = dedup::write(inputs, out, &relations, &gzip, &mut |_| true)?;
    written.verify(&mut |_| true)?.put()?;
    Ok(report)
}

fn records(path: &Path) -> Vec<Record> {
    let mut reader = Reader::open(path, ReaderSettings::default()).expect("opened");
    let mut records = Vec::new();
    while let Some(entry) = reader.next_entry().expect("readable") {
        if let Entry::Record(record) = entry {
            assert_eq!(record.defects, []);
            records.push(record);
        }
    }
    records
}

/// Checks the invariants of deduplication: each new revisit refers to a record of the output with
/// the payload that the input had, and every other record is unchanged. Returns the number of new
/// revisits.
fn check(inputs: &[PathBuf], out: &Path) -> u64 {
    let mut originals: HashMap<String, Record> = HashMap::new();
    let mut revisits = 0;
    for input in inputs {
        let output = out.join(input.file_name().expect("a name"));
        let (before, after) = (records(input), records(&output));
        assert_eq!(before.len(), after.len());
        for (before, after) in before.iter().zip(after) {
            let id = after.headers.get("WARC-Record-ID").unwrap_or_default().to_owned();
            if before.kind == after.kind {
                assert!(
                    (&before.headers, &before.body) == (&after.headers, &after.body),
                    "{id}"
                );
                originals.entry(id).or_insert(after);
                continue;
            }
            assert_eq!((before.kind, after.kind), (Kind::Response, Kind::Revisit), "{id}");
            revisits += 1;
            let field = |name: &str| after.headers.get(name).unwrap_or_default();
            for name in ["WARC-Record-ID", "WARC-Date", "WARC-Target-URI", "Content-Type"] {
                assert_eq!(before.headers.get(name), after.headers.get(name), "{name}");
            }
            let original = &originals[field("WARC-Refers-To")];
            assert!(warc::payload(before) == warc::payload(original), "{id}");
            assert_eq!(
                original.headers.get("WARC-Target-URI"),
                Some(field("WARC-Refers-To-Target-URI"))
            );
            assert_eq!(
                original.headers.get("WARC-Date"),
                Some(field("WARC-Refers-To-Date"))
            );
            let declared = original.headers.get("WARC-Payload-Digest").map(str::to_owned);
            let expected = declared.unwrap_or_else(|| format!("sha1:{}", warc::payload_digest(original)));
            assert_eq!(field("WARC-Payload-Digest"), expected, "{id}");
            let http = before.body.len() - warc::payload(before).len();
            assert!(after.body == before.body[..http], "the HTTP header stays");
        }
    }
    revisits
}

fn rules(path: &Path) -> Vec<&'static str> {
    let mut checker = Checker::new(true);
    let bytes = fs::read(path).expect("a file");
    let mut file = checker.file(Box::new(bytes), "output").expect("opened");
    let mut rules = Vec::new();
    while let Some(findings) = file.next_findings().expect("readable") {
        rules.extend(findings.iter().map(|finding| finding.rule));
    }
    rules
}

#[test]
fn a_payload_that_occurs_again_becomes_a_revisit_also_in_another_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let inputs = ["a.warc.gz", "b.warc.gz"].map(|name| dir.path().join(name));
    let same = "the same words ".repeat(100);
    fs::write(
        &inputs[0],
        file(
            Compression::GZIP,
            &[response(1, &same), response(2, "other"), response(3, &same)],
        ),
    )
    .expect("written");
    fs::write(
        &inputs[1],
        file(
            Compression::Plain,
            &[response(4, &same), response(5, "new"), response(6, "")],
        ),
    )
    .expect("written");
    let out = dir.path().join("out");
    let report = deduplicated(&inputs, &out).expect("deduplicated");
    assert_eq!((report.revisits, report.records, report.files), (2, 6, 2));
    assert_eq!(report.payload_bytes, 2 * same.len() as u64);
    assert_eq!(check(&inputs, &out), 2);
    for input in &inputs {
        assert_eq!(
            rules(&out.join(input.file_name().expect("a name"))),
            Vec::<&str>::new()
        );
    }
    folder_is_clean(dir.path());
    folder_is_clean(&out);
    // An existing output is not overwritten.
    let failed = deduplicated(&inputs, &out);
    assert!(
        matches!(failed, Err(WriteError::FolderExists { .. })),
        "{failed:?}"
    );
    assert_eq!(check(&inputs, &out), 2);
    folder_is_clean(dir.path());
}

/// The same bytes with another encoding are another payload, and a declared digest that differs is
/// trusted.
#[test]
fn what_may_be_another_payload_stays() {
    let dir = tempfile::tempdir().expect("a folder");
    let input = dir.path().join("a.warc");
    let change = |id: u32, from: &str, to: &str| {
        let right = String::from_utf8(response(id, "5\r\nabcde\r\n0\r\n\r\n")).expect("text");
        let length = right.find("Content-Length: ").expect("a length") + "Content-Length: ".len();
        let end = length + right[length..].find('\r').expect("a line end");
        let bytes: usize = right[length..end].parse().expect("a number");
        let changed = right.replace(from, to);
        // Changes of the WARC header do not change its length field.
        let more = if from.starts_with("Content-Type: text") {
            to.len() - from.len()
        } else {
            0
        };
        changed
            .replacen(
                &format!("Content-Length: {bytes}"),
                &format!("Content-Length: {}", bytes + more),
                1,
            )
            .into_bytes()
    };
    let chunked = "Content-Type: text/plain\r\nTransfer-Encoding: chunked";
    let id = |id: u32| format!("WARC-Record-ID: <urn:test:{id}>");
    let with = |n: u32, line: &str| change(n, &id(n), &format!("{}\r\n{line}", id(n)));
    let stored = "sha1:FPNW5GWZQU2ZZQFS3LYPDCJ3YDXNEHN4";
    let records = [
        response(1, "5\r\nabcde\r\n0\r\n\r\n"),
        change(2, "Content-Type: text/plain", chunked),
        // A record with a wrong digest is neither an original nor a revisit.
        with(3, &format!("WARC-Payload-Digest: {stored}")),
        with(4, "WARC-Truncated: time"),
        with(5, "WARC-Segment-Number: 1"),
        // A record with a correct one is.
        change(6, "Content-Type: text/plain", chunked),
    ];
    fs::write(&input, records.concat()).expect("written");
    let out = dir.path().join("out");
    let report = deduplicated(std::slice::from_ref(&input), &out).expect("deduplicated");
    assert_eq!(report.revisits, 1);
    let kinds: Vec<Kind> = records_of(&out.join("a.warc"));
    assert_eq!(kinds.iter().filter(|kind| **kind == Kind::Revisit).count(), 1);
    assert_eq!(kinds[5], Kind::Revisit);
}

fn records_of(path: &Path) -> Vec<Kind> {
    let mut reader = Reader::open(path, ReaderSettings::default()).expect("opened");
    let mut kinds = Vec::new();
    while let Some(Entry::Record(record)) = reader.next_entry().expect("readable") {
        kinds.push(record.kind);
    }
    kinds
}

/// Replay that looks up the payload of a revisit by URL and date, or by id, must not find another
/// revisit.
#[test]
fn what_a_revisit_refers_to_already_stays() {
    let dir = tempfile::tempdir().expect("a folder");
    let input = dir.path().join("a.warc");
    let revisit = |id: u32, refers: &str| {
        let lines = format!(
            "WARC-Type: revisit\nWARC-Record-ID: <urn:test:{id}>\nWARC-Date: 2024-01-02T03:04:05Z\n\
             WARC-Target-URI: http://example.com/\n{refers}\n\
             WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
        );
        record(&lines, "")
    };
    let records = [
        response(1, "same"),
        response(2, "same"),
        response(3, "same"),
        response(4, "same"),
        revisit(5, "WARC-Refers-To: <urn:test:2>"),
        revisit(
            6,
            "WARC-Refers-To-Target-URI: http://example.com/3\nWARC-Refers-To-Date: 2024-01-02T03:04:05Z",
        ),
    ];
    fs::write(&input, records.concat()).expect("written");
    let out = dir.path().join("out");
    let report = deduplicated(std::slice::from_ref(&input), &out).expect("deduplicated");
    assert_eq!((report.revisits, report.referred), (1, 2));
    assert_eq!(records_of(&out.join("a.warc"))[3], Kind::Revisit);
}

/// The type of a revisit is that of its original, and a record that is not a capture cannot be one.
#[test]
fn originals_have_the_same_type_and_are_captures() {
    let dir = tempfile::tempdir().expect("a folder");
    let like = |id: u32, from: &str, to: &str| {
        let text = String::from_utf8(response(id, "same")).expect("text");
        let (head, block) = text.split_once("\r\n\r\n").expect("a header");
        let (head, block) = (head.replace(from, to), block.replace(from, to));
        let bytes = block.len() - "\r\n\r\n".len();
        let lines = head.lines().map(|line| {
            if line.starts_with("Content-Length") {
                format!("Content-Length: {bytes}")
            } else {
                line.to_owned()
            }
        });
        let lines: Vec<String> = lines.collect();
        format!("{}\r\n\r\n{block}", lines.join("\r\n")).into_bytes()
    };
    for (from, to) in [
        ("text/plain", "text/html"),
        ("text/plain", "text/plain; charset=windows-1251"),
        ("http://", "ftp://"),
        ("2024-01-02", "9999-01-02"),
    ] {
        let input = dir.path().join("a.warc");
        fs::write(&input, [like(1, from, to), response(2, "same")].concat()).expect("written");
        let relations = dedup::relations(std::slice::from_ref(&input), &mut |_| true).expect("read");
        let out = dir.path().join(to.replace(['/', ':'], "_"));
        let written = dedup::write(&[input], &out, &relations, &|_| Compression::GZIP, &mut |_| true);
        let (_, report) = written.expect("written");
        assert_eq!((report.records, report.revisits), (2, 0), "{to}");
    }
}

/// A revisit whose URL and date match no record here is resolved by its digest.
#[test]
fn what_has_the_digest_of_a_revisit_stays() {
    let dir = tempfile::tempdir().expect("a folder");
    let input = dir.path().join("a.warc");
    let digest = format!("sha1:{}", "74ZZAVLTGW5IRU3XKXSBKFF6WA54JGPM");
    for (refers, revisits) in [
        ("", 0),
        ("WARC-Refers-To-Target-URI: http://example.com/1\n", 0),
        (
            "WARC-Refers-To-Target-URI: http://example.com/1\nWARC-Refers-To-Date: 2024-01-02T03:04:07Z\n",
            0,
        ),
        (
            "WARC-Refers-To-Target-URI: http://example.com/1\nWARC-Refers-To-Date: 2024-01-02T03:04:05Z\n",
            1,
        ),
    ] {
        let lines = format!(
            "WARC-Type: revisit\nWARC-Record-ID: <urn:test:9>\nWARC-Date: 2024-01-02T03:04:05Z\n\
             WARC-Target-URI: http://example.com/\nWARC-Payload-Digest: {digest}\n{refers}\
             WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
        );
        let records = [response(1, "same"), response(2, "same"), record(&lines, "")];
        fs::write(&input, records.concat()).expect("written");
        let relations = dedup::relations(std::slice::from_ref(&input), &mut |_| true).expect("read");
        let out = dir.path().join("out");
        let written = dedup::write(
            std::slice::from_ref(&input),
            &out,
            &relations,
            &|_| Compression::GZIP,
            &mut |_| true,
        );
        let (_, report) = written.expect("written");
        assert_eq!(report.revisits, revisits, "{refers}");
    }
}

/// A page that refers to the answer of a POST, to a redirect or to a partial response would have no
/// content.
#[test]
fn what_is_never_a_page_is_no_original() {
    let dir = tempfile::tempdir().expect("a folder");
    let input = dir.path().join("a.warc");
    let request = |id: u32, method: &str, line: &str| {
        let lines = format!(
            "WARC-Type: request\nWARC-Record-ID: <urn:test:{id}>\nWARC-Date: 2024-01-02T03:04:05Z\n\
             {line}Content-Type: application/http; msgtype=request"
        );
        record(&lines, &format!("{method} / HTTP/1.1\r\n\r\n"))
    };
    let of = |id: u32| format!("WARC-Target-URI: http://example.com/{id}\n");
    let other = |id: u32, status: &str| {
        let text = String::from_utf8(response(id, "same")).expect("text");
        // The replacement has the same length.
        text.replace("200 OK", status).into_bytes()
    };
    let naming = |id: u32, named: u32| {
        let text = String::from_utf8(response(id, "same")).expect("text");
        let line = format!("Target-URI: http://example.com/{id}\r\nWARC-Concurrent-To: <urn:test:{named}>");
        text.replace(&format!("Target-URI: http://example.com/{id}"), &line)
            .into_bytes()
    };
    let input_records = [
        other(1, "206 OK"),
        other(2, "302 OK"),
        // Related by URL and date, by the request, and by the answer; the request comes after or
        // before it.
        response(3, "same"),
        request(13, "POST", &of(3)),
        request(14, "put", "WARC-Concurrent-To: urn:test:4\n"),
        response(4, "same"),
        naming(5, 15),
        request(15, "HEAD", ""),
        // The first of the pages, and a second one.
        response(6, "same"),
        request(16, "get", &of(6)),
        response(7, "same"),
    ];
    fs::write(&input, input_records.concat()).expect("written");
    let out = dir.path().join("out");
    let report = deduplicated(std::slice::from_ref(&input), &out).expect("deduplicated");
    assert_eq!(report.revisits, 1);
    let written = records(&out.join("a.warc"));
    assert_eq!(written[10].kind, Kind::Revisit);
    assert_eq!(written[10].headers.get("WARC-Refers-To"), Some("<urn:test:6>"));
}

#[test]
fn two_inputs_of_one_name_are_refused_and_nothing_is_left() {
    let dir = tempfile::tempdir().expect("a folder");
    fs::create_dir(dir.path().join("x")).expect("a folder");
    let inputs = ["a.warc", "x/a.warc"].map(|name| dir.path().join(name));
    for input in &inputs {
        fs::write(input, response(1, "x")).expect("written");
    }
    let failed = deduplicated(&inputs, &dir.path().join("out"));
    assert!(matches!(failed, Err(WriteError::SameName { .. })), "{failed:?}");
    let stopped = dedup::relations(&inputs[..1], &mut |_| false);
    assert!(matches!(stopped, Err(WriteError::Stopped)));
    let (out, none) = (dir.path().join("out"), dedup::Relations::default());
    let stopped = dedup::write(&inputs[..1], &out, &none, &|_| Compression::Plain, &mut |_| false);
    assert!(matches!(stopped, Err(WriteError::Stopped)));
    assert!(!dir.path().join("out").exists());
    folder_is_clean(dir.path());
}

#[test]
fn real_files_are_deduplicated() {
    let Some(data) = test_env::shared_data() else {
        return;
    };
    let dir = tempfile::tempdir().expect("a folder");
    let inputs =
        ["etig", "govuk-1", "govuk-2-revisits"].map(|name| data.join(format!("crawls/{name}.warc.gz")));
    let out = dir.path().join("out");
    let report = deduplicated(&inputs, &out).expect("deduplicated");
    assert!(report.revisits > 10, "{report:?}");
    assert_eq!(check(&inputs, &out), report.revisits);
    // A deduplicated file has no further repetitions.
    let again: Vec<PathBuf> = inputs
        .iter()
        .map(|input| out.join(input.file_name().expect("a name")))
        .collect();
    let report = deduplicated(&again, &dir.path().join("again")).expect("deduplicated");
    assert_eq!(report.revisits, 0, "{report:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// A model: all but the first of the responses with the same payload become revisits.
    #[test]
    fn all_but_the_first_of_equal_payloads_become_revisits(
        payloads in prop::collection::vec(0_u32..6, 1..20),
        split in any::<prop::sample::Index>(),
    ) {
        let all: Vec<Vec<u8>> = payloads
            .iter()
            .enumerate()
            .map(|(n, payload)| response(n as u32, &"x".repeat(*payload as usize)))
            .collect();
        let dir = tempfile::tempdir().expect("a folder");
        let at = split.index(all.len());
        let mut inputs = Vec::new();
        for (name, part) in [("a.warc", &all[..at]), ("b.warc", &all[at..])] {
            if !part.is_empty() {
                inputs.push(dir.path().join(name));
                fs::write(dir.path().join(name), part.concat()).expect("written");
            }
        }
        let out = dir.path().join("out");
        let report = deduplicated(&inputs, &out).expect("deduplicated");
        let mut seen = std::collections::HashSet::new();
        // An empty payload does not count.
        let expected = payloads.iter().filter(|payload| **payload > 0 && !seen.insert(**payload)).count();
        prop_assert_eq!(report.revisits, expected as u64);
        prop_assert_eq!(check(&inputs, &out), expected as u64);
    }
}
