//! Unreadable inputs, and records whose payload is missing or damaged: each gives a clear message.

use std::io::Write as _;

use expect_test::expect;

use crate::fixture::{self, record};
use crate::support::Workspace;

const XZ: &[u8] = b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4F\x02\0!\x01";
const BZIP2: &[u8] = b"BZh91AY&SY\x12\x34\x56\x78\0\0";

#[test]
fn xz_and_bzip2_say_that_they_are_not_read() {
    let place = Workspace::new();
    place.write("crawls/a.warc.xz", XZ);
    place.write("crawls/b.warc.bz2", BZIP2);
    place.write("crawls/web.warc", &fixture::small_web());
    let load = place.run(&["load", "crawls"]);
    assert_eq!(load.code, Some(1));
    let told: Vec<_> = load
        .stdout
        .lines()
        .filter(|line| line.contains("failed("))
        .collect();
    assert_eq!(told.len(), 2, "{}", load.stdout);
    for (line, words) in told.iter().zip(["compressed with xz", "compressed with bzip2"]) {
        assert!(
            line.contains(words) && line.contains("decompress it first"),
            "{line}"
        );
    }
    for command in [&["inspect"][..], &["warc", "check"], &["inspect", "--summary"]] {
        for (file, program) in [("crawls/a.warc.xz", "xz -d"), ("crawls/b.warc.bz2", "bzip2 -d")] {
            let arguments: Vec<&str> = command.iter().copied().chain([file]).collect();
            let run = place.run(&arguments);
            assert_ne!(run.code, Some(0), "{arguments:?}");
            let words = format!("which is not read: decompress it first ({program})");
            assert!(run.text().contains(&words), "{arguments:?}: {}", run.text());
        }
    }
}

fn response(url: &str, date: &str, digest: &str, body: &str) -> Vec<u8> {
    let block = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{body}");
    let headers = [
        ("WARC-Target-URI", url),
        ("WARC-Date", date),
        ("WARC-Payload-Digest", digest),
        ("Content-Type", "application/http; msgtype=response"),
    ];
    record("response", &headers, block.as_bytes())
}

fn revisit(url: &str, date: &str, digest: &str) -> Vec<u8> {
    let headers = [
        ("WARC-Target-URI", url),
        ("WARC-Date", date),
        ("WARC-Payload-Digest", digest),
        (
            "WARC-Profile",
            "http://netpreserve.org/warc/1.0/revisit/identical-payload-digest",
        ),
        ("Content-Type", "application/http; msgtype=response"),
    ];
    record(
        "revisit",
        &headers,
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n",
    )
}

#[test]
fn the_payload_of_a_revisit_is_that_of_its_original_or_is_said_to_be_missing() {
    let place = Workspace::new();
    let (known, lost) = (
        "sha1:GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
        "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    );
    let records = [
        response("http://a.example/", "2020-01-01T00:00:00Z", known, "the words"),
        revisit("http://a.example/", "2021-01-01T00:00:00Z", known),
        revisit("http://b.example/", "2021-01-01T00:00:00Z", lost),
    ];
    place.write("x.warc", &records.concat());
    place.good(&["load", "x.warc"]);
    let payload = ["record", "http://a.example/", "--at", "2021", "--payload"];
    assert_eq!(place.good(&payload), "the words");
    place.check(
        &["record", "http://b.example/", "--payload"],
        &expect![[r#"
            exit code 1
            2> error: the capture of http://b.example/ at 2021-01-01T00:00:00.000Z is a revisit with the payload AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA, and the archive has no capture with this payload
        "#]],
    );
}

#[test]
fn a_payload_from_a_damaged_member_is_told() {
    let place = Workspace::new();
    let words: String = (0..5000)
        .map(|number| format!("word{} ", number * 7919 % 10_007))
        .collect();
    let page = response(
        "http://a.example/",
        "2020-01-01T00:00:00Z",
        "sha1:GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
        &words,
    );
    let mut member = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    member.write_all(&page).expect("in memory");
    let member = member.finish().expect("in memory");
    let (mut damaged, mut other_sum) = (member.clone(), member.clone());
    let (middle, sum) = (member.len() / 2, member.len() - 8);
    damaged[middle..middle + 40].fill(0);
    other_sum[sum] ^= 1;
    for (name, bytes) in [("damaged.warc.gz", damaged), ("sum.warc.gz", other_sum)] {
        let archive = format!("{name}.archive");
        place.write_old(name, &bytes);
        place.run(&["load", name, "--archive", &archive]);
        let run = place.run(&["record", "http://a.example/", "--payload", "--archive", &archive]);
        assert_eq!(run.code, Some(1), "{name}: {}", run.stderr);
        assert!(
            run.stderr.contains("the record at offset 0 is damaged"),
            "{name}: {}",
            run.stderr
        );
        assert!(words.starts_with(&run.stdout[..100]), "{name}: {}", run.stdout);
    }
    place.write_old("whole.warc.gz", &member);
    place.good(&["load", "whole.warc.gz", "--archive", "whole"]);
    assert_eq!(
        place.good(&["record", "http://a.example/", "--payload", "--archive", "whole"]),
        words
    );
}
