//! Names of inputs. A path is bytes, rows store those bytes, and all other code uses text.
//!
//! The text of a UTF-8 name is the name itself. A byte that is not part of UTF-8 becomes `\xNN`,
//! and a backslash that would start such an escape becomes `\x5c`. So different names have
//! different texts, and the bytes can be recovered.

use std::fmt::Write as _;

/// Length of `\xNN`.
const ESCAPE_BYTES: usize = 4;

/// Returns the text of a name.
pub fn name_text(name: &[u8]) -> String {
    let mut text = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        let valid = chunk.valid();
        for (at, c) in valid.char_indices() {
            // Unescaped, it would be decoded as the byte that it spells.
            if c == '\\' && escaped_byte(&valid.as_bytes()[at..]).is_some() {
                text.push_str("\\x5c");
            } else {
                text.push(c);
            }
        }
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// Returns the name with this text: the inverse of [`name_text`].
pub fn name_bytes(text: &str) -> Vec<u8> {
    let mut name = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        match escaped_byte(rest) {
            Some(byte) => {
                name.push(byte);
                rest = &rest[ESCAPE_BYTES..];
            }
            None => {
                name.push(first);
                rest = after;
            }
        }
    }
    name
}

/// Returns the last part of a path or URL. The query of an http or https URL is removed, because it
/// may be a signature. Indexes made on Windows name files by absolute paths with backslashes.
pub fn base_name(name: &str) -> &str {
    let is_web = name.starts_with("http://") || name.starts_with("https://");
    let path = match name.split_once('?') {
        Some((path, _)) if is_web => path,
        _ => name,
    };
    let is_windows = is_windows_path(path);
    match path.rsplit_once(|mark: char| mark == '/' || is_windows && mark == '\\') {
        Some((_, base)) if !base.is_empty() => base,
        _ => path,
    }
}

/// Returns whether a path is an absolute one of Windows, of a drive (`C:\x`) or a share
/// (`\\host\share\x`).
pub fn is_windows_path(path: &str) -> bool {
    match path.as_bytes() {
        [drive, b':', b'\\', ..] => drive.is_ascii_alphabetic(),
        [b'\\', b'\\', ..] => true,
        _ => false,
    }
}

/// Replaces a name by its [`base_name`].
pub fn keep_base_name(name: &mut String) {
    // A signature after the path is removed too, so the base name need not be at the end.
    if base_name(name).len() < name.len() {
        *name = base_name(name).to_owned();
    }
}

/// Returns whether a file is an index, by its name or address: `.cdx` or `.cdxj`, possibly `.gz`,
/// or `cdx-` with digits and `.gz`, as the parts of ZipNum clusters are called.
pub fn is_index_name(name: &str) -> bool {
    let name = base_name(name).to_ascii_lowercase();
    let plain = name.strip_suffix(".gz").unwrap_or(&name);
    let has_extension = plain.ends_with(".cdx") || plain.ends_with(".cdxj");
    // Records fetched by such a part have names with the same prefix: `cdx-00000-324.warc.gz`.
    let number = plain.strip_prefix("cdx-").filter(|_| name.ends_with(".gz"));
    let is_part = |number: &str| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    has_extension || number.is_some_and(is_part)
}

/// Returns the byte that `\xNN` at the start of `text` encodes.
fn escaped_byte(text: &[u8]) -> Option<u8> {
    let [b'\\', b'x', high, low, ..] = text else {
        return None;
    };
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    Some((digit(high)? << 4 | digit(low)?) as u8)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_that_are_text_stay_as_they_are() {
        for name in ["a.warc.gz", "é/ä ö.warc", "a\\b", "\\x4", "\\xzz", "x\n\t", ""] {
            assert_eq!(name_text(name.as_bytes()), name);
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_escaped() {
        assert_eq!(name_text(b"caf\xe9.warc"), "caf\\xe9.warc");
        assert_eq!(name_text(b"caf\\xe9.warc"), "caf\\x5cxe9.warc");
        assert_eq!(name_text(b"\\x\xff"), "\\x\\xff");
    }

    #[test]
    fn base_names_are_what_replay_looks_for() {
        for (name, base) in [
            ("crawls/2014/iana.warc.gz", "iana.warc.gz"),
            ("iana.warc.gz", "iana.warc.gz"),
            ("s3://bucket/crawls/a b?.warc", "a b?.warc"),
            ("https://example.org/x/iana.warc.gz?sig=a/b", "iana.warc.gz"),
            ("crawls/", "crawls/"),
            (r"C:\crawls\2014\iana.warc.gz", "iana.warc.gz"),
            (r"c:\crawls/x.wacz#archive/iana.warc.gz", "iana.warc.gz"),
            (r"\\host\crawls\iana.warc.gz", "iana.warc.gz"),
            // Elsewhere a backslash is a character of a name.
            (r"crawls/a\b.warc.gz", r"a\b.warc.gz"),
            (r"1:\b.warc.gz", r"1:\b.warc.gz"),
        ] {
            assert_eq!(base_name(name), base, "{name}");
        }
    }

    #[test]
    fn indexes_are_known_by_their_names() {
        for name in [
            "x.cdx",
            "/a/index.cdxj",
            "x.CDX.gz",
            "s3://b/x.cdxj.gz",
            "cdx-00000.gz",
            "https://h/cdx-00012.gz?sig=a/b",
        ] {
            assert!(is_index_name(name), "{name}");
        }
        for name in [
            "x.warc.gz",
            "cdx",
            "cdx-00000",
            "cdx-.gz",
            "cdx-00000-324.warc.gz",
            "x.cdx.warc",
            "cluster.idx",
            "x.gz",
        ] {
            assert!(!is_index_name(name), "{name}");
        }
    }

    proptest! {
        #[test]
        fn every_name_comes_back(name in proptest::collection::vec(
            prop_oneof![Just(b'\\'), Just(b'x'), Just(b'4'), Just(b'f'), any::<u8>()], 0..24)) {
            prop_assert_eq!(name_bytes(&name_text(&name)), name);
        }
    }
}
