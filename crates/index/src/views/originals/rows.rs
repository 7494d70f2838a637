//! Rows of `references` and `payloads`.

use extract::{Capture, CaptureKind};

use super::revisit::{is_known, names_its_own, target};
use crate::codec::{self, Corrupt};
use crate::views::order::{content_of, is_eligible};

const BY_TARGET: u8 = 1;
const BY_DIGEST: u8 = 2;
const HASH_BYTES: usize = 16;
const PAYLOAD_HASH_BYTES: usize = 8;

/// Returns the `references` keys of a revisit whose row of `captures` has the key `row_key`.
pub(crate) fn reference_keys(revisit: &Capture, row_key: &[u8]) -> Vec<Vec<u8>> {
    if names_its_own(revisit) {
        return Vec::new();
    }
    let by_target = target(revisit).map(|(target, second)| {
        let mut key = target_prefix(target, second);
        key.extend_from_slice(row_key);
        key
    });
    let by_digest = is_known(&revisit.digest).then(|| {
        let mut key = digest_prefix(&revisit.digest);
        key.extend_from_slice(row_key);
        key
    });
    by_target.into_iter().chain(by_digest).collect()
}

/// Returns the hash of a target with its second, or of a digest, for matching references without an
/// index.
pub(crate) fn reference_hash(prefix: &[u8]) -> [u8; HASH_BYTES] {
    let mut hash = [0; HASH_BYTES];
    hash.copy_from_slice(&blake3::hash(prefix).as_bytes()[..HASH_BYTES]);
    hash
}

/// Returns the hash of the reference in a row of `references` with this key.
pub(crate) fn referred_hash(key: &[u8]) -> [u8; HASH_BYTES] {
    let bytes = match key.first() {
        Some(&BY_TARGET) => 1 + HASH_BYTES + 8,
        _ => 1 + HASH_BYTES,
    };
    reference_hash(key.get(..bytes).unwrap_or_default())
}

pub(crate) fn target_prefix(target: &str, second: i64) -> Vec<u8> {
    let hash = blake3::hash(target.as_bytes());
    [
        &[BY_TARGET],
        &hash.as_bytes()[..HASH_BYTES],
        &codec::sortable(second),
    ]
    .concat()
}

pub(crate) fn digest_prefix(digest: &str) -> Vec<u8> {
    let hash = blake3::hash(digest.as_bytes());
    [&[BY_DIGEST], &hash.as_bytes()[..HASH_BYTES]].concat()
}

/// Returns the key of the row of `payloads` of a capture, if it has one.
pub(crate) fn payload_key(capture: &Capture) -> Option<Vec<u8>> {
    is_payload(capture).then(|| {
        let mut key = payload_prefix(&capture.digest);
        key.extend_from_slice(&codec::sortable(capture.fetch_time_ms));
        key.extend_from_slice(capture.url_key.as_bytes());
        key
    })
}

pub(super) fn payload_prefix(digest: &str) -> Vec<u8> {
    blake3::hash(digest.as_bytes()).as_bytes()[..PAYLOAD_HASH_BYTES].to_vec()
}

/// Time and URL key of a row of `payloads`.
pub(super) fn split_payload(key: &[u8]) -> Result<(i64, String), Corrupt> {
    let short = Corrupt("key is too short");
    let time = key
        .get(PAYLOAD_HASH_BYTES..)
        .and_then(<[u8]>::first_chunk)
        .ok_or(short)?;
    let url_key = codec::to_text(&key[PAYLOAD_HASH_BYTES + 8..])?;
    Ok((codec::from_sortable(*time), url_key))
}

/// Returns whether a capture, new or stored, is a page or document with a known digest, and no
/// revisit.
pub(super) fn is_payload(capture: &Capture) -> bool {
    let is_document = capture.kind != CaptureKind::Revisit && content_of(capture).is_some();
    is_document && is_eligible(capture) && is_known(&capture.digest)
}
