//! `weft warc`: tools for WARC and ARC files.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use expect_test::expect;
use warc::{Compression, Writer};

use crate::fixture;
use crate::support::{Workspace, json_lines};

/// A valid record, followed by one that breaks two rules.
fn faulty() -> Vec<u8> {
    let record = |id: &str, date: &str| {
        format!(
            "WARC/1.1\r\nWARC-Type: metadata\r\nWARC-Record-ID: {id}\r\nWARC-Date: {date}\r\nContent-Type: text/plain\r\n\
             Content-Length: 3\r\n\r\nabc\r\n\r\n"
        )
    };
    let records = [
        record("<urn:faulty:1>", "2024-01-01T00:00:00Z"),
        record("urn:faulty:2", "20240101000000"),
    ];
    records.concat().into_bytes()
}

/// A small web whose records have distinct ids.
fn web() -> Vec<u8> {
    let all = String::from_utf8(fixture::small_web()).expect("text");
    let mut parts = all.split("<urn:uuid:response>");
    let mut into = parts.next().unwrap_or_default().to_owned();
    for (number, part) in parts.enumerate() {
        into.push_str(&format!("<urn:test:{number}>{part}"));
    }
    into.into_bytes()
}

/// Returns the bytes as one gzip member.
fn in_one_member(bytes: &[u8]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), Compression::GZIP).expect("begun");
    writer.write_encoded(bytes).expect("written");
    writer.finish().expect("finished")
}

/// Returns the names of all entries of the folder.
fn names(place: &Workspace) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(place.path("."))
        .expect("a folder")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

/// Returns the program `warcio`, or prints a line and returns `None` if it is missing.
fn warcio() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from)?;
    let program = home.join(".cache/weft/venv/bin/warcio");
    if !program.is_file() {
        eprintln!("skipped: there is no {}; make need-field", program.display());
        return None;
    }
    Some(program)
}

/// Checks a file with `warcio check`.
fn warcio_agrees(place: &Workspace, name: &str) {
    let Some(warcio) = warcio() else { return };
    let output = Command::new(warcio)
        .args(["check", "-v"])
        .arg(place.path(name))
        .output()
        .expect("warcio runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{name}: {said}");
}

