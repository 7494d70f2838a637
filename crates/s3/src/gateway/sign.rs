//! Version 4 signatures for requests to the upstream.
//!
//! Implemented here because the available signers take a parsed URL, which normalizes `a/../b` to
//! `b`: both are valid keys.

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit, Mac};
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName};
use http::{HeaderMap, HeaderValue, Method};
use sha2::{Digest, Sha256};
use time::OffsetDateTime;

use crate::query::Query;

/// Value of `x-amz-content-sha256` for content that the signature does not cover.
pub(crate) const UNSIGNED: &str = "UNSIGNED-PAYLOAD";

/// Header with the digest of the content.
pub(crate) const CONTENT_SHA256: HeaderName = HeaderName::from_static("x-amz-content-sha256");

const DATE: HeaderName = HeaderName::from_static("x-amz-date");
const TOKEN: HeaderName = HeaderName::from_static("x-amz-security-token");
const CONTENT_MD5: &str = "content-md5";

/// An access key of the upstream.
#[derive(Clone)]
pub struct Credential {
    /// The access key id.
    pub id: String,
    /// Its secret.
    pub secret: String,
    /// The token of a temporary key.
    pub token: Option<String>,
}

impl std::fmt::Debug for Credential {
    /// Leaves out the secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credential")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// The parts of a request that are signed besides the headers.
pub(crate) struct Signed<'a> {
    pub(crate) method: &'a Method,
    /// The encoded path that is sent.
    pub(crate) path: &'a str,
    pub(crate) query: &'a Query,
    /// Value of `x-amz-content-sha256`.
    pub(crate) payload: &'a str,
}

/// Adds the headers of a signature. It covers the host, the type and MD5 of the content, and all
/// headers with the prefix `x-amz-`.
///
/// # Errors
/// If the token is not a valid header value.
pub(crate) fn sign(
    credential: &Credential,
    region: &str,
    signed: &Signed<'_>,
    headers: &mut HeaderMap,
    now: OffsetDateTime,
) -> Result<(), http::header::InvalidHeaderValue> {
    let date = format!("{:04}{:02}{:02}", now.year(), u8::from(now.month()), now.day());
    let stamp = format!("{date}T{:02}{:02}{:02}Z", now.hour(), now.minute(), now.second());
    headers.insert(DATE, HeaderValue::try_from(&stamp)?);
    headers.insert(CONTENT_SHA256, HeaderValue::try_from(signed.payload)?);
    if let Some(token) = &credential.token {
        headers.insert(TOKEN, HeaderValue::try_from(token)?);
    }
    let (names, canonical) = canonical(signed, headers);
    let scope = format!("{date}/{region}/s3/aws4_request");
    let digest = HEXLOWER.encode(&Sha256::digest(&canonical));
    let text = format!("AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{digest}");
    let mut key = format!("AWS4{}", credential.secret).into_bytes();
    for part in [date.as_str(), region, "s3", "aws4_request", &text] {
        key = mac(&key, part);
    }
    let signature = HEXLOWER.encode(&key);
    let authorization = format!(
        "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={signature}",
        credential.id
    );
    headers.insert(AUTHORIZATION, HeaderValue::try_from(authorization)?);
    Ok(())
}

/// Returns the names of the signed headers, and the canonical request.
fn canonical(signed: &Signed<'_>, headers: &HeaderMap) -> (String, Vec<u8>) {
    let is_covered = |name: &&HeaderName| {
        *name == HOST
            || *name == CONTENT_TYPE
            || name.as_str() == CONTENT_MD5
            || name.as_str().starts_with("x-amz-")
    };
    let mut names: Vec<_> = headers
        .keys()
        .filter(is_covered)
        .map(HeaderName::as_str)
        .collect();
    names.sort_unstable();
    let mut text = format!(
        "{}\n{}\n{}\n",
        signed.method,
        signed.path,
        signed.query.canonical()
    )
    .into_bytes();
    for name in &names {
        text.extend_from_slice(name.as_bytes());
        let mut before = b':';
        for value in headers.get_all(*name) {
            text.push(before);
            text.extend_from_slice(&trimmed(value.as_bytes()));
            before = b',';
        }
        text.push(b'\n');
    }
    let names = names.join(";");
    text.extend_from_slice(format!("\n{names}\n{}", signed.payload).as_bytes());
    (names, text)
}

/// Trims a value and collapses runs of spaces.
fn trimmed(value: &[u8]) -> Vec<u8> {
    let words = value.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(&b' ')
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    // HMAC takes keys of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
        return Vec::new();
    };
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Examples from Amazon ("Authenticating Requests: Using the Authorization Header").
    #[test]
    fn published_signatures() {
        let credential = Credential {
            id: "AKIAIOSFODNN7EXAMPLE".to_owned(),
            secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
            token: None,
        };
        let now = OffsetDateTime::from_unix_timestamp(1_369_353_600).unwrap();
        for (query, expected) in [
            (
                "lifecycle",
                "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
            ),
            (
                "prefix=J&max-keys=2",
                "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
            ),
        ] {
            let signed = Signed {
                method: &Method::GET,
                path: "/",
                query: &Query::of(&format!("/?{query}").parse().unwrap()),
                payload: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            };
            let mut headers = HeaderMap::new();
            headers.insert(HOST, "examplebucket.s3.amazonaws.com".parse().unwrap());
            sign(&credential, "us-east-1", &signed, &mut headers, now).unwrap();
            let found = headers[AUTHORIZATION].to_str().unwrap();
            assert!(found.ends_with(&format!("Signature={expected}")), "{found}");
        }
        assert_eq!(trimmed(b"  a   b c "), b"a b c");
    }
}
