//! Converts payload bytes to text. The encoding comes from the byte order mark, the HTTP header,
//! the `meta` or XML declaration, or detection, in this order. A declaration that the bytes plainly
//! contradict is ignored.

mod evidence;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};
use std::borrow::Cow;

/// Browsers look for a `meta` in the first 1,024 bytes, but many pages have it later.
const PRESCAN_BYTES: usize = 4096;

/// Number of bytes given to the detector. Its result is stable well before this.
const DETECT_BYTES: usize = 64 << 10;

/// Decodes `bytes` and returns the encoding. UTF-8 is not copied. `declared` is the charset of the
/// HTTP header; `top_level` is the last label of the host, a hint for the detector.
pub(crate) fn decode<'a>(
    bytes: &'a [u8],
    declared: Option<&str>,
    top_level: Option<&str>,
) -> (Cow<'a, str>, &'static Encoding) {
    let (encoding, mark_length) =
        Encoding::for_bom(bytes).unwrap_or_else(|| (encoding_of(bytes, declared, top_level), 0));
    let text = encoding.decode_without_bom_handling(&bytes[mark_length..]).0;
    (text, encoding)
}

/// Returns the encoding of a document that begins with `start`: from its byte order mark, as
/// declared, or detected. `top_level`, the last label of its host, is a hint for the detection.
pub fn document_encoding(start: &[u8], declared: Option<&str>, top_level: Option<&str>) -> &'static Encoding {
    match Encoding::for_bom(start) {
        Some((encoding, _)) => encoding,
        None => encoding_of(start, declared, top_level),
    }
}

/// Returns the encoding of a document that begins with `start` and has no byte order mark. `start`
/// must be long enough for detection and for checking a declared charset.
pub(crate) fn encoding_of(
    start: &[u8],
    declared: Option<&str>,
    top_level: Option<&str>,
) -> &'static Encoding {
    if let Some(encoding) = evidence::unmarked_utf16(start) {
        return encoding;
    }
    let of_header = declared.and_then(|label| Encoding::for_label(label.as_bytes()));
    let of_document = || declared_inside(start);
    match of_header.or_else(of_document) {
        // The replacement encoding represents charsets that browsers no longer read.
        Some(encoding) if encoding != REPLACEMENT => {
            evidence::against(encoding, of_header.is_some(), start, top_level).unwrap_or(encoding)
        }
        _ => undeclared(start, top_level),
    }
}

/// Returns the encoding of a document without a declaration.
fn undeclared(start: &[u8], top_level: Option<&str>) -> &'static Encoding {
    // ISO-2022-JP consists of ASCII bytes with escape sequences, so it is valid UTF-8 too.
    let escapes = || memchr::memmem::find(start, b"\x1b$").is_some();
    let is_utf8 = match std::str::from_utf8(start) {
        Ok(_) => true,
        // `start` may end inside a character.
        Err(error) => error.error_len().is_none(),
    };
    if is_utf8 && !escapes() {
        UTF_8
    } else {
        detect(start, top_level, Utf8Detection::Allow)
    }
}

/// Returns the likeliest encoding of bytes that are not UTF-8.
fn detect_legacy(bytes: &[u8], top_level: Option<&str>) -> &'static Encoding {
    detect(bytes, top_level, Utf8Detection::Deny)
}

fn detect(bytes: &[u8], top_level: Option<&str>, utf8: Utf8Detection) -> &'static Encoding {
    let head = &bytes[..bytes.len().min(DETECT_BYTES)];
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(head, head.len() == bytes.len());
    // The detector panics unless the label is lower-case ASCII without dots.
    let top_level = top_level
        .map(str::as_bytes)
        .filter(|t| !t.is_empty() && t.iter().all(|b| b.is_ascii_lowercase() || b == &b'-'));
    detector.guess(top_level, utf8)
}

/// Returns the encoding that the document itself declares, in its XML declaration or in the first
/// `meta` with a charset. Comments are skipped.
fn declared_inside(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = &bytes[..bytes.len().min(PRESCAN_BYTES)];
    if head.starts_with(b"<?xml") {
        let end = memchr::memmem::find(head, b"?>")?;
        if let Some(encoding) = label_after(&head[..end], b"encoding") {
            return Some(encoding);
        }
    }
    let mut rest = head;
    while let Some(at) = memchr::memchr(b'<', rest) {
        rest = &rest[at + 1..];
        if let Some(comment) = rest.strip_prefix(b"!--") {
            rest = &comment[memchr::memmem::find(comment, b"-->")?..];
        } else if rest.len() > 5 && rest[..4].eq_ignore_ascii_case(b"meta") {
            let tag = &rest[4..memchr::memchr(b'>', rest).unwrap_or(rest.len()).max(4)];
            if let Some(encoding) = label_after(tag, b"charset") {
                return Some(encoding);
            }
        }
    }
    None
}

