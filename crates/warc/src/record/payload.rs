//! Digests of blocks and payloads, computed while the block is read.
//!
//! The payload of an HTTP record is the part after the HTTP header; the payload of any other record
//! is the block. Archives compute the payload digest over the payload either as stored or without
//! chunk sizes; both are accepted.

use crate::reason;
use crate::record::digest::{Algorithm, Declared, Hasher, base32};
use crate::record::headers::Headers;
use crate::record::http::{Dechunker, HTTP_HEADER_BYTES_MAX, http_header_length, is_chunked};
use crate::record::{Kind, Record};
use crate::span::Defect;

/// Returns the payload as stored of a record with a complete body: for HTTP, the part after the
/// HTTP header.
pub fn payload(record: &Record) -> &[u8] {
    if record.is_http() {
        http_header_length(&record.body).map_or(&[], |length| &record.body[length..])
    } else {
        &record.body
    }
}

/// Returns the SHA-1 in Base32 of the payload after transfer decoding (docs/views.md, for records
/// that declare no digest).
///
/// This is the digest computed while reading (see [`Record::payload_sha1`]) if available. Otherwise
/// it is computed from the stored part of the body.
pub fn payload_digest(record: &Record) -> String {
    if let Some(digest) = &record.payload_sha1 {
        return digest.clone();
    }
    let mut hashers = PayloadHashers::new(Algorithm::Sha1, record.is_http());
    hashers.update(&record.body);
    base32(&hashers.finish().decoded)
}

/// Computes both digests of a payload while the block arrives in pieces.
pub(crate) struct PayloadHashers {
    stored: Hasher,
    /// Used only if the HTTP header declares chunked encoding.
    decoded: Option<(Dechunker, Hasher)>,
    /// The part of the HTTP header that has arrived, until its end is found. If a header has no
    /// end, there is no payload.
    header: Option<Vec<u8>>,
}

pub(crate) struct PayloadDigests {
    pub(crate) stored: Vec<u8>,
    /// Equals `stored` if the payload is not chunked.
    pub(crate) decoded: Vec<u8>,
}

impl PayloadHashers {
    pub(crate) fn new(algorithm: Algorithm, http: bool) -> PayloadHashers {
        PayloadHashers {
            stored: Hasher::new(algorithm),
            decoded: None,
            header: http.then(Vec::new),
        }
    }

    pub(crate) fn update(&mut self, piece: &[u8]) {
        let Some(header) = &mut self.header else {
            return self.hash(piece);
        };
        // The header's end may span two pieces. Searching from the start again is cheap, because
        // headers are small.
        let before = header.len();
        if before >= HTTP_HEADER_BYTES_MAX {
            return;
        }
        header.extend_from_slice(&piece[..piece.len().min(HTTP_HEADER_BYTES_MAX.saturating_sub(before))]);
        let Some(length) = http_header_length(header) else {
            return;
        };
        if is_chunked(&header[..length]) {
            // The two digests differ only from here on: neither includes the header.
            self.decoded = Some((Dechunker::new(), self.stored.clone()));
        }
        self.header = None;
        self.hash(&piece[length - before..]);
    }

    fn hash(&mut self, piece: &[u8]) {
        self.stored.update(piece);
        if let Some((dechunker, hasher)) = &mut self.decoded {
            dechunker.push(piece, |part| hasher.update(part));
        }
    }

    pub(crate) fn finish(self) -> PayloadDigests {
        let stored = self.stored.finish();
        let decoded = match self.decoded {
            Some((dechunker, mut hasher)) => {
                dechunker.finish(|part| hasher.update(part));
                hasher.finish()
            }
            None => stored.clone(),
        };
        PayloadDigests { stored, decoded }
    }
}

/// The digests to compute for a record.
#[derive(Default)]
pub(crate) struct Checks {
    block: Option<(Declared, Hasher)>,
    payload: Option<(Declared, PayloadHashers)>,
    /// Used if the body is not completely stored and has no declared payload digest.
    sha1: Option<PayloadHashers>,
}

impl Checks {
    /// Returns the checks for `verify_digests`. The payload of a revisit is not checked, because
    /// the record does not contain it.
    pub(crate) fn declared(headers: &Headers, kind: Kind, http: bool, defects: &mut Vec<Defect>) -> Checks {
        let mut read = |name: &str| {
            let text = headers.get(name)?;
            let declared = Declared::parse(text);
            if declared.is_none() {
                defects.push(Defect::new(reason::DIGEST_UNKNOWN, format!("{name}: {text}")));
            }
            declared
        };
        let block = read("WARC-Block-Digest").map(|d| (d.clone(), Hasher::new(d.algorithm)));
        let payload = match kind {
            Kind::Revisit => None,
            _ => read("WARC-Payload-Digest").map(|d| (d.clone(), PayloadHashers::new(d.algorithm, http))),
        };
        Checks {
            block,
            payload,
            sha1: None,
        }
    }

    /// Also computes the SHA-1 of the payload.
    pub(crate) fn with_sha1(mut self, http: bool) -> Checks {
        self.sha1 = Some(PayloadHashers::new(Algorithm::Sha1, http));
        self
    }

    /// Reports whether there are no digests to compute.
    pub(crate) fn is_idle(&self) -> bool {
        self.block.is_none() && self.payload.is_none() && self.sha1.is_none()
    }

    pub(crate) fn update(&mut self, piece: &[u8]) {
        if let Some((_, hasher)) = &mut self.block {
            hasher.update(piece);
        }
        if let Some((_, hashers)) = &mut self.payload {
            hashers.update(piece);
        }
        if let Some(hashers) = &mut self.sha1 {
            hashers.update(piece);
        }
    }

    /// Adds mismatches to `defects`. Returns the SHA-1 of the payload if requested.
    pub(crate) fn finish(self, defects: &mut Vec<Defect>) -> Option<String> {
        if let Some((declared, hasher)) = self.block {
            let found = hasher.finish();
            if found != declared.value {
                defects.push(mismatch(reason::BLOCK_DIGEST_MISMATCH, &declared, &found));
            }
        }
        if let Some((declared, hashers)) = self.payload {
            let found = hashers.finish();
            if found.stored != declared.value && found.decoded != declared.value {
                defects.push(mismatch(
                    reason::PAYLOAD_DIGEST_MISMATCH,
                    &declared,
                    &found.stored,
                ));
            }
        }
        self.sha1.map(|hashers| base32(&hashers.finish().decoded))
    }
}

fn mismatch(reason: &'static str, declared: &Declared, found: &[u8]) -> Defect {
    Defect::new(
        reason,
        format!("declared {}, is {}", base32(&declared.value), base32(found)),
    )
}
