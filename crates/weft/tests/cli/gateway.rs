//! `weft serve --upstream`, used by clients and engines that do not know it is a gateway.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use crate::s3_inputs::S3Store;
use crate::serve::Served;
use crate::support::{Workspace, json_lines};

const FLAGS: [&str; 17] = [
    "serve",
    "--listen",
    "127.0.0.1:0",
    "--s3",
    "127.0.0.1:0",
    "--s3-keys",
    "gateway-keys.toml",
    "--upstream",
    "s3://",
    "--map",
    "lake/sales=s3://far/warehouse/sales",
    "--cache",
    "cache",
    "--s3-log",
    "access.log",
    "--s3-log-format",
    "json",
];

/// A gateway in front of an S3 server. It revalidates cached objects after one second.
struct Gateway {
    place: Workspace,
    s3: S3Store,
    served: Served,
}

impl Gateway {
    fn start() -> Gateway {
        let place = Workspace::new();
        // Cache settings may exist before the archive.
        place.write("weft-archive/cache.toml", b"revalidate_seconds = 1\n");
        let s3 = S3Store::start(&place);
        let served = Served::start_command(s3.command(&place, &FLAGS));
        Gateway { place, s3, served }
    }

    /// Runs a part of `gateway.py` and returns what it printed.
    fn python(&self, python: &Path, part: &str, key: &[String; 2]) -> String {
        let script = test_env::crate_dir().join("tests/cli/gateway.py");
        let mut command = test_env::command(python, &self.place.path("home"));
        let url = self.served.said["s3"]["url"].as_str().expect("an address");
        command.arg(script).args([part, url]).args(key);
        let output = command.args(self.s3.access()).output().expect("run");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let wrong = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}{wrong}");
        said
    }

    /// Returns the key that was created and announced at the first start.
    fn key(&self) -> [String; 2] {
        let key = &self.served.said["s3"]["new_key"];
        ["id", "secret"].map(|name| key[name].as_str().expect("a key").to_owned())
    }

    fn end(mut self) {
        assert_eq!(self.served.stop(), Some(0));
        self.s3.end();
    }
}

fn python(modules: &[&str]) -> Option<PathBuf> {
    let python = test_env::python(modules);
    if python.is_none() {
        println!(
            "skipped: there is no python3 with {} (make need-clients)",
            modules.join(", ")
        );
    }
    python
}

#[test]
fn boto3_does_what_it_does_at_the_upstream() {
    let Some(python) = python(&["boto3"]) else { return };
    let gateway = Gateway::start();
    gateway.python(&python, "objects", &gateway.key());
    let metrics = gateway.served.get("/metrics");
    let log = std::fs::read_to_string(gateway.place.path("access.log")).expect("a log");
    let logged = json_lines(&log);
    let has = |operation: &str, key: &str| {
        logged
            .iter()
            .any(|line| line["operation"] == operation && line["key"] == key && line["status"] == 200)
    };
    assert!(has("GetObject", "sales/x") && has("CopyObject", "copy"), "{log}");
    for line in [
        "weft_s3_requests_total{operation=\"DeleteObjects\"} 1",
        "weft_s3_connections ",
    ] {
        assert!(metrics.contains(line), "{metrics}");
    }
    gateway.end();
}

/// Spark has a separate test in `python/tests`.
#[test]
fn tables_are_read_again_without_a_request_for_data() {
    let Some(python) = python(&["deltalake", "polars", "pyarrow"]) else {
        return;
    };
    let gateway = Gateway::start();
    let key = gateway.key();
    for bucket in ["lake", "far"] {
        gateway.s3.put(&format!(".s3/buckets/{bucket}"), b"");
    }
    gateway.python(&python, "write", &key);
    let bytes = |gateway: &Gateway| gateway.s3.sent_bytes("GetObject");
    let first = gateway.python(&python, "read", &key);
    let sent = bytes(&gateway);
    assert!(
        sent > 500_000,
        "the first time {sent} bytes came from the upstream"
    );
    assert_eq!(gateway.python(&python, "read", &key), first);
    // Engines ask for a missing checkpoint, and the error response has some bytes as well.
    let again = bytes(&gateway) - sent;
    assert!(again < 1000, "the second time {again} bytes came");
    gateway.end();
}

/// Sends an unsigned request and returns the answer.
fn get(address: &str, target: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("connect");
    write!(
        stream,
        "GET {target} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )
    .expect("send");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("read");
    answer
}

#[test]
fn an_upstream_with_tls_is_trusted_by_its_certificate() {
    let place = Workspace::new();
    let of_tests = test_env::crate_dir().join("../s3/tests/tls");
    let tls = s3::TlsFiles {
        certificates: of_tests.join("certificate.pem"),
        key: of_tests.join("key.pem"),
    };
    let certificate = tls.certificates.clone();
    let s3 = S3Store::start_with(&place, Some(tls));
    s3.put(".s3/buckets/open", b"");
    s3.put("open/x", b"over TLS");
    let keys = "[buckets.open]\nanonymous = [\"read\"]\n";
    place.write("gateway-keys.toml", keys.as_bytes());
    let flags = [
        "--create",
        "--s3",
        "127.0.0.1:0",
        "--s3-keys",
        "gateway-keys.toml",
        "--upstream",
        "s3://open",
    ];
    let flags = [&["serve", "--listen", "127.0.0.1:0"], &flags[..]].concat();
    let served = |trusted: Option<&Path>| {
        let mut command = s3.command(&place, &flags);
        command.envs(trusted.map(|file| ("SSL_CERT_FILE", file)));
        let mut served = Served::start_command(command);
        let address = served.said["s3"]["address"]
            .as_str()
            .expect("an address")
            .to_owned();
        let answer = get(&address, "/open/x");
        assert_eq!(served.stop(), Some(0));
        answer
    };
    let answer = served(Some(&certificate));
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.ends_with("over TLS"),
        "{answer}"
    );
    // On a machine without any certificates the gateway does not start; on others the answer gives
    // the reason.
    if Path::new("/etc/ssl/certs").is_dir() {
        let refused = served(None);
        assert!(
            refused.starts_with("HTTP/1.1 503") && refused.contains("certificate"),
            "{refused}"
        );
    }
    s3.end();
}

#[test]
fn flags_that_do_not_fit_are_told() {
    let place = Workspace::new();
    for (flags, told) in [
        (&["--upstream", "s3://"][..], "--s3"),
        (&["--s3", "127.0.0.1:0", "--map", "aaa=s3://bbb"], "--upstream"),
        (
            &["--s3", "127.0.0.1:0", "--upstream", "http://x"],
            "not an S3 address",
        ),
        (
            &["--s3", "127.0.0.1:0", "--upstream", "s3://", "--map", "aaa=bbb"],
            "BUCKET/PREFIX=s3://",
        ),
        (
            &["--s3", "127.0.0.1:0", "--upstream", "s3://", "--volume", "v"],
            "--volume",
        ),
    ] {
        let run = place.run(&[&["serve", "--listen", "127.0.0.1:0"], flags].concat());
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains(told), "{run:?}");
    }
    let twice = ["--map", "aaa/x=s3://bbb", "--map", "aaa/x/=s3://ccc"];
    let served = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--s3",
        "127.0.0.1:0",
        "--upstream",
        "s3://",
    ];
    let run = place.run(&[&served[..], &twice].concat());
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("aaa/x/ is mapped twice"), "{run:?}");
    let run = place.run(&[&served[..], &["--s3-log", "s3://logs/x"]].concat());
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(
        run.stderr.contains("without a store, the log must be a file"),
        "{run:?}"
    );
}
