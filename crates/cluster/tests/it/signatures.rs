//! Nothing is served without the secret, even if connections are not protected. The requests are
//! made by hand, following `docs/format-cluster.md`.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{SystemTime, UNIX_EPOCH};

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use store::LayoutTag;

use crate::nodes::{Files, seen};

struct Ask<'a> {
    method: &'a str,
    path: &'a str,
    body: &'a str,
    under: LayoutTag,
    time_ms: u64,
    nonce: u128,
    secret: &'a [u8],
}

impl Ask<'_> {
    /// Returns the whole request as sent.
    fn text(&self) -> String {
        let layout = format!("{}-{}", self.under.number, HEXLOWER.encode(&self.under.digest));
        let ask = blake3::hash(self.body.as_bytes()).to_hex();
        let signed = format!(
            "{}\n{}\ntest\n{layout}\n{}\n{:032x}\n{ask}\n",
            self.method, self.path, self.time_ms, self.nonce
        );
        let mut mac: Hmac<Sha256> = Hmac::new_from_slice(self.secret).unwrap();
        mac.update(signed.as_bytes());
        let signature = HEXLOWER.encode(&mac.finalize().into_bytes());
        format!(
            "{} {} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\nweft-signature: {signature}\r\n\
             weft-caller: test\r\nweft-layout: {layout}\r\nweft-time: {}\r\nweft-nonce: {:032x}\r\nweft-ask: {ask}\r\n\r\n{}",
            self.method,
            self.path,
            self.body.len(),
            self.time_ms,
            self.nonce,
            self.body
        )
    }
}

/// Sends a request and returns status and body.
fn send(address: SocketAddr, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), body.to_owned())
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_served_without_the_secret_nor_late_nor_twice() {
    let files = Files::new(1, 1, 1);
    files.set_tls("off");
    let node = files.start("n1").await;
    let address = node.address();
    let secret = std::fs::read_to_string(files.path().join("secret")).unwrap();
    let secret = HEXLOWER_PERMISSIVE.decode(secret.trim().as_bytes()).unwrap();
    let under = LayoutTag::of(&seen(&node.store()).topology().layouts.current);
    let good = || Ask {
        method: "POST",
        path: "/v1/volume/n1/d1/status",
        body: "\"status\"",
        under,
        time_ms: now_ms(),
        nonce: rand::random(),
        secret: &secret,
    };
    let check = |what: &str, request: String, expected: u16| {
        let (status, body) = send(address, &request);
        assert_eq!(status, expected, "{what}: {body}");
        if status == 401 {
            assert_eq!(body, "", "{what}");
        }
    };
    for (method, path) in [
        ("GET", "/"),
        ("GET", "/v1/ping"),
        ("POST", "/v1/node/status"),
        ("GET", "/metrics"),
    ] {
        let request = format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        check(path, request, 401);
    }
    check("good", good().text(), 200);
    check(
        "another secret",
        Ask {
            secret: &[1; 32],
            ..good()
        }
        .text(),
        401,
    );
    let minutes = |n: u64| n * 60 * 1000;
    check(
        "late",
        Ask {
            time_ms: now_ms() - minutes(6),
            ..good()
        }
        .text(),
        401,
    );
    check(
        "early",
        Ask {
            time_ms: now_ms() + minutes(6),
            ..good()
        }
        .text(),
        401,
    );
    check(
        "within",
        Ask {
            time_ms: now_ms() - minutes(4),
            ..good()
        }
        .text(),
        200,
    );
    let other = good().text().replace("\r\n\r\n\"status\"", "\r\n\r\n\"survey\"");
    check("another ask than signed", other, 401);
    let other = good().text().replace("/d1/status", "/d2/status");
    check("another path than signed", other, 401);
    let ping = Ask {
        method: "GET",
        path: "/v1/ping",
        body: "",
        ..good()
    };
    check("ping", ping.text(), 200);
    let other_layout = LayoutTag { number: 9, ..under };
    check(
        "another layout",
        Ask {
            under: other_layout,
            ..good()
        }
        .text(),
        409,
    );
    check(
        "no such operation",
        Ask {
            path: "/v1/volume/n1/d1/delete-all",
            ..good()
        }
        .text(),
        404,
    );
    check(
        "no such volume",
        Ask {
            path: "/v1/volume/n1/d9/status",
            ..good()
        }
        .text(),
        502,
    );
    check("invalid JSON", Ask { body: "{", ..good() }.text(), 400);
    let abort = format!("{{\"abort\":{{\"stage\":{},\"what\":\"received\"}}}}", u128::MAX);
    let write = Ask {
        path: "/v1/volume/n1/d1/abort",
        body: &abort,
        ..good()
    }
    .text();
    check("a write", write.clone(), 200);
    check("the same write again", write, 401);
    let upload = Ask {
        path: "/v1/volume/n1/d1/stage?upload=00000000000000000000000000000001",
        body: "",
        ..good()
    };
    check("an upload", upload.text(), 200);
    check("the same upload again", upload.text(), 401);
    node.shutdown().await;
}

