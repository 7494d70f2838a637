//! A client that signs requests with AWS Signature Version 4.

use std::fmt::Write as _;
use std::net::SocketAddr;

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::framing::Framing;

/// Access key and secret.
pub(super) const KEY: (&str, &str) = ("FUZZ", "secret-of-a-fuzz-target");

/// The part of a credential after the date.
const SCOPE: &str = "us-east-1/s3/aws4_request";

/// Maximum length of the head of a response, in bytes.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// A kept-alive connection.
pub(super) type Connection = TcpStream;

/// A signed request without its body.
pub(super) struct Signed {
    /// Request line and headers, without `content-length` if a body follows.
    pub(super) head: Vec<u8>,
    pub(super) signature: String,
    stamp: String,
}

impl Signed {
    /// Signs data after the head: a chunk or the trailer.
    pub(super) fn sign(&self, algorithm: &str, text: &str) -> String {
        sign(algorithm, &self.stamp, text)
    }

    /// Returns the request with a body.
    pub(super) fn with(&self, body: &[u8]) -> Vec<u8> {
        let length = format!("content-length: {}\r\n\r\n", body.len());
        [&self.head, length.as_bytes(), body].concat()
    }
}

/// Signs a request for content of `bytes` bytes with a framing; without framing it has no body.
pub(super) fn signed(
    address: SocketAddr,
    method: &str,
    path: &str,
    framing: Framing,
    bytes: usize,
) -> Signed {
    let stamp = stamp();
    let mut headers = vec![
        ("host", address.to_string()),
        ("x-amz-content-sha256", framing.payload().to_owned()),
        ("x-amz-date", stamp.clone()),
    ];
    if framing != Framing::None {
        headers.push(("content-encoding", "aws-chunked".to_owned()));
        headers.push(("x-amz-decoded-content-length", bytes.to_string()));
    }
    if framing.has_trailer() {
        headers.push(("x-amz-trailer", "x-amz-checksum-crc32".to_owned()));
    }
    headers.sort_unstable();
    let names: Vec<_> = headers.iter().map(|(name, _)| *name).collect();
    let names = names.join(";");
    let mut lines = String::new();
    for (name, value) in &headers {
        let _ = writeln!(lines, "{name}:{value}");
    }
    let canonical = format!("{method}\n{path}\n\n{lines}\n{names}\n{}", framing.payload());
    let signature = sign("AWS4-HMAC-SHA256", &stamp, &digest(canonical.as_bytes()));
    let mut head = format!("{method} {path} HTTP/1.1\r\n");
    for (name, value) in &headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    let credential = format!("{}/{}/{SCOPE}", KEY.0, &stamp[..8]);
    let _ = write!(
        head,
        "authorization: AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={names}, Signature={signature}\r\n"
    );
    if framing == Framing::None {
        head.push_str("content-length: 0\r\n\r\n");
    }
    Signed {
        head: head.into_bytes(),
        signature,
        stamp,
    }
}

fn sign(algorithm: &str, stamp: &str, text: &str) -> String {
    let date = &stamp[..8];
    let mut key = format!("AWS4{}", KEY.1).into_bytes();
    for part in [date].into_iter().chain(SCOPE.split('/')) {
        key = mac(&key, part);
    }
    HEXLOWER.encode(&mac(
        &key,
        &format!("{algorithm}\n{stamp}\n{date}/{SCOPE}\n{text}"),
    ))
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    let mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC accepts keys of any length");
    mac.chain_update(text).finalize().into_bytes().to_vec()
}

/// Returns the SHA-256 in hexadecimal.
pub(super) fn digest(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

/// Returns date and time in the form used in signatures.
fn stamp() -> String {
    let millis = i64::try_from(system::wall_ms()).expect("a time before the year 292 million");
    let iso = format::date::iso(millis);
    format!("{}Z", iso[..19].replace(['-', ':'], ""))
}

/// Sends a request and returns the status. Keeps the connection if the server does.
pub(super) async fn exchange(address: SocketAddr, kept: &mut Option<Connection>, request: &[u8]) -> u16 {
    let mut stream = match kept.take() {
        Some(stream) => stream,
        None => TcpStream::connect(address).await.expect("a connection"),
    };
    // A server that has rejected the head need not read the body: only its response matters.
    let _ = stream.write_all(request).await;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        assert!(
            head.len() < HEAD_BYTES_MAX,
            "the head of the response does not end"
        );
        head.push(stream.read_u8().await.expect("the server sends a response"));
    }
    let head = String::from_utf8_lossy(&head).to_lowercase();
    let value = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
    let length = value("content-length: ")
        .map(|length| length.trim().parse::<usize>().expect("the length is a number"));
    if value("connection: close").is_none()
        && let Some(length) = length
    {
        let mut body = vec![0; length];
        stream
            .read_exact(&mut body)
            .await
            .expect("the server sends the body of the response");
        *kept = Some(stream);
    }
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    status.expect("the response has a status")
}
