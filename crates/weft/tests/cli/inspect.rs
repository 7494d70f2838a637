//! `weft inspect`: lists every record and accounts for every byte.

use std::path::Path;

use expect_test::expect;
use serde_json::Value;

use crate::fixture;
use crate::support::{Workspace, json_lines};

fn small() -> Vec<u8> {
    fixture::warc(&[
        (
            "http://example.com/",
            "2014-01-26T20:06:24Z",
            "<title>One</title><a href='/two'>two</a>",
        ),
        (
            "http://example.com/two",
            "2014-01-26T20:06:25Z",
            "<title>Two</title>",
        ),
    ])
}

#[test]
fn a_good_file() {
    let place = Workspace::new();
    place.write("small.warc", &small());
    place.check(&["inspect", "small.warc"], &expect![[r#"
        exit code 0
        small.warc
              offset     length  type         target                                                    outcome
                   0        185  warcinfo     -                                                         counted
                 185        314  response     http://example.com/                                       page 200 text/html
                 499        295  response     http://example.com/two                                    page 200 text/html
          records              3             794 bytes   response 2, warcinfo 1
          padding              0               0 bytes
          quarantined          0               0 bytes
          together                           794 bytes   = file size (794 B)
          captures             2   2 pages
    "#]]);
}

#[test]
fn a_cut_file_is_code_1() {
    let place = Workspace::new();
    let bytes = small();
    place.write("cut.warc", &bytes[..bytes.len() - 12]);
    place.check(&["inspect", "cut.warc"], &expect![[r#"
        exit code 1
        cut.warc
              offset     length  type         target                                                    outcome
                   0        185  warcinfo     -                                                         counted
                 185        314  response     http://example.com/                                       page 200 text/html
                 499        283  response     http://example.com/two                                    page 200 text/html
                                 ! truncated-record: declared 77 bytes, 69 before the end of the file
          records              3             782 bytes   response 2, warcinfo 1
          padding              0               0 bytes
          quarantined          0               0 bytes
          together                           782 bytes   = file size (782 B)
          captures             2   2 pages
          defects              1   truncated-record 1
    "#]]);
}

#[test]
fn junk_between_records() {
    let place = Workspace::new();
    let mut bytes = small();
    bytes.extend(b"\0\0 this is no record \0\0\r\n");
    bytes.extend(small());
    place.write("junk.warc", &bytes);
    place.check(
        &["inspect", "--summary", "junk.warc"],
        &expect![[r#"
            exit code 1
            junk.warc
              records              6           1,588 bytes   response 4, warcinfo 2
              padding              1               2 bytes
              quarantined          1              23 bytes
              together                         1,613 bytes   = file size (1.6 KiB)
              captures             4   4 pages
              digests                  not verified (--verify)
              defects              1   junk 1
        "#]],
    );
}

#[test]
fn urls_that_a_load_must_refuse_are_told() {
    let place = Workspace::new();
    let url = format!("http://example.com/{}", "x".repeat(60_000));
    place.write_old(
        "long.warc",
        &fixture::warc(&[(&url, "2014-01-26T20:06:24Z", "<title>Long</title>")]),
    );
    let run = place.run(&["inspect", "--json", "long.warc"]);
    assert_eq!(run.code, Some(1));
    let lines = json_lines(&run.stdout);
    assert_eq!(
        (&lines[1]["outcome"], &lines[1]["reason"]),
        (&"lost".into(), &"url-key-length".into())
    );
    assert_eq!(
        (&lines[2]["captures"], &lines[2]["unusable"]),
        (&0.into(), &1.into())
    );
    // A load reports the same.
    let loaded = place.run(&["load", "long.warc"]);
    assert_eq!(loaded.code, Some(1));
    assert!(
        loaded
            .stdout
            .contains("url-key-length: URL key of 60013 bytes, must be 1 to 60000"),
        "{}",
        loaded.stdout
    );
}

#[test]
fn a_summary_verifies_digests_only_on_request() {
    let place = Workspace::new();
    let bytes = String::from_utf8(small()).expect("text");
    let wrong = "WARC-Block-Digest: sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\n";
    let bytes = bytes.replace(
        "Content-Type: application/http",
        &format!("{wrong}Content-Type: application/http"),
    );
    place.write("wrong.warc", bytes.as_bytes());
    for (flags, verified) in [
        (&[][..], true),
        (&["--no-verify"][..], false),
        (&["--summary"][..], false),
        (&["--summary", "--verify"][..], true),
        (&["--summary", "--verify", "--no-verify"][..], false),
        (&["--no-verify", "--verify"][..], true),
    ] {
        let run = place.run(&[&["inspect", "--json", "wrong.warc"][..], flags].concat());
        let sums = json_lines(&run.stdout).pop().expect("the sums");
        assert_eq!(sums["digests_verified"], verified, "{flags:?}");
        let defects = sums["defects"]["block-digest-mismatch"].as_u64();
        assert_eq!(defects, verified.then_some(2), "{flags:?}: {sums}");
        assert_eq!(run.code, Some(i32::from(verified)), "{flags:?}");
    }
}

#[test]
fn not_an_archive_file() {
    let place = Workspace::new();
    place.write("notes.txt", b"Just some notes.\n");
    place.check(&["inspect", "notes.txt"], &expect![[r#"
        exit code 1
        notes.txt
              offset     length  type         target                                                    outcome
                   0         17  quarantine   -                                                         lost: junk
                                 ! junk: neither a record nor a compressed member, 17 bytes
          records              0               0 bytes
          padding              0               0 bytes
          quarantined          1              17 bytes
          together                            17 bytes   = file size (17 B)
          captures             0   0 pages
          defects              1   junk 1
    "#]]);
}

#[test]
fn a_missing_file_does_not_stop_the_others() {
    let place = Workspace::new();
    place.write("small.warc", &small());
    place.check(
        &["inspect", "--summary", "missing.warc", "small.warc"],
        &expect![[r#"
            exit code 1
            small.warc
              records              3             794 bytes   response 2, warcinfo 1
              padding              0               0 bytes
              quarantined          0               0 bytes
              together                           794 bytes   = file size (794 B)
              captures             2   2 pages
              digests                  not verified (--verify)
            2> error: read missing.warc: No such file or directory (os error 2)
        "#]],
    );
}

#[test]
fn an_empty_folder() {
    let place = Workspace::new();
    std::fs::create_dir(place.path("empty")).expect("create a folder");
    place.check(
        &["inspect", "empty"],
        &expect![[r#"
        exit code 1
        2> error: empty contains no files
    "#]],
    );
}

#[test]
fn hostile_urls_stay_on_their_line() {
    let place = Workspace::new();
    let page = ("http://example.com/\x1b[2J\x07", "2014-01-26T20:06:24Z", "");
    place.write("hostile.warc", &fixture::warc(&[page]));
    let run = place.run(&["inspect", "hostile.warc"]);
    assert!(!run.stdout.contains(['\x1b', '\x07']), "{:?}", run.stdout);
}

/// Checks that the totals of `weft inspect --json` add up to the file.
fn check_sums(place: &Workspace, path: &Path) {
    let name = path.display().to_string();
    let run = place.run(&["inspect", "--json", &name]);
    let mut lines = json_lines(&run.stdout);
    let sums = lines
        .pop()
        .unwrap_or_else(|| panic!("{name}: nothing\n{}", run.stderr));
    assert_eq!(
        (&sums["type"], &sums["unaccounted_bytes"]),
        (&Value::from("sums"), &Value::from(0)),
        "{name}"
    );
    let mut next = 0;
    for line in &lines {
        assert_eq!(
            line["offset"].as_u64(),
            Some(next),
            "{name}: a gap or an overlap at {line}"
        );
        next += line["length"]
            .as_u64()
            .unwrap_or_else(|| panic!("{name}: {line}"));
    }
    let size = std::fs::metadata(path).expect("a file").len();
    assert_eq!((next, sums["size"].as_u64()), (size, Some(size)), "{name}");
    let defects = sums["defects"]
        .as_object()
        .is_some_and(|defects| !defects.is_empty());
    assert_eq!(run.code, Some(i32::from(defects)), "{name}: {sums}");
}

#[test]
fn every_byte_of_every_real_file_is_accounted_for() {
    let Some(data) = test_env::shared_data() else {
        return;
    };
    let place = Workspace::new();
    for folder in ["edge", "crawls", "commoncrawl", "ir"] {
        for entry in std::fs::read_dir(data.join(folder)).expect("a folder") {
            check_sums(&place, &entry.expect("an entry").path());
        }
    }
}
