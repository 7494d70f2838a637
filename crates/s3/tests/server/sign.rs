//! Requests signed in the tests, which can then sign less than they send.

use std::fmt::Write as _;
use std::net::SocketAddr;

use data_encoding::{BASE64, HEXLOWER};
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Digest, Sha256};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::bytes::{Answer, read_answer};
use crate::support::ADMIN;

const REGION: &str = "us-east-1";

/// A request, with ADMIN's key by default.
#[derive(Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub(crate) method: &'a str,
    /// Path and query, encoded.
    pub(crate) target: &'a str,
    pub(crate) key: (&'a str, &'a str),
    /// Headers that the signature covers, in addition to `host`, `x-amz-date` and
    /// `x-amz-content-sha256`.
    pub(crate) signed: &'a [(&'a str, &'a str)],
    /// Headers sent unsigned.
    pub(crate) unsigned: &'a [(&'a str, &'a str)],
    pub(crate) body: &'a [u8],
    /// Value of `x-amz-content-sha256`.
    pub(crate) payload: &'a str,
    /// The region of the signature.
    pub(crate) region: &'a str,
}

impl<'a> Ask<'a> {
    pub(crate) fn new(method: &'a str, target: &'a str) -> Self {
        Self {
            method,
            target,
            key: ADMIN,
            signed: &[],
            unsigned: &[],
            body: b"",
            payload: "UNSIGNED-PAYLOAD",
            region: REGION,
        }
    }

    /// Signs in a header with version 4. Returns the bytes to send, the signature, and its date.
    pub(crate) fn by_header(&self, address: SocketAddr) -> (Vec<u8>, String, String) {
        let (date, stamp) = now();
        let host = address.to_string();
        let mut headers = vec![
            ("host", host.as_str()),
            ("x-amz-content-sha256", self.payload),
            ("x-amz-date", &stamp),
        ];
        headers.extend_from_slice(self.signed);
        headers.sort_unstable();
        let (path, query) = self.target.split_once('?').unwrap_or((self.target, ""));
        let canonical = canonical(self.method, path, query, &headers, self.payload);
        let signature = self.signature(&date, &stamp, &canonical);
        let names: Vec<_> = headers.iter().map(|(name, _)| *name).collect();
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={}/{date}/{}/s3/aws4_request, SignedHeaders={}, Signature={signature}",
            self.key.0,
            self.region,
            names.join(";")
        );
        headers.push(("authorization", &authorization));
        (self.bytes(&headers), signature, stamp)
    }

    /// Returns a presigned URL, valid for a minute; it covers the headers in `signed`.
    pub(crate) fn address(&self, address: SocketAddr) -> String {
        let (date, stamp) = now();
        let host = address.to_string();
        let mut headers = vec![("host", host.as_str())];
        headers.extend_from_slice(self.signed);
        headers.sort_unstable();
        let names: Vec<_> = headers.iter().map(|(name, _)| *name).collect();
        let (path, query) = self.target.split_once('?').unwrap_or((self.target, ""));
        let mut pairs: Vec<String> = query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(str::to_owned)
            .collect();
        pairs.extend([
            "X-Amz-Algorithm=AWS4-HMAC-SHA256".to_owned(),
            format!(
                "X-Amz-Credential={}%2F{date}%2F{}%2Fs3%2Faws4_request",
                self.key.0, self.region
            ),
            format!("X-Amz-Date={stamp}"),
            "X-Amz-Expires=60".to_owned(),
            format!("X-Amz-SignedHeaders={}", names.join("%3B")),
        ]);
        let query = pairs.join("&");
        let canonical = canonical(self.method, path, &query, &headers, "UNSIGNED-PAYLOAD");
        let signature = self.signature(&date, &stamp, &canonical);
        format!("{path}?{query}&X-Amz-Signature={signature}")
    }

    /// Signs in a header with version 2, dated `date`.
    pub(crate) fn by_version_2(&self, address: SocketAddr, date: OffsetDateTime) -> Vec<u8> {
        let date = date.format(&Rfc2822).unwrap();
        let text = format!("{}\n\n\n{date}\n{}", self.method, self.target);
        let mut mac = Hmac::<Sha1>::new_from_slice(self.key.1.as_bytes()).unwrap();
        mac.update(text.as_bytes());
        let signature = BASE64.encode(&mac.finalize().into_bytes());
        let authorization = format!("AWS {}:{signature}", self.key.0);
        let host = address.to_string();
        self.bytes(&[
            ("host", &host),
            ("date", &date),
            ("authorization", &authorization),
        ])
    }

    /// Sends the request with a version 4 signature in a header, and reads the response.
    pub(crate) async fn send(&self, address: SocketAddr) -> Answer {
        exchange(address, &self.by_header(address).0).await
    }

    /// Returns the signature of the first chunk, which holds `content`.
    pub(crate) fn chunk_signature(&self, previous: &str, stamp: &str, content: &[u8]) -> String {
        let date = &stamp[..8];
        let text = format!(
            "AWS4-HMAC-SHA256-PAYLOAD\n{stamp}\n{date}/{}/s3/aws4_request\n{previous}\n{}\n{}",
            self.region,
            HEXLOWER.encode(&Sha256::digest(b"")),
            HEXLOWER.encode(&Sha256::digest(content)),
        );
        HEXLOWER.encode(&mac(&self.signing_key(date), &text))
    }

    fn bytes(&self, headers: &[(&str, &str)]) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        for (name, value) in headers.iter().chain(self.unsigned) {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        let _ = write!(head, "content-length: {}\r\n\r\n", self.body.len());
        [head.as_bytes(), self.body].concat()
    }

    fn signature(&self, date: &str, stamp: &str, canonical: &str) -> String {
        let digest = HEXLOWER.encode(&Sha256::digest(canonical.as_bytes()));
        let text = format!(
            "AWS4-HMAC-SHA256\n{stamp}\n{date}/{}/s3/aws4_request\n{digest}",
            self.region
        );
        HEXLOWER.encode(&mac(&self.signing_key(date), &text))
    }

    fn signing_key(&self, date: &str) -> Vec<u8> {
        let key = mac(format!("AWS4{}", self.key.1).as_bytes(), date);
        let key = mac(&key, self.region);
        mac(&mac(&key, "s3"), "aws4_request")
    }
}

