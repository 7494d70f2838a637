//! Row keys of `captures`: URL key, `\0`, fetch time (sortable), input, offset.
//!
//! So the captures of a URL key are adjacent in time order, and a known capture is found by its row
//! key. Rows of `index_lines` have keys of the same form.

use extract::Capture;

use crate::codec::{self, Corrupt, Reader};
use crate::ids::InputId;

/// Longest URL key that is indexed, in bytes: the engine's limit for keys is 65,535, and row keys
/// have further parts.
pub(crate) const KEY_BYTES_MAX: usize = 60_000;

const SUFFIX_BYTES: usize = 1 + 8 + 4 + 8;

/// Returns why a capture cannot be indexed: a reason for the quarantine and the details; `None` if it
/// can be.
pub fn refusal(capture: &Capture) -> Option<(&'static str, String)> {
    refusal_of_key(&capture.url_key)
}

/// As [`refusal`], for a URL key.
pub fn refusal_of_key(url_key: &str) -> Option<(&'static str, String)> {
    let bytes = url_key.len();
    let wrong = || format!("URL key of {bytes} bytes, must be 1 to {KEY_BYTES_MAX}");
    (!is_usable_key(url_key)).then(|| ("url-key-length", wrong()))
}

/// Returns whether a URL key can be indexed.
pub(crate) fn is_usable_key(url_key: &str) -> bool {
    !url_key.is_empty() && url_key.len() <= KEY_BYTES_MAX
}

/// The parts of a row key other than the URL key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CapturePosition {
    pub(crate) fetch_time_ms: i64,
    pub(crate) input: InputId,
    pub(crate) offset: u64,
}

pub(crate) fn row_key(url_key: &str, fetch_time_ms: i64, input: InputId, offset: u64) -> Vec<u8> {
    let mut key = Vec::with_capacity(url_key.len() + SUFFIX_BYTES);
    key.extend_from_slice(url_key.as_bytes());
    // Ends the URL key, so that rows of a key come before those of longer keys with the same
    // beginning.
    key.push(0);
    key.extend_from_slice(&codec::sortable(fetch_time_ms));
    key.extend_from_slice(&input.0.to_be_bytes());
    key.extend_from_slice(&offset.to_be_bytes());
    key
}

/// Splits a row key into URL key and position.
pub(crate) fn split_key(key: &[u8]) -> Result<(&[u8], CapturePosition), Corrupt> {
    let short = Corrupt("key is too short");
    let split = key.len().checked_sub(SUFFIX_BYTES).ok_or(short)?;
    let (url_key, suffix) = key.split_at(split);
    let mut suffix = Reader::new(suffix);
    suffix.u8()?;
    let fetch_time = suffix.take(8)?.first_chunk().ok_or(short)?;
    let input = suffix.take(4)?.first_chunk().ok_or(short)?;
    let offset = suffix.take(8)?.first_chunk().ok_or(short)?;
    let position = CapturePosition {
        fetch_time_ms: codec::from_sortable(*fetch_time),
        input: InputId(u32::from_be_bytes(*input)),
        offset: u64::from_be_bytes(*offset),
    };
    Ok((url_key, position))
}

/// URL key of a row.
pub(crate) fn url_key_of_row(key: &[u8]) -> Result<&[u8], Corrupt> {
    split_key(key).map(|(url_key, _)| url_key)
}

/// Common prefix of all row keys of one URL key. Rows of a longer key that contains a NUL may have
/// the same prefix: [`is_of_key`] distinguishes them.
pub(crate) fn key_prefix(url_key: &str) -> Vec<u8> {
    let mut prefix = url_key.as_bytes().to_vec();
    prefix.push(0);
    prefix
}

/// Common prefix of all row keys of one URL key and time; also a valid position if there are no
/// such rows.
pub(crate) fn time_prefix(url_key: &str, fetch_time_ms: i64) -> Vec<u8> {
    let mut prefix = key_prefix(url_key);
    prefix.extend_from_slice(&codec::sortable(fetch_time_ms));
    prefix
}

/// Returns whether a row key with the [`key_prefix`] of a URL key belongs to that key and not to a
/// longer one.
pub(crate) fn is_of_key(key: &[u8], url_key: &str) -> bool {
    key.len() == url_key.len() + SUFFIX_BYTES
}
