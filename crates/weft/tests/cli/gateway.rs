//! `weft serve --upstream`, asked by clients and engines that know nothing of it.

use std::path::{Path, PathBuf};

use crate::s3_face::Face;
use crate::serve::Served;
use crate::support::Place;

const FLAGS: [&str; 13] = [
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
];

/// A gateway before a face. What it believes, it believes for a second.
struct Gateway {
    place: Place,
    face: Face,
    served: Served,
}

impl Gateway {
    fn start() -> Gateway {
        let place = Place::new();
        // The archive is made with its first server.
        assert_eq!(Served::start(&place).stop(), Some(0));
        place.write("weft-archive/cache.toml", b"revalidate_seconds = 1\n");
        let face = Face::start(&place);
        let served = Served::start_command(face.command(&place, &FLAGS));
        Gateway { place, face, served }
    }

    /// Runs a part of `gateway.py` and returns what it printed.
    fn python(&self, python: &Path, part: &str, key: &[String; 2]) -> String {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/gateway.py");
        let mut command = apart::command(python, &self.place.path("home"));
        let url = self.served.said["s3"]["url"].as_str().expect("an address");
        command.arg(script).args([part, url]).args(key);
        let output = command.args(self.face.access()).output().expect("run");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let wrong = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}{wrong}");
        said
    }

    /// The key that was made and said at the first start.
    fn key(&self) -> [String; 2] {
        let key = &self.served.said["s3"]["new_key"];
        ["id", "secret"].map(|name| key[name].as_str().expect("a key").to_owned())
    }

    fn end(mut self) {
        assert_eq!(self.served.stop(), Some(0));
        self.face.end();
    }
}

fn python(modules: &[&str]) -> Option<PathBuf> {
    let python = apart::python(modules);
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
    for line in [
        "weft_s3_requests_total{operation=\"DeleteObjects\"} 1",
        "weft_s3_connections ",
    ] {
        assert!(metrics.contains(line), "{metrics}");
    }
    gateway.end();
}

/// Spark has a test of its own, in `python/tests`.
#[test]
fn tables_are_read_again_without_a_request_for_data() {
    let Some(python) = python(&["deltalake", "polars", "pyarrow"]) else {
        return;
    };
    let gateway = Gateway::start();
    let key = gateway.key();
    for bucket in ["lake", "far"] {
        gateway.face.put(&format!(".s3/buckets/{bucket}"), b"");
    }
    gateway.python(&python, "write", &key);
    let bytes = |gateway: &Gateway| gateway.face.sent_bytes("GetObject");
    let first = gateway.python(&python, "read", &key);
    let sent = bytes(&gateway);
    assert!(
        sent > 500_000,
        "the first time {sent} bytes came from the upstream"
    );
    assert_eq!(gateway.python(&python, "read", &key), first);
    // Engines ask for a checkpoint that is not there, and the refusal has some bytes as well.
    let again = bytes(&gateway) - sent;
    assert!(again < 1000, "the second time {again} bytes came");
    gateway.end();
}

#[test]
fn flags_that_do_not_fit_are_told() {
    let place = Place::new();
    for (flags, told) in [
        (&["--upstream", "s3://"][..], "--s3"),
        (&["--s3", "127.0.0.1:0", "--map", "aaa=s3://bbb"], "--upstream"),
        (
            &["--s3", "127.0.0.1:0", "--upstream", "http://x"],
            "no address of S3",
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
        run.stderr.contains("without a store it can only be a file"),
        "{run:?}"
    );
}
