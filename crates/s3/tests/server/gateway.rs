//! Tests of a gateway to the server, as clients see it. The gateway has its own keys, unknown to
//! the server.

use std::net::SocketAddr;
use std::time::Duration;

use cache::Cache;
use s3::{Credential, GatewaySettings, Running, Scope, Settings};
use test_env::python;

use crate::bytes::{Answer, read_answer};
use crate::sign::Ask;
use crate::support::{ADMIN, KEYS, READER, Rig, run, say};

/// The gateway's key at the upstream.
pub(crate) const UPSTREAM: (&str, &str) = ("GATEWAY", "gateway-secret-0123456789");

/// Maximum age of a cached response.
pub(crate) const BOUND: Duration = Duration::from_secs(1);

/// A gateway and its upstream server.
pub(crate) struct GatewayRig {
    gateway: Running,
    pub(crate) upstream: Rig,
}

impl GatewayRig {
    pub(crate) async fn start(maps: &[&str]) -> Self {
        Self::start_with("s3://", maps, KEYS).await
    }

    async fn start_with(scope: &str, maps: &[&str], keys_text: &str) -> Self {
        let keys = format!(
            "[keys.{}]\nsecret = \"{}\"\nuser = \"archive\"\nrights = {{ \"*\" = [\"read\", \"write\", \"list\", \"delete\"] }}\n",
            UPSTREAM.0, UPSTREAM.1
        );
        let upstream = Rig::start_with_keys(&keys).await;
        let gateway = gateway(&upstream, scope, maps, keys_text).await;
        Self { gateway, upstream }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.gateway.address()
    }

    /// Sends a request to the gateway.
    pub(crate) async fn ask(&self, method: &str, target: &str, body: &[u8]) -> Answer {
        let ask = Ask {
            body,
            ..Ask::new(method, target)
        };
        send(&ask, self.address()).await
    }

    /// Sends a request directly to the upstream server.
    pub(crate) async fn ask_upstream(&self, method: &str, target: &str, body: &[u8]) -> Answer {
        let ask = Ask {
            body,
            key: UPSTREAM,
            ..Ask::new(method, target)
        };
        ask.send(self.upstream.server.address()).await
    }

    /// Returns the number of requests to the server for the content of objects.
    pub(crate) fn gets(&self) -> u64 {
        self.upstream.counted("GetObject").count
    }

    pub(crate) async fn stop(self) {
        self.gateway.shutdown().await;
        self.upstream.stop().await;
    }
}

async fn gateway(upstream: &Rig, scope: &str, maps: &[&str], keys_text: &str) -> Running {
    let keys = upstream.dir().join("gateway-keys.toml");
    std::fs::write(&keys, keys_text).unwrap();
    let settings = GatewaySettings {
        scope: scope.parse::<Scope>().unwrap(),
        maps: maps.iter().map(|map| map.parse().unwrap()).collect(),
        endpoint: Some(upstream.endpoint()),
        region: "us-east-1".to_owned(),
        credential: Some(Credential {
            id: UPSTREAM.0.to_owned(),
            secret: UPSTREAM.1.to_owned(),
            token: None,
        }),
    };
    let cache = cache::Settings {
        revalidate_seconds: BOUND.as_secs(),
        ..cache::Settings::default()
    };
    let cache = Cache::open(&cache, "test").unwrap();
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    s3::serve_gateway(Settings::new(listen, keys), settings, cache)
        .await
        .unwrap()
}

/// Sends on a connection that closes after the response, because a response to HEAD has no body in
/// spite of its length.
pub(crate) async fn send(ask: &Ask<'_>, address: SocketAddr) -> Answer {
    let mut headers = ask.unsigned.to_vec();
    headers.push(("connection", "close"));
    let ask = Ask {
        unsigned: &headers,
        ..*ask
    };
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut stream, &ask.by_header(address).0)
        .await
        .unwrap();
    read_answer(&mut stream).await
}

