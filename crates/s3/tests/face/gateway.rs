//! A gateway before the server, as clients see it: with keys of its own, which the server does not know.

use std::net::SocketAddr;
use std::time::Duration;

use apart::python;
use cache::Cache;
use s3::{Credential, GatewaySettings, Running, Scope, Settings};

use crate::bytes::{Answer, read_answer};
use crate::sign::Ask;
use crate::support::{ADMIN, KEYS, READER, Rig, run, say};

/// The gateway's key at the upstream.
const UPSTREAM: (&str, &str) = ("GATEWAY", "gateway-secret-0123456789");

/// How old an answer may be.
const BOUND: Duration = Duration::from_secs(1);

/// A gateway, and the server that it is before.
struct GatewayRig {
    gateway: Running,
    upstream: Rig,
}

impl GatewayRig {
    async fn start(maps: &[&str]) -> Self {
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

    fn address(&self) -> SocketAddr {
        self.gateway.address()
    }

    /// A request to the gateway.
    async fn ask(&self, method: &str, target: &str, body: &[u8]) -> Answer {
        let ask = Ask {
            body,
            ..Ask::new(method, target)
        };
        send(&ask, self.address()).await
    }

    /// A request to the server behind it, past the gateway.
    async fn ask_upstream(&self, method: &str, target: &str, body: &[u8]) -> Answer {
        let ask = Ask {
            body,
            key: UPSTREAM,
            ..Ask::new(method, target)
        };
        ask.send(self.upstream.face.address()).await
    }

    /// Requests to the server for objects' content.
    fn gets(&self) -> u64 {
        self.upstream.counted("GetObject").count
    }

    async fn stop(self) {
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
    s3::serve_gateway(Settings::at(listen, keys), settings, cache)
        .await
        .unwrap()
}

/// What the face does for boto3, it does through the gateway.
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
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/boto3/face.py"))
        .arg(format!("http://{}", rig.address()))
        .args([ADMIN.0, ADMIN.1, READER.0, READER.1, "gateway"]);
    let (passed, text) = run(command).await;
    assert!(passed, "{text}");
    rig.stop().await;
}

/// Rights are those of the gateway's keys file, by the names of its clients.
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
        // The server knows this key, the gateway does not.
        ("GET", "/private/x", UPSTREAM, 403),
        // What gives rights away needs the right `own`.
        ("PUT", "/private?acl", ADMIN, 403),
        ("PUT", "/private/x?unknown", ADMIN, 403),
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

/// The headers of an answer that do not belong to that one answer.
fn lasting_headers(answer: &Answer) -> Vec<String> {
    // The gateway keeps to RFC 9110 in what belongs to an answer "not modified"; the server says less.
    let of_one = match answer.status {
        304 => &["date:", "x-amz-request-id:", "cache-control:"][..],
        _ => &["date:", "x-amz-request-id:"],
    };
    let lines = answer.head.lines().skip(1).map(str::to_lowercase);
    let mut lines: Vec<_> = lines
        .filter(|line| !of_one.iter().any(|name| line.starts_with(name)))
        .collect();
    lines.sort_unstable();
    lines
}

/// A body without the ids of its request.
fn lasting_body(answer: &Answer) -> String {
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    match (text.find("<RequestId>"), text.find("</RequestId>")) {
        (Some(start), Some(end)) => text[..start].to_owned() + &text[end..],
        _ => text,
    }
}

/// Answers of the gateway are those of the server: cold and warm, whole, in part, and refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_those_of_the_upstream() {
    let rig = GatewayRig::start(&[]).await;
    rig.ask_upstream("PUT", "/data", b"").await;
    let put = Ask {
        key: UPSTREAM,
        body: &[7; 200_000],
        signed: &[
            ("cache-control", "max-age=3"),
            ("content-type", "text/x-seven"),
            ("x-amz-meta-colour", "blue"),
        ],
        ..Ask::new("PUT", "/data/x")
    };
    assert_eq!(put.send(rig.upstream.face.address()).await.status, 200);
    rig.ask_upstream("PUT", "/data/empty", b"").await;
    let conditions: [&[(&str, &str)]; 12] = [
        &[],
        &[("range", "bytes=5-9")],
        &[("range", "bytes=199990-")],
        &[("range", "bytes=-7")],
        &[("range", "bytes=-700000")],
        &[("range", "bytes=300000-")],
        &[("range", "bytes=nonsense")],
        &[("if-match", "\"no\"")],
        &[("if-none-match", "*")],
        &[("if-modified-since", "Wed, 01 Jan 2200 00:00:00 GMT")],
        &[("if-unmodified-since", "Wed, 01 Jan 2020 00:00:00 GMT")],
        &[("range", "bytes=0-0"), ("if-match", "*")],
    ];
    for _ in ["cold", "warm"] {
        for target in [
            "/data/x",
            "/data/empty",
            "/data/missing",
            "/nowhere/x",
            "/data/x?versionId=7",
        ] {
            for method in ["GET", "HEAD"] {
                for unsigned in conditions {
                    let ask = |key| Ask {
                        key,
                        unsigned,
                        ..Ask::new(method, target)
                    };
                    let case = format!("{method} {target} {unsigned:?}");
                    let (through, direct) = (ask(ADMIN), ask(UPSTREAM));
                    let through = send(&through, rig.address()).await;
                    let direct = send(&direct, rig.upstream.face.address()).await;
                    assert_eq!(through.status, direct.status, "{case}");
                    assert_eq!(lasting_headers(&through), lasting_headers(&direct), "{case}");
                    assert!(lasting_body(&through) == lasting_body(&direct), "{case}");
                }
            }
        }
    }
    rig.stop().await;
}

