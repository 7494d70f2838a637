//! `weft serve`: browsers over HTTP, other commands over the socket, and a clean shutdown.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command};

use serde_json::Value;

use crate::fixture;
use crate::support::{Run, Workspace, start};

/// A running `weft serve` on a free port.
pub(crate) struct Served {
    child: Child,
    pub(crate) address: String,
    /// Its announcement.
    pub(crate) said: Value,
}

impl Served {
    pub(crate) fn start(place: &Workspace) -> Served {
        Served::start_with(place, &["serve", "--create", "--listen", "127.0.0.1:0"])
    }

    /// Starts a command that announces its address in JSON.
    pub(crate) fn start_with(place: &Workspace, arguments: &[&str]) -> Served {
        Served::start_command(place.command(arguments))
    }

    /// Starts a prepared command that announces its address in JSON.
    pub(crate) fn start_command(mut command: Command) -> Served {
        let mut child = start(command.arg("--json"));
        let mut line = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("one line");
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line:?}"));
        Served {
            address: said["address"].as_str().expect("an address").to_owned(),
            child,
            said,
        }
    }

    pub(crate) fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("connect");
        write!(stream, "GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n", self.address).expect("send");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("read");
        answer
    }

    pub(crate) fn pid(&self) -> String {
        self.child.id().to_string()
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, name: &str) {
        let told = Command::new("kill")
            .args([&format!("-{name}"), &self.pid()])
            .status()
            .expect("kill runs");
        assert!(told.success());
    }

    /// Returns the standard error of the ended process.
    pub(crate) fn stderr(&mut self) -> String {
        let mut said = String::new();
        let stderr = self.child.stderr.take().expect("a pipe");
        BufReader::new(stderr).read_to_string(&mut said).expect("text");
        said
    }

    /// Stops it as a service manager does, and returns the exit code.
    pub(crate) fn stop(&mut self) -> Option<i32> {
        self.signal("TERM");
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It has already ended unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(unix)]
#[test]
fn an_archive_is_served_while_commands_ask_it() {
    let place = Workspace::new();
    place.write("web.warc", &fixture::small_web());
    let mut served = Served::start(&place);
    place.good(&["load", "web.warc"]);
    let home = served.get("/");
    assert!(
        home.split("\r\n")
            .next()
            .is_some_and(|line| line.ends_with("200 OK"))
            && home.contains("</html>"),
        "{home}"
    );
    let over_socket = place.json(&["top"]);
    let over_http = served.get("/api/v1/top");
    let body = over_http.split("\r\n\r\n").nth(1).expect("a body");
    assert_eq!(
        serde_json::from_str::<Value>(body).expect("JSON")["rows"],
        over_socket["rows"]
    );
    let outputs = |place: &Workspace| {
        let commands: [&[&str]; 4] = [
            &["dump", "links"],
            &["inlinks", "museum.example"],
            &["cdx", "*.library.example"],
            &["top"],
        ];
        commands.map(|command| place.good(command))
    };
    let through_owner = outputs(&place);
    assert_eq!(served.stop(), Some(0));
    assert_eq!(outputs(&place), through_owner, "with and without an owner");
}

#[cfg(unix)]
#[test]
fn a_second_owner_is_told_who_the_first_is() {
    let place = Workspace::new();
    let served = Served::start(&place);
    let run = place.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.contains(&served.pid()),
        "{} is not in {}",
        served.pid(),
        run.stderr
    );
}

#[test]
fn an_archive_that_is_not_there_is_not_made_by_a_mistyped_name() {
    let place = Workspace::new();
    for arguments in [
        &["serve", "--listen", "127.0.0.1:0", "--archive", "typo"] as &[&str],
        &[
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--archive",
            "typo",
            "--read-only",
        ],
        &[
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--archive",
            "typo",
            "--volume",
            "v",
        ],
    ] {
        let run = place.run(arguments);
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(
            run.stderr
                .contains("typo is not an archive; load something first"),
            "{}",
            run.stderr
        );
        assert!(
            run.stderr.contains("weft serve --create creates an empty one"),
            "{}",
            run.stderr
        );
        assert!(!place.path("typo").exists());
    }
}

/// Returns every file below a folder with its content.
#[cfg(unix)]
fn content(folder: &std::path::Path) -> std::collections::BTreeMap<std::path::PathBuf, Vec<u8>> {
    let mut files = std::collections::BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.insert(path.clone(), Vec::new());
            files.extend(content(&path));
        } else {
            files.insert(path.clone(), std::fs::read(&path).expect("a file"));
        }
    }
    files
}

