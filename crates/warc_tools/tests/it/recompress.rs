//! Recompressed files keep the header and block of every record, whatever the containers.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use warc::{Compression, Container, Decompressed, Entry, Reader, ReaderSettings, RecordLayout};
use warc_tools::{WriteError, recompress};

use crate::support::{file, folder_is_clean, record, response};

/// Recompresses a file, verifies the output and renames it.
fn recompressed(
    input: &Path,
    out: &Path,
    compression: Compression,
) -> Result<recompress::RecompressReport, WriteError> {
    let (written, report) = recompress::write(input, out, compression, &mut |_| true)?;
    written.verify(&mut |_| true)?.put(false)?;
    Ok(report)
}

fn decompressed(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    std::io::Read::read_to_end(&mut Decompressed::new(bytes), &mut plain).expect("whole");
    plain
}

fn zstd() -> Compression {
    Compression::Zstd {
        level: 3,
        dictionary: None,
    }
}

/// Checks that every record of a file has its own member in this container. Returns their number.
fn lie_alone(bytes: &[u8], container: Container) -> usize {
    let mut reader =
        Reader::from_input(Box::new(bytes.to_vec()), "memory", ReaderSettings::default()).expect("opened");
    reader.keep_headers();
    let mut records = 0;
    while let Some(entry) = reader.next_entry().expect("readable") {
        if let Entry::Record(_) = entry {
            let layout = match container {
                Container::Plain => RecordLayout::Plain,
                _ => RecordLayout::OwnMember,
            };
            assert_eq!(
                (reader.layout(), reader.container()),
                (layout, container),
                "record {records}"
            );
            records += 1;
        }
    }
    records
}

#[test]
fn a_file_in_one_member_gets_a_member_for_each_record() {
    let dir = tempfile::tempdir().expect("a folder");
    let plain = [
        response(1, "a"),
        response(2, "b"),
        response(3, &"c".repeat(100_000)),
    ]
    .concat();
    let input = dir.path().join("in.warc.gz");
    fs::write(&input, file(Compression::GZIP, std::slice::from_ref(&plain))).expect("written");
    for (name, compression, container) in [
        ("a.warc.gz", Compression::GZIP, Container::Gzip),
        ("a.warc.zst", zstd(), Container::Zstd),
        ("a.warc", Compression::Plain, Container::Plain),
    ] {
        let out = dir.path().join(name);
        let report = recompressed(&input, &out, compression).expect("recompressed");
        let bytes = fs::read(&out).expect("the output");
        assert_eq!(report.output_bytes, bytes.len() as u64);
        assert_eq!((report.records, lie_alone(&bytes, container)), (3, 3), "{name}");
        assert!(decompressed(&bytes) == plain, "{name}");
    }
    folder_is_clean(dir.path());
}

#[test]
fn a_dictionary_makes_small_records_smaller_and_stands_first() {
    let dir = tempfile::tempdir().expect("a folder");
    let text = |n: u32| {
        format!(
            "<html><title>Page {n}</title><p>The same words on every page, and the number {n}.</p></html>"
        )
    };
    let records: Vec<Vec<u8>> = (0..2000).map(|n| response(n, &text(n))).collect();
    let input = dir.path().join("in.warc");
    fs::write(&input, records.concat()).expect("written");
    let without = recompressed(&input, &dir.path().join("a.warc.zst"), zstd()).expect("recompressed");
    let out = dir.path().join("b.warc.zst");
    let dictionary = recompress::train(&input, &out, &mut |_| true).expect("trained");
    let level = 3;
    let compression = Compression::Zstd {
        level,
        dictionary: Some(dictionary),
    };
    let with = recompressed(&input, &out, compression).expect("recompressed");
    assert!(
        with.output_bytes < without.output_bytes / 2,
        "{with:?} {without:?}"
    );
    let bytes = fs::read(&out).expect("the output");
    assert!(
        bytes.starts_with(&[0x5d, 0x2a, 0x4d, 0x18]),
        "a dictionary frame stands first"
    );
    assert_eq!(lie_alone(&bytes, Container::Zstd), 2000);
    let back = dir.path().join("back.warc");
    recompressed(&out, &back, Compression::Plain).expect("recompressed");
    assert!(fs::read(back).expect("the output") == records.concat());
}

#[test]
fn too_few_records_train_no_dictionary() {
    let dir = tempfile::tempdir().expect("a folder");
    let input = dir.path().join("in.warc");
    fs::write(&input, response(1, "x")).expect("written");
    let failed = recompress::train(&input, &dir.path().join("out"), &mut |_| true).expect_err("one record");
    assert!(
        matches!(failed, WriteError::Untrained { samples: 1, .. }),
        "{failed}"
    );
}

/// A record too large to be held in memory passes through an unnamed temporary file.
#[test]
fn a_large_record_comes_through() {
    let dir = tempfile::tempdir().expect("a folder");
    let records = [
        response(1, "a"),
        response(2, &"0123456789".repeat(900_000)),
        response(3, "b"),
    ];
    let input = dir.path().join("in.warc.gz");
    fs::write(&input, file(Compression::Gzip { level: 1 }, &records)).expect("written");
    let out = dir.path().join("out.warc.zst");
    recompressed(&input, &out, zstd()).expect("recompressed");
    assert!(decompressed(&fs::read(out).expect("the output")) == records.concat());
    folder_is_clean(dir.path());
}