/// boto3 behaves through the gateway as it does with the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn boto3_sees_the_face() {
    let Some(python) = python(&["boto3"]) else {
        say("skipped: there is no python3 with boto3 (make need-clients)");
        return;
    };
    // Settings of buckets need the right `own` here.
    let keys = KEYS.replace("\"delete\"] }", "\"delete\", \"own\"] }");
    let rig = GatewayRig::start_with("s3://", &[], &keys).await;
    let mut command = rig.upstream.command(python);
    command
        .arg(test_env::crate_dir().join("tests/boto3/server.py"))
        .arg(format!("http://{}", rig.address()))
        .args([ADMIN.0, ADMIN.1, READER.0, READER.1, "gateway"]);
    let (passed, text) = run(command).await;
    assert!(passed, "{text}");
    rig.stop().await;
}

/// A gateway takes no operation for a different one, either.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_operation_is_what_it_says() {
    let Some(python) = python(&["boto3"]) else {
        say("skipped: there is no python3 with boto3 (make need-clients)");
        return;
    };
    let keys = KEYS.replace("\"delete\"] }", "\"delete\", \"own\"] }");
    let rig = GatewayRig::start_with("s3://", &[], &keys).await;
    let mut command = rig.upstream.command(python);
    command
        .arg(test_env::crate_dir().join("tests/boto3/sweep.py"))
        .arg(format!("http://{}", rig.address()))
        .args([ADMIN.0, ADMIN.1]);
    let (passed, text) = run(command).await;
    assert!(passed, "{text}");
    rig.stop().await;
}

/// The server's limits on lengths and counts apply to the gateway as well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_are_the_clients_mistake() {
    let Some(python) = python(&["boto3"]) else {
        say("skipped: there is no python3 with boto3 (make need-clients)");
        return;
    };
    let keys = KEYS.replace("\"delete\"] }", "\"delete\", \"own\"] }");
    let rig = GatewayRig::start_with("s3://", &[], &keys).await;
    let mut command = rig.upstream.command(python);
    command
        .arg(test_env::crate_dir().join("tests/boto3/limits.py"))
        .arg(format!("http://{}", rig.address()))
        .args([ADMIN.0, ADMIN.1, "gateway"]);
    let (passed, text) = run(command).await;
    assert!(passed, "{text}");
    rig.stop().await;
}

/// The gateway's keys file grants the rights, by client names.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rights_are_the_gateways() {
    let rig = GatewayRig::start(&["shared-map=s3://private"]).await;
    let address = rig.address();
    for (method, target, key, status) in [
        ("PUT", "/private", ADMIN, 200),
        ("PUT", "/private/x", ADMIN, 200),
        ("GET", "/private/x", READER, 403),
        ("GET", "/shared-map/x", READER, 200),
        ("PUT", "/shared-map/x", READER, 403),
        ("GET", "/shared-map?list-type=2", READER, 200),
        // The server knows this key, but the gateway does not.
        ("GET", "/private/x", UPSTREAM, 403),
        // Granting permissions needs the right `own`.
        ("PUT", "/private?acl", ADMIN, 403),
        ("PUT", "/private/x?unknown", ADMIN, 501),
        ("PUT", "/private/x?acl&tagging", ADMIN, 400),
    ] {
        let ask = Ask {
            key,
            ..Ask::new(method, target)
        };
        let answer = ask.send(address).await;
        assert_eq!(answer.status, status, "{method} {target}: {}", answer.text());
    }
    let stolen = Ask {
        key: READER,
        signed: &[("x-amz-copy-source", "/private/x")],
        ..Ask::new("PUT", "/shared-open/stolen")
    };
    assert_eq!(stolen.send(address).await.status, 403);
    rig.stop().await;
}