#[cfg(unix)]
#[test]
fn a_read_only_archive_is_served_and_asked_without_a_change_to_it() {
    let place = Workspace::new();
    place.write_old("web.warc", &fixture::small_web());
    place.good(&["load", "web.warc"]);
    let asked = [
        &["dump", "links"] as &[&str],
        &["dump", "inlinks"],
        &["cdx", "*.museum.example"],
        &["top"],
    ];
    let expected = asked.map(|arguments| place.good(arguments));
    let archive = place.path("weft-archive");
    let before = content(&archive);
    let mut served = Served::start_with(&place, &["serve", "--read-only", "--listen", "127.0.0.1:0"]);
    assert!(served.get("/search?q=maps").contains("museum.example"));
    // Several processes may read at once, and one that needs ownership gets an error.
    let read_only = |arguments: &[&str]| place.good(&[arguments, &["--read-only"]].concat());
    assert_eq!(asked.map(read_only), expected);
    let refused = place.run(&["load", "web.warc", "--read-only"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    // The same without the flag; commands that write report the process that holds the archive.
    assert_eq!(asked.map(|arguments| place.good(arguments)), expected);
    // At the same time, because each of them waits two seconds for the readers to end.
    let refused = [&["load", "web.warc"], &["forget", "--failed"]].map(|arguments| place.start(arguments));
    for refused in refused {
        let refused = Run::of(refused.wait_with_output().expect("it ends"));
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(
            refused.stderr.contains("is held open read-only by process"),
            "{refused:?}"
        );
    }
    let status: Value = serde_json::from_str(&read_only(&["status", "--json"])).expect("JSON");
    assert_eq!(status["read_only"], true);
    assert_eq!(served.stop(), Some(0));
    assert!(content(&archive) == before, "nothing in the archive has changed");
    assert_eq!(place.run(&["verify", "--read-only"]).code, Some(0));
    // A directory that cannot be written is detected.
    let Some(mount) = ReadOnly::mount(&archive) else {
        return;
    };
    assert_eq!(asked.map(|arguments| place.good(arguments)), expected);
    let mut served = Served::start_with(&place, &["serve", "--listen", "127.0.0.1:0"]);
    assert!(served.get("/api/v1/status").contains("\"read_only\":true"));
    let loaded = place.run(&["load", "web.warc"]);
    assert!(
        loaded.code == Some(1) && loaded.stderr.contains("is open read-only"),
        "{loaded:?}"
    );
    assert_eq!(served.stop(), Some(0));
    drop(mount);
    assert!(content(&archive) == before, "nothing in the archive has changed");
}

/// A folder bind-mounted read-only onto itself until dropped.
#[cfg(unix)]
struct ReadOnly(std::path::PathBuf);

#[cfg(unix)]
impl ReadOnly {
    /// Returns `None` and prints a line if mounting is not permitted.
    fn mount(folder: &std::path::Path) -> Option<ReadOnly> {
        let mount = |arguments: &[&str]| {
            let mounted = Command::new("mount").args(arguments).arg(folder).output();
            mounted.is_ok_and(|output| output.status.success())
        };
        let from = folder.display().to_string();
        let guard = mount(&["--bind", &from]).then(|| ReadOnly(folder.to_owned()));
        if guard.is_some() && mount(&["-o", "remount,bind,ro"]) {
            return guard;
        }
        eprintln!("skipped in part: no read-only mount can be made here");
        None
    }
}

#[cfg(unix)]
impl Drop for ReadOnly {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[cfg(unix)]
#[test]
fn a_port_that_is_taken_is_told() {
    let place = Workspace::new();
    let served = Served::start(&place);
    let run = place.run(&[
        "serve",
        "--create",
        "--listen",
        &served.address,
        "--archive",
        "another",
    ]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains(&served.address), "{}", run.stderr);
}

/// Returns the status and the body of an answer.
fn parts(answer: &str) -> (&str, &str) {
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    (head.split(' ').nth(1).expect("a status"), body)
}

/// A page opens the catalogue of files briefly, a scan for its whole duration: neither must make
/// the other fail.
#[test]
fn files_are_scanned_while_their_pages_are_read() {
    let place = Workspace::new();
    for n in 0..3_000 {
        place.write(&format!("data/{}/{n}.warc.gz", n % 40), &[b'x'; 100]);
    }
    let served = Served::start(&place);
    let answer = served.get("/files");
    assert_eq!(parts(&answer).0, "404");
    assert!(answer.contains("weft files scan DIR"), "{answer}");
    for round in 0..3 {
        place.write(&format!("data/{round}.new"), b"new");
        let scans = place.start(&["files", "scan", "data", "--anew", "--json"]);
        let mut statuses = Vec::new();
        let scanned = std::thread::spawn(|| scans.wait_with_output().expect("it ends"));
        while !scanned.is_finished() {
            statuses.push(parts(&served.get("/files")).0.to_owned());
        }
        let output = scanned.join().expect("no panic");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(
            statuses
                .iter()
                .all(|status| ["200", "404", "503"].contains(&&**status)),
            "{statuses:?}"
        );
        // Answers are cached for a second. The entries include the tree itself and its directories.
        let entries = 3_000 + 40 + 1 + round + 1;
        let begun = std::time::Instant::now();
        let answer = loop {
            let answer = served.get("/api/v1/files");
            let (status, body) = parts(&answer);
            assert_eq!(status, "200", "{answer}");
            let answer: Value = serde_json::from_str(body).expect("JSON");
            if answer["total"]["entries"] == entries || begun.elapsed().as_secs() >= 5 {
                break answer;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        };
        assert_eq!(answer["total"]["entries"], entries);
        assert_eq!(answer["total"]["files"], 3_000 + round + 1);
        let told = place.json(&["files", "status"]);
        assert_eq!(answer["trees"][0]["usage"], told["trees"][0]["usage"]);
    }
    assert!(parts(&served.get("/about")).1.contains("href=\"/files\""));
}
