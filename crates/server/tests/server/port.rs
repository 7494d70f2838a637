//! The server on a real port: limits, loads from this machine, orderly shutdown.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use archive::AskError;
use archive::question::{Answer, Question, Stages};
use server::{ReplaySettings, Server, ServerParts, ServerSettings};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use crate::fake::{self, sample};

/// A server on a free port, until dropped.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    /// Address of the replay origin, if the settings enable it.
    pub(crate) replay: Option<SocketAddr>,
    stop: Option<oneshot::Sender<()>>,
    ended: Option<tokio::task::JoinHandle<()>>,
    runtime: Runtime,
}

impl Running {
    pub(crate) fn start(
        answers: impl Fn(&Question) -> Result<Answer, AskError> + Send + Sync + 'static,
        settings: ServerSettings,
    ) -> Running {
        Running::start_over(fake::served(answers), settings)
    }

    pub(crate) fn start_over(served: impl Into<ServerParts>, settings: ServerSettings) -> Running {
        let served = served.into();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let settings = ServerSettings {
            listen: "127.0.0.1:0".parse().expect("an address"),
            ..settings
        };
        let server = runtime
            .block_on(Server::bind(served, settings))
            .expect("a free port");
        let (address, replay) = (server.address(), server.replay_address());
        let (stop, stopped) = oneshot::channel();
        let ended = runtime.spawn(server.run(async {
            let _ = stopped.await;
        }));
        Running {
            address,
            replay,
            stop: Some(stop),
            ended: Some(ended),
            runtime,
        }
    }

    /// Requests shutdown. The server ends when requests in progress have finished.
    fn stop(&mut self) -> tokio::task::JoinHandle<()> {
        let _ = self.stop.take().expect("stopped once").send(());
        self.ended.take().expect("stopped once")
    }

    fn connect(&self) -> TcpStream {
        connected(self.address)
    }

    /// Sends `request` unchanged, and reads until the server closes the connection.
    pub(crate) fn raw(&self, request: &[u8]) -> String {
        exchange(self.address, request)
    }
}

/// Returns the default settings, with a replay origin on a free port.
pub(crate) fn with_replay() -> ServerSettings {
    ServerSettings {
        replay: Some(ReplaySettings {
            listen: "127.0.0.1:0".parse().expect("an address"),
            any_port: true,
            url: None,
            scripts: true,
            embed_on: Vec::new(),
            domain: None,
        }),
        ..ServerSettings::default()
    }
}

/// Sends `request` unchanged to a server, and reads until it closes the connection.
pub(crate) fn exchange(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = connected(address);
    // A server that refuses early may close before everything is written.
    let _ = stream.write_all(request);
    read_all(&mut stream)
}

fn connected(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("connect");
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a time limit");
    stream
}

fn read_all(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let mut piece = [0; 65536];
    while let Ok(read @ 1..) = stream.read(&mut piece) {
        answer.extend_from_slice(&piece[..read]);
    }
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn long_headers_are_refused_and_long_addresses_within_the_limit_are_not() {
    let settings = ServerSettings {
        header_bytes_max: 64 * 1024,
        ..ServerSettings::default()
    };
    let running = Running::start(sample, settings);
    let request = |length: usize| {
        format!(
            "GET /api/v1/page?url={} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            "x".repeat(length)
        )
    };
    let answer = running.raw(request(50_000).as_bytes());
    assert!(
        answer.starts_with("HTTP/1.1 200"),
        "{}",
        &answer[..answer.len().min(80)]
    );
    let answer = running.raw(request(120_000).as_bytes());
    assert!(
        !answer.starts_with("HTTP/1.1 200"),
        "{}",
        &answer[..answer.len().min(80)]
    );
    let answer = running.raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 what is this\r\n\r\n");
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 400"),
        "{answer}"
    );
    assert!(running.raw(request(10).as_bytes()).starts_with("HTTP/1.1 200"));
}

fn post(path: &str, headers: &str, body: &str) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\n{headers}Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

