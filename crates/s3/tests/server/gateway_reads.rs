//! Reads through a gateway: the upstream's responses, its bytes fetched once, and one version in
//! each response.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::bytes::{Answer, parse};
use crate::gateway::{BOUND, GatewayRig, UPSTREAM, send};
use crate::sign::Ask;
use crate::support::ADMIN;

/// Returns the headers of a response without those that change with every response.
fn lasting_headers(answer: &Answer) -> Vec<String> {
    // In 304 responses the gateway follows RFC 9110; the server sends fewer headers.
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

/// Returns a body without request ids.
fn lasting_body(answer: &Answer) -> String {
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    match (text.find("<RequestId>"), text.find("</RequestId>")) {
        (Some(start), Some(end)) => text[..start].to_owned() + &text[end..],
        _ => text,
    }
}

/// Responses of the gateway equal those of the server: cold and warm, whole, partial, and refused.
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
    assert_eq!(put.send(rig.upstream.server.address()).await.status, 200);
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
                    let direct = send(&direct, rig.upstream.server.address()).await;
                    assert_eq!(through.status, direct.status, "{case}");
                    assert_eq!(lasting_headers(&through), lasting_headers(&direct), "{case}");
                    assert!(lasting_body(&through) == lasting_body(&direct), "{case}");
                }
            }
        }
    }
    rig.stop().await;
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
    // Under both names.
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

/// Other clients write to the upstream directly: their writes become visible within the bound.
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
    // Absence is never cached.
    rig.ask_upstream("PUT", "/data/x", b"third").await;
    assert_eq!(rig.ask("GET", "/data/x", b"").await.body, b"third");
    rig.stop().await;
}

/// A client has received the first bytes of an object, and somebody replaces it. The rest must be
/// of the version that began, or the response breaks off.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_has_begun_is_of_one_version_or_breaks_off() {
    const SIZE: usize = 48 << 20;
    let rig = GatewayRig::start(&[]).await;
    rig.ask("PUT", "/data", b"").await;
    rig.ask_upstream("PUT", "/data/x", &vec![1; SIZE]).await;
    let ask = Ask {
        unsigned: &[("connection", "close")],
        ..Ask::new("GET", "/data/x")
    };
    let mut stream = TcpStream::connect(rig.address()).await.unwrap();
    stream.write_all(&ask.by_header(rig.address()).0).await.unwrap();
    let mut bytes = vec![0; 100_000];
    stream.read_exact(&mut bytes).await.unwrap();
    rig.ask_upstream("PUT", "/data/x", &vec![2; SIZE]).await;
    let _ = stream.read_to_end(&mut bytes).await;
    let answer = parse(bytes);
    assert_eq!(answer.status, 200);
    assert!(
        answer.body.iter().all(|byte| *byte == 1),
        "no byte of the new version"
    );
    let length = answer.body.len();
    assert!(
        length < SIZE,
        "all of the old version, though it was replaced after {length} bytes"
    );
    // A new request gets the new version, which the gateway has noticed by now.
    let new = rig.ask("GET", "/data/x", b"").await;
    assert!(new.body.len() == SIZE && new.body.iter().all(|byte| *byte == 2));
    rig.stop().await;
}
