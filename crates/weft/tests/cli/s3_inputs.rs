//! Inputs in an S3 store: our own S3 server, used like any store.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use cluster::{NodeSettings, RunningNode, VolumeSettings, start};
use futures_util::{TryStreamExt, stream};
use store::{Condition, Key, List, Put};
use tokio::runtime::Runtime;

use crate::addresses::{dumps, local};
use crate::fixture;
use crate::serve::Served;
use crate::support::{Run, Workspace, json_lines};

/// A store with two volumes and its S3 server.
pub(crate) struct S3Store {
    runtime: Runtime,
    node: RunningNode,
    s3: s3::Running,
    endpoint: String,
}

impl S3Store {
    pub(crate) fn start(place: &Workspace) -> S3Store {
        S3Store::start_with(place, None)
    }

    /// Starts the S3 server, with TLS if certificate files are given.
    pub(crate) fn start_with(place: &Workspace, tls: Option<s3::TlsFiles>) -> S3Store {
        let runtime = Runtime::new().expect("threads");
        let volumes = ["v1", "v2"].map(|name| VolumeSettings::at(place.path(name)));
        let listen = "127.0.0.1:0".parse().expect("an address");
        let scheme = if tls.is_some() { "https" } else { "http" };
        let mut s3 = s3::Settings::new(listen, place.path("keys.toml"));
        s3.tls = tls;
        let (node, s3) = runtime.block_on(async {
            let settings = NodeSettings {
                upkeep: None,
                ..NodeSettings::of_volumes(volumes.to_vec())
            };
            let node = start(settings).await.expect("a node");
            let s3 = s3::serve(s3, node.store()).await.expect("an S3 server");
            (node, s3)
        });
        // The host name in the test certificates.
        let endpoint = format!("{scheme}://localhost:{}", s3.address().port());
        S3Store {
            runtime,
            node,
            s3,
            endpoint,
        }
    }

    pub(crate) fn put(&self, key: &str, content: &[u8]) {
        let content = Ok(bytes::Bytes::copy_from_slice(content));
        let key = Key::parse(key).expect("a key");
        let put = self.node.store();
        let body = Box::pin(stream::once(async { content }));
        self.runtime
            .block_on(put.put(&key, body, Put::default()))
            .expect("a put");
    }

    pub(crate) fn remove(&self, key: &str) {
        let key = Key::parse(key).expect("a key");
        let store = self.node.store();
        self.runtime
            .block_on(store.delete(&key, Condition::Always))
            .expect("a delete");
    }

    /// Runs the program with or without the keys of the S3 server.
    pub(crate) fn run(&self, place: &Workspace, keys: bool, arguments: &[&str]) -> Run {
        let mut command = self.command(place, arguments);
        if !keys {
            command
                .env_remove("AWS_ACCESS_KEY_ID")
                .env_remove("AWS_SECRET_ACCESS_KEY");
        }
        Run::of(command.output().expect("the program starts"))
    }

    /// Returns the program with the address and keys of the S3 server in its environment.
    pub(crate) fn command(&self, place: &Workspace, arguments: &[&str]) -> Command {
        let mut command = place.command(arguments);
        let [endpoint, id, secret] = self.access();
        command
            .env("AWS_ENDPOINT_URL", endpoint)
            .env("AWS_ACCESS_KEY_ID", id)
            .env("AWS_SECRET_ACCESS_KEY", secret);
        command
    }

    /// Returns the address, the key id and the secret.
    pub(crate) fn access(&self) -> [String; 3] {
        let pair = self.s3.new_key().expect("a new key");
        [self.endpoint.clone(), pair.id.clone(), pair.secret.clone()]
    }

    /// Returns the number of content bytes sent for an operation.
    pub(crate) fn sent_bytes(&self, operation: &str) -> u64 {
        let counts = self.s3.requests().counts();
        let of_operation = counts.into_iter().filter(|count| count.operation == operation);
        of_operation.map(|count| count.bytes_out).sum()
    }

    /// Copies all objects below `prefix` into a folder of `place`.
    pub(crate) fn download(&self, place: &Workspace, prefix: &str, folder: &str) {
        let store = self.node.store();
        let list = List {
            prefix: prefix.to_owned(),
            limit: 1000,
            ..List::default()
        };
        let listed = self.runtime.block_on(store.list(&list)).expect("a listing");
        for meta in listed.objects {
            let read = async {
                let body = store.get(&meta.key, None).await.expect("an object").body;
                body.try_collect::<Vec<_>>().await
            };
            let content = self.runtime.block_on(read).expect("its content").concat();
            let name = meta.key.as_str().strip_prefix(prefix).expect("the prefix");
            place.write(&format!("{folder}/{name}"), &content);
        }
    }

    pub(crate) fn end(self) {
        self.runtime.block_on(async {
            self.s3.shutdown().await;
            self.node.shutdown().await;
        });
    }
}