/// Sends bytes on a new connection and reads until it ends or the response is complete.
pub(crate) async fn exchange(address: SocketAddr, bytes: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    next_answer(&mut stream).await
}

/// Reads the next response on a connection that stays open.
pub(crate) async fn next_answer(stream: &mut TcpStream) -> Answer {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    let text = String::from_utf8_lossy(&head).to_lowercase();
    let length = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let mut answer = crate::bytes::parse(head);
    match length {
        Some(length) => {
            answer.body = vec![0; length.trim().parse().unwrap()];
            let _ = stream.read_exact(&mut answer.body).await;
        }
        None if answer.status == 204 || answer.status == 304 => {}
        None => answer.body = read_answer(stream).await.body,
    }
    answer
}

fn canonical(method: &str, path: &str, query: &str, headers: &[(&str, &str)], payload: &str) -> String {
    let mut pairs: Vec<_> = query.split('&').filter(|pair| !pair.is_empty()).collect();
    pairs.sort_unstable();
    let pairs: Vec<_> = pairs
        .into_iter()
        .map(|pair| {
            if pair.contains('=') {
                pair.to_owned()
            } else {
                format!("{pair}=")
            }
        })
        .collect();
    let lines: String = headers
        .iter()
        .map(|(name, value)| format!("{name}:{value}\n"))
        .collect();
    let names: Vec<_> = headers.iter().map(|(name, _)| *name).collect();
    format!(
        "{method}\n{path}\n{}\n{lines}\n{}\n{payload}",
        pairs.join("&"),
        names.join(";")
    )
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

/// Returns the date, and the date with the time.
fn now() -> (String, String) {
    let now = OffsetDateTime::now_utc();
    let date = format!("{:04}{:02}{:02}", now.year(), u8::from(now.month()), now.day());
    let stamp = format!("{date}T{:02}{:02}{:02}Z", now.hour(), now.minute(), now.second());
    (date, stamp)
}
