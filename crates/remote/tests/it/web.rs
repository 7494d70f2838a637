//! A small web server with ranges, and with failures on demand.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A failure of a response.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Trouble {
    /// This status instead of the content.
    Status(u16),
    /// The connection breaks after this many bytes of the body.
    Cut(usize),
    /// The file is another version from here on.
    Changed,
}

/// How the server handles all requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behaviour {
    Ranges,
    /// No support for ranges.
    NoRanges,
    /// No support for ranges, and no length in responses.
    NoLength,
    /// Ranges, but no entity tag.
    NoTag,
}

/// The served file, and the requests for it.
#[derive(Default)]
struct State {
    content: Vec<u8>,
    version: u32,
    troubles: VecDeque<Trouble>,
    /// `Range` headers as received; empty if a request had none.
    log: Vec<String>,
    /// Paths with their queries, and `Authorization` headers.
    asked: Vec<(String, Option<String>)>,
}

/// Serves `/file` at any path; `/moved` redirects to it.
pub(crate) struct Web {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Web {
    pub(crate) fn start(content: &[u8], manner: Behaviour) -> Web {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State {
            content: content.to_vec(),
            ..State::default()
        }));
        let shared = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = shared.clone();
                std::thread::spawn(move || serve(&stream, &state, manner));
            }
        });
        Web { address, state }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn order(&self, troubles: impl IntoIterator<Item = Trouble>) {
        self.state.lock().unwrap().troubles.extend(troubles);
    }

    /// Returns paths and `Authorization` headers since the last call.
    pub(crate) fn asked(&self) -> Vec<(String, Option<String>)> {
        std::mem::take(&mut self.state.lock().unwrap().asked)
    }

    /// Returns the ranges requested since the last call.
    pub(crate) fn log(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().unwrap().log)
    }
}

/// Serves the requests of one connection in sequence.
fn serve(stream: &TcpStream, state: &Mutex<State>, manner: Behaviour) {
    let mut input = BufReader::new(stream);
    loop {
        let mut first = String::new();
        if input.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            if input.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let Some((name, value)) = line.trim_end().split_once(':') else {
                break;
            };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
        if !answer(stream, &path, &headers, state, manner) {
            return;
        }
    }
}

/// Answers one request. Returns whether the connection stays open.
fn answer(
    mut stream: &TcpStream,
    path: &str,
    headers: &BTreeMap<String, String>,
    state: &Mutex<State>,
    manner: Behaviour,
) -> bool {
    let mut state = state.lock().unwrap();
    state.log.push(headers.get("range").cloned().unwrap_or_default());
    let authorization = headers.get("authorization").cloned();
    state.asked.push((path.to_owned(), authorization));
    let head = match path.split('?').next().unwrap_or_default() {
        "/moved" => "HTTP/1.1 302 Found\r\nLocation: /file?from=moved\r\nContent-Length: 0\r\n\r\n",
        "/absent" => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        "/secret" => "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
        _ => "",
    };
    if !head.is_empty() {
        return stream.write_all(head.as_bytes()).is_ok();
    }
    let trouble = state.troubles.pop_front();
    if let Some(Trouble::Changed) = trouble {
        state.version += 1;
    }
    let tag = format!("\"v{}\"", state.version);
    let matches = manner == Behaviour::NoTag || headers.get("if-match").is_none_or(|wanted| *wanted == tag);
    let status = match trouble {
        Some(Trouble::Status(status)) => Some(status),
        _ if !matches => Some(412),
        _ => None,
    };
    if let Some(status) = status {
        let head = format!("HTTP/1.1 {status} Trouble\r\nContent-Length: 0\r\nRetry-After: 0\r\n\r\n");
        return stream.write_all(head.as_bytes()).is_ok();
    }
    let size = state.content.len();
    let ranged = matches!(manner, Behaviour::Ranges | Behaviour::NoTag);
    let range = headers.get("range").filter(|_| ranged).map(|range| {
        let (first, last) = range.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
        let first: usize = first.parse().unwrap();
        (first, (last.parse::<usize>().unwrap() + 1).min(size))
    });
    let mut head = match range {
        Some((first, _)) if first >= size => {
            let head =
                format!("HTTP/1.1 416 No\r\nContent-Length: 0\r\nContent-Range: bytes */{size}\r\n\r\n");
            return stream.write_all(head.as_bytes()).is_ok();
        }
        Some((first, end)) => {
            format!(
                "HTTP/1.1 206 Partial\r\nContent-Range: bytes {first}-{}/{size}\r\n",
                end - 1
            )
        }
        None => "HTTP/1.1 200 OK\r\n".to_owned(),
    };
    let (first, end) = range.unwrap_or((0, size));
    let body = &state.content[first..end];
    if manner == Behaviour::NoLength {
        head.push_str("Connection: close\r\n");
    } else {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    if manner != Behaviour::NoTag {
        head.push_str(&format!("ETag: {tag}\r\n"));
    }
    head.push_str("\r\n");
    let (sent, goes_on) = match trouble {
        Some(Trouble::Cut(bytes)) => (bytes.min(body.len()), false),
        _ => (body.len(), manner != Behaviour::NoLength),
    };
    stream.write_all(head.as_bytes()).is_ok() && stream.write_all(&body[..sent]).is_ok() && goes_on
}