#[test]
fn our_own_s3_server_gives_what_files_give() {
    let place = local();
    let s3 = S3Store::start(&place);
    s3.put(".s3/buckets/crawls", b"");
    s3.put("crawls/2014/web.warc", &fixture::small_web());
    s3.put("crawls/2014/notes.txt", b"just text");
    let loaded = s3.run(&place, true, &["load", "s3://crawls/2014", "--archive", "far"]);
    assert_eq!(
        (loaded.code, loaded.stderr.as_str()),
        (Some(0), ""),
        "{}",
        loaded.stdout
    );
    let prefix = "s3://crawls/2014/";
    assert_eq!(dumps(&place, "far", prefix), dumps(&place, "local", prefix));
    let record = |archive| {
        let page = "http://www.library.example/";
        s3.run(&place, true, &["record", page, "--stored", "--archive", archive])
            .stdout
    };
    assert_eq!(record("far"), record("local"));
    let again = s3.run(
        &place,
        true,
        &["load", "s3://crawls/*/web.warc", "--archive", "far"],
    );
    assert!(again.stdout.contains("1 already known"), "{}", again.stdout);
    let inspected = s3.run(
        &place,
        true,
        &["inspect", "--summary", "s3://crawls/2014/web.warc"],
    );
    assert_eq!(inspected.code, Some(0), "{}", inspected.stderr);
    // Without keys, and at a missing address.
    let refused = s3.run(
        &place,
        false,
        &["load", "s3://crawls/2014/web.warc", "--archive", "none"],
    );
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stdout.contains("set AWS_ACCESS_KEY_ID"),
        "{}",
        refused.stdout
    );
    let absent = s3.run(&place, true, &["load", "s3://crawls/absent", "--archive", "none"]);
    assert!(
        absent.stdout.contains("no such input, and none below it"),
        "{}",
        absent.stdout
    );
    let mistyped = s3.run(&place, true, &["load", "s3://crawl/2014/", "--archive", "none"]);
    assert!(
        mistyped.stdout.contains("there is no bucket crawl in this store") && !mistyped.stdout.contains('<'),
        "{}",
        mistyped.stdout
    );
    s3.end();
}

/// Sends a request with this `Host` and additional header lines. Returns the status code.
fn status(address: &str, host: &str, more: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("connect");
    write!(
        stream,
        "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}\r\n"
    )
    .expect("send");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("read");
    answer.get(9..12).unwrap_or_default().to_owned()
}

/// Waits until a file has `count` lines, and returns them.
fn lines(path: &Path, count: usize) -> Vec<serde_json::Value> {
    loop {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        if text.lines().count() >= count {
            return json_lines(&text);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn flags_say_who_may_ask_and_where_it_is_logged() {
    let place = Workspace::new();
    let flags = [
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
        "--s3-host",
        "store.example",
        "--s3-log",
        "access.log",
        "--s3-log-format",
        "json",
        "--s3-connections-per-address",
        "2",
    ];
    let mut served = Served::start_with(&place, &flags);
    let address = served.said["s3"]["address"]
        .as_str()
        .expect("an address")
        .to_owned();
    assert_eq!(status(&address, "store.example", ""), "403");
    assert_eq!(status(&address, "evil.example", ""), "421");
    let version_2 = "Authorization: AWS A:b\r\nDate: Sun, 22 Nov 2026 12:00:00 GMT\r\n";
    assert_eq!(status(&address, "localhost", version_2), "400");
    let log = place.path("access.log");
    let found = lines(&log, 3);
    let told: Vec<_> = found
        .iter()
        .map(|line| (line["status"].as_u64(), line["error"].as_str()))
        .collect();
    assert_eq!(
        told,
        [
            (Some(403), Some("AccessDenied")),
            (Some(421), Some("MisdirectedRequest")),
            (Some(400), Some("InvalidRequest"))
        ]
    );
    // Like logrotate.
    let rotated = place.path("access.log.1");
    std::fs::rename(&log, &rotated).expect("rename");
    served.signal("HUP");
    assert_eq!(status(&address, "localhost", ""), "403");
    // The signal may be handled after the request is logged, in which case its line goes to the old
    // file.
    while !log.exists() {
        assert_eq!(status(&address, "localhost", ""), "403");
    }
    assert!(!lines(&log, 1).is_empty() && lines(&rotated, 3).len() >= 3);
    let held = [(); 2].map(|()| TcpStream::connect(&address).expect("connect"));
    // Both connections were accepted before the third.
    let mut third = TcpStream::connect(&address).expect("connect");
    let mut rest = Vec::new();
    let _ = third.read_to_end(&mut rest);
    assert_eq!(rest, b"", "a third connection of one address");
    drop(held);
    assert_eq!(served.stop(), Some(0));
    let wrong = place.run(&[
        "store",
        "serve",
        "--volume",
        "a",
        "--s3",
        "127.0.0.1:0",
        "--s3-log",
        "s3://UPPER/x",
    ]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
}