#[test]
fn damage_is_refused_and_leaves_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let good = file(Compression::GZIP, &[response(1, "one"), response(2, "two")]);
    let wrong_length = String::from_utf8(record(
        "WARC-Type: metadata\nWARC-Date: 2024-01-01T00:00:00Z",
        "abcdef",
    ))
    .expect("text")
    .replace("Content-Length: 6", "Content-Length: 3");
    for (bytes, reason) in [
        (good[..good.len() - 4].to_vec(), "truncated-member"),
        ([&good[..], b"junk"].concat(), "junk"),
        (
            [wrong_length.as_bytes(), &response(1, "x")].concat(),
            "length-too-short",
        ),
    ] {
        let (input, out) = (dir.path().join("in"), dir.path().join("out"));
        fs::write(&input, bytes).expect("written");
        match recompressed(&input, &out, Compression::GZIP) {
            Err(WriteError::Damaged { reason: found, .. }) => assert_eq!(found, reason),
            other => panic!("{reason}: {other:?}"),
        }
        assert!(!out.exists());
        folder_is_clean(dir.path());
    }
    fs::write(dir.path().join("in"), b"").expect("written");
    let failed = recompressed(&dir.path().join("in"), &dir.path().join("out"), Compression::GZIP);
    assert!(matches!(failed, Err(WriteError::NoRecord { .. })), "{failed:?}");
}

#[test]
fn a_stop_while_reading_or_proving_leaves_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let (input, out) = (dir.path().join("in.warc"), dir.path().join("out.warc.gz"));
    fs::write(&input, response(1, "x")).expect("written");
    let stopped = recompress::write(&input, &out, Compression::GZIP, &mut |_| false);
    assert!(matches!(stopped, Err(WriteError::Stopped)));
    let (written, _) = recompress::write(&input, &out, Compression::GZIP, &mut |_| true).expect("written");
    assert!(matches!(written.verify(&mut |_| false), Err(WriteError::Stopped)));
    folder_is_clean(dir.path());
    assert!(!out.exists());
}

/// If several writers write the same path, one succeeds and the others fail.
#[test]
fn a_file_that_came_meanwhile_is_not_replaced() {
    let dir = tempfile::tempdir().expect("a folder");
    let (input, out) = (dir.path().join("in.warc"), dir.path().join("out.warc.gz"));
    fs::write(&input, response(1, "x")).expect("written");
    let proved = || {
        let (written, _) =
            recompress::write(&input, &out, Compression::GZIP, &mut |_| true).expect("written");
        written.verify(&mut |_| true).expect("proved")
    };
    let (first, second, third) = (proved(), proved(), proved());
    first.put(false).expect("put");
    assert!(matches!(second.put(false), Err(WriteError::Exists { .. })));
    third.put(true).expect("replaced");
    folder_is_clean(dir.path());
}

#[test]
fn real_files_come_through() {
    let Some(data) = test_env::shared_data() else {
        return;
    };
    let dir = tempfile::tempdir().expect("a folder");
    for name in [
        "crawls/hackfest.warc.gz",
        "crawls/iana.warc.gz",
        "crawls/dupes.warc.gz",
        "edge/warcio-example.warc",
        "edge/warcio-example.arc.gz",
        "edge/cdxwriter-uncompressed.arc",
        "edge/chatnoir-warcfile.warc.lz4",
    ] {
        let path = data.join(name);
        let out = dir.path().join("out");
        let report = recompressed(&path, &out, zstd()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let back = dir.path().join("back");
        recompressed(&out, &back, Compression::GZIP).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(
            lie_alone(&fs::read(&back).expect("the output"), Container::Gzip) as u64,
            report.records
        );
        let plain = decompressed(&fs::read(&path).expect("the input"));
        let again = decompressed(&fs::read(&back).expect("the output"));
        if name.contains("iana") || name.contains("hackfest") {
            assert!(
                plain == again,
                "{name}: what is right already stays byte for byte"
            );
        }
        fs::remove_file(out).expect("removed");
        fs::remove_file(back).expect("removed");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Any records, joined in members in any way, are the same after recompression to any
    /// container.
    #[test]
    fn any_records_come_through(
        blocks in prop::collection::vec(("[a-z]{0,40}", prop::collection::vec(any::<u8>(), 0..3000)), 1..12),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        to in 0_usize..4,
    ) {
        let records: Vec<Vec<u8>> = blocks.iter().enumerate().map(|(n, (word, block))| {
            let header = format!(
                "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:test:{n}>\r\nX-Word: {word}\r\n\
                 WARC-Date: 2024-01-01T00:00:00Z\r\nContent-Length: {}\r\n\r\n",
                block.len()
            );
            [header.as_bytes(), block, b"\r\n\r\n"].concat()
        }).collect();
        let plain = records.concat();
        // Random bytes may look like a record. This test excludes such files.
        prop_assume!(!blocks.iter().any(|(_, block)| block.windows(5).any(|five| five.eq_ignore_ascii_case(b"WARC/"))));
        // Members contain any number of records.
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(records.len())).collect();
        ends.sort_unstable();
        let mut members = Vec::new();
        let mut from = 0;
        for end in ends.into_iter().chain([records.len()]) {
            members.push(records[from..end].concat());
            from = end;
        }
        let dir = tempfile::tempdir().expect("a folder");
        let (input, out) = (dir.path().join("in"), dir.path().join("out"));
        fs::write(&input, file(Compression::GZIP, &members)).expect("written");
        let (compression, container) = [
            (Compression::Plain, Container::Plain),
            (Compression::Gzip { level: 1 }, Container::Gzip),
            (zstd(), Container::Zstd),
            (Compression::Lz4, Container::Lz4),
        ][to].clone();
        recompressed(&input, &out, compression).expect("recompressed");
        let bytes = fs::read(&out).expect("the output");
        prop_assert_eq!(lie_alone(&bytes, container), records.len());
        prop_assert!(decompressed(&bytes) == plain);
        folder_is_clean(dir.path());
    }
}
