//! Commands next to a process that serves the volumes: they find it through the volumes and print
//! the same.

#![cfg(unix)]

use std::time::{Duration, Instant};

use super::{TwoVolumes, content};
use crate::serve::Served;

pub(super) const SERVE: [&str; 7] = [
    "serve",
    "--listen",
    "127.0.0.1:0",
    "--volume",
    "a",
    "--volume",
    "b",
];
/// Limit on the wait for a running process to recover.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

pub(super) const STORE_SERVE: [&str; 6] = ["store", "serve", "--volume", "a", "--volume", "b"];

/// Returns output that must not depend on which process has the volumes open.
fn outputs(kept: &TwoVolumes) -> Vec<String> {
    let commands: [&[&str]; 5] = [
        &["ls", "crawls", "-r"],
        &["ls"],
        &["stat", "crawls/2014/large.warc.gz"],
        &["get", "crawls/2014/small.txt", "-"],
        &["layout", "show", "--json"],
    ];
    commands.iter().map(|command| kept.good(command)).collect()
}

#[test]
fn with_and_without_an_owner_the_output_is_the_same() {
    let kept = TwoVolumes::filled();
    let alone = outputs(&kept);
    for serve in [&SERVE as &[&str], &STORE_SERVE] {
        let mut served = Served::start_with(&kept.place, serve);
        assert_eq!(outputs(&kept), alone, "{serve:?}");
        kept.good(&["census"]);
        kept.good(&["put", "small.txt", "crawls/through-the-owner"]);
        kept.good(&["rm", "crawls/through-the-owner"]);
        assert_eq!(served.stop(), Some(0), "{serve:?}");
    }
    assert_eq!(outputs(&kept), alone);
}

#[test]
fn volumes_have_one_owner_and_a_second_is_told_who() {
    let kept = TwoVolumes::filled();
    let served = Served::start_with(&kept.place, &STORE_SERVE);
    let second = kept.place.run(&STORE_SERVE);
    assert_eq!(second.code, Some(1));
    assert!(second.stderr.contains("in use"), "{}", second.stderr);
    let reindex = kept.run(&["reindex"]);
    assert_eq!(
        reindex.code,
        Some(1),
        "the index is not taken from under a running process"
    );
    drop(served);
}

/// Scenario: a volume's directory is emptied under the running process. Reads continue, repair
/// restores the volume, and the log records it.
#[test]
fn a_volume_wiped_under_a_running_process_comes_back() {
    let kept = TwoVolumes::filled();
    let mut served = Served::start_with(&kept.place, &STORE_SERVE);
    kept.wipe("b");
    assert_eq!(kept.good(&["get", "crawls/2014/small.txt", "-"]), "small");
    kept.good(&["get", "crawls/2014/large.warc.gz", "copy"]);
    assert_eq!(
        std::fs::read(kept.place.path("copy")).expect("a file"),
        content(700_000)
    );
    // The volume notices within seconds and starts over; until then a repair cannot write to it,
    // and says so.
    let begun = Instant::now();
    while kept.run(&["repair"]).code != Some(0) || kept.run(&["census"]).code != Some(0) {
        assert!(begun.elapsed() < PATIENCE, "{}", kept.run(&["repair"]).stdout);
    }
    kept.good(&["stat", "crawls/2014/large.warc.gz"]);
    let story = kept.good(&["fixity", "crawls/2014/large.warc.gz"]);
    assert!(story.contains("repaired"), "{story}");
    assert!(kept.good(&["fixity"]).contains("volume-wiped"));
    assert_eq!(served.stop(), Some(0));
}

#[test]
fn the_store_page_shows_it() {
    let kept = TwoVolumes::filled();
    let mut served = Served::start_with(&kept.place, &SERVE);
    let page = served.get("/store");
    for part in ["local/a", "local/b", "in service", "href=\"/store\""] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    let answer = served.get("/api/v1/store");
    assert!(
        answer.contains("\"answer\":\"store\"") && answer.contains("\"layout\":1"),
        "{answer}"
    );
    assert!(
        served
            .get("/metrics")
            .contains("weft_store_volume_replicas{volume=\"local/a\"")
    );
    assert_eq!(served.stop(), Some(0));
}

#[test]
fn the_first_start_of_the_s3_server_makes_a_key_and_shows_it_once() {
    let kept = TwoVolumes::new();
    let arguments = [&SERVE as &[&str], &["--s3", "127.0.0.1:0"]].concat();
    let mut served = Served::start_with(&kept.place, &arguments);
    let s3 = served.said["s3"].clone();
    assert!(
        s3["new_key"]["id"]
            .as_str()
            .is_some_and(|id| id.starts_with("WEFT")),
        "{s3}"
    );
    let address = s3["address"].as_str().expect("an address").to_owned();
    std::net::TcpStream::connect(&address).expect("the S3 server listens");
    assert_eq!(served.stop(), Some(0));
    let keys = std::fs::read_to_string(kept.place.path("weft-archive/s3-keys.toml")).expect("a keys file");
    assert!(
        keys.contains(s3["new_key"]["id"].as_str().unwrap_or("?")),
        "{keys}"
    );
    let mut again = Served::start_with(&kept.place, &arguments);
    assert!(again.said["s3"]["new_key"].is_null());
    assert_eq!(again.stop(), Some(0));
    assert!(
        std::net::TcpStream::connect(&address).is_err(),
        "the S3 server is closed"
    );
}

/// The announcement for users: the key, and lines to paste.
#[test]
fn the_first_key_is_introduced() {
    use std::io::{BufRead, BufReader};
    let kept = TwoVolumes::new();
    let mut child = kept.place.start(&[
        "store",
        "serve",
        "--volume",
        "a",
        "--volume",
        "b",
        "--s3",
        "127.0.0.1:0",
        "--s3-keys",
        "keys.toml",
    ]);
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe"))
        .lines()
        .map_while(Result::ok);
    assert!(lines.any(|line| line.starts_with("  export AWS_ACCESS_KEY_ID=WEFT")));
    assert!(lines.any(|line| line.starts_with("  export AWS_SECRET_ACCESS_KEY=")));
    assert!(lines.any(|line| line.contains("boto3")));
    child.kill().expect("it ends");
    child.wait().expect("it has ended");
}
