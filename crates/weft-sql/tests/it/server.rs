//! A running server, and requests to it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A process that has announced its address. Killed when dropped.
pub(crate) struct Server {
    pub(crate) child: Child,
    /// Its first line, parsed as JSON.
    pub(crate) said: serde_json::Value,
}

impl Server {
    /// Starts a command whose first line announces its address in JSON.
    pub(crate) fn start(mut command: Command) -> Server {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        let said = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        Server { child, said }
    }

    /// Returns `HOST:PORT` of the address in this field.
    pub(crate) fn address(&self, field: &str) -> String {
        let url = self.said[field].as_str().unwrap();
        let (_, rest) = url.split_once("://").unwrap();
        rest.split('/').next().unwrap().to_owned()
    }

    pub(crate) fn get(&self, target: &str) -> Answer {
        let address = self.address("url");
        request(
            &address,
            &format!("GET {target} HTTP/1.0\r\nHost: {address}\r\n\r\n"),
        )
    }

    pub(crate) fn post(&self, target: &str, media: &str, body: &str) -> Answer {
        let address = self.address("url");
        let length = body.len();
        let head = format!(
            "POST {target} HTTP/1.0\r\nHost: {address}\r\nContent-Type: {media}\r\nContent-Length: {length}\r\n\r\n"
        );
        request(&address, &(head + body))
    }

    /// Asks the process to exit, and returns its exit status.
    pub(crate) fn end(mut self) -> std::process::ExitStatus {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").arg(pid).status().unwrap().success());
        self.child.wait().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may already have exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An HTTP response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

pub(crate) fn request(address: &str, request: &str) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    answer(stream)
}

/// Sends a request over a Unix socket.
pub(crate) fn request_at(socket: &std::path::Path, request: &str) -> Answer {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    answer(stream)
}

fn answer(mut stream: impl std::io::Read) -> Answer {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    Answer {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        head,
        body: bytes[end + 4..].to_vec(),
    }
}

/// Percent-encodes a query value.
pub(crate) fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
