//! Split files: every record is in one part, and every part has the `warcinfo` record that its
//! records need.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use warc::{Compression, Entry, Kind, Reader, ReaderSettings, Record};
use warc_tools::WriteError;
use warc_tools::check::Checker;
use warc_tools::split::{self, SplitKey, SplitLimit, SplitReport};

use crate::support::{file, folder_is_clean, record, response};

fn parted(
    input: &Path,
    out: &Path,
    how: SplitLimit,
    compression: &Compression,
) -> Result<SplitReport, WriteError> {
    let (written, report) = split::write(input, out, how, compression, &mut |_| true)?;
    written.verify(&mut |_| true)?.put()?;
    Ok(report)
}

fn warcinfo(id: u32) -> Vec<u8> {
    let lines = format!(
        "WARC-Type: warcinfo\nWARC-Record-ID: <urn:info:{id}>\nWARC-Date: 2024-01-02T03:04:05Z\n\
         WARC-Filename: whole.warc\nContent-Type: application/warc-fields"
    );
    record(&lines, "software: something\r\n")
}

fn records(path: &Path) -> Vec<Record> {
    let mut reader = Reader::open(path, ReaderSettings::default()).expect("opened");
    let mut records = Vec::new();
    while let Some(entry) = reader.next_entry().expect("readable") {
        if let Entry::Record(record) = entry {
            records.push(record);
        }
    }
    records
}

/// The header fields and the block of a record.
type Whole = (Vec<(String, String)>, Vec<u8>);

fn whole(record: &Record) -> Whole {
    let headers = record
        .headers
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    (headers.collect(), record.body.clone())
}

/// Checks the invariants of the parts. Together they have the records of the input, each once and
/// in order within its part, and in addition only copies of `warcinfo` records, with their own ids.
/// Returns the records of each part.
fn check(input: &Path, out: &Path, report: &SplitReport) -> BTreeMap<String, Vec<Record>> {
    let before = records(input);
    let mut places: BTreeMap<Whole, Vec<usize>> = BTreeMap::new();
    for (place, record) in before.iter().enumerate() {
        places.entry(whole(record)).or_default().push(place);
    }
    let (mut found, mut copies) = (0, 0);
    let mut parts = BTreeMap::new();
    for part in &report.parts {
        let path = out.join(&part.name);
        let after = records(&path);
        assert_eq!(after.len() as u64, part.records);
        assert_eq!(fs::metadata(&path).expect("a part").len(), part.bytes);
        let mut last = None;
        for record in &after {
            match places
                .get_mut(&whole(record))
                .and_then(|places| (!places.is_empty()).then(|| places.remove(0)))
            {
                // A `warcinfo` record may precede records that came earlier in other parts, so it
                // does not count for the order.
                Some(_) if record.kind == Kind::Warcinfo => found += 1,
                Some(place) => {
                    assert!(last.is_none_or(|last| last < place), "the order changed");
                    last = Some(place);
                    found += 1;
                }
                None => {
                    assert_eq!(record.kind, Kind::Warcinfo, "{:?}", record.headers);
                    assert_eq!(record.headers.get("WARC-Filename"), Some(part.name.as_str()));
                    copies += 1;
                }
            }
        }
        parts.insert(part.name.clone(), after);
    }
    assert_eq!((found, copies), (before.len() as u64, report.copies));
    assert_eq!(found, report.records);
    let listed = fs::read_dir(out).expect("a folder").count();
    assert_eq!(listed, report.parts.len());
    folder_is_clean(out);
    parts
}

/// If a part ended between an answer and its request, the answer to a POST would look like the
/// page.
#[test]
fn a_part_ends_behind_the_exchange() {
    let dir = tempfile::tempdir().expect("a folder");
    let (input, out) = (dir.path().join("whole.warc"), dir.path().join("out"));
    let request = |n: u32| {
        let answer = String::from_utf8(response(n, "x")).expect("text");
        answer.replacen("response", "request", 1).into_bytes()
    };
    let all: Vec<Vec<u8>> = (0..3).flat_map(|n| [response(n, "x"), request(n)]).collect();
    fs::write(&input, all.concat()).expect("written");
    let report = parted(&input, &out, SplitLimit::Records(1), &Compression::GZIP).expect("split");
    let counts: Vec<u64> = report.parts.iter().map(|part| part.records).collect();
    assert_eq!(counts, [2, 2, 2]);
}

#[test]
fn parts_of_a_number_of_records_begin_with_their_description() {
    let dir = tempfile::tempdir().expect("a folder");
    let input = dir.path().join("whole.warc.gz");
    let mut all = vec![warcinfo(1)];
    all.extend((0..5).map(|n| response(n, "x")));
    all.push(warcinfo(2));
    all.extend((5..7).map(|n| response(n, "x")));
    fs::write(&input, file(Compression::GZIP, &all)).expect("written");
    let out = dir.path().join("out");
    let report = parted(&input, &out, SplitLimit::Records(2), &Compression::GZIP).expect("split");
    let parts = check(&input, &out, &report);
    let names: Vec<_> = parts.keys().cloned().collect();
    assert_eq!(names, [1, 2, 3, 4].map(|n| format!("whole-0000{n}.warc.gz")));
    assert_eq!(report.copies, 3);
    let mut checker = Checker::new(true);
    for (name, records) in &parts {
        assert_eq!(records[0].kind, Kind::Warcinfo, "{name}");
        let bytes = fs::read(out.join(name)).expect("a part");
        let mut file = checker.file(Box::new(bytes), name).expect("opened");
        while let Some(findings) = file.next_findings().expect("readable") {
            assert_eq!(findings, [], "copies have their own ids");
        }
    }
    // The same input gives the same parts.
    let again = dir.path().join("again");
    parted(&input, &again, SplitLimit::Records(2), &Compression::GZIP).expect("split");
    for name in parts.keys() {
        assert!(fs::read(out.join(name)).expect("a part") == fs::read(again.join(name)).expect("a part"));
    }
    let failed = parted(&input, &out, SplitLimit::Records(2), &Compression::GZIP);
    assert!(
        matches!(failed, Err(WriteError::FolderExists { .. })),
        "{failed:?}"
    );
    folder_is_clean(dir.path());
}