/// Sends on a connection that ends with the answer: to HEAD there is no body, whatever length is announced.
async fn send(ask: &Ask<'_>, address: SocketAddr) -> Answer {
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_read_asks_nobody_and_a_write_is_seen_at_once() {
    let rig = GatewayRig::start(&["tables=s3://data/warehouse"]).await;
    rig.ask("PUT", "/data", b"").await;
    let old = vec![1; 3 << 20];
    assert_eq!(rig.ask("PUT", "/tables/t/part", &old).await.status, 200);
    for target in ["/tables/t/part", "/data/warehouse/t/part", "/tables/t/part"] {
        let answer = rig.ask("GET", target, b"").await;
        assert_eq!((answer.status, answer.body == old), (200, true));
    }
    let gets = rig.gets();
    assert_eq!(rig.ask("GET", "/tables/t/part", b"").await.body, old);
    assert_eq!(rig.gets(), gets, "nobody was asked for bytes that were here");
    // By either name.
    for (target, content) in [("/data/warehouse/t/part", 2), ("/tables/t/part", 3)] {
        let new = vec![content; 1 << 20];
        assert_eq!(rig.ask("PUT", target, &new).await.status, 200);
        assert_eq!(rig.ask("GET", "/tables/t/part", b"").await.body, new);
    }
    let copied = Ask {
        signed: &[("x-amz-copy-source", "tables/t/part")],
        ..Ask::new("PUT", "/tables/t/copy")
    };
    assert_eq!(copied.send(rig.address()).await.status, 200);
    assert_eq!(
        rig.ask("GET", "/data/warehouse/t/copy", b"").await.body,
        vec![3; 1 << 20]
    );
    assert_eq!(rig.ask("DELETE", "/tables/t/part", b"").await.status, 204);
    assert_eq!(rig.ask("GET", "/tables/t/part", b"").await.status, 404);
    rig.stop().await;
}

/// Others write, too: what they wrote is seen within the bound.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_replaced_behind_the_gateway_is_seen_within_the_bound() {
    let rig = GatewayRig::start(&[]).await;
    rig.ask("PUT", "/data", b"").await;
    rig.ask("PUT", "/data/x", b"first").await;
    assert_eq!(rig.ask("GET", "/data/x", b"").await.body, b"first");
    rig.ask_upstream("PUT", "/data/x", b"second").await;
    tokio::time::sleep(BOUND).await;
    let answer = rig.ask("GET", "/data/x", b"").await;
    assert_eq!(answer.body, b"second");
    assert!(answer.head.to_lowercase().contains("content-length: 6"));
    rig.ask_upstream("DELETE", "/data/x", b"").await;
    tokio::time::sleep(BOUND).await;
    assert_eq!(rig.ask("GET", "/data/x", b"").await.status, 404);
    // That nothing is there is not believed for any time.
    rig.ask_upstream("PUT", "/data/x", b"third").await;
    assert_eq!(rig.ask("GET", "/data/x", b"").await.body, b"third");
    rig.stop().await;
}

/// Mapped names come back in listings, answers about uploads and errors; the upstream's are nowhere in them.
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

/// Of a folder of a bucket nothing else can be reached, whatever is asked for.
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