/// Reads `name = "label"`, quoted or not.
fn label_after(text: &[u8], name: &[u8]) -> Option<&'static Encoding> {
    let at = text
        .windows(name.len())
        .position(|window| window.eq_ignore_ascii_case(name))?;
    let value = text[at + name.len()..]
        .trim_ascii_start()
        .strip_prefix(b"=")?
        .trim_ascii_start();
    let value = value
        .strip_prefix(b"\"")
        .or_else(|| value.strip_prefix(b"'"))
        .unwrap_or(value);
    let end = value
        .iter()
        .position(|b| b"\"'; >/".contains(b) || b.is_ascii_whitespace())
        .unwrap_or(value.len());
    let encoding = Encoding::for_label(&value[..end])?;
    // The declaration is readable as ASCII, so the document cannot be UTF-16 (HTML standard,
    // 13.2.3.2).
    Some(if encoding == UTF_16LE || encoding == UTF_16BE {
        UTF_8
    } else if encoding == X_USER_DEFINED {
        WINDOWS_1252
    } else {
        encoding
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(bytes: &[u8], declared: Option<&str>, expected: &str) {
        assert_eq!(
            decode(bytes, declared, None).0,
            expected,
            "{}",
            String::from_utf8_lossy(bytes)
        );
    }

    #[test]
    fn the_mark_beats_the_header_beats_the_document() {
        check(b"\xef\xbb\xbfcaf\xc3\xa9", Some("iso-8859-1"), "café");
        check(b"\xff\xfea\0b\0", Some("utf-8"), "ab");
        check(
            b"<meta charset=utf-8>caf\xe9",
            Some("ISO-8859-1"),
            "<meta charset=utf-8>café",
        );
        check(
            b"<meta charset=iso-8859-2>\xb3",
            None,
            "<meta charset=iso-8859-2>ł",
        );
        check(b"caf\xc3\xa9", Some("no-such-thing"), "café");
    }

    #[test]
    fn declared_in_the_document() {
        let check = |head: &str, expected: Option<&'static Encoding>| {
            assert_eq!(declared_inside(head.as_bytes()), expected, "{head}");
        };
        check(
            "<META HTTP-EQUIV='Content-Type' CONTENT='text/html; charset=windows-1251'>",
            Some(encoding_rs::WINDOWS_1251),
        );
        check(
            "<meta name=x><meta charset = 'shift_jis' >",
            Some(encoding_rs::SHIFT_JIS),
        );
        check(
            "<!-- <meta charset=big5> --><meta charset=euc-kr>",
            Some(encoding_rs::EUC_KR),
        );
        check(
            "<?xml version='1.0' encoding='koi8-r'?><html>",
            Some(encoding_rs::KOI8_R),
        );
        check("<meta charset=utf-16le>", Some(UTF_8));
        check(
            "<meta charset=nonsense><meta charset=gbk>",
            Some(encoding_rs::GBK),
        );
        check("<metal charset", None);
        check("<!-- never closed <meta charset=big5>", None);
    }

    #[test]
    fn text_that_is_plainly_in_another_charset_is_read_as_what_it_is() {
        let check = |bytes: &[u8], declared: &str, expected: &str| {
            assert_eq!(decode(bytes, Some(declared), None).0, expected, "{declared}");
        };
        let encoded = |encoding: &'static Encoding, text: &str| encoding.encode(text).0.into_owned();
        // UTF-8 that is declared as another charset.
        for label in ["iso-8859-1", "windows-1252", "us-ascii"] {
            check("rødgrød æøå".as_bytes(), label, "rødgrød æøå");
            check("It’s".as_bytes(), label, "It’s");
            check("© 2020".as_bytes(), label, "© 2020");
        }
        let russian = "Съешь ещё этих мягких французских булок";
        let japanese = "これは日本語の文章です。文字コードを推定できるはずです。";
        for label in [
            "windows-1251",
            "koi8-r",
            "iso-8859-2",
            "gbk",
            "big5",
            "shift_jis",
            "euc-kr",
            "iso-2022-jp",
        ] {
            check(russian.as_bytes(), label, russian);
            check(japanese.as_bytes(), label, japanese);
        }
        check(japanese.as_bytes(), "hz-gb-2312", japanese);
        let plain = "Plain text with white space, and no byte of zero";
        check(plain.as_bytes(), "utf-16", plain);
        check(plain.as_bytes(), "utf-16be", plain);
        // Another charset that is declared as UTF-8.
        check(&encoded(encoding_rs::WINDOWS_1251, russian), "utf-8", russian);
        check(&encoded(encoding_rs::SHIFT_JIS, japanese), "utf-8", japanese);
        check(&encoded(encoding_rs::EUC_JP, japanese), "utf-8", japanese);
        let french = "été, forêt, à la carte, où, garçon, déjà vu";
        check(&encoded(WINDOWS_1252, french), "utf-8", french);
        // UTF-16 without a byte order mark.
        let units = |to: fn(u16) -> [u8; 2]| plain.encode_utf16().flat_map(to).collect::<Vec<u8>>();
        for label in ["utf-8", "iso-8859-1"] {
            check(&units(u16::to_le_bytes), label, plain);
            check(&units(u16::to_be_bytes), label, plain);
        }
        // A server that declares one charset for all documents. The document declares another, and
        // its bytes agree.
        let page = format!("<meta charset=windows-1251>{russian}");
        check(&encoded(encoding_rs::WINDOWS_1251, &page), "iso-8859-1", &page);
        // A server that converts documents but leaves the declaration in them.
        let page = format!("<meta charset=koi8-r>{russian}");
        check(&encoded(encoding_rs::WINDOWS_1251, &page), "windows-1251", &page);
        // A byte order mark outranks any header.
        check(b"\xef\xbb\xbfcaf\xc3\xa9", "shift_jis", "café");
        check(b"\xfe\xff\0a\0b", "shift_jis", "ab");
    }

    #[test]
    fn a_declaration_that_the_bytes_do_not_contradict_stays() {
        let check = |bytes: &[u8], declared: &str, expected: &str| {
            assert_eq!(decode(bytes, Some(declared), None).0, expected, "{declared}");
        };
        // Well-formed UTF-8 by chance.
        let (bytes, ..) = encoding_rs::GBK.encode("陆莫");
        assert!(std::str::from_utf8(&bytes).is_ok());
        check(&bytes, "gbk", "陆莫");
        let repeated = encoding_rs::GBK.encode(&"陆莫".repeat(50)).0.into_owned();
        check(&repeated, "gbk", &"陆莫".repeat(50));
        check(b"CAF\xc9\xbb", "iso-8859-1", "CAFÉ»");
        check(b"ST\xd3\xa3 ", "windows-1250", "STÓŁ ");
        let (bytes, ..) = encoding_rs::WINDOWS_874.encode("รก");
        check(&bytes, "tis-620", "รก");
        // A stray byte is damage.
        check(
            b"bad \xff byte, caf\xe9",
            "utf-8",
            "bad \u{fffd} byte, caf\u{fffd}",
        );
        // Text in the declared charset with one word in UTF-8.
        let mut bytes = b"\xe9t\xe9, for\xeat, \xe0 la carte, ".to_vec();
        bytes.extend("garçon".as_bytes());
        check(&bytes, "iso-8859-1", "été, forêt, à la carte, garÃ§on");
        // Binary data is not searched for words.
        let junk = b"\x01\x02\xe9\x80\xff\x03\xe9\xe9\xff\x05\xe8\xfe\xed\x07";
        assert!(decode(junk, Some("utf-8"), None).0.contains('\u{fffd}'));
    }

    #[test]
    fn detected() {
        check("Ωραία, café".as_bytes(), None, "Ωραία, café");
        let russian =
            "Съешь ещё этих мягких французских булок, да выпей чаю. Широкая электрификация южных губерний";
        let (bytes, _, _) = encoding_rs::WINDOWS_1251.encode(russian);
        check(&bytes, None, russian);
        let japanese = "これは日本語の文章です。文字コードを推定できるはずです。";
        let (bytes, _, _) = encoding_rs::SHIFT_JIS.encode(japanese);
        assert_eq!(decode(&bytes, None, Some("jp")).0, japanese);
        let (bytes, _, _) = encoding_rs::ISO_2022_JP.encode(japanese);
        check(&bytes, None, japanese);
    }

    proptest! {
        #[test]
        fn any_bytes_decode(bytes in proptest::collection::vec(any::<u8>(), 0..300), tld in "[a-zA-Z0-9.-]{0,4}") {
            let _ = decode(&bytes, None, Some(&tld));
            let mut meta = b"<meta charset".to_vec();
            meta.extend(&bytes);
            let _ = decode(&meta, None, None);
        }
    }
}
