//! Scenario: a crawler posts captures, and the server is killed. After a restart, acknowledged
//! posts are present, others are complete or absent, and nothing is in the index twice.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Child;
use std::sync::mpsc::channel;
use std::time::Duration;

use crate::program::{run, weft};

/// A server that accepts posts.
struct Served {
    child: Child,
    address: String,
}

impl Served {
    /// Starts the server, to be killed at `crash_point`.
    fn start(root: &Path, archive: &Path, crash_point: Option<&str>) -> Served {
        let arguments = [
            "serve",
            "--create",
            "--posts",
            "--no-replay",
            "--no-sql",
            "--listen",
            "127.0.0.1:0",
            "--json",
        ];
        let mut command = weft(root, archive, &arguments);
        if let Some(point) = crash_point {
            command.env("WEFT_CRASH_POINT", point);
        }
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let said: serde_json::Value =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line:?}"));
        Served {
            address: said["address"].as_str().unwrap().to_owned(),
            child,
        }
    }

    /// Returns whether a post was acknowledged.
    fn post(&self, path: &str, body: &str) -> bool {
        exchange(&self.address, path, body).is_some_and(|answer| answer.starts_with("HTTP/1.1 200"))
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for a server that ends by itself.
    fn ended(mut self) {
        let status = self.child.wait().unwrap();
        assert_eq!(status.code(), None, "it was to be aborted");
    }
}

/// Returns the answer to a post, if there is one.
fn exchange(address: &str, path: &str, body: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + body).as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

fn lines(numbers: std::ops::Range<u64>, status: u16) -> String {
    numbers
        .map(|n| {
            format!("k 20140126200624 http://example.com/{n} text/html {status} D{n} - - 50 {n} x.warc.gz\n")
        })
        .collect()
}

/// Returns the number of lines per status.
fn listed(root: &Path, archive: &Path) -> (usize, usize) {
    let lines = run(weft(root, archive, &["cdx", "example.com/*"]), &[0, 1]);
    let of = |status: &str| {
        let status = format!("\"status\": \"{status}\"");
        lines.lines().filter(|line| line.contains(&status)).count()
    };
    (of("200"), of("404"))
}

/// Covers each crash point with a post, a post that replaces earlier lines, and a deletion.
#[test]
fn posts_are_there_whole_or_not_at_all_wherever_the_server_is_aborted() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    type Done = fn(&Served) -> bool;
    /// The operation, the captures of either status after it, and crash points with whether its
    /// result is durable then.
    type Case = (Done, (usize, usize), &'static [(&'static str, bool)]);
    let add: Done = |served| served.post("/outbackcdx/a", &lines(100..2100, 200));
    let replace: Done = |served| served.post("/outbackcdx/a", &lines(5..15, 404));
    let delete: Done = |served| served.post("/outbackcdx/a/delete", &lines(0..4, 200));
    let before = (10, 0);
    let cases: [Case; 3] = [
        (
            add,
            (2010, 0),
            &[
                ("post.before_rename", false),
                ("post.before_index", true),
                ("apply.before_commit", true),
            ],
        ),
        (
            replace,
            (5, 10),
            &[
                ("post.before_rename", false),
                ("post.after_pending", true),
                ("post.before_index", true),
                ("post.after_blank", true),
                ("take_back.before_commit", true),
                ("post.before_done", true),
            ],
        ),
        (
            delete,
            (6, 0),
            &[
                ("post.after_pending", true),
                ("post.after_blank", true),
                ("post.before_done", true),
            ],
        ),
    ];
    let mut passed = std::collections::BTreeSet::new();
    for (number, (done, after, points)) in cases.into_iter().enumerate() {
        for (point, is_there) in points {
            let archive = root.join(format!("{number}-{point}"));
            let served = Served::start(root, &archive, None);
            assert!(served.post("/outbackcdx/a", &lines(0..10, 200)));
            served.kill();
            let served = Served::start(root, &archive, Some(point));
            assert!(!done(&served), "{point}: answered");
            served.ended();
            let served = Served::start(root, &archive, None);
            let expected = if *is_there { after } else { before };
            assert_eq!(listed(root, &archive), expected, "case {number}, {point}");
            // Repeating the operation gives the same result as without a crash.
            assert!(done(&served), "{point}");
            assert_eq!(listed(root, &archive), after, "case {number}, {point}, again");
            served.kill();
            if passed.insert(*point) {
                run(weft(root, &archive, &["verify"]), &[0]);
            }
        }
    }
    assert!(
        archive::POSTING_CRASH_POINTS
            .iter()
            .all(|point| passed.contains(point))
    );
}

#[test]
fn what_was_answered_is_there_after_the_server_is_killed_in_mid_post() {
    let given = std::env::var("WEFT_TEST_SEED").ok();
    let seed = given.map_or(u64::from(std::process::id()), |seed| seed.parse().unwrap());
    println!("WEFT_TEST_SEED={seed}");
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let archive = root.join("a");
    let mut answered = 0;
    for round in 0..3 {
        let served = Served::start(root, &archive, None);
        let found = listed(root, &archive).0 as u64;
        // The last post may have been durable before it was acknowledged.
        assert!(
            found == answered || found == answered + 1,
            "{found} are there, {answered} were answered"
        );
        answered = found;
        let (address, (told, count)) = (served.address.clone(), channel());
        let crawler = std::thread::spawn(move || {
            for n in answered.. {
                let answer = exchange(&address, "/outbackcdx/a", &lines(n..n + 1, 200));
                if !answer.is_some_and(|answer| answer.starts_with("HTTP/1.1 200")) {
                    return;
                }
                told.send(n + 1).unwrap();
            }
        });
        std::thread::sleep(Duration::from_millis(100 + seed.wrapping_mul(round + 7) % 400));
        served.kill();
        crawler.join().unwrap();
        answered = count.try_iter().last().unwrap_or(answered);
    }
    let served = Served::start(root, &archive, None);
    let found = listed(root, &archive).0 as u64;
    println!("{answered} answered, {found} found");
    assert!(answered > 0 && (found == answered || found == answered + 1));
    served.kill();
    run(weft(root, &archive, &["verify"]), &[0]);
}