/// Listings, upload responses and errors contain the clients' names and never those of the
/// upstream.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_have_the_names_of_clients() {
    let rig = GatewayRig::start(&["lake/sales=s3://far/w/sales-2026"]).await;
    for bucket in ["/lake", "/far"] {
        rig.ask("PUT", bucket, b"").await;
    }
    for key in ["a", "b/1", "b/2", "c%20d"] {
        let put = rig.ask("PUT", &format!("/lake/sales/{key}"), b"x").await;
        assert_eq!(put.status, 200, "{}", put.text());
    }
    let expected = [
        "far/w/sales-2026/a",
        "far/w/sales-2026/b/1",
        "far/w/sales-2026/b/2",
        "far/w/sales-2026/c d",
    ];
    assert_eq!(rig.upstream.keys("far/").await, expected);
    for (target, found) in [
        (
            "/lake?list-type=2&prefix=sales%2F",
            &[
                "<Key>sales/a<",
                "<Key>sales/b/1<",
                "<Key>sales/c d<",
                "<Name>lake<",
            ][..],
        ),
        (
            "/lake?list-type=2&prefix=sales%2F&start-after=sales%2Fb%2F1&encoding-type=url",
            &["<Key>sales/b/2<"],
        ),
        (
            "/lake?prefix=sales%2F&delimiter=%2F&max-keys=2",
            &["<Key>sales/a<", "<Prefix>sales/b/<", "<NextMarker>sales/b/<"],
        ),
        ("/lake?prefix=sales%2F&marker=sales%2Fb%2F2", &["<Key>sales/c d<"]),
        ("/lake/sales/none", &["NoSuchKey"]),
    ] {
        let answer = rig.ask("GET", target, b"").await.text();
        for part in found {
            assert!(answer.contains(part), "{target}: {part} is not in {answer}");
        }
        assert!(!answer.contains("w/sales"), "{answer}");
        assert!(
            !target.contains("start-after") || !answer.contains("<Key>sales/b/1<"),
            "{answer}"
        );
    }
    let begun = rig.ask("POST", "/lake/sales/big?uploads", b"").await.text();
    assert!(
        begun.contains("<Bucket>lake</Bucket><Key>sales/big</Key>"),
        "{begun}"
    );
    let list = b"<Delete><Object><Key>sales/a</Key></Object><Object><Key>sales/c d</Key></Object></Delete>";
    let md5 = md5_of(list);
    let deletion = Ask {
        signed: &[("content-md5", &md5)],
        body: list,
        ..Ask::new("POST", "/lake?delete")
    };
    let deleted = deletion.send(rig.address()).await.text();
    assert!(
        deleted.contains("<Key>sales/a</Key>") && !deleted.contains("w/sales"),
        "{deleted}"
    );
    assert_eq!(rig.upstream.keys("far/").await, expected[1..3]);
    let damaged = Ask {
        body: b"<Delete><Object><Key>sales/b/1</Key></Object></Delete>",
        ..deletion
    };
    assert_eq!(damaged.send(rig.address()).await.status, 400);
    assert_eq!(rig.upstream.keys("far/").await, expected[1..3]);
    rig.stop().await;
}

fn md5_of(bytes: &[u8]) -> String {
    use s3s::crypto::Checksum as _;
    let mut md5 = s3s::crypto::Md5::new();
    md5.update(bytes);
    data_encoding::BASE64.encode(&md5.finalize())
}