#[test]
fn a_check_names_file_offset_rule_and_clause() {
    let place = Workspace::new();
    place.write("good.warc", &web());
    place.write("bad.warc", &faulty());
    place.check(
        &["warc", "check", "good.warc", "bad.warc"],
        &expect![[r#"
        exit code 1
        good.warc: 6 records, no findings
        bad.warc at 150: record-id: WARC-Record-ID is "urn:faulty:2" [WARC/1.1, 5.2] urn:faulty:2
        bad.warc at 150: date: WARC-Date is "20240101000000" [WARC/1.1, 5.4] urn:faulty:2
        bad.warc: 2 records, 2 findings
    "#]],
    );
    let run = place.run(&["warc", "check", "--json", "good.warc", "bad.warc", "missing.warc"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    let rules: Vec<_> = json_lines(&run.stdout)
        .iter()
        .map(|row| row["rule"].clone())
        .collect();
    assert_eq!(rules, ["record-id", "date"]);
    assert!(run.stderr.contains("missing.warc"), "{run:?}");
    assert!(!place.path("weft-archive").exists(), "a check needs no archive");
}

#[test]
fn packages_are_not_rewritten_as_files_of_records() {
    let place = Workspace::new();
    let package = crate::packages::wacz(&web(), zip::CompressionMethod::Stored);
    place.write("x.wacz", &package);
    for command in [
        &["recompress", "x.wacz", "-o", "out"][..],
        &["repair", "x.wacz", "-o", "out"][..],
        &["dedup", "x.wacz", "-o", "out"][..],
        &["split", "x.wacz", "-o", "out", "--size", "1M"][..],
    ] {
        let run = place.run(&[&["warc"][..], command].concat());
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.stderr.contains("x.wacz is a package (ZIP)"), "{run:?}");
        assert!(!place.path("out").exists(), "{command:?}");
    }
}

#[test]
fn the_rules_of_a_check_are_listed_with_their_source() {
    let place = Workspace::new();
    let text = place.good(&["warc", "check", "--rules"]);
    assert!(text.contains("[WARC/1.1, 5.14]"), "{text}");
    let rows = json_lines(&place.good(&["warc", "check", "--rules", "--json"]));
    assert!(rows.len() > 40, "{} rules", rows.len());
    assert_eq!(place.run(&["warc", "check"]).code, Some(2));
    assert_eq!(place.run(&["warc", "check", "--rules", "x.warc"]).code, Some(2));
}

/// The same page twice, chunked and gzipped, with its request.
fn page_with_request() -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(b"<p>hello").expect("in memory");
    let body = gzip.finish().expect("in memory");
    let mut block =
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    block.extend(format!("{:x}\r\n", body.len()).bytes());
    block.extend([&body[..], b"\r\n0\r\n\r\n"].concat());
    let record = |kind: &str, id: &str, media: &str, block: &[u8]| {
        let headers = [
            ("WARC-Record-ID", id),
            ("WARC-Target-URI", "http://a.example/"),
            ("WARC-Date", "2020-01-01T00:00:00Z"),
            ("Content-Type", media),
        ];
        fixture::record(kind, &headers, block)
    };
    let request = b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n";
    [
        record(
            "request",
            "<urn:test:1>",
            "application/http; msgtype=request",
            request,
        ),
        record(
            "response",
            "<urn:test:2>",
            "application/http; msgtype=response",
            &block,
        ),
    ]
    .concat()
}

#[test]
fn a_record_is_extracted_whole_or_in_parts() {
    let place = Workspace::new();
    let file = page_with_request();
    place.write("x.warc", &file);
    let url = ["warc", "extract", "x.warc", "--url", "http://a.example/"];
    let run = |more: &[&str]| place.run(&[&url[..], more].concat());
    let rows = json_lines(&place.good(&[&url[..], &["--json"]].concat()));
    let kinds: Vec<_> = rows.iter().map(|row| row["type"].clone()).collect();
    assert_eq!(kinds, ["request", "response"]);
    assert_eq!(run(&["--payload"]).stdout, "<p>hello");
    assert!(run(&["--headers"]).stdout.contains("HTTP/1.1 200 OK\r\n"));
    for part in [&[][..], &["--stored"]] {
        let out = [&["-o", "out.warc", "--force"], part].concat();
        assert_eq!(run(&out).code, Some(0));
        let written = fs::read(place.path("out.warc")).expect("it was written");
        assert_eq!(written, file, "{part:?}");
    }
    let offset = rows[1]["offset"].to_string();
    place.good(&["warc", "extract", "x.warc", "--offset", &offset, "-o", "one.warc"]);
    let one = fs::read(place.path("one.warc")).expect("it was written");
    assert!(file.ends_with(&one) && one.len() < file.len());

    place.write("twice.warc", &[&file[..], &file].concat());
    let twice = place.run(&[
        "warc",
        "extract",
        "twice.warc",
        "--url",
        "http://a.example/",
        "--payload",
    ]);
    assert_eq!(twice.code, Some(2));
    assert!(twice.stderr.contains("there are 2 records"), "{}", twice.stderr);
    let none = place.run(&["warc", "extract", "x.warc", "--record-id", "urn:none"]);
    assert_eq!(none.code, Some(1));
    assert!(
        none.stderr.contains("x.warc has no record with the id urn:none"),
        "{none:?}"
    );
    let there = run(&["-o", "one.warc"]);
    assert_eq!(there.code, Some(2), "{there:?}");
    assert_eq!(run(&["-o", "x.warc", "--force"]).code, Some(2));
    assert_eq!(fs::read(place.path("x.warc")).expect("the input"), file);

    let wrong = [
        ("WARC-Record-ID", "<urn:test:3>"),
        ("WARC-Block-Digest", "md5:00000000000000000000000000000000"),
    ];
    place.write("wrong.warc", &fixture::record("resource", &wrong, b"block"));
    let wrong = place.run(&["warc", "extract", "wrong.warc", "--offset", "0"]);
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    assert!(wrong.stdout.ends_with("block\r\n\r\n"), "{wrong:?}");
    assert!(
        wrong.stderr.contains("wrong.warc at 0: block-digest-mismatch"),
        "{wrong:?}"
    );
}
#[test]
fn a_file_is_recompressed_there_and_back() {
    let place = Workspace::new();
    let plain = web();
    place.write("one.warc.gz", &in_one_member(&plain));
    let run = place.run(&["warc", "check", "one.warc.gz"]);
    assert!(run.stdout.contains("one-member"), "{run:?}");
    let to = |input, out| place.json(&["warc", "recompress", input, "-o", out]);
    assert_eq!(to("one.warc.gz", "a.warc.gz")["records"], 6);
    place.good(&["warc", "check", "a.warc.gz"]);
    to("a.warc.gz", "b.warc.zst");
    place.good(&["warc", "check", "b.warc.zst"]);
    to("b.warc.zst", "c.warc");
    assert!(fs::read(place.path("c.warc")).expect("written") == plain);
    warcio_agrees(&place, "a.warc.gz");
    warcio_agrees(&place, "c.warc");
    // An existing file is replaced only with `--force`, and the input never is.
    let before = fs::read(place.path("a.warc.gz")).expect("there");
    let run = place.run(&["warc", "recompress", "c.warc", "-o", "a.warc.gz", "--level", "1"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(fs::read(place.path("a.warc.gz")).expect("there") == before);
    place.good(&[
        "warc",
        "recompress",
        "c.warc",
        "-o",
        "a.warc.gz",
        "--level",
        "1",
        "--force",
    ]);
    assert!(fs::read(place.path("a.warc.gz")).expect("there") != before);
    let run = place.run(&["warc", "recompress", "c.warc", "-o", "./c.warc", "--force"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    for wrong in [
        &["--level", "10"][..],
        &["--dictionary", "train"],
        &["--to", "none", "--level", "1"],
        &["--to", "zstd", "--dictionary", "c.warc"],
    ] {
        let run = place.run(&[&["warc", "recompress", "c.warc", "-o", "d.warc.gz"], wrong].concat());
        assert_eq!(run.code, Some(2), "{wrong:?} {run:?}");
    }
    assert_eq!(
        names(&place),
        ["a.warc.gz", "b.warc.zst", "c.warc", "one.warc.gz"]
    );
}

#[test]
fn damage_is_refused_and_mended() {
    let place = Workspace::new();
    let plain = web();
    place.write("cut.warc", &plain[..plain.len() - 20]);
    let run = place.run(&["warc", "recompress", "cut.warc", "-o", "x.warc.gz"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(
        run.stderr.contains("truncated-record") && run.stderr.contains("weft warc repair"),
        "{run:?}"
    );
    let run = place.run(&["warc", "repair", "cut.warc", "-o", "mended.warc.gz"]);
    assert_eq!(run.code, Some(1), "a record is cut: {run:?}");
    place.good(&["warc", "check", "mended.warc.gz"]);
    warcio_agrees(&place, "mended.warc.gz");
    let junk = [&plain[..], b"no record\n"].concat();
    place.write("junk.warc", &junk);
    place.check(
        &["warc", "repair", "junk.warc", "-o", "clean.warc"],
        &expect![[r#"
            exit code 1
            quarantine at 2295, 10 B: junk: neither a record nor a compressed member, 10 bytes
            clean.warc: 6 records, 0 repaired, 0 truncated
            2,305 bytes in: 2,295 in records, 0 padding, 10 not in any record
            clean.warc.quarantine: 1 piece
        "#]],
    );
    assert!(fs::read(place.path("clean.warc")).expect("written") == plain);
    assert_eq!(
        fs::read(place.path("clean.warc.quarantine")).expect("written"),
        b"no record\n"
    );
    let list = fs::read_to_string(place.path("clean.warc.quarantine.jsonl")).expect("written");
    let piece = &json_lines(&list)[0];
    assert_eq!(
        (&piece["reason"], &piece["offset"]),
        (&"junk".into(), &plain.len().into())
    );
    // An intact file is copied without loss.
    place.good(&["warc", "repair", "clean.warc", "-o", "same.warc"]);
    assert!(fs::read(place.path("same.warc")).expect("written") == plain);
    // Only the quarantine is written.
    place.write("none.warc", b"no record at all");
    let run = place.run(&["warc", "repair", "none.warc", "-o", "gone.warc"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stdout.contains("gone.warc was not written"), "{run:?}");
    assert!(!place.path("gone.warc").exists());
    assert!(fs::read(place.path("gone.warc.quarantine")).expect("written") == b"no record at all");
    // An existing quarantine file is not overwritten.
    fs::remove_file(place.path("clean.warc")).expect("removed");
    let run = place.run(&["warc", "repair", "junk.warc", "-o", "clean.warc"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(!place.path("clean.warc").exists());
}

#[test]
fn what_occurs_again_becomes_a_revisit() {
    let place = Workspace::new();
    let one = web();
    let other = String::from_utf8(one.clone())
        .expect("text")
        .replace("<urn:test:", "<urn:other:")
        .replace("<urn:uuid:", "<urn:other:");
    place.write("a.warc", &one);
    place.write("b.warc.gz", &in_one_member(other.as_bytes()));
    let report = place.json(&["warc", "dedup", "a.warc", "b.warc.gz", "-o", "out"]);
    assert_eq!(
        (&report["files"], &report["revisits"]),
        (&2.into(), &5.into()),
        "{report}"
    );
    assert!(
        fs::read(place.path("out/a.warc")).expect("written") == one,
        "the first stay"
    );
    place.good(&["warc", "check", "--advice", "out/a.warc", "out/b.warc.gz"]);
    warcio_agrees(&place, "out/b.warc.gz");
    // Revisits resolve to their content when loaded.
    place.good(&["load", "out/a.warc", "out/b.warc.gz"]);
    assert_eq!(place.json(&["status"])["captures"], 10);
    for wrong in [
        &["-o", "out"][..],
        &["-o", "a.warc"],
        &["-o", "x", "--level", "30"],
    ] {
        let run = place.run(&[&["warc", "dedup", "b.warc.gz"], wrong].concat());
        assert_eq!(run.code, Some(2), "{wrong:?} {run:?}");
    }
    let run = place.run(&["warc", "dedup", "a.warc", "out/a.warc", "-o", "x"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(!place.path("x").exists());
}

#[test]
fn a_full_disk_or_a_folder_that_is_not_there_leaves_nothing() {
    let place = Workspace::new();
    place.write("a.warc", &web());
    for command in ["recompress", "repair"] {
        let run = place.run(&["warc", command, "a.warc", "-o", "none/b.warc.gz"]);
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.stderr.contains("none/b.warc.gz"), "{run:?}");
        // A file size limit fails like a full disk, in the middle of a file.
        let program = env!("CARGO_BIN_EXE_weft");
        let big: Vec<u8> = std::iter::repeat_with(web).take(20).flatten().collect();
        place.write("big.warc", &big);
        // Unless ignored or handled, the signal of the limit kills the process.
        for ignored in ["trap '' XFSZ;", ""] {
            let limited = format!("{ignored} ulimit -f 1; exec {program} warc {command} big.warc -o b.warc");
            let output = Command::new("sh")
                .args(["-c", &limited])
                .current_dir(place.path("."))
                .output()
                .expect("a shell");
            assert_eq!(output.status.code(), Some(1), "{output:?}");
            assert!(
                String::from_utf8_lossy(&output.stderr).contains("b.warc"),
                "{output:?}"
            );
            assert_eq!(names(&place), ["a.warc", "big.warc"]);
        }
    }
}

#[test]
fn standard_output_is_no_file_to_write() {
    let place = Workspace::new();
    place.write("a.warc", &web());
    for command in [
        &["recompress", "a.warc"][..],
        &["repair", "a.warc"],
        &["dedup", "a.warc"],
        &["split", "a.warc", "--records", "2"],
        &["extract", "a.warc", "--offset", "0"],
    ] {
        let run = place.run(&[&["warc"], command, &["-o", "-"]].concat());
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains("standard output"), "{run:?}");
        assert_eq!(names(&place), ["a.warc"]);
    }
    // A file named `-` can still be written.
    place.good(&["warc", "recompress", "a.warc", "-o", "./-"]);
    assert_eq!(names(&place), ["-", "a.warc"]);
}

#[test]
fn a_check_of_a_folder_passes_over_quarantines() {
    let place = Workspace::new();
    place.write("junk.warc", &[&web()[..], b"no record\n"].concat());
    fs::create_dir(place.path("mended")).expect("a folder");
    assert_eq!(
        place
            .run(&["warc", "repair", "junk.warc", "-o", "mended/a.warc"])
            .code,
        Some(1)
    );
    let run = place.run(&["warc", "check", "mended"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    for name in ["a.warc.quarantine", "a.warc.quarantine.jsonl"] {
        assert!(run.stderr.contains(&format!("mended/{name}: skipped")), "{run:?}");
    }
    assert_eq!(
        place.run(&["warc", "check", "mended/a.warc.quarantine"]).code,
        Some(1)
    );
    // A file that merely has such a name is checked.
    fs::remove_file(place.path("mended/a.warc.quarantine.jsonl")).expect("removed");
    assert_eq!(place.run(&["warc", "check", "mended"]).code, Some(1));
}

/// Ctrl-C in the middle of the work stops it without leaving a partial file.
#[test]
fn a_stop_leaves_no_half_file() {
    let place = Workspace::new();
    let one = web();
    let big: Vec<u8> = std::iter::repeat_n(one, 20_000).flatten().collect();
    place.write("big.warc", &big);
    let mut child = place.start(&[
        "warc",
        "recompress",
        "big.warc",
        "-o",
        "out.warc.zst",
        "--level",
        "19",
    ]);
    let end = Instant::now() + Duration::from_secs(60);
    while !names(&place).iter().any(|name| name.starts_with(".weft-warc-")) {
        assert!(Instant::now() < end, "it has not begun to write");
        std::thread::sleep(Duration::from_millis(10));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("signalled");
    let status = child.wait().expect("ended");
    assert_eq!(status.code(), Some(1));
    assert_eq!(names(&place), ["big.warc"]);
}

/// Of two commands that write the same file one succeeds, the other reports the conflict, and
/// neither leaves anything else.
#[test]
fn two_at_once_make_one_file() {
    let place = Workspace::new();
    let big: Vec<u8> = std::iter::repeat_with(web).take(500).flatten().collect();
    place.write("big.warc", &big);
    let arguments = ["warc", "recompress", "big.warc", "-o", "out.warc.gz"];
    let children = [place.start(&arguments), place.start(&arguments)];
    let codes: Vec<_> = children
        .into_iter()
        .map(|child| child.wait_with_output().expect("ended").status.code())
        .collect();
    assert!(codes.contains(&Some(0)), "{codes:?}");
    assert!(codes.iter().any(|code| *code != Some(0)), "{codes:?}");
    assert_eq!(names(&place), ["big.warc", "out.warc.gz"]);
    assert_eq!(
        place.json(&["warc", "recompress", "out.warc.gz", "-o", "x.warc"])["records"],
        3000
    );
}

/// Every record of a real crawl survives, as seen by another program: it reads the output, confirms
/// the digests, and can rewrite it.
#[test]
fn warcio_reads_and_rewrites_what_was_written() {
    let (Some(data), Some(program)) = (test_env::shared_data(), warcio()) else {
        return;
    };
    let place = Workspace::new();
    let crawl = data.join("crawls/iana.warc.gz").display().to_string();
    let rows = |name: &str| {
        let output = Command::new(&program)
            .args(["index", "-f", "warc-type,warc-record-id,http:status"])
            .arg(place.path(name))
            .output()
            .expect("warcio runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let before = rows(&crawl);
    assert_eq!(before.lines().count(), 343);
    place.good(&["warc", "recompress", &crawl, "-o", "a.warc"]);
    place.good(&["warc", "recompress", "a.warc", "-o", "a.warc.gz"]);
    assert_eq!(rows("a.warc.gz"), before);
    warcio_agrees(&place, "a.warc.gz");
    let output = Command::new(&program)
        .arg("recompress")
        .args([place.path("a.warc.gz"), place.path("again.warc.gz")])
        .output()
        .expect("warcio runs");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(rows("again.warc.gz"), before);
    place.good(&["warc", "dedup", "a.warc.gz", "-o", "fewer"]);
    warcio_agrees(&place, "fewer/a.warc.gz");
    assert_eq!(rows("fewer/a.warc.gz").lines().count(), 343);
    place.good(&["warc", "split", "a.warc.gz", "-o", "parts", "--by", "type"]);
    for kind in ["response", "request", "revisit"] {
        warcio_agrees(&place, &format!("parts/a-{kind}.warc.gz"));
    }
}

#[test]
fn a_file_is_split_into_parts() {
    let place = Workspace::new();
    place.write("a.warc", &web());
    place.check(
        &["warc", "split", "a.warc", "-o", "parts", "--records", "2"],
        &expect![[r#"
            exit code 0
            parts/a-00001.warc: 3 records, 1.0 KiB
            parts/a-00002.warc: 3 records, 1.1 KiB
            parts/a-00003.warc: 2 records, 635 B
            6 records in 3 parts, and 2 copies of warcinfo records
        "#]],
    );
    place.good(&["warc", "check", "parts"]);
    place.good(&[
        "warc", "split", "a.warc", "-o", "hosts", "--by", "host", "--to", "gzip",
    ]);
    place.good(&["warc", "check", "hosts"]);
    let report = place.json(&["warc", "split", "a.warc", "-o", "sizes", "--size", "1k"]);
    assert_eq!(report["records"], 6, "{report}");
    for wrong in [
        &["-o", "x"][..],
        &["-o", "x", "--records", "0"],
        &["-o", "x", "--records", "2", "--by", "host"],
        &["-o", "parts", "--records", "2"],
    ] {
        let run = place.run(&[&["warc", "split", "a.warc"], wrong].concat());
        assert_eq!(run.code, Some(2), "{wrong:?} {run:?}");
    }
}

#[test]
fn a_file_without_records_cannot_be_mended() {
    let place = Workspace::new();
    place.write("empty.warc", b"");
    let run = place.run(&["warc", "repair", "empty.warc", "-o", "out.warc"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stdout.contains("no record could be recovered"), "{run:?}");
    assert!(!place.path("out.warc").exists(), "{run:?}");
}