#[test]
fn a_part_ends_with_the_record_with_which_it_is_full() {
    let dir = tempfile::tempdir().expect("a folder");
    let input = dir.path().join("whole.warc");
    let all: Vec<Vec<u8>> = (0..20).map(|n| response(n, &"x".repeat(1000))).collect();
    fs::write(&input, all.concat()).expect("written");
    let out = dir.path().join("out");
    let report = parted(&input, &out, SplitLimit::Size(3000), &Compression::Plain).expect("split");
    check(&input, &out, &report);
    for part in &report.parts[..report.parts.len() - 1] {
        assert!(
            (3000..3000 + all[0].len() as u64 + 10).contains(&part.bytes),
            "{part:?}"
        );
    }
}

/// With more parts than can be open at a time.
#[test]
fn there_is_a_part_for_each_host_type_or_day() {
    let dir = tempfile::tempdir().expect("a folder");
    let input = dir.path().join("whole.warc.gz");
    let all: Vec<Vec<u8>> = (0..400)
        .map(|n| {
            let lines = format!(
                "WARC-Type: {}\nWARC-Record-ID: <urn:test:{n}>\nWARC-Date: 2024-01-{:02}T03:04:05Z\n\
                 WARC-Target-URI: http://host{}.example/{n}\nContent-Type: text/plain",
                ["resource", "conversion"][n % 2],
                n % 3 + 1,
                n % 150
            );
            record(&lines, "x")
        })
        .collect();
    let all = [vec![warcinfo(1)], all].concat();
    fs::write(&input, file(Compression::GZIP, &all)).expect("written");
    let zstd = Compression::Zstd {
        level: 3,
        dictionary: None,
    };
    for (by, compression, parts, name) in [
        (
            SplitKey::Host,
            Compression::GZIP,
            150,
            "whole-host7.example.warc.gz",
        ),
        (SplitKey::Host, zstd, 150, "whole-host149.example.warc.zst"),
        (SplitKey::Type, Compression::GZIP, 2, "whole-conversion.warc.gz"),
        (SplitKey::Date, Compression::Plain, 3, "whole-2024-01-03.warc"),
    ] {
        let out = dir.path().join("out");
        let report = parted(&input, &out, SplitLimit::By(by), &compression).expect("split");
        assert_eq!(report.parts.len(), parts);
        assert!(report.parts.iter().any(|part| part.name == name), "{name}");
        check(&input, &out, &report);
        fs::remove_dir_all(out).expect("removed");
    }
}

#[test]
fn real_files_are_parted() {
    let Some(data) = test_env::shared_data() else {
        return;
    };
    let dir = tempfile::tempdir().expect("a folder");
    for (name, how) in [
        ("crawls/etig.warc.gz", SplitLimit::By(SplitKey::Host)),
        ("crawls/hackfest.warc.gz", SplitLimit::By(SplitKey::Type)),
        ("crawls/iana.warc.gz", SplitLimit::Size(100_000)),
    ] {
        let (input, out) = (data.join(name), dir.path().join("out"));
        let report = parted(&input, &out, how, &Compression::GZIP).expect("split");
        assert!(report.parts.len() > 1, "{name}");
        check(&input, &out, &report);
        fs::remove_dir_all(out).expect("removed");
    }
    // Parts of an ARC file begin with its version block.
    let (input, out) = (data.join("crawls/blackbook.arc.gz"), dir.path().join("out"));
    let report = parted(&input, &out, SplitLimit::Records(100), &Compression::GZIP).expect("split");
    assert_eq!((report.parts.len(), report.copies), (3, 2), "{report:?}");
    for part in &report.parts {
        assert!(part.name.ends_with(".arc.gz"));
        assert_eq!(records(&out.join(&part.name))[0].kind, Kind::Warcinfo);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_file_is_parted_without_loss(
        kinds in prop::collection::vec((0_u8..5, 0_usize..300), 1..30),
        limit in 1_u64..6,
        mode in 0_u8..4,
    ) {
        let all: Vec<Vec<u8>> = kinds.iter().enumerate().map(|(n, (kind, bytes))| match kind {
            0 => warcinfo(n as u32),
            _ => response(n as u32, &"y".repeat(*bytes)),
        }).collect();
        let dir = tempfile::tempdir().expect("a folder");
        let (input, out) = (dir.path().join("a.warc"), dir.path().join("out"));
        fs::write(&input, all.concat()).expect("written");
        let how = match mode {
            0 => SplitLimit::Records(limit),
            1 => SplitLimit::Size(limit * 300),
            2 => SplitLimit::By(SplitKey::Type),
            _ => SplitLimit::By(SplitKey::Host),
        };
        let report = parted(&input, &out, how, &Compression::GZIP).expect("split");
        check(&input, &out, &report);
    }
}