/// If the gateway serves a folder of a bucket, no request can reach anything else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_shown_cannot_be_reached() {
    let keys = KEYS.replace("\"delete\"] }", "\"delete\", \"own\"] }");
    let rig = GatewayRig::start_with("s3://data/public", &[], &keys).await;
    rig.ask_upstream("PUT", "/data", b"").await;
    rig.ask_upstream("PUT", "/other", b"").await;
    rig.ask_upstream("PUT", "/data/secret", b"secret").await;
    assert_eq!(rig.ask("PUT", "/data/public/x", b"x").await.status, 200);
    for (method, target, status) in [
        ("GET", "/data/public/x", 200),
        ("HEAD", "/data", 200),
        ("GET", "/data?prefix=public%2F", 200),
        ("GET", "/data", 403),
        ("GET", "/data?prefix=publ", 403),
        ("GET", "/data?versions", 403),
        ("GET", "/data?uploads", 403),
        ("GET", "/data/secret", 403),
        ("GET", "/data/public/../secret", 404),
        ("DELETE", "/data", 403),
        ("PUT", "/data?policy", 403),
        ("GET", "/other", 403),
        ("PUT", "/made", 403),
    ] {
        let answer = rig.ask(method, target, b"").await;
        assert_eq!(answer.status, status, "{method} {target}: {}", answer.text());
        assert!(!answer.text().contains("secret"), "{}", answer.text());
    }
    let stolen = Ask {
        signed: &[("x-amz-copy-source", "data/secret")],
        ..Ask::new("PUT", "/data/public/stolen")
    };
    assert_eq!(stolen.send(rig.address()).await.status, 403);
    let buckets = rig.ask("GET", "/", b"").await.text();
    assert!(
        buckets.contains("<Name>data<") && !buckets.contains("<Name>other<"),
        "{buckets}"
    );
    rig.stop().await;
}

/// A client's digest is compared before the upstream has the whole content.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damaged_content_never_becomes_an_object() {
    let rig = GatewayRig::start(&[]).await;
    rig.ask("PUT", "/data", b"").await;
    let wrong = "0".repeat(64);
    let trailer = |crc: &str| format!("5\r\nhello\r\n0\r\nx-amz-checksum-crc32:{crc}\r\n\r\n");
    let (right_trailer, wrong_trailer) = (trailer("NhCmhg=="), trailer("AAAAAA=="));
    let chunked: &[_] = &[
        ("x-amz-decoded-content-length", "5"),
        ("x-amz-trailer", "x-amz-checksum-crc32"),
        ("x-amz-sdk-checksum-algorithm", "CRC32"),
        ("content-encoding", "aws-chunked"),
    ];
    let streaming = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";
    for (key, payload, signed, body, code) in [
        (
            "digest",
            wrong.as_str(),
            &[][..],
            "hello",
            "XAmzContentSHA256Mismatch",
        ),
        ("trailer", streaming, chunked, &wrong_trailer, "BadDigest"),
        ("cut", streaming, chunked, "5\r\nhello\r\n", "IncompleteBody"),
        ("right", streaming, chunked, &right_trailer, ""),
    ] {
        let target = format!("/data/{key}");
        let ask = Ask {
            payload,
            signed,
            body: body.as_bytes(),
            ..Ask::new("PUT", &target)
        };
        let answer = ask.send(rig.address()).await;
        assert!(answer.text().contains(code), "{}", answer.text());
        assert_eq!(answer.status == 200, code.is_empty(), "{}", answer.text());
    }
    assert_eq!(rig.upstream.keys("data/").await, ["data/right"]);
    let right = rig.ask("GET", "/data/right", b"").await;
    assert_eq!(right.body, b"hello");
    assert!(
        !right.head.to_lowercase().contains("content-encoding"),
        "{}",
        right.head
    );
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upstream_that_is_away_is_told_as_such() {
    let rig = GatewayRig::start(&[]).await;
    rig.ask("PUT", "/data", b"").await;
    rig.ask("PUT", "/data/x", b"here").await;
    assert_eq!(rig.ask("GET", "/data/x", b"").await.body, b"here");
    let GatewayRig { gateway, upstream } = rig;
    upstream.stop().await;
    for (method, target) in [
        ("GET", "/data/y"),
        ("HEAD", "/data/y"),
        ("PUT", "/data/x"),
        ("GET", "/data"),
    ] {
        let answer = send(&Ask::new(method, target), gateway.address()).await;
        assert_eq!(answer.status, 503, "{}", answer.text());
    }
    gateway.shutdown().await;
}
