//! Encodes cursors for clients: opaque text that fits into a URL, made from the parts of a row's
//! key.

use data_encoding::BASE64URL_NOPAD;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::AskError;

/// Why a cursor is refused.
pub(super) const NO_CURSOR: &str = "this cursor belongs to another query";

pub(super) fn encode(parts: &impl Serialize) -> String {
    // Cursors are tuples of strings and numbers, which always have a JSON form.
    let json = serde_json::to_vec(parts).unwrap_or_default();
    BASE64URL_NOPAD.encode(&json)
}

/// Returns a hash that replaces names in a cursor, so that a cursor does not reveal them.
pub(super) fn stand_in(names: &(String, String)) -> String {
    let mut hash = Sha256::new();
    for name in [&names.0, &names.1] {
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name);
    }
    BASE64URL_NOPAD.encode(&hash.finalize()[..16])
}

pub(super) fn decode<T: DeserializeOwned>(cursor: Option<&str>) -> Result<Option<T>, AskError> {
    let Some(cursor) = cursor else { return Ok(None) };
    let json = BASE64URL_NOPAD.decode(cursor.as_bytes()).ok();
    match json.and_then(|json| serde_json::from_slice(&json).ok()) {
        Some(parts) => Ok(Some(parts)),
        None => Err(AskError::bad_request(NO_CURSOR)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorCode;

    #[test]
    fn cursors_come_back_and_others_are_refused() {
        let parts = ("com,example)/?ä".to_owned(), 7_u64);
        let text = encode(&parts);
        assert!(
            text.bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        );
        assert_eq!(decode::<(String, u64)>(Some(&text)).unwrap(), Some(parts));
        assert_eq!(decode::<(String, u64)>(None).unwrap(), None);
        for bad in ["", "x", "!!", &encode(&"only a text")] {
            assert_eq!(
                decode::<(String, u64)>(Some(bad)).unwrap_err().code,
                ErrorCode::BadRequest
            );
        }
    }
}