/// Whatever bytes arrive, the node answers the next request.
#[tokio::test(flavor = "multi_thread")]
async fn noise_does_no_harm() {
    let files = Files::new(1, 1, 1);
    let node = files.start("n1").await;
    let mut noise = vec![b'\0'; 100];
    noise.extend_from_slice(
        b"POST /v1/volume/n1/d1/stage HTTP/1.1\r\ncontent-length: 99999999999999999999\r\n\r\n",
    );
    for start in 0..noise.len() {
        let mut stream = TcpStream::connect(node.address()).unwrap();
        stream.write_all(&noise[start..]).unwrap();
    }
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(100_000));
    let mut stream = TcpStream::connect(node.address()).unwrap();
    // The node may close the connection before everything is sent.
    let _ = stream.write_all(long.as_bytes());
    let client = files.client().await;
    assert!(client.through().is_some());
    node.shutdown().await;
}

/// Clients without the secret can hold only few connections, for a short time. A client with the
/// secret gets in meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn idle_strangers_do_not_lock_the_port() {
    let files = Files::new(1, 1, 1);
    files.set_tls("off");
    let mut settings = files.settings("n1");
    settings.connections = cluster::ConnectionSettings {
        max: 8,
        per_address: 3,
        reserved: 4,
        stranger_seconds: 1,
    };
    let node = cluster::start(settings).await.unwrap();
    let address = node.address();
    let secret = std::fs::read_to_string(files.path().join("secret")).unwrap();
    let secret = HEXLOWER_PERMISSIVE.decode(secret.trim().as_bytes()).unwrap();
    let good = || Ask {
        method: "GET",
        path: "/v1/ping",
        body: "",
        under: LayoutTag::of(&seen(&node.store()).topology().layouts.current),
        time_ms: now_ms(),
        nonce: rand::random(),
        secret: &secret,
    };
    let asking = || tokio::task::block_in_place(|| send(address, &good().text()).0);
    assert_eq!(asking(), 200);
    let mut held: Vec<_> = (0..3).map(|_| TcpStream::connect(address).unwrap()).collect();
    let mut rest = Vec::new();
    let fourth = tokio::task::block_in_place(|| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.read_to_end(&mut rest)
    });
    assert_eq!(
        (fourth.unwrap_or(0), rest.len()),
        (0, 0),
        "too many connections from one address"
    );
    // The node does not keep waiting for a connection that sends unsigned requests.
    held[0]
        .write_all(b"GET /v1/ping HTTP/1.1\r\nhost: x\r\n\r\n")
        .unwrap();
    for stream in &mut held {
        let mut text = String::new();
        let _ = tokio::task::block_in_place(|| stream.read_to_string(&mut text));
        assert!(text.is_empty() || text.starts_with("HTTP/1.1 401"), "{text}");
    }
    assert_eq!(asking(), 200);
    node.shutdown().await;
}
