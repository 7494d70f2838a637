//! Paths of the catalogue. They are bytes: shown as text if they are UTF-8, and exact in addresses
//! and in JSON.

use schemars::JsonSchema;
use serde::Serialize;

/// A path of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct FilesPath {
    /// The path as text. Bytes that are not UTF-8 are replaced.
    pub(crate) path: String,
    /// The bytes in hexadecimal; absent if `path` is exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    path_hex: Option<String>,
    #[serde(skip)]
    pub(crate) bytes: Vec<u8>,
}

impl FilesPath {
    pub(crate) fn new(bytes: Vec<u8>) -> FilesPath {
        let path = String::from_utf8_lossy(&bytes).into_owned();
        let is_exact = path.as_bytes() == bytes;
        FilesPath {
            path,
            path_hex: (!is_exact).then(|| data_encoding::HEXLOWER.encode(&bytes)),
            bytes,
        }
    }
}

/// Returns the bytes of the first `path=` with a value in a query. Other parameters are text and
/// are parsed elsewhere. A path need not be valid text.
pub(crate) fn path_in_query(query: &str) -> Option<Vec<u8>> {
    let values = query.split('&').filter_map(|pair| pair.strip_prefix("path="));
    values.map(decoded).find(|value| !value.is_empty())
}

/// Decodes the value of a form field: `%2F` is a slash, `+` a space. Invalid escapes are kept
/// unchanged.
fn decoded(value: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        let escaped = match (first, after) {
            (b'%', [high, low, ..]) => hexadecimal(*high).zip(hexadecimal(*low)),
            _ => None,
        };
        match escaped {
            Some((high, low)) => {
                bytes.push(high << 4 | low);
                rest = &after[2..];
            }
            None if first == b'+' => bytes.push(b' '),
            None => bytes.push(first),
        }
    }
    bytes
}

fn hexadecimal(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

/// Returns the path with one slash between names and none at its end, as in the catalogue. Other
/// parts are unchanged: `..` is a name that no directory contains.
pub(crate) fn tidy(path: &[u8]) -> Vec<u8> {
    if ::catalogue::is_address(path) {
        return path.strip_suffix(b"/").unwrap_or(path).to_vec();
    }
    let mut tidy = Vec::with_capacity(path.len());
    for name in path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()) {
        tidy.push(b'/');
        tidy.extend_from_slice(name);
    }
    match (tidy.is_empty(), path.is_empty()) {
        (true, false) => b"/".to_vec(),
        _ => tidy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_out_of_addresses_as_they_went_in() {
        let path: Vec<u8> = (0..=255).collect();
        let escaped: String = url::form_urlencoded::byte_serialize(&path).collect();
        let query = format!("by=size&path={escaped}&path=x");
        assert_eq!(path_in_query(&query), Some(path));
        assert_eq!(path_in_query("path=&by=size"), None);
        assert_eq!(path_in_query("path=%4&path=b"), Some(b"%4".to_vec()));
        assert_eq!(path_in_query("path=%zz%2f%"), Some(b"%zz/%".to_vec()));
    }

    #[test]
    fn paths_are_those_of_the_catalogue() {
        for (given, is) in [
            ("/a//b/", "/a/b"),
            ("/", "/"),
            ("", ""),
            ("a", "/a"),
            ("//", "/"),
            ("s3://b/a//b/", "s3://b/a//b"),
        ] {
            assert_eq!(tidy(given.as_bytes()), is.as_bytes(), "{given}");
        }
    }

    #[test]
    fn a_path_that_is_no_text_has_its_bytes_beside_it() {
        let json = |bytes: &[u8]| serde_json::to_value(FilesPath::new(bytes.to_vec())).unwrap();
        assert_eq!(json(b"/a"), serde_json::json!({ "path": "/a" }));
        assert_eq!(
            json(b"/\xff"),
            serde_json::json!({ "path": "/\u{fffd}", "path_hex": "2fff" })
        );
    }
}