#[test]
fn loads_only_where_allowed_and_only_from_this_machine() {
    let body = r#"{"inputs": [{"name": "a.warc.gz", "path": "/data/a.warc.gz"}]}"#;
    let json = "Host: 127.0.0.1:80\r\nContent-Type: application/json\r\n";
    let path = "/api/v1/loads";
    let off = Running::start(sample, ServerSettings::default());
    let answer = off.raw(&post(path, json, body));
    assert!(
        answer.starts_with("HTTP/1.1 403") && answer.contains("weft load"),
        "{answer}"
    );

    let settings = ServerSettings {
        loads_over_http: true,
        body_bytes_max: 10_000,
        ..ServerSettings::default()
    };
    let on = Running::start(sample, settings);
    let answer = on.raw(&post(path, json, body));
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.contains("\"answer\":\"job\""),
        "{answer}"
    );
    assert!(
        on.raw(&post("/api/v1/jobs/1/cancel", json, ""))
            .starts_with("HTTP/1.1 200")
    );
    let long = format!(
        r#"{{"inputs": [{{"name": "{}", "path": "/a"}}]}}"#,
        "x".repeat(20_000)
    );
    let relative = body.replace("/data/a", "data/a");
    let same = "Host: localhost:80\r\nOrigin: http://localhost:80\r\nContent-Type: application/json; charset=utf-8\r\n";
    assert!(on.raw(&post(path, same, body)).starts_with("HTTP/1.1 200"));
    for (headers, body, status) in [
        (
            "Host: archive.example\r\nContent-Type: application/json\r\n",
            body,
            "421",
        ),
        (
            "Host: localhost\r\nX-Forwarded-For: 10.0.0.1\r\nContent-Type: application/json\r\n",
            body,
            "403",
        ),
        (
            "Host: localhost\r\nOrigin: http://evil.example\r\nContent-Type: application/json\r\n",
            body,
            "403",
        ),
        (
            "Host: localhost\r\nOrigin: null\r\nContent-Type: application/json\r\n",
            body,
            "403",
        ),
        ("Host: localhost\r\nContent-Type: text/plain\r\n", body, "415"),
        ("Host: localhost\r\n", body, "415"),
        (json, "", "400"),
        (json, "{\"inputs\": []}", "400"),
        (json, "[1", "400"),
        (json, relative.as_str(), "400"),
        (json, long.as_str(), "413"),
    ] {
        let answer = on.raw(&post(path, headers, body));
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{headers:?}: {answer}"
        );
        assert!(answer.contains("\"error\""), "{answer}");
    }
}

/// A gate that blocks questions until it is opened.
#[derive(Default)]
struct Gate {
    open: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    fn wait(&self) {
        let open = self.open.lock().expect("a lock");
        drop(self.changed.wait_while(open, |open| !*open).expect("a lock"));
    }

    fn open(&self) {
        *self.open.lock().expect("a lock") = true;
        self.changed.notify_all();
    }
}

#[test]
fn a_question_without_answer_ends_in_time_and_leaves_room_for_others() {
    let gate = Arc::new(Gate::default());
    let waiting = Arc::clone(&gate);
    let answers = move |question: &Question| {
        if let Question::Stages(Stages {}) = question {
            waiting.wait();
        }
        sample(question)
    };
    let settings = ServerSettings {
        request_timeout: Duration::from_millis(300),
        questions_max: 2,
        sample_interval: Duration::from_secs(3600),
        ..ServerSettings::default()
    };
    let running = Running::start(answers, settings);
    let stages = b"GET /api/v1/stages HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let status = b"GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let answer = running.raw(stages);
    assert!(
        answer.starts_with("HTTP/1.1 503") && answer.contains("unavailable"),
        "{answer}"
    );
    gate.open();
    assert!(running.raw(status).starts_with("HTTP/1.1 200"));
    assert!(running.raw(stages).starts_with("HTTP/1.1 200"));
}

