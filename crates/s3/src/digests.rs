//! Compares the digests that a client declares for a small body (XML, or a policy) with the
//! received bytes.
//!
//! The store compares the digests of objects ([`crate::content`]). Here the comparison happens when
//! the body has been read and before it is acted upon: a damaged body must not delete, publish or
//! replace anything.

use data_encoding::BASE64;
use http::HeaderMap;
use s3s::S3Result;
use s3s::crypto::{Checksum as _, Md5};

use crate::checksum::{ALL, Declared, Hasher};
use crate::error::fault;
use crate::refusal::Refusal;

/// Header with the MD5.
const MD5: &str = "content-md5";

/// The declared digests of a body, and those computed so far.
pub(crate) struct Digests {
    md5: Option<(Md5, Vec<u8>)>,
    /// The hasher, its header, and the header's value.
    sum: Option<(Hasher, &'static str, String)>,
}

impl Digests {
    /// Returns the digests of a request; `None` if no digest is declared or required, or if the
    /// body is the content of an object.
    ///
    /// # Errors
    /// If a digest is malformed, or is required and missing.
    pub(crate) fn of(operation: &str, headers: &HeaderMap) -> S3Result<Option<Self>> {
        if carries_content(operation) {
            return Ok(None);
        }
        let md5 = headers.get(MD5).map(|value| BASE64.decode(value.as_bytes()));
        let md5 = md5.map(|decoded| decoded.ok().filter(|bytes| bytes.len() == 16));
        let md5 = match md5 {
            Some(None) => return Err(fault("InvalidDigest", "Content-MD5 is not 16 bytes in Base64")),
            Some(Some(bytes)) => Some((Md5::new(), bytes)),
            None => None,
        };
        // The headers of this operation describe the object made from the parts, not the body.
        let of_object = operation == "CompleteMultipartUpload";
        let declared = if of_object { None } else { declared(headers)? };
        let sum = declared.and_then(|declared| {
            let algorithm = declared.algorithm;
            Some((Hasher::new(algorithm), algorithm.header(), declared.value?))
        });
        if md5.is_none() && sum.is_none() {
            return if needs_digest(operation) {
                Err(fault(
                    "InvalidRequest",
                    "missing required header for this request: Content-MD5 or x-amz-checksum-*",
                ))
            } else {
                Ok(None)
            };
        }
        Ok(Some(Self { md5, sum }))
    }

    /// Hashes more of the body.
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        if let Some((md5, _)) = &mut self.md5 {
            md5.update(bytes);
        }
        if let Some((hasher, ..)) = &mut self.sum {
            hasher.update(bytes);
        }
    }

    /// Compares the digests, after the whole body has arrived.
    ///
    /// # Errors
    /// If a digest differs from the declared one.
    pub(crate) fn compare(self) -> Result<(), Refusal> {
        let differs = |what: &str| {
            let message = format!("the {what} you specified did not match what we received");
            Err(Refusal::bad("BadDigest", message))
        };
        if let Some((md5, expected)) = self.md5
            && md5.finalize().as_slice() != expected
        {
            return differs("Content-MD5");
        }
        if let Some((hasher, header, expected)) = self.sum
            && hasher.finish() != expected
        {
            return differs(header);
        }
        Ok(())
    }
}

fn declared(headers: &HeaderMap) -> S3Result<Option<Declared>> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::to_owned);
    let [crc32, crc32c, crc64nvme, sha1, sha256] = ALL.map(|algorithm| text(algorithm.header()));
    let sums = s3s::dto::Checksum {
        checksum_crc32: crc32,
        checksum_crc32c: crc32c,
        checksum_crc64nvme: crc64nvme,
        checksum_sha1: sha1,
        checksum_sha256: sha256,
        checksum_type: None,
    };
    Declared::of(&sums, headers)
}

fn carries_content(operation: &str) -> bool {
    matches!(operation, "PutObject" | "PostObject" | "UploadPart")
}

/// Reports whether S3 requires a digest of the operation's body.
fn needs_digest(operation: &str) -> bool {
    matches!(
        operation,
        "DeleteObjects" | "PutBucketCors" | "PutBucketTagging" | "PutObjectTagging"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELLO: [(&str, &str); 3] = [
        ("content-md5", "XrY7u+Ae7tCTyyK7j1rNww=="),
        ("x-amz-checksum-crc32", "DUoRhQ=="),
        (
            "x-amz-checksum-sha256",
            "uU0nuZNNPgilLlLX2n2r+sSE7+N6U4DukIj3rOLvzek=",
        ),
    ];

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn a_body_that_is_not_what_was_declared_is_refused() {
        for pair in HELLO {
            for (body, good) in [(["hello ", "world"], true), (["hello", "world"], false)] {
                let mut digests = Digests::of("DeleteObjects", &headers(&[pair])).unwrap().unwrap();
                body.iter().for_each(|piece| digests.update(piece.as_bytes()));
                assert_eq!(digests.compare().is_ok(), good, "{pair:?} {body:?}");
            }
        }
    }

    #[test]
    fn some_bodies_need_a_digest_and_none_may_be_malformed() {
        let code = |operation, pairs: &[_]| {
            let found = Digests::of(operation, &headers(pairs));
            found.map_or_else(
                |error| error.code().as_str().to_owned(),
                |digests| if digests.is_some() { "compared" } else { "" }.to_owned(),
            )
        };
        assert_eq!(code("DeleteObjects", &[]), "InvalidRequest");
        assert_eq!(code("PutBucketAcl", &[]), "");
        assert_eq!(code("PutBucketAcl", &[("content-md5", "short")]), "InvalidDigest");
        assert_eq!(
            code("PutBucketAcl", &[("x-amz-checksum-crc32", "AA==")]),
            "BadDigest"
        );
        assert_eq!(code("PutBucketAcl", &HELLO[..2]), "compared");
        assert_eq!(code("CompleteMultipartUpload", &HELLO[1..2]), "");
        assert_eq!(code("CompleteMultipartUpload", &HELLO[..1]), "compared");
        assert_eq!(code("PutObject", &[("content-md5", "short")]), "");
    }
}
