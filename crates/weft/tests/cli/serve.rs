//! `weft serve`: browsers over HTTP, other commands over the socket, and an orderly end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command};

use serde_json::Value;

use crate::fixture;
use crate::support::Place;

/// A running `weft serve` on a free port.
pub(crate) struct Served {
    child: Child,
    pub(crate) address: String,
    /// What it said first.
    pub(crate) said: Value,
}

impl Served {
    pub(crate) fn start(place: &Place) -> Served {
        Served::start_with(place, &["serve", "--listen", "127.0.0.1:0"])
    }

    /// Starts a command that says in JSON where it listens.
    pub(crate) fn start_with(place: &Place, arguments: &[&str]) -> Served {
        let arguments: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
        let mut child = place.start(&arguments);
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

    /// Sends it a signal.
    pub(crate) fn signal(&self, name: &str) {
        let told = Command::new("kill")
            .args([&format!("-{name}"), &self.pid()])
            .status()
            .expect("kill runs");
        assert!(told.success());
    }

    /// Ends it as a service manager does; gives its exit code.
    pub(crate) fn stop(&mut self) -> Option<i32> {
        self.signal("TERM");
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Ended already unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(unix)]
#[test]
fn an_archive_is_served_while_commands_ask_it() {
    let place = Place::new();
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
    let outputs = |place: &Place| {
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
    let place = Place::new();
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

#[cfg(unix)]
#[test]
fn a_port_that_is_taken_is_told() {
    let place = Place::new();
    let served = Served::start(&place);
    let run = place.run(&["serve", "--listen", &served.address, "--archive", "another"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains(&served.address), "{}", run.stderr);
}