#[test]
fn shutting_down_finishes_what_is_under_way_and_takes_nothing_new() {
    let gate = Arc::new(Gate::default());
    let waiting = Arc::clone(&gate);
    let (begun, has_begun) = std::sync::mpsc::channel();
    let answers = move |question: &Question| {
        if let Question::Page(_) = question {
            let _ = begun.send(());
            waiting.wait();
        }
        sample(question)
    };
    let mut running = Running::start(answers, ServerSettings::default());
    let mut under_way = running.connect();
    under_way
        .write_all(b"GET /api/v1/page?url=a HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .expect("sent");
    let mut idle = running.connect();
    idle.write_all(b"GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .expect("sent");
    let mut piece = [0; 4096];
    assert!(idle.read(&mut piece).expect("an answer") > 0);
    has_begun
        .recv_timeout(Duration::from_secs(20))
        .expect("the question is being asked");
    let ended = running.stop();
    gate.open();
    assert!(read_all(&mut under_way).starts_with("HTTP/1.1 200"));
    assert_eq!(read_all(&mut idle), "", "an idle connection is closed");
    running.runtime.block_on(ended).expect("an orderly end");
    assert!(
        TcpStream::connect(running.address).is_err(),
        "nothing listens any more"
    );
}

#[test]
fn connections_beyond_the_limit_wait_their_turn() {
    let settings = ServerSettings {
        connections_max: 2,
        ..ServerSettings::default()
    };
    let running = Running::start(sample, settings);
    let request = b"GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut held: Vec<TcpStream> = (0..2).map(|_| running.connect()).collect();
    let mut piece = [0; 4096];
    for stream in &mut held {
        stream.write_all(request).expect("sent");
        assert!(stream.read(&mut piece).expect("an answer") > 0);
    }
    let mut third = running.connect();
    third.write_all(request).expect("sent");
    third
        .set_read_timeout(Some(Duration::from_millis(200)))
        .expect("a time limit");
    assert!(third.read(&mut piece).is_err(), "there is no slot yet");
    drop(held);
    third
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a time limit");
    assert!(third.read(&mut piece).expect("an answer") > 0);
}

/// DNS rebinding: a page at evil.example is loaded, then the name is pointed at 127.0.0.1. The
/// browser sends requests here under that name and lets the page read the responses.
#[test]
fn a_name_that_is_not_ours_reads_nothing() {
    let settings = ServerSettings {
        hosts: vec!["archive.example".to_owned()],
        ..ServerSettings::default()
    };
    let running = Running::start(sample, settings);
    let ask = |path: &str, host: &str| {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        running.raw(request.as_bytes())
    };
    for path in [
        "/",
        "/page?url=a",
        "/api/v1/status",
        "/cdx?url=a",
        "/record?url=a",
        "/metrics",
        "/nothing",
    ] {
        let answer = ask(path, "evil.example:80");
        assert!(answer.starts_with("HTTP/1.1 421"), "{path}: {answer}");
        assert!(!answer.contains("a.example"), "{path} tells nothing: {answer}");
    }
    for host in ["localhost", "127.0.0.1:8080", "[::1]", "Archive.Example:443"] {
        assert!(
            ask("/api/v1/page?url=a", host).starts_with("HTTP/1.1 200"),
            "{host}"
        );
    }
    assert!(ask("/healthz", "10.1.2.3:8080").starts_with("HTTP/1.1 200"));
    // RFC 9112, 3.2: no Host, or two.
    for path in ["/", "/healthz"] {
        for hosts in ["", "Host: localhost\r\nHost: localhost\r\n"] {
            let request = format!("GET {path} HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n");
            let answer = running.raw(request.as_bytes());
            assert!(answer.starts_with("HTTP/1.1 400"), "{path} {hosts:?}: {answer}");
        }
    }
    let answer = running.raw(b"GET /api/v1/page?url=a HTTP/1.0\r\n\r\n");
    assert!(
        answer.starts_with("HTTP/1.0 200") || answer.starts_with("HTTP/1.1 200"),
        "{answer}"
    );
    let absolute =
        b"GET http://evil.example/api/v1/page?url=a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    assert!(running.raw(absolute).starts_with("HTTP/1.1 421"));
}

#[test]
fn idle_connections_of_one_address_do_not_keep_others_out() {
    let settings = ServerSettings {
        connections_max: 16,
        connections_per_address_max: 8,
        first_request_max: Duration::from_secs(3600),
        ..ServerSettings::default()
    };
    let running = Running::start(sample, settings);
    let idle: Vec<TcpStream> = (0..20).map(|_| running.connect()).collect();
    let mut refused = running.connect();
    assert_eq!(
        refused.read(&mut [0; 1]).unwrap_or(0),
        0,
        "one too many is closed"
    );
    let other = from_another_address(running.address);
    let mut other = other.expect("a connection from 127.0.0.2");
    other
        .write_all(b"GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .expect("sent");
    assert!(read_all(&mut other).starts_with("HTTP/1.1 200"));
    drop(idle);
}

/// Connects from another address of 127.0.0.0/8, all of which belong to this machine.
fn from_another_address(server: SocketAddr) -> std::io::Result<TcpStream> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let stream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4()?;
        socket.bind("127.0.0.2:0".parse().expect("an address"))?;
        socket.connect(server).await?.into_std()
    })?;
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    Ok(stream)
}

#[test]
fn who_says_nothing_is_closed_and_who_asked_once_may_wait() {
    let settings = ServerSettings {
        first_request_max: Duration::from_millis(100),
        ..ServerSettings::default()
    };
    let running = Running::start(sample, settings);
    let request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut asked = running.connect();
    asked.write_all(request).expect("sent");
    let mut piece = [0; 4096];
    assert!(asked.read(&mut piece).expect("an answer") > 0);
    let mut half = running.connect();
    half.write_all(b"GET /healthz HTTP/1.1\r\nHost:").expect("sent");
    let mut silent = running.connect();
    assert_eq!(silent.read(&mut piece).unwrap_or(0), 0, "closed");
    assert_eq!(half.read(&mut piece).unwrap_or(0), 0, "closed");
    asked.write_all(request).expect("sent");
    assert!(asked.read(&mut piece).expect("an answer") > 0);
}
