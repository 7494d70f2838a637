//! Tests of the server at byte level, with requests that no well-behaved client library would send.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Rig, impatient};

/// A response as received from the socket.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        format!("{}\n{}", self.head, String::from_utf8_lossy(&self.body))
    }
}

/// Sends a request to `http://HOST/...` and reads the response to the end of the connection.
pub(crate) async fn request(method: &str, url: &str, body: &[u8]) -> Answer {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).await.unwrap();
    let head = format!(
        "{method} /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body).await.unwrap();
    read_answer(&mut stream).await
}

pub(crate) async fn read_answer(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    // A connection that is cut after an early response may end in a reset; the bytes received
    // before it count.
    let _ = stream.read_to_end(&mut bytes).await;
    parse(bytes)
}

pub(crate) fn parse(bytes: Vec<u8>) -> Answer {
    let end = bytes
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .unwrap_or(bytes.len());
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .unwrap_or(0);
    let body = bytes.get(end + 4..).unwrap_or_default().to_vec();
    Answer { status, head, body }
}

pub(crate) async fn send(address: SocketAddr, text: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    (stream, text.to_owned())
}

/// Starts a server with a bucket that anybody may write to.
pub(crate) async fn open_to_writers(limits: s3::Limits) -> Rig {
    let keys = "[keys.A]\nsecret = \"s\"\nrights = {}\n[buckets.drop]\nanonymous = [\"read\", \"write\"]\n";
    let rig = Rig::start_changed(keys, |settings| settings.limits = limits).await;
    let made = request("PUT", &format!("{}/drop", rig.endpoint()), b"").await;
    assert_eq!(made.status, 200, "{}", made.text());
    rig
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_shown_to_strangers() {
    let rig = Rig::start().await;
    for (method, path) in [
        ("GET", "/"),
        ("GET", "/data"),
        ("PUT", "/data"),
        ("GET", "/data/x"),
        ("PUT", "/data/x"),
        ("DELETE", "/data/x"),
        ("POST", "/data?delete"),
        ("PUT", "/data?policy"),
    ] {
        let answer = request(method, &format!("{}{path}", rig.endpoint()), b"").await;
        assert_eq!(answer.status, 403, "{method} {path}: {}", answer.text());
        assert!(
            answer.text().contains("<Code>AccessDenied</Code>"),
            "{}",
            answer.text()
        );
    }
    for path in ["/.s3/buckets/x", "/.uploads", "/.s3"] {
        let answer = request("GET", &format!("{}{path}", rig.endpoint()), b"").await;
        assert_eq!(answer.status, 400, "{path}: {}", answer.text());
    }
    rig.stop().await;
}

/// A client that waits for `100 Continue` and is refused may send its next request immediately. Its
/// first byte must not be taken for the body, which is never sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_ends_with_a_body_that_was_not_asked_for() {
    let rig = Rig::start().await;
    let head = "PUT /data/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n";
    let (mut stream, _) = send(rig.server.address(), head).await;
    let answer = read_answer(&mut stream).await;
    assert_eq!(answer.status, 403, "{}", answer.text());
    assert!(
        answer.head.to_lowercase().contains("connection: close"),
        "{}",
        answer.head
    );
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_signature_is_told() {
    let rig = Rig::start().await;
    let now = time::OffsetDateTime::now_utc();
    let date = format!("{:04}{:02}{:02}", now.year(), u8::from(now.month()), now.day());
    let stamp = format!("{date}T{:02}{:02}{:02}Z", now.hour(), now.minute(), now.second());
    for (id, code) in [
        ("ADMIN", "SignatureDoesNotMatch"),
        ("NOBODY", "InvalidAccessKeyId"),
    ] {
        let text = format!(
            "GET /data HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nx-amz-date: {stamp}\r\n\
             x-amz-content-sha256: UNSIGNED-PAYLOAD\r\nContent-Length: 0\r\nAuthorization: AWS4-HMAC-SHA256 \
             Credential={id}/{date}/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, \
             Signature=0000000000000000000000000000000000000000000000000000000000000000\r\n\r\n"
        );
        let answer = read_answer(&mut send(rig.server.address(), &text).await.0).await;
        assert_eq!(answer.status, 403);
        assert!(answer.text().contains(code), "{}", answer.text());
    }
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_headers_are_refused() {
    let rig = Rig::start().await;
    let text = format!(
        "GET / HTTP/1.1\r\nHost: localhost\r\nx-long: {}\r\n\r\n",
        "y".repeat(64 * 1024)
    );
    let answer = read_answer(&mut send(rig.server.address(), &text).await.0).await;
    assert_eq!(answer.status, 431, "{}", answer.text());
    let many: String = (0..500).map(|n| format!("x-{n}: y\r\n")).collect();
    let text = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{many}\r\n");
    let answer = read_answer(&mut send(rig.server.address(), &text).await.0).await;
    assert_eq!(answer.status, 431, "{}", answer.text());
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_headers_and_idle_connections_are_cut() {
    let rig = Rig::start_with(impatient(), None).await;
    for text in ["", "GET / HTTP/1.1\r\nHost:"] {
        let (mut stream, _) = send(rig.server.address(), text).await;
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes).await;
        assert!(
            !String::from_utf8_lossy(&bytes).contains("200"),
            "the connection ends"
        );
    }
    rig.stop().await;
}

/// A client that declares a body and stops in the middle of it gets a response, holds no resources,
/// and leaves no object.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_body_is_given_up() {
    let rig = open_to_writers(impatient()).await;
    let text = "PUT /drop/slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\nbeginning";
    let answer = read_answer(&mut send(rig.server.address(), text).await.0).await;
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert!(answer.text().contains("RequestTimeout"), "{}", answer.text());
    assert_eq!(rig.keys("drop/").await, Vec::<String>::new());
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_cut_short_leaves_nothing() {
    let rig = open_to_writers(s3::Limits::default()).await;
    for content in [10, 300_000] {
        let text = format!(
            "PUT /drop/cut HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n{}",
            "z".repeat(content)
        );
        let (mut stream, _) = send(rig.server.address(), &text).await;
        stream.shutdown().await.unwrap();
        let answer = read_answer(&mut stream).await;
        assert_ne!(answer.status, 200, "{}", answer.text());
    }
    // The client has closed its side. The server has finished once it has counted the requests.
    while rig.counted("PutObject").count < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(rig.keys("drop/").await, Vec::<String>::new());
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn declared_digests_are_compared() {
    let rig = open_to_writers(s3::Limits::default()).await;
    for (header, status, code) in [
        ("Content-MD5: XrY7u+Ae7tCTyyK7j1rNww==", 200, ""),
        ("Content-MD5: AAAAAAAAAAAAAAAAAAAAAA==", 400, "BadDigest"),
        ("Content-MD5: short", 400, "InvalidDigest"),
        ("x-amz-checksum-crc32: DUoRhQ==", 200, ""),
        ("x-amz-checksum-crc32: AAAAAA==", 400, "BadDigest"),
        ("x-amz-checksum-crc32c: yZRlqg==", 200, ""),
        ("x-amz-checksum-sha1: Kq5sNclPz7QV2+lfQIuc6R7oRu0=", 200, ""),
        (
            "x-amz-checksum-sha1: AAAAAAAAAAAAAAAAAAAAAAAAAAA=",
            400,
            "BadDigest",
        ),
        (
            "x-amz-checksum-sha256: uU0nuZNNPgilLlLX2n2r+sSE7+N6U4DukIj3rOLvzek=",
            200,
            "",
        ),
        (
            "x-amz-checksum-sha256: AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
            400,
            "BadDigest",
        ),
        ("x-amz-checksum-sha256: AAAA", 400, "BadDigest"),
    ] {
        let text = format!(
            "PUT /drop/digest HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{header}\r\nContent-Length: 11\r\n\r\n\
             hello world"
        );
        let answer = read_answer(&mut send(rig.server.address(), &text).await.0).await;
        assert_eq!(answer.status, status, "{header}: {}", answer.text());
        assert!(answer.text().contains(code), "{header}: {}", answer.text());
    }
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_are_limited_and_need_a_length() {
    let rig = open_to_writers(s3::Limits {
        body_bytes_max: 1000,
        ..s3::Limits::default()
    })
    .await;
    let long = "PUT /drop/long HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1001\r\n\r\n";
    let answer = read_answer(&mut send(rig.server.address(), long).await.0).await;
    assert!(
        answer.status == 400 && answer.text().contains("EntityTooLarge"),
        "{}",
        answer.text()
    );
    let chunked = "PUT /drop/chunked HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
                   Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";
    let answer = read_answer(&mut send(rig.server.address(), chunked).await.0).await;
    assert!(
        answer.status == 411 && answer.text().contains("MissingContentLength"),
        "{}",
        answer.text()
    );
    rig.stop().await;
}

/// `100 Continue` is sent when the body is needed, and not if the request is refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn expect_100_continue() {
    let rig = open_to_writers(s3::Limits::default()).await;
    let head = |bucket: &str| {
        format!(
            "PUT /{bucket}/x HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: 3\r\n\r\n"
        )
    };
    let (mut stream, _) = send(rig.server.address(), &head("drop")).await;
    let mut line = [0; 25];
    stream.read_exact(&mut line).await.unwrap();
    assert_eq!(&line, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"abc").await.unwrap();
    assert_eq!(read_answer(&mut stream).await.status, 200);
    let (mut stream, _) = send(rig.server.address(), &head("other")).await;
    assert_eq!(read_answer(&mut stream).await.status, 403);
    rig.stop().await;
}

/// A client that requests much data and reads none of it is disconnected.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_does_not_read_is_cut() {
    let rig = open_to_writers(impatient()).await;
    let content = vec![7; 32 * 1024 * 1024];
    let put = request("PUT", &format!("{}/drop/big", rig.endpoint()), &content).await;
    assert_eq!(put.status, 200, "{}", put.text());
    let (_stream, _) = send(
        rig.server.address(),
        "GET /drop/big HTTP/1.1\r\nHost: localhost\r\n\r\n",
    )
    .await;
    while rig.counted("GetObject").count == 0 {
        tokio::task::yield_now().await;
    }
    let counts = rig.counted("GetObject");
    assert!(counts.bytes_out < content.len() as u64, "{counts:?}");
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_done_says_its_name() {
    let rig = open_to_writers(s3::Limits::default()).await;
    let answer = request("DELETE", &format!("{}/drop?website", rig.endpoint()), b"").await;
    assert_eq!(answer.status, 501, "{}", answer.text());
    assert!(
        answer.text().contains("DeleteBucketWebsite is not implemented"),
        "{}",
        answer.text()
    );
    rig.stop().await;
}
