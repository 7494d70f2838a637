//! Chunked bodies, as a client with the key creates them.

use std::fmt::Write as _;

use data_encoding::BASE64;

use super::client::{Signed, digest};

/// The framing of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// No framing.
    None,
    /// Every chunk has a signature.
    Signed,
    /// Every chunk has a signature, and so has the trailer with a checksum.
    SignedTrailer,
    /// No signatures; a trailer has a checksum.
    Unsigned,
}

impl Framing {
    pub(super) fn of(choice: u8) -> Self {
        [Self::Signed, Self::SignedTrailer, Self::Unsigned][usize::from(choice) % 3]
    }

    /// Returns the value of `x-amz-content-sha256`.
    pub(super) fn payload(self) -> &'static str {
        match self {
            Self::None => "UNSIGNED-PAYLOAD",
            Self::Signed => "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
            Self::SignedTrailer => "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER",
            Self::Unsigned => "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
        }
    }

    pub(super) fn has_trailer(self) -> bool {
        matches!(self, Self::SignedTrailer | Self::Unsigned)
    }
}

/// Returns the body of a request.
pub(super) fn framed(framing: Framing, request: &Signed, chunks: &[&[u8]]) -> Vec<u8> {
    let mut body = Vec::new();
    let mut previous = request.signature.clone();
    for chunk in chunks.iter().chain([&&b""[..]]) {
        let mut line = format!("{:x}", chunk.len());
        if framing != Framing::Unsigned {
            let text = format!("{}\n{}\n{}", previous, digest(b""), digest(chunk));
            previous = request.sign("AWS4-HMAC-SHA256-PAYLOAD", &text);
            let _ = write!(line, ";chunk-signature={previous}");
        }
        body.extend_from_slice(line.as_bytes());
        body.extend_from_slice(b"\r\n");
        if !chunk.is_empty() {
            body.extend_from_slice(chunk);
            body.extend_from_slice(b"\r\n");
        }
    }
    if framing.has_trailer() {
        let sum = format!("x-amz-checksum-crc32:{}", crc32(&chunks.concat()));
        body.extend_from_slice(sum.as_bytes());
        body.extend_from_slice(b"\r\n");
        if framing == Framing::SignedTrailer {
            let text = format!("{}\n{}", previous, digest(format!("{sum}\n").as_bytes()));
            let signature = request.sign("AWS4-HMAC-SHA256-TRAILER", &text);
            body.extend_from_slice(format!("x-amz-trailer-signature:{signature}\r\n").as_bytes());
        }
    }
    body.extend_from_slice(b"\r\n");
    body
}

/// Returns the CRC-32 in Base64, as in a trailer.
pub(super) fn crc32(content: &[u8]) -> String {
    let mut sum = flate2::Crc::new();
    sum.update(content);
    BASE64.encode(&sum.sum().to_be_bytes())
}
